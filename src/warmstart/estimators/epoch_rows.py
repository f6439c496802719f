"""Rows of the weighted table by epoch: what was shown of a policy's choices in every epoch, and the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import ibis

from warmstart.core import DECIDED, EPOCH, PROBABILITY, PROPENSITY
from warmstart.engine import float_literal
from warmstart.estimators.shown import with_share
from warmstart.events import N_BEFORE, RATE_BEFORE, REWARD_SUM_BEFORE, counted_propensity

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells, Strata
    from warmstart.policy import PolicyTable

SUMS = ("n", "reward_sum", "reward_sq_sum")
# Less than this part of an event is rounding.
NO_TRAFFIC = 1e-6


class RewardModel(Protocol):
    """Predicts what an action is expected to earn in a context."""

    def expect(self, rows: ir.Table) -> ir.Table:
        """Return the rows with a column ``expected``, and with ``left_out`` where the folds are of cells."""
        ...

    def sample(self, rows: ir.Table) -> ir.Table:
        """Return rows that were shown, a bounded number of them, to judge the model by."""
        ...


@dataclass(frozen=True, eq=False)
class CellModel:
    """A reward model of cells for rows by epoch: what a cell is expected to earn is the same in all of them.

    ``predicted``: the cells that the policy may choose, with the rewards that the model expects of them.
    """

    model: RewardModel
    predicted: ir.Table
    keys: tuple[str, ...]

    @classmethod
    def of(cls, model: RewardModel, chosen: ir.Table, keys: tuple[str, ...]) -> CellModel:
        """Ask the model of cells once for all epochs."""
        rows = model.expect(chosen)
        return cls(model, rows.select(*keys, *(name for name in rows.columns if name not in chosen.columns)), keys)

    def expect(self, rows: ir.Table) -> ir.Table:
        """Return the rows with what is expected of their cells."""
        joined = rows.join(self.predicted, list(self.keys))
        return joined.select(*rows.columns, *(name for name in self.predicted.columns if name not in self.keys))

    def sample(self, rows: ir.Table) -> ir.Table:
        """Return rows that were shown, a bounded number of them, to judge the model by."""
        return self.model.sample(rows)


def epoch_rows(
    policy: PolicyTable, strata: Strata, model: RewardModel | None, keep: Callable[[ir.Table], ir.Table]
) -> tuple[ir.Table, ir.Table | None, RewardModel | None]:
    """Return rows by epoch, the policy's share in every context (None: all), and a model that tells of cells."""
    cells = strata.cells
    if policy.is_logging:
        table = strata.shown
        rows = table.mutate(**{PROPENSITY: counted_propensity(table), DECIDED: float_literal(1)})
        return rows.mutate(**{PROBABILITY: rows[PROPENSITY]}), None, None
    if EPOCH in policy.table.columns:
        policy = replace(policy, table=keep(policy.choices(cells)))
    chosen = keep(_chosen_cells(policy, cells))
    decided = chosen.group_by(*cells.columns.context_keys).agg(**{DECIDED: chosen[DECIDED].max()})
    if model is not None:
        of_cells = CellModel.of(model, chosen, cells.columns.keys)
        model = replace(of_cells, predicted=keep(of_cells.predicted))
    return _by_epoch(policy, chosen, strata, keep), decided, model


def _chosen_cells(policy: PolicyTable, cells: Cells) -> ir.Table:
    """Return the cells that a policy may choose with their columns, and its whole share in their context."""
    if EPOCH not in policy.table.columns:
        return with_share(policy.on(cells), cells.columns.context_keys, whole=policy.whole)
    choices = policy.table.select(*cells.columns.keys).distinct().mutate(**{PROBABILITY: float_literal(1)})
    return with_share(replace(policy, table=choices, seated=False).on(cells), (), whole=True)


def _by_epoch(policy: PolicyTable, chosen: ir.Table, strata: Strata, keep: Callable[[ir.Table], ir.Table]) -> ir.Table:
    """Join choices with what was shown of them in every epoch; what was not is one row a cell, of no epoch.

    All sums are linear in the traffic of rows that were not shown, so that a row can stand for many epochs: its traffic
    is that of its context times the probability, which is 1.

    Args:
        policy: The policy.
        chosen: The cells that it may choose, with their columns, and ``decided``.
        strata: What was shown in every epoch.
        keep: Holds a table in the engine.
    """
    cells, keys = strata.cells, list(strata.cells.columns.keys)
    changing, sums = EPOCH in policy.table.columns, [f"context_{name}" for name in SUMS]
    choices = policy.choices(cells) if changing else chosen.select(*keys, PROBABILITY, DECIDED)
    shown = strata.table.join(choices, [*keys, EPOCH] if changing else keys)
    shown = shown.select(
        *strata.table.columns, PROBABILITY, **{DECIDED: float_literal(1) if changing else shown[DECIDED]}
    )
    shown = shown if strata.history is None else strata.history.add(shown)
    shown = keep(shown.mutate(**{PROPENSITY: counted_propensity(shown)}))
    h = shown[PROBABILITY]
    seen = shown.group_by(*keys).agg(**{f"seen_{name}": (h * shown[name]).sum() for name in sums})
    if changing:
        every = _traffic_of_choices(choices, strata, sums).mutate(**{DECIDED: float_literal(1)})
    else:
        every = chosen.select(*keys, DECIDED, **{name: chosen[PROBABILITY] * chosen[name] for name in sums})
    rest = every.left_join(seen, keys)
    left = {name: rest[name] - rest[f"seen_{name}"].coalesce(0.0) for name in sums}
    rest = rest.select(*keys, DECIDED, **left)
    rest = keep(rest.filter(rest.context_n > NO_TRAFFIC))
    nothing = {name: float_literal(0) for name in (*SUMS, "context_actions", N_BEFORE, REWARD_SUM_BEFORE, PROPENSITY)}
    unknown = {EPOCH: ibis.null(shown[EPOCH].type()), RATE_BEFORE: ibis.null("float64"), PROBABILITY: float_literal(1)}
    rest = rest.select(*keys, *sums, DECIDED, **nothing, **unknown)
    return ibis.union(shown, rest.select(*shown.columns), distinct=False)


def _traffic_of_choices(choices: ir.Table, strata: Strata, sums: Sequence[str]) -> ir.Table:
    """Return for every cell the traffic on which it is chosen, where that differs from epoch to epoch."""
    groups = list(strata.groups)
    rows = choices.join(strata.traffic.select(*groups, *sums), groups)
    h = rows[PROBABILITY]
    return rows.group_by(*strata.cells.columns.keys).agg(**{name: (h * rows[name]).sum() for name in sums})
