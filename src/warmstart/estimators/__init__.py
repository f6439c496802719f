"""What a policy would have earned: the estimator, its intervals, the paper's bounds."""

from warmstart.estimators.bounds import bias_bounds, corollary_bound, regret_bound
from warmstart.estimators.contributions import top_contributions
from warmstart.estimators.estimate import estimate_value
from warmstart.estimators.estimators import ESTIMATORS
from warmstart.estimators.guesses import Guesser
from warmstart.estimators.guesses_in_parts import PartedGuesser
from warmstart.estimators.intervals import METHODS, interval
from warmstart.estimators.outside import estimate_outside

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
