"""Results as nested dictionaries, compared number by number."""

import pytest


def alike(one, other):
    """Whether two results say the same, numbers to nine digits: sums come in any order."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        return all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == pytest.approx(other, rel=1e-9, abs=1e-9) if isinstance(one, float) else one == other
