"""Confidence intervals for the expected value given contexts and actions, each a function of a few sums or a histogram.

Given contexts and actions, the terms ``coefficient * reward`` of the mean are independent, not identical, each in
[0, its coefficient]; Hoeffding (1963) covers that case.
"""

from warmstart.estimators.intervals.bets import bets_ends, chance_to_win
from warmstart.estimators.intervals.bisection import last_ruled_out
from warmstart.estimators.intervals.doubt import (
    NO_DOUBT,
    GainBins,
    Line,
    doubted_gain_ends,
    last_sure,
    lines,
    tipping_point,
)
from warmstart.estimators.intervals.epoch_bets import EpochTotals, Points, Standing, Wealth
from warmstart.estimators.intervals.gain_bets import UNKNOWN, GainSums, gain_chance, gain_ends, proves_gain
from warmstart.estimators.intervals.kl import relative_entropy
from warmstart.estimators.intervals.methods import METHODS, NEED_COEFFICIENTS, interval
from warmstart.estimators.intervals.normal import normal_ends, score_ends
from warmstart.estimators.intervals.relative_gain import LoggingTotals, relative_ends
from warmstart.estimators.intervals.terms import RATIO, SMALLEST, Coefficients, TermSums, bin_ends, first_bin
from warmstart.estimators.intervals.unit_bets import (
    FEW,
    UnitTotals,
    affordable,
    certain_loss,
    gain_evidence,
    log_sum,
    lower_unit_gain,
    unit_gain_ends,
    unit_value_ends,
)

__all__ = [
    "FEW",
    "METHODS",
    "NEED_COEFFICIENTS",
    "NO_DOUBT",
    "RATIO",
    "SMALLEST",
    "UNKNOWN",
    "Coefficients",
    "EpochTotals",
    "GainBins",
    "GainSums",
    "Line",
    "LoggingTotals",
    "Points",
    "Standing",
    "TermSums",
    "UnitTotals",
    "Wealth",
    "affordable",
    "bets_ends",
    "bin_ends",
    "certain_loss",
    "chance_to_win",
    "doubted_gain_ends",
    "first_bin",
    "gain_chance",
    "gain_ends",
    "gain_evidence",
    "interval",
    "last_ruled_out",
    "last_sure",
    "lines",
    "log_sum",
    "lower_unit_gain",
    "normal_ends",
    "proves_gain",
    "relative_ends",
    "relative_entropy",
    "score_ends",
    "tipping_point",
    "unit_gain_ends",
    "unit_value_ends",
]
