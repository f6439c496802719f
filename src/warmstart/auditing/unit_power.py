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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DELTA = 0.05
# As bets are planned without a training window: for these mean rewards, and for variances in steps of this ratio.
RATES = np.array([0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975, 0.995, 0.999])
VARIANCE_STEP = 4.0
# A unit that could lose more than this is heavy; bets are these parts of the best one without heavy units.
MOST_AT_RISK = 0.95
PARTS = 2.0 ** -np.arange(0.0, 8.0, 0.5)
PROMISED = 5.0
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
    most = max(typical.dependent, typical.independent)
    steps = 1 + math.ceil(math.log(most / typical.independent) / math.log(VARIANCE_STEP) - 1e-9)
    variances = np.geomspace(typical.independent, most, steps)
    rates = np.tile(RATES, steps)
    best = np.sqrt(2 * limit / (np.repeat(variances, len(RATES)) * rates * (1 - rates)))
    room = float((np.minimum(typical.expected, typical.size - typical.expected) * typical.units).sum())
    at_most = typical.expected + room / float((typical.size * typical.units).sum()) * typical.size
    bets = np.array([one * PARTS[np.argmax(_promised(one, at_most, typical.units))] for one in best])
    heavy = np.outer(bets, at_most) > MOST_AT_RISK
    lost = np.where(heavy, _loss(np.outer(bets, typical.expected)), 0.0) @ typical.units
    variance = typical.variance + (typical.mean - rates) ** 2 * most
    fixed = bets**2 * variance / 2 + lost
    # There one bet alone wins enough for the average of all.
    few, enough = 0.0, float(((limit + math.log(len(bets)) + fixed) / bets).min())
    for _ in range(HALVINGS):
        middle = (few + enough) / 2
        won = bets * middle - fixed
        proven = won.max() + math.log(np.exp(won - won.max()).mean()) >= limit
        few, enough = (few, middle) if proven else (middle, enough)
    return enough


def _promised(best: float, at_most: Floats, units: Floats) -> Floats:
    """Return for each part of a bet what it promises, what heavy units lose taken off."""
    at_risk = np.outer(best * PARTS, at_most)
    lost = np.where(at_risk > MOST_AT_RISK, _loss(at_risk), 0.0) @ units
    promised: Floats = (2 * PARTS - PARTS**2) * PROMISED - lost
    return promised


def _loss(at_risk: Floats) -> Floats:
    loss: Floats = at_risk - np.log1p(at_risk)
    return loss
