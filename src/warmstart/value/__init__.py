"""What a policy would have earned: the estimator, its intervals, the paper's bounds."""

from warmstart.value.bounds import bias_bounds, corollary_bound, regret_bound
from warmstart.value.contributions import top_contributions
from warmstart.value.estimate import estimate_value
from warmstart.value.intervals import METHODS, interval

__all__ = [
    "METHODS",
    "bias_bounds",
    "corollary_bound",
    "estimate_value",
    "interval",
    "regret_bound",
    "top_contributions",
]
