"""Confidence intervals, each a function of a few sums or one histogram."""

from warmstart.estimators.intervals.bets import MOST_AT_RISK, RATIO, Coefficients, last_ruled_out, log_mean
from warmstart.estimators.intervals.methods import METHODS, NEED_COEFFICIENTS, TermSums, interval, normal_ends

__all__ = [
    "METHODS",
    "MOST_AT_RISK",
    "NEED_COEFFICIENTS",
    "RATIO",
    "Coefficients",
    "TermSums",
    "interval",
    "last_ruled_out",
    "log_mean",
    "normal_ends",
]
