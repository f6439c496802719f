"""The rule for tau, the clipping constant: one for audit and evaluate, and never a look at evaluated rewards."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import ibis
import numpy as np

from warmstart.core import EPOCH, PART, PROBABILITY, PROPENSITY
from warmstart.estimators.weights import TauByEpoch, clipped
from warmstart.events import RATE_BEFORE
from warmstart.results import TauChoice, TauPoint

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from numpy.typing import NDArray

    from warmstart.engine import Engine, Row
    from warmstart.events import EpochList

    Floats = NDArray[np.float64]

CANDIDATES = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5)
# Without a training window nobody knows the rate: the tau that loses least against the best at any of these. A rate
# above a half counts as one minus it, so that rewards and their lack choose the same tau.
RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 0.5)
MIDDLING_TAU = 0.05
# A tau of at least half the best one that clips nothing is taken if its error is at most so many times the least: that
# an action's share hardly misses the best, as .199 does .2, would take all its support for next to nothing.
AS_GOOD, NOTHING = 1.1, 1e-9
# Weights of propensities that are not counts never add up to the traffic exactly. So a tau clips nothing if it costs no
# more weight than the smallest one, and what that lacks is chance up to so many standard errors of the mean weight.
CHANCE = 3.0
LEAST_RATE = 1e-6
KEPT = "kept_by"


def choose_tau(engine: Engine, rows: ir.Table, events: float, rate: float | None) -> TauChoice:
    """Return the tau with the least expected error of the value.

    Where the rate is not known: the tau whose error is the smallest multiple of the least one, whatever the rate. The
    largest of equals: smaller weights. A tau that clips nothing is taken before one that is hardly better.

    Args:
        engine: Where the rows are.
        rows: The weighted table.
        events: T, all events of the window.
        rate: The mean reward that was known before the window, if any.
    """
    lost, squares = _clipping_cost(engine.fetch(_clipping_sums(rows)))
    return _best(lost / events, squares / events**2, rate)


@dataclass(frozen=True, eq=False)
class ClippingCost:
    """What each candidate would cost on some events: what weights lack of what they should be, and their squares."""

    events: float
    lost: Floats
    squares: Floats

    @classmethod
    def none(cls) -> Self:
        """Return the cost on no events."""
        return cls(0.0, np.zeros(len(CANDIDATES)), np.zeros(len(CANDIDATES)))

    def with_more(self, events: float, cost: tuple[Any, Any]) -> ClippingCost:
        """Return the cost on these and more events."""
        return ClippingCost(self.events + events, self.lost + cost[0], self.squares + cost[1])

    def choose(self, rate: float | None) -> TauChoice:
        """Return the tau with the least expected error."""
        return _best(self.lost / self.events, self.squares / self.events**2, rate)

    def to_dict(self) -> dict[str, Any]:
        """Return the cost as plain numbers, to go on from another day."""
        return {"events": self.events, "lost": self.lost.tolist(), "squares": self.squares.tolist()}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Read what ``to_dict`` wrote."""
        lost, squares = (np.array(state[name], dtype=np.float64) for name in ("lost", "squares"))
        if lost.shape != (len(CANDIDATES),) or squares.shape != lost.shape or not np.isfinite([*lost, *squares]).all():
            raise ValueError("these are no costs of clipping")
        return cls(float(state["events"]), lost, squares)


def choose_tau_by_epoch(
    engine: Engine, rows: ir.Table, epochs: EpochList, before: ClippingCost | None = None
) -> tuple[TauByEpoch, TauChoice, ClippingCost]:
    """Return for each epoch the best tau for all events up to its end, as steps; the choice for the last one; its cost.

    Later epochs have no say in a tau, since what they show may react to rewards; the mean reward before it has.

    Args:
        engine: Where the rows are.
        rows: The weighted table by epoch.
        epochs: The epochs of the window.
        before: The cost on the epochs before these.
    """
    sums: dict[int, list[Row]] = {}
    for row in engine.fetch(_clipping_sums(rows, EPOCH, rate=rows[RATE_BEFORE].max())):
        sums.setdefault(row[EPOCH], []).append(row)
    rates = {number: max((row["rate"] for row in some if row["rate"]), default=None) for number, some in sums.items()}
    costs = {number: _clipping_cost(some) for number, some in sums.items()}
    so_far, choices = before or ClippingCost.none(), []
    for number, size in zip(epochs.numbers.tolist(), epochs.events.tolist(), strict=True):
        so_far = so_far.with_more(size, costs.get(number, (0.0, 0.0)))
        choices.append((number, so_far.choose(rates.get(number))))
    steps = [choices[0], *(later for earlier, later in pairwise(choices) if later[1].tau != earlier[1].tau)]
    return TauByEpoch(tuple((number, choice.tau) for number, choice in steps)), choices[-1][1], so_far


def _best(lost: Floats, squares: Floats, rate: float | None) -> TauChoice:
    rates = np.array(RATES if rate is None else [max(min(rate, 1 - rate), LEAST_RATE)])[:, None]
    errors = np.sqrt(squared_error(lost, squares, rates))
    least = np.maximum(errors.min(axis=1, keepdims=True), 1e-300)
    regrets = (errors / least).max(axis=0)
    taus = np.array(CANDIDATES)
    best = float(taus[regrets <= regrets.min() * (1 + 1e-9)].max())
    by_clipping, most = lost - lost[0], AS_GOOD * regrets.min()
    if abs(lost[0]) <= CHANCE * math.sqrt(squares[0]):
        regrets = (np.sqrt(squared_error(by_clipping, squares, rates)) / least).max(axis=0)
    whole = (by_clipping <= NOTHING) & (regrets <= most) & (taus >= best / 2)
    best = float(taus[whole].max()) if whole.any() else best
    shown = float(np.exp(np.log(rates).mean()))
    curve = tuple(
        TauPoint(tau, abs(float(share)), math.sqrt(shown * part), math.sqrt(squared_error(share, part, shown)))
        for tau, share, part in zip(CANDIDATES, lost, squares, strict=True)
    )
    return TauChoice(best, shown, rate is not None, curve)


def squared_error(lost: Any, squares: Any, rate: Any) -> Any:
    """Return (rate * lost)^2 + rate * squares: bias and variance, if rewards came at the same rate everywhere."""
    return (rate * lost) ** 2 + rate * squares


def _clipping_sums(rows: ir.Table, *keys: str, **more: ir.Value) -> ir.Table:
    """Sum weights and their squares by the number of candidates that do not clip them, as if all did and as if none.

    They should add up to the traffic on which the policy chooses what was shown; where nobody counts what was not, to
    all that it decides. Wrong propensities may also make them too many.
    """
    h, p, counted = rows[PROBABILITY], rows[PROPENSITY], PART not in rows.columns
    due = rows.context_n * h
    weight = clipped(rows, 0.0)
    # Where there is no propensity the weight is zero, and none is below a candidate.
    kept = ibis.cases(*((p < tau, i) for i, tau in enumerate(CANDIDATES)), else_=len(CANDIDATES))
    return rows.group_by(*keys, **{KEPT: kept}).agg(
        due=(rows.n > 0).ifelse(due, 0.0).sum() if counted else due.sum(),
        weight=(weight * rows.n).sum(),
        squares=(weight * weight * rows.n).sum(),
        all_clipped=(h * rows.n).sum(),
        squares_clipped=(h * h * rows.n).sum(),
        **more,
    )


def _clipping_cost(sums: Sequence[Row]) -> tuple[Floats, Floats]:
    """Return for each candidate what the weights lack of what they should be, and the sum of n * weight^2."""
    names = ("due", "weight", "squares", "all_clipped", "squares_clipped")
    due, weight, squares, ones, square_ones = (np.array([float(row[name] or 0.0) for row in sums]) for name in names)
    taus = np.array(CANDIDATES)[:, None]
    kept = np.array([row[KEPT] for row in sums]) > np.arange(len(CANDIDATES))[:, None]
    clipped_sum = np.where(kept, weight, ones / taus).sum(axis=1)
    return due.sum() - clipped_sum, np.where(kept, squares, square_ones / taus**2).sum(axis=1)


def matched_rate(engine: Engine, rows: ir.Table) -> float | None:
    """Return the self-normalised mean reward of what the policy would choose; None where all rewards are 0, or all 1.

    For propensities that certify nothing: there the evaluated rewards may have a say in tau.
    """
    c = clipped(rows, MIDDLING_TAU)
    totals = engine.fetch(rows.agg(reward=(c * rows.reward_sum).sum(), weight=(c * rows.n).sum()))[0]
    rate = float(totals["reward"] or 0.0) / float(totals["weight"] or math.inf)
    return rate if LEAST_RATE < rate < 1 - LEAST_RATE else None
