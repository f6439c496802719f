"""What a policy would have earned: the estimator, its intervals, the paper's bounds."""

from warmstart.value.bounds import bias_bounds, corollary_bound, regret_bound
from warmstart.value.contributions import top_contributions
from warmstart.value.estimate import estimate_value
from warmstart.value.estimators import ESTIMATORS
from warmstart.value.guesses import Guesser
from warmstart.value.guesses_in_parts import PartedGuesser
from warmstart.value.intervals import METHODS, interval
from warmstart.value.outside import estimate_outside

__all__ = [
    "ESTIMATORS",
    "METHODS",
    "Guesser",
    "PartedGuesser",
    "bias_bounds",
    "corollary_bound",
    "estimate_outside",
    "estimate_value",
    "interval",
    "regret_bound",
    "top_contributions",
]
