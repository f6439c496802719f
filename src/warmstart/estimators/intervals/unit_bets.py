"""Betting confidence intervals where rewards depend on each other within units (clusters), not across them.

A unit u (a user, a session) could earn R_u at the most, and earns the share g_u of it, whatever its events do to one
another. If its expectation were the share e_u, the product over units of

    1 + L * R_u * (g_u - e_u)             if L * R_u * e_u is small, else
    (1 + L * R_u * g_u) * exp(-L * R_u * e_u)

would have expectation at most exp(L * sum of R_u * (E g_u - e_u)), so at most 1 for all claims with sum of R_u * E g_u
<= sum of R_u * e_u, and a claim is ruled out from below where it exceeds 2 / delta (Markov). Which form a unit has, and
every L > 0, are chosen from R and e alone, never from what was earned: the second form lets light units bet more than
a heavy one could lose. The upper end is the lower end of 1 - g and 1 - e.

value  R = sum of coefficients c, g * R = sum of c * reward, e = p for every unit
gain   R = sum of |u|, g * R = sum of u+ * reward + u- * (1 - reward): so much more than at worst; e * R is what that
       would be if rewards were b, and a gain of m is spread over the units in proportion to R

How much rewards of a unit go together decides which L is best, and nobody knows it without a training window: bets for
several intraclass correlations are averaged, from none to one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warmstart.estimators.intervals.bets import FACTORS, SPAN, SPANS, WEIGHTS, chernoff_bets, log_mean, share_of
from warmstart.estimators.intervals.bisection import last_ruled_out
from warmstart.estimators.intervals.gain_bets import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from warmstart.estimators.intervals.terms import Ends

    Floats = NDArray[np.float64]

# A unit that could lose more than this has the exponential form.
MOST_AT_RISK = 0.95
# Bets are planned among these parts of the one that would be best if no unit could lose all, to win so much.
PARTS = 2.0 ** -np.arange(0.0, 8.0, 0.5)
PROMISED = 5.0
# A gain is sought in so many halvings with all bets, and then with the few that won most.
ROUGH_STEPS, FEW = 10, 4
# The logarithm of a product that counts for nothing; and what a factor of zero counts as.
NOTHING, SMALLEST = -1e300, 1e-300
# Without a training window: variances between those of independent and of equal rewards, in steps of this ratio.
VARIANCE_STEP = 4.0


@dataclass(frozen=True, eq=False)
class UnitTotals:
    """Units by what they could earn, what they earned and what was expected: ``units[i]`` of them at each point.

    ``size``: R; ``earned``: g, a share of R; ``expected``: e, likewise, None for a value; with ``known`` False it is
    the share of R that has positive u, from which e follows for every mean reward. ``independent``, ``dependent``: sums
    over units of the squared coefficients of their rewards, and of their squared sums; ``icc``: the intraclass
    correlation of rewards that was known before the window. Under doubt (see doubt): ``offset``, what units would earn
    together if there were no gain, less what is certain, None where that is what is expected; ``rates``, the mean
    rewards that are thought of if these are not all.
    """

    size: Floats
    earned: Floats
    units: Floats
    independent: float
    dependent: float
    expected: Floats | None = None
    known: bool = True
    icc: float | None = None
    offset: float | None = None
    rates: Floats | None = None

    @property
    def flipped(self) -> UnitTotals:
        """Return the same units with 1 - reward in the place of every reward."""
        expected = 1 - self.expected if self.expected is not None and self.known else self.expected
        return replace(self, earned=1 - self.earned, expected=expected)

    @property
    def total(self) -> float:
        """Return what all units could earn."""
        return float((self.size * self.units).sum())

    def span(self, traffic: float) -> Ends:
        """Return what the gain on so many events could be at the least and at the most."""
        if self.offset is None:
            return -self.total / traffic, self.total / traffic
        return -self.offset / traffic, (self.total - self.offset) / traffic

    def variances(self) -> tuple[Floats, Floats]:
        """Return the variances that bets are planned with, relative to that of one reward, and the bets' weights."""
        least, most = self.independent, max(self.dependent, self.independent)
        if self.icc is not None:
            planned = (1 - self.icc) * least + self.icc * most
            return planned / FACTORS**2, WEIGHTS
        steps = 1 + math.ceil(math.log(max(most / least, 1.0)) / math.log(VARIANCE_STEP) - 1e-9)
        return np.geomspace(least, most, steps), np.full(steps, 1 / steps)


def unit_value_ends(units: UnitTotals, events: float, delta: float) -> Ends:
    """Return the ends of the mean over T events of coefficient * reward; each fails with chance at most delta / 2."""
    most = units.total / events
    if units.total <= 0 or units.independent <= 0:
        return 0.0, most
    limit = math.log(2 / delta)
    return most * _lower_share(units, limit), most * (1 - _lower_share(units.flipped, limit))


def _lower_share(units: UnitTotals, limit: float) -> float:
    """Return the first p = expected share of all that could be earned that the bets do not rule out."""
    present = (units.size > 0) & (units.units > 0)
    size, earned, n = (part[present] for part in (units.size, units.earned, units.units))
    gained = size * earned
    variances, weights = units.variances()
    typical = variances / units.total
    logits = math.log(SPAN) * np.arange(-SPANS, SPANS + 1.0)
    # A row of bets for every span of claims.
    planned = np.stack([chernoff_bets(logits, units.total / one, limit) / one for one in typical], axis=1)

    def is_ruled_out(bets: Floats, until: float, logit: float) -> bool:
        forms = _at_risk(bets, size, share_of(until)) > MOST_AT_RISK
        p = share_of(logit)
        won = [_won(bet * size * p, bet * gained, form, n) for bet, form in zip(bets, forms, strict=True)]
        return log_mean(np.array(won), weights) >= limit

    ruled_out = -math.inf
    for until, best in zip(logits.tolist(), planned, strict=True):
        bets = affordable(best, size, share_of(until), n)
        if not is_ruled_out(bets, until, until):
            if ruled_out == -math.inf:
                return 0.0
            ruled_out = last_ruled_out(partial(is_ruled_out, bets, until), ruled_out, until)
            break
        ruled_out = until
    return float(share_of(ruled_out))


def _at_risk(bets: Floats, size: Floats, expected: Floats) -> Floats:
    risk: Floats = np.outer(bets, size) * expected
    return risk


def affordable(bets: Floats, size: Floats, expected: Floats, units: Floats) -> Floats:
    """Return for each bet the part of it that promises most, what heavy units lose for certain taken off.

    At the distance where a bet L0 that is best without these wins 1, a part y of it wins 2y - y^2; relative to that, a
    heavy unit with a = L * size * expected loses a - log(1 + a).

    Args:
        bets: Bets that are best without heavy units.
        size: What units could earn.
        expected: The share of it that is expected, for each unit or for all.
        units: How many there are.
    """
    if bets.max() * (size * expected).max() <= MOST_AT_RISK:
        return bets
    chosen = []
    for best in bets:
        a = _at_risk(best * PARTS, size, expected)
        lost = (certain_loss(a, a) * units).sum(axis=1)
        chosen.append(best * PARTS[np.argmax((2 * PARTS - PARTS**2) * PROMISED - lost)])
    return np.array(chosen)


def certain_loss(at_most: Floats, expected: Floats) -> Floats:
    """Return a - log(1 + a), what heavy units are expected to lose: those that may lose nearly all ``at_most``."""
    loss: Floats = np.where(at_most > MOST_AT_RISK, expected - np.log1p(expected), 0.0)
    return loss


def _won(lost: Floats, won: Floats, heavy: NDArray[np.bool_], units: Floats) -> float:
    """Return the logarithm of the product over units; ``heavy`` ones have the exponential form.

    Args:
        lost: bet * size * expected share.
        won: bet * size * earned share.
        heavy: Which units are.
        units: How many there are.
    """
    if not heavy.any():
        return float((np.log(np.maximum(1.0 + won - lost, SMALLEST)) * units).sum())
    logs = np.log(np.maximum(1.0 + won - np.where(heavy, 0.0, lost), SMALLEST)) - np.where(heavy, lost, 0.0)
    return float((logs * units).sum())


def unit_gain_ends(units: UnitTotals, traffic: float, delta: float) -> Ends:
    """Return the ends of the gain over logging on T_B = ``traffic`` events; each fails with chance delta / 2."""
    if traffic <= 0:
        return 0.0, 0.0
    most = units.total / traffic
    if units.independent <= 0:
        return -most, most
    limit = math.log(2 / delta)
    return lower_unit_gain([units], traffic, limit), -lower_unit_gain([units.flipped], traffic, limit)


def lower_unit_gain(parts: Sequence[UnitTotals], traffic: float, limit: float) -> float:
    """Return the last gain that is ruled out: roughly by all bets, then by the few that won most there.

    To leave bets out of an average makes it smaller, so that whatever is chosen by what they won, nothing is ruled out
    that the average of all does not rule out. Where no unit's gain could vary without doubt, no bet can be planned: the
    end is what is possible at the least.

    Args:
        parts: The units; several ways to sum them that each have some of the rates, under doubt.
        traffic: T_B, the events that a gain is told for.
        limit: The logarithm of what bets must win: ln(2 / delta).
    """
    if traffic <= 0:
        return 0.0
    start, end = min(part.span(traffic)[0] for part in parts), max(part.span(traffic)[1] for part in parts)
    if any(part.independent <= 0 for part in parts):
        return start
    won = gain_evidence(parts, traffic, limit)
    rough = last_ruled_out(lambda m: log_sum(won(m)) >= limit, start, end, steps=ROUGH_STEPS)
    best = np.argsort(won(rough))[-FEW:]
    beyond = min(rough + (end - start) / 2**ROUGH_STEPS, end)
    return last_ruled_out(lambda m: log_sum(won(m, best)) >= limit, rough, beyond)


def gain_evidence(parts: Sequence[UnitTotals], traffic: float, limit: float) -> Callable[..., Floats]:
    """Return a function of m and, if not of all, of some bets: the logarithms of their parts of the average.

    What is averaged has expectation at most 1 if the gain on ``traffic`` events is m or less.

    Args:
        parts: Units by what they could gain, what they gained and what was expected; several as for the lower end.
        traffic: T_B, the events that a gain is told for.
        limit: The logarithm of what bets must win: ln(2 / delta).
    """
    claims = [claim for part in parts for claim in _claims(part, limit)]

    def part(i: int, m: float) -> float:
        claim = claims[i]
        lost = claim.bet * claim.size * (claim.share + m * traffic / claim.total)
        # A factor that could be below zero, whatever was earned, has no place in a product.
        if lost[~claim.heavy].max(initial=0.0) > 1:
            return NOTHING
        return _won(lost, claim.bet * claim.gained, claim.heavy, claim.units) + math.log(claim.weight)

    def evidence(m: float, some: NDArray[np.int64] | None = None) -> Floats:
        return np.array([part(i, m) for i in (range(len(claims)) if some is None else some.tolist())])

    return evidence


class _Claim(NamedTuple):
    """A bet on units that could gain ``size``, gained ``gained``, and would earn ``share`` of it without a gain."""

    size: Floats
    gained: Floats
    units: Floats
    total: float
    share: Floats
    bet: float
    heavy: NDArray[np.bool_]
    weight: float


def _claims(units: UnitTotals, limit: float) -> Iterator[_Claim]:
    """Plan bets for every variance and, where nothing is known of rewards, every mean reward."""
    present = (units.size > 0) & (units.units > 0)
    size, earned, n = (part[present] for part in (units.size, units.earned, units.units))
    expected = np.zeros_like(size) if units.expected is None else units.expected[present]
    variances, weights = units.variances()
    rates = UNKNOWN if units.rates is None else units.rates
    for b in [None] if units.known else rates.tolist():
        share = expected if b is None else b * expected + (1 - b) * (1 - expected)
        if units.offset is not None:
            share = share + (units.offset - float((share * size * n).sum())) / units.total
        best = np.sqrt(2 * limit / (variances if b is None else variances * b * (1 - b)))
        # A unit has one form for all gains, so that the evidence falls as they grow; room is left to double rewards.
        room = float((np.minimum(share, np.maximum(1 - share, 0.0)) * size * n).sum()) / units.total
        bets = affordable(best, size, share + room, n)
        heavy = _at_risk(bets, size, share + room) > MOST_AT_RISK
        for bet, form, weight in zip(bets.tolist(), heavy, weights.tolist(), strict=True):
            yield _Claim(
                size, size * earned, n, units.total, share, bet, form, weight / (1 if b is None else len(UNKNOWN))
            )


def log_sum(logs: Floats) -> float:
    """Return the logarithm of a sum of exponentials."""
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))
