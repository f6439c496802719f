"""The reward model for contexts that repeat: cross-fitted cell means that borrow from action and context.

    f(x, a) = (rewards of the cell + k * borrowed) / (events of the cell + k)
    borrowed = rate of the action * rate of the context / rate of all, each shrunk to that of all the same way

All over the events of the other folds; k is how many events the borrowed rate counts for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import ibis

from warmstart.core import ACTION, EXPECTED, FOLD
from warmstart.engine import float_literal

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Strata

STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class CellMeans:
    """Cell means that borrow; ``by_action, overall``: events and rewards of other folds, by (action, fold) and fold."""

    context_keys: tuple[str, ...]
    by_action: ir.Table
    overall: ir.Table
    strength: float

    def expect(self, rows: ir.Table) -> ir.Table:
        """Return rows of the weighted table with the reward expected of them, in [0, 1]."""
        others = self._with_others(rows)
        return others.select(*rows.columns, **{EXPECTED: _score(others, self.strength)})

    def sample(self, rows: ir.Table) -> ir.Table:
        """Return the rows that were shown."""
        return rows.filter(rows.n > 0)

    def _with_others(self, rows: ir.Table) -> ir.Table:
        """Add what the other folds know of the cell, the action and all; rows know it of their context already."""
        cell = ibis.window(group_by=[*self.context_keys, ACTION])
        own = ibis.window(group_by=[*self.context_keys, ACTION, FOLD])
        rows = rows.mutate(
            **{f"cell_{name}": rows[name].sum().over(cell) - rows[name].sum().over(own) for name in ("n", "reward_sum")}
        )
        rows = rows.join(self.overall, FOLD)
        known = rows.left_join(self.by_action, [ACTION, FOLD])
        names = ("action_n", "action_reward_sum")
        return known.select(*rows.columns, **{name: known[name].coalesce(0.0) for name in names})


@contextmanager
def open_cell_means(strata: Strata) -> Iterator[CellMeans]:
    """Learn cell means from strata by fold; the strength has the least squared error on the folds held out."""
    engine, table = strata.cells.engine, strata.table
    sums = {name: table[name].sum() for name in ("n", "reward_sum")}
    with ExitStack() as resources:

        def keep(rows: ir.Table) -> ir.Table:
            held = engine.materialise(rows)
            resources.callback(held.release)
            return held

        by_action = table.group_by(ACTION, FOLD).agg(**sums)
        by_fold = table.group_by(FOLD).agg(**sums)
        others = {f"all_{name}": by_fold[name].sum().over(ibis.window()) - by_fold[name] for name in sums}
        overall = keep(by_fold.select(FOLD, **others))
        means = CellMeans(
            strata.cells.columns.context_keys, keep(_other_folds(by_action, overall)), overall, STRENGTHS[0]
        )
        shown = table.join(strata.traffic, list(strata.groups))
        rows = means._with_others(shown.select(*table.columns, "other_n", "other_reward_sum"))
        errors = {}
        for i, strength in enumerate(STRENGTHS):
            score = _score(rows, strength)
            # The squared error, but for the squares of rewards, which all have in common.
            errors[f"error_{i}"] = (score * (rows.n * score - 2.0 * rows.reward_sum)).sum()
        result = engine.fetch(rows.agg(**errors))[0]
        best = min(range(len(STRENGTHS)), key=lambda i: float(result[f"error_{i}"]))
        yield CellMeans(means.context_keys, means.by_action, overall, STRENGTHS[best])


def _other_folds(by_action: ir.Table, folds: ir.Table) -> ir.Table:
    """Return for every action and fold, shown in it or not, the action's sums over the other folds."""
    totals = by_action.group_by(ACTION).agg(all_n=by_action.n.sum(), all_rewards=by_action.reward_sum.sum())
    every = totals.cross_join(folds.select(FOLD))
    rows = every.left_join(by_action, [ACTION, FOLD])
    return rows.select(
        ACTION,
        FOLD,
        action_n=rows.all_n - rows.n.coalesce(0.0),
        action_reward_sum=rows.all_rewards - rows.reward_sum.coalesce(0.0),
    )


def _score(rows: ir.Table, strength: float) -> ir.Value:
    k, rate = float_literal(strength), (rows.all_reward_sum + NOTHING) / (rows.all_n + NOTHING)
    action, context = (
        shrunk_rate(rows[f"{of}_n"], rows[f"{of}_reward_sum"], rate, strength) for of in ("action", "other")
    )
    borrowed = ibis.least(action * context / rate, float_literal(1))
    score = (rows.cell_reward_sum + k * borrowed) / (rows.cell_n + k)
    return ibis.least(ibis.greatest(score, float_literal(0)), float_literal(1))


def shrunk_rate(n: ir.Value, rewards: ir.Value, rate: ir.Value, strength: float) -> ir.Value:
    """Return the mean of n rewards and of ``strength`` further ones at a rate; differences may round below zero."""
    k, none = float_literal(strength), float_literal(0)
    return (ibis.greatest(rewards, none) + k * rate) / (ibis.greatest(n, none) + k)
