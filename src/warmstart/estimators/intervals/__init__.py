"""Confidence intervals, each a function of a few sums or one histogram."""
