"""Off-policy estimators: sums over the weighted table, finished with arithmetic, and their confidence intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import Door

if TYPE_CHECKING:
    from warmstart.estimators.alarms import *  # noqa: F403
    from warmstart.estimators.bounds import *  # noqa: F403
    from warmstart.estimators.contributions import *  # noqa: F403
    from warmstart.estimators.doubt import *  # noqa: F403
    from warmstart.estimators.epoch_rows import *  # noqa: F403
    from warmstart.estimators.epochs import *  # noqa: F403
    from warmstart.estimators.estimate import *  # noqa: F403
    from warmstart.estimators.gain import *  # noqa: F403
    from warmstart.estimators.improvement import *  # noqa: F403
    from warmstart.estimators.intervals import *  # noqa: F403
    from warmstart.estimators.point import *  # noqa: F403
    from warmstart.estimators.rows import *  # noqa: F403
    from warmstart.estimators.tau import *  # noqa: F403
    from warmstart.estimators.units import *  # noqa: F403
    from warmstart.estimators.weights import *  # noqa: F403

_door = Door.to(
    __name__,
    {
        "alarms": "check_weights judge_weights",
        "bounds": "bias_bounds corollary_bound regret_bound",
        "contributions": "top_contributions",
        "doubt": "left_out_columns",
        "epochs": "EpochState step",
        "estimate": "ChosenTau chosen_taus estimate_policy",
        "gain": "LEVELS STRENGTH Levels Threshold level",
        "improvement": "CAUTION CellSums Proposal improve proposed_sets propose prove worth",
        "intervals": "Coefficients FEW GainSums LoggingTotals METHODS Points UNKNOWN UnitTotals affordable "
        "certain_loss chance_to_win gain_chance interval last_ruled_out",
        "point": "ESTIMATORS",
        "epoch_rows": "RewardModel",
        "rows": "WeightedRows open_weighted_rows policy_rows",
        "units": "open_unit_sums",
        "tau": "choose_tau squared_error",
        "weights": "importance_weight supported_ratio",
    },
)
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve
