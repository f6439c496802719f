"""Open Bandit Pipeline's estimators on the same propensities, where the package ``obp`` is installed."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

IPS, SNIPS, DR = "InverseProbabilityWeighting", "SelfNormalizedInverseProbabilityWeighting", "DoublyRobust"


def installed() -> bool:
    """Tell whether OBP can be imported."""
    return importlib.util.find_spec("obp") is not None


def values(
    context: Floats,
    action: Numbers,
    reward: Floats,
    pscore: Floats,
    *,
    target: Floats,
    model: Any,
    names: tuple[str, ...],
) -> dict[str, float]:
    """Return what OBP's estimators make of a log: a reward model of three folds for those that need one.

    Args:
        context: A row of features for every event.
        action: The action shown.
        reward: Its reward.
        pscore: Its propensity.
        target: The policy's probabilities, [event, action].
        model: A scikit-learn classifier of rewards.
        names: OBP's classes.
    """
    from obp import ope

    target, position = target[:, :, None], np.zeros(len(action), dtype=int)
    log = {"reward": reward, "action": action, "position": position, "pscore": pscore, "action_dist": target}
    expected: dict[str, Any] = {}
    if DR in names:
        regression = ope.RegressionModel(n_actions=target.shape[1], len_list=1, base_model=model)
        expected[DR] = regression.fit_predict(**log, context=context, n_folds=3, random_state=0)
    return {
        name: float(
            getattr(ope, name)().estimate_policy_value(**log, estimated_rewards_by_reg_model=expected.get(name))
        )
        for name in names
    }
