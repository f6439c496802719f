"""The reward model beside counted propensities: what is expected of a cell by all cells but itself.

    left_out(x, a) = rate of the action * rate of the context / rate of all, each without the cell, the first two shrunk
    expected(x, a) = (spread * rewards of the cell + noise * left_out) / (spread * events of the cell + noise)

With m = left_out, cells differ from it with variance spread * m * (1 - m) around it, and rewards inside a cell with
variance noise * m * (1 - m): so the second line is the mean of a cell given its own rewards and those of all others.
It is an expression over cells: no folds, no second look at the events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import ibis

from warmstart.core import ACTION, EXPECTED, LEFT_OUT
from warmstart.engine import float_literal, sample_by_key
from warmstart.reward.by_cell import NOTHING, STRENGTHS, borrowed_rate

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells

# The strength is chosen on about so many cells, of contexts chosen at random.
CELLS_TO_CHOOSE = 200_000
# Expectations stay this far from 0 and 1, where no reward would differ from them.
EDGE = 1e-6


@dataclass(frozen=True, eq=False)
class LeftOutMeans:
    """What cells are expected to earn. ``by_action``: the events and rewards of every action; ``rate``: of all.

    ``share``: of contexts, that is enough to learn from, or to judge by.
    """

    context_keys: tuple[str, ...]
    by_action: ir.Table
    rate: float
    share: float
    strength: float
    spread: float = 0.0
    noise: float = 1.0

    def expect(self, rows: ir.Table) -> ir.Table:
        """Return rows of the weighted table with ``expected`` and ``left_out``, in [0, 1]."""
        known = self._with_action(rows)
        left_out = self._left_out(known, self.strength)
        known = known.mutate(**{LEFT_OUT: left_out})
        weight, own = float_literal(self.noise), float_literal(self.spread)
        expected = (own * known.reward_sum + weight * known[LEFT_OUT]) / (own * known.n + weight)
        return known.select(*rows.columns, LEFT_OUT, **{EXPECTED: expected})

    def sample(self, rows: ir.Table) -> ir.Table:
        """Return rows that were shown, of some contexts if there are many."""
        return sample_by_key(rows.filter(rows.n > 0), self.context_keys, self.share)

    def _with_action(self, rows: ir.Table) -> ir.Table:
        known = rows.left_join(self.by_action, ACTION)
        sums = {name: known[name].coalesce(0.0) for name in ("action_n", "action_reward_sum")}
        return known.select(*rows.columns, **sums)

    def _left_out(self, rows: ir.Table, strength: float) -> ir.Value:
        action, context = (
            (rows[f"{of}_n"] - rows.n, rows[f"{of}_reward_sum"] - rows.reward_sum) for of in ("action", "context")
        )
        rate = borrowed_rate(action, context, float_literal(self.rate), strength)
        return ibis.least(ibis.greatest(rate, float_literal(EDGE)), float_literal(1 - EDGE))


@contextmanager
def open_left_out_means(cells: Cells) -> Iterator[LeftOutMeans]:
    """Learn from the cells of the evaluated window; the strength has the least squared error on cells left out."""
    engine, shown = cells.engine, cells.table.filter(cells.table.n > 0)
    sums = {f"action_{name}": shown[name].sum() for name in ("n", "reward_sum")}
    by_action = engine.materialise(shown.group_by(ACTION).agg(**sums, cells=shown.count()))
    try:
        totals = by_action.agg(n=by_action.action_n.sum(), r=by_action.action_reward_sum.sum(), c=by_action.cells.sum())
        found = engine.fetch(totals)[0]
        rate = (float(found["r"]) + NOTHING) / (float(found["n"]) + NOTHING)
        share = CELLS_TO_CHOOSE / float(found["c"])
        means = LeftOutMeans(cells.columns.context_keys, by_action.drop("cells"), rate, share, STRENGTHS[0])
        rows = means._with_action(means.sample(shown))
        declared = {
            f"{name}_{i}": total
            for i, strength in enumerate(STRENGTHS)
            for name, total in _errors(rows, means._left_out(rows, strength)).items()
        }
        values = {name: float(value or 0.0) for name, value in engine.fetch(rows.agg(**declared))[0].items()}
        best = min(range(len(STRENGTHS)), key=lambda i: values[f"error_{i}"])
        spread, noise = spread_and_noise({name: values[f"{name}_{best}"] for name in _errors(rows, rows.n)})
        yield replace(means, strength=STRENGTHS[best], spread=spread, noise=noise)
    finally:
        by_action.release()


def _errors(rows: ir.Table, left_out: ir.Value) -> dict[str, ir.Value]:
    """Sum the squared error, but for the squares of rewards, which all have in common; and what tells it from noise."""
    error = rows.n * left_out * left_out - 2.0 * left_out * rows.reward_sum
    return {"error": error.sum(), **difference_sums(rows, left_out)}


def difference_sums(rows: ir.Table, left_out: ir.Value) -> dict[str, ir.Value]:
    """Sum over cells what ``spread_and_noise`` needs, with v = left_out * (1 - left_out)."""
    n, rewards, v = rows.n, rows.reward_sum, left_out * (1.0 - left_out)
    shown, twice = n > 0, n > 1
    difference = rewards - n * left_out
    return {
        "cells_apart": shown.ifelse(difference * difference / n.nullif(0.0), 0.0).sum(),
        "cells_v": shown.ifelse(v, 0.0).sum(),
        "cells_n_v": (n * v).sum(),
        "inside": twice.ifelse(rows.reward_sq_sum - rewards * rewards / n.nullif(0.0), 0.0).sum(),
        "inside_v": twice.ifelse((n - 1.0) * v, 0.0).sum(),
    }


def spread_and_noise(totals: Mapping[str, float]) -> tuple[float, float]:
    """Return how cells differ from what is expected of them, and rewards inside a cell, both relative to m * (1 - m).

    Of a cell of n events, (mean - m)^2 has the expectation (spread + noise / n) * m * (1 - m).
    """
    noise = totals["inside"] / totals["inside_v"] if totals["inside_v"] > 0 else 1.0
    noise = min(max(noise, NOTHING), 1.0)
    apart = totals["cells_apart"] - noise * totals["cells_v"]
    return max(apart / totals["cells_n_v"], 0.0) if totals["cells_n_v"] > 0 else 0.0, noise
