"""Benchmarks, as ratios to a floor measured in the same run. ``make bench``."""
