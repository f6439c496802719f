"""How far from 0 a gain must be for bets by unit to prove it: the bets as they are planned, and what they would win.

A bet L on units of which one could gain R_u and is expected to have E_u of it wins, at a total gain of G,

    L * G - L^2 / 2 * (V + (m - b)^2 * D) - sum over heavy units of a - log(1 + a),     a = L * E_u

with V the variance of the gain, D = sum over units of (sum of u)^2, m the mean reward and b the one that the bet
supposes. A unit is heavy where L could cost it nearly all; heavy units make bets small, so that visits that are spread
unevenly cost more than their design effect says. See the confidence interval of a gain by unit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warmstart.estimators import FEW, UNKNOWN, UnitTotals, affordable, certain_loss, chance_to_win

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DELTA = 0.05
HALVINGS = 60


class TypicalUnits(NamedTuple):
    """Units of a typical policy: ``units[i]`` could gain ``size[i]`` and are expected to have ``expected[i]`` of it.

    ``variance``: of the gain, by unit; ``independent``, ``dependent``: sums of u^2 over events, and over units of the
    squared sum of u; ``mean``: the mean reward.
    """

    size: Floats
    expected: Floats
    units: Floats
    variance: float
    independent: float
    dependent: float
    mean: float


def needed_gain(typical: TypicalUnits, delta: float = DELTA) -> float:
    """Return the total gain at which the average of all bets would exclude 0.

    >>> once = np.ones(1000)
    >>> typical = TypicalUnits(2 * once, once, once, 160.0, 1000.0, 1000.0, 0.2)
    >>> round(needed_gain(typical) / typical.variance**0.5, 1)
    3.4
    """
    limit = math.log(2 / delta)
    bets, fixed = _planned(typical, limit)
    # There one bet alone wins enough for the average of all.
    few, enough = 0.0, float(((limit + math.log(len(bets)) + fixed) / bets).min())
    for _ in range(HALVINGS):
        middle = (few + enough) / 2
        won = bets * middle - fixed
        proven = won.max() + math.log(np.exp(won - won.max()).mean()) >= limit
        few, enough = (few, middle) if proven else (middle, enough)
    return enough


def unit_chance(typical: TypicalUnits, net: Floats, gain: float, delta: float = DELTA) -> float:
    """Return the chance (power) that a total gain is proven: by the few bets that win most, as for its interval.

    Args:
        typical: Units of the policy.
        net: The sums of u of these units, from which bets are planned for every mean reward, as evaluate does.
        gain: The total gain.
        delta: The share of intervals that may miss.
    """
    limit = math.log(2 / delta)
    bets, fixed = _planned(typical, limit, net)
    means = bets * gain - fixed
    best = np.argsort(means)[-FEW:]
    deviations = bets[best] * math.sqrt(typical.variance)
    return chance_to_win(means[best], deviations, np.full(len(best), 1 / len(bets)), limit)


def _planned(typical: TypicalUnits, limit: float, net: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the bets, and what each loses whatever the gain."""
    size, expected, units = typical.size, typical.expected, typical.units
    planned = UnitTotals(size, expected, units, typical.independent, typical.dependent)
    variances, _ = planned.variances()
    rates = np.tile(UNKNOWN, len(variances))
    best = np.sqrt(2 * limit / (np.repeat(variances, len(UNKNOWN)) * rates * (1 - rates)))
    if net is None:
        bets, lost = _affordable(best, typical, expected)
    else:
        claims = [size / 2 + net * (rate - 0.5) for rate in rates]
        each = [_affordable(best[[i]], typical, claim) for i, claim in enumerate(claims)]
        bets, lost = (np.concatenate(part) for part in zip(*each, strict=True))
    variance = typical.variance + (typical.mean - rates) ** 2 * max(typical.dependent, typical.independent)
    return bets, bets**2 * variance / 2 + lost


def _affordable(best: Floats, typical: TypicalUnits, claim: Floats) -> tuple[Floats, Floats]:
    """Return the bets that units can afford if ``claim`` is expected of them, and what heavy ones lose for certain."""
    size, units = typical.size, typical.units
    at_most = claim + size * float((np.minimum(claim, size - claim) * units).sum()) / float((size * units).sum())
    bets = affordable(best, size, at_most / size, units)
    return bets, certain_loss(np.outer(bets, at_most), np.outer(bets, typical.expected)) @ units
