"""Off-policy estimators: sums over the weighted table, finished with arithmetic, and their confidence intervals."""

from warmstart.estimators.bounds import bias_bounds, corollary_bound, regret_bound
from warmstart.estimators.contributions import top_contributions
from warmstart.estimators.estimate import estimate_policy
from warmstart.estimators.gain import Levels
from warmstart.estimators.intervals import METHODS, interval
from warmstart.estimators.point import ESTIMATORS
from warmstart.estimators.rows import RewardModel, WeightedRows, open_weighted_rows
from warmstart.estimators.tau import choose_tau, clipping_cost, squared_error
from warmstart.estimators.weights import importance_weight, supported_ratio

__all__ = [
    "ESTIMATORS",
    "METHODS",
    "Levels",
    "RewardModel",
    "WeightedRows",
    "bias_bounds",
    "choose_tau",
    "clipping_cost",
    "corollary_bound",
    "estimate_policy",
    "importance_weight",
    "interval",
    "open_weighted_rows",
    "regret_bound",
    "squared_error",
    "supported_ratio",
    "top_contributions",
]
