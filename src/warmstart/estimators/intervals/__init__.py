"""Confidence intervals for the expected value given contexts and actions, each a function of a few sums or a histogram.

Given contexts and actions, the terms ``coefficient * reward`` of the mean are independent, not identical, each in
[0, its coefficient]; Hoeffding (1963) covers that case.
"""

from warmstart.estimators.intervals.bets import MOST_AT_RISK, bets_ends, log_mean
from warmstart.estimators.intervals.bisection import last_ruled_out
from warmstart.estimators.intervals.kl import relative_entropy
from warmstart.estimators.intervals.methods import METHODS, NEED_COEFFICIENTS, interval
from warmstart.estimators.intervals.normal import normal_ends
from warmstart.estimators.intervals.terms import RATIO, Coefficients, TermSums

__all__ = [
    "METHODS",
    "MOST_AT_RISK",
    "NEED_COEFFICIENTS",
    "RATIO",
    "Coefficients",
    "TermSums",
    "bets_ends",
    "interval",
    "last_ruled_out",
    "log_mean",
    "normal_ends",
    "relative_entropy",
]
