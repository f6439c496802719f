"""The reward model beside counted propensities: what is expected of a cell by all cells but itself.

    left_out(x, a) = rate of the action * rate of the context / rate of all, each without the cell, the first two shrunk
    expected(x, a) = (spread * rewards of the cell + noise * left_out) / (spread * events of the cell + noise)

With m = left_out, cells differ from it with variance spread * m * (1 - m) around it, and rewards inside a cell with
variance noise * m * (1 - m): so the second line is the mean of a cell given its own rewards and those of all others.
An error of the action's rate is one of all its cells, and so is one of the context's. A rate that is shrunk by k events
has n = N^2 / (N + spread / noise * sum of n^2) of its own to go by, N over its cells, and is off with variance
noise / (k + n), again times m * (1 - m). All are expressions over cells: no folds, no second look at the events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import ibis
import numpy as np

from warmstart.core import ACTION, ACTION_ERROR, CONTEXT_ERROR, EXPECTED, FOLD, LEFT_OUT, NOISE, SPREAD, to_numpy
from warmstart.engine import fetch_columns, float_literal, sample_by_key
from warmstart.features import KeyEncoder
from warmstart.reward.by_cell import NOTHING, STRENGTHS, shrunk_rate

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.events import Cells

    Floats = NDArray[np.float64]

# Strengths are chosen on about so many cells, of contexts chosen at random.
CELLS_TO_CHOOSE = 200_000
# Expectations stay this far from 0 and 1, where no reward would differ from them.
EDGE = 1e-6
LEAST_NOISE = 1e-6
# How many events of the overall rate the rates of an action and of a context are shrunk by.
CANDIDATES = tuple(product(STRENGTHS, STRENGTHS))
COLUMNS = ("n", "reward_sum", "reward_sq_sum", "action_n", "action_reward_sum", "context_n", "context_reward_sum")


@dataclass(frozen=True, eq=False)
class LeftOutMeans:
    """What cells are expected to earn. ``by_action``: the events and rewards of every action; ``rate``: of all.

    ``share``: of contexts, that is enough to learn from, or to judge by. ``strengths``: of action and context;
    ``room``: the strengths that their errors are told by, which allow for what the log leaves open.
    """

    context_keys: tuple[str, ...]
    by_action: ir.Table
    rate: float
    share: float
    strengths: tuple[float, float] = CANDIDATES[0]
    room: tuple[float, float] = CANDIDATES[0]
    spread: float = 0.0
    noise: float = 1.0

    def expect(self, rows: ir.Table) -> ir.Table:
        """Return rows of the weighted table with ``expected`` and ``left_out``, in [0, 1], and how far they are off."""
        known = self._with_action(rows)
        known = known.mutate(**{LEFT_OUT: self._left_out(known, self.strengths)})
        noise, spread = float_literal(self.noise), float_literal(self.spread)
        expected = (spread * known.reward_sum + noise * known[LEFT_OUT]) / (spread * known.n + noise)
        # Of a context's cells only the number is known: few large ones tell the least.
        context = known.context_n / (1.0 + float_literal(self.spread / self.noise) * known.context_n)
        errors = {
            ACTION_ERROR: noise / (float_literal(self.room[0]) + self._told_by_action(known)),
            CONTEXT_ERROR: noise / (float_literal(self.room[1]) + context),
        }
        return known.select(*rows.columns, LEFT_OUT, **{EXPECTED: expected, SPREAD: spread, NOISE: noise}, **errors)

    def sample(self, rows: ir.Table) -> ir.Table:
        """Return rows that were shown, of some contexts if there are many."""
        return sample_by_key(rows.filter(rows.n > 0), self.context_keys, self.share)

    def _told_by_action(self, rows: ir.Table) -> ir.Value:
        """Return how many events of one cell the other cells of an action tell as much as."""
        n = ibis.greatest(rows.action_n - rows.n, float_literal(0))
        squares = ibis.greatest(rows.action_n_sq - rows.n * rows.n, float_literal(0))
        return (n * n / (n + float_literal(self.spread / self.noise) * squares).nullif(0.0)).coalesce(0.0)

    def _with_action(self, rows: ir.Table) -> ir.Table:
        known = rows.left_join(self.by_action, ACTION)
        sums = {name: known[name].coalesce(0.0) for name in ("action_n", "action_n_sq", "action_reward_sum")}
        return known.select(*rows.columns, **sums)

    def _left_out(self, rows: ir.Table, strengths: tuple[float, float]) -> ir.Value:
        rate = float_literal(self.rate)
        action, context = (
            shrunk_rate(rows[f"{of}_n"] - rows.n, rows[f"{of}_reward_sum"] - rows.reward_sum, rate, strength)
            for of, strength in zip(("action", "context"), strengths, strict=True)
        )
        return ibis.least(ibis.greatest(action * context / rate, float_literal(EDGE)), float_literal(1 - EDGE))


@contextmanager
def open_left_out_means(cells: Cells) -> Iterator[LeftOutMeans]:
    """Learn from the cells of the evaluated window; strengths are those that make cells left out likeliest."""
    engine, shown = cells.engine, cells.table.filter(cells.table.n > 0)
    sums = {f"action_{name}": shown[name].sum() for name in ("n", "reward_sum")}
    sums["action_n_sq"] = (shown.n * shown.n).sum()
    by_action = engine.materialise(shown.group_by(ACTION).agg(**sums, cells=shown.count()))
    try:
        totals = by_action.agg(n=by_action.action_n.sum(), r=by_action.action_reward_sum.sum(), c=by_action.cells.sum())
        result = engine.fetch(totals)[0]
        rate = (float(result["r"]) + NOTHING) / (float(result["n"]) + NOTHING)
        share = CELLS_TO_CHOOSE / float(result["c"])
        means = LeftOutMeans(cells.columns.context_keys, by_action.drop("cells"), rate, share)
        cells_of_some = means._with_action(means.sample(shown)).select(*COLUMNS)
        sample = dict(zip(COLUMNS, fetch_columns(engine, cells_of_some), strict=True))
        # Once more when it is known how much cells differ.
        yield _with_strengths(_with_strengths(means, sample), sample)
    finally:
        by_action.release()


def _with_strengths(means: LeftOutMeans, sample: Mapping[str, Floats]) -> LeftOutMeans:
    """Choose strengths by the likelihood of cells left out, and tell how far these differ from what is expected."""
    n, rewards = sample["n"], sample["reward_sum"]

    def rate(of: str, strength: float) -> Floats:
        others, earned = sample[f"{of}_n"] - n, sample[f"{of}_reward_sum"] - rewards
        return (np.maximum(earned, 0.0) + strength * means.rate) / (others + strength)

    rates = {(of, k): rate(of, k) for of in ("action", "context") for k in STRENGTHS}
    best, least, losses = np.empty(0), np.inf, []
    for action, context in CANDIDATES:
        m = np.clip(rates["action", action] * rates["context", context] / means.rate, EDGE, 1 - EDGE)
        # Minus twice the logarithm of the likelihood, as if rewards were normal.
        variance = m * (1 - m) * (means.noise + means.spread * n)
        losses.append(float(((rewards - n * m) ** 2 / (n * variance) + np.log(m * (1 - m))).sum()))
        if losses[-1] < least:
            best, least = m, losses[-1]
    likely = np.exp((least - np.array(losses)) / 2)
    # Of strengths that are about as likely the smallest leave most room for error.
    room = tuple(float(likely.sum() / (likely / [pair[i] for pair in CANDIDATES]).sum()) for i in (0, 1))
    spread, noise = spread_and_noise(n, rewards, sample["reward_sq_sum"], best)
    strengths = CANDIDATES[losses.index(least)]
    return replace(means, strengths=strengths, room=(room[0], room[1]), spread=spread, noise=noise)


def spread_and_noise(n: Floats, rewards: Floats, squares: Floats, m: Floats) -> tuple[float, float]:
    """Return how cells differ from what is expected of them, and rewards inside a cell, both relative to m * (1 - m).

    Of a cell of n events, (mean - m)^2 has the expectation (spread + noise / n) * m * (1 - m).

    Args:
        n: The events of cells.
        rewards: Their sums of rewards.
        squares: And of squared rewards.
        m: What was expected.
    """
    v = m * (1 - m)
    inside, all_inside = float((squares - rewards**2 / n).sum()), float(((n - 1) * v).sum())
    noise = min(max(inside / all_inside, LEAST_NOISE), 1.0) if all_inside > 0 else 1.0
    apart = float(((rewards - n * m) ** 2 / n).sum() - noise * v.sum())
    return max(apart / float((n * v).sum()), 0.0), noise


def cell_errors(rows: pa.Table, keys: Sequence[str], expected: Floats) -> dict[str, float]:
    """Return how far expectations m of cells that were not seen are off, relative to m * (1 - m).

    Cells of an action whose expectations come from the same model share its error, and those of a context what columns
    do not tell of it: the mean product of the differences of two such cells.
    """
    n, rewards, squares, folds = (to_numpy(rows[name]) for name in ("n", "reward_sum", "reward_sq_sum", FOLD))
    m = np.clip(expected, EDGE, 1 - EDGE)
    v = m * (1 - m)
    difference, size = rewards - n * m, n * np.sqrt(v)
    spread, noise = spread_and_noise(n, rewards, squares, m)
    actions = KeyEncoder.of(rows[ACTION]).numbers(rows[ACTION])
    contexts = KeyEncoder.of(rows.select(list(keys))).numbers(rows)

    def shared(groups: NDArray[np.int64]) -> float:
        products, sizes = (np.bincount(groups, x) ** 2 - np.bincount(groups, x * x) for x in (difference, size))
        return max(float(products.sum() / max(sizes.sum(), EDGE)), 0.0)

    of_action, of_context = shared(actions * (int(folds.max()) + 1) + folds.astype(np.int64)), shared(contexts)
    spread = max(spread - of_action - of_context, 0.0)
    return {SPREAD: spread, NOISE: noise, ACTION_ERROR: of_action, CONTEXT_ERROR: of_context}
