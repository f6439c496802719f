"""Reward models: the expected reward of an action in a context, learned from the cells or the events of a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import Door

if TYPE_CHECKING:
    from warmstart.reward.blend import *  # noqa: F403
    from warmstart.reward.by_action import *  # noqa: F403
    from warmstart.reward.by_cell import *  # noqa: F403
    from warmstart.reward.credibility import *  # noqa: F403
    from warmstart.reward.distributed_part import *  # noqa: F403
    from warmstart.reward.distributed_sgd import *  # noqa: F403
    from warmstart.reward.estimated import *  # noqa: F403
    from warmstart.reward.examples import *  # noqa: F403
    from warmstart.reward.learner import *  # noqa: F403
    from warmstart.reward.left_out import *  # noqa: F403
    from warmstart.reward.model_choice import *  # noqa: F403
    from warmstart.reward.models import *  # noqa: F403
    from warmstart.reward.product import *  # noqa: F403
    from warmstart.reward.settings import *  # noqa: F403
    from warmstart.reward.trial import *  # noqa: F403

_door = Door.to(
    __name__,
    {
        "blend": "Shares blended learned_shares",
        "budget": "Budget learned_later",
        "by_action": "Regressions",
        "by_cell": "CellMeans open_cell_means",
        "credibility": "Halves",
        "model_choice": "ModelChoice Tried choose_model",
        "distributed_part": "NUMBER BroadcastFeatures",
        "distributed_sgd": "DistributedLearner DistributedRewards partition_count",
        "estimated": "Estimated learn_estimated shrunk_rates",
        "examples": "SUMS Examples",
        "learner": "CELL_PASSES FIT_TAUS CELLS_TO_CHOOSE_WITH LearnedRewards Learner event_stream rank_feasible",
        "left_out": "LeftOutMeans open_left_out_means",
        "models": "BLEND MODELS ModelName",
        "product": "ProductModel Stream",
        "settings": "FitSettings",
        "trial": "Division Trial try_out with_rewards",
    },
)
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve
