"""Where a policy's choices would have to be shown: the contexts to explore in, and what the log to come is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np

from warmstart.auditing.continuation import ChosenCells, UnitVisits
from warmstart.core import ACTION, EPOCH, PROBABILITY, PROPENSITY
from warmstart.engine import fetch_columns, float_literal
from warmstart.estimators import STRENGTH, level
from warmstart.events import VISIT_N, counted_propensity, free_texts, without_texts

if TYPE_CHECKING:
    from contextlib import ExitStack

    import ibis.expr.types as ir
    import pyarrow as pa

    from warmstart.estimators import WeightedRows
    from warmstart.events import Cells, Visits
    from warmstart.policy import PolicyTable

# Traffic of contexts, propensities and probabilities are told apart by this ratio.
RATIO = 1.25
# Choices that are rarer than those of this part of the policy's traffic may lose their support.
RARE = 0.05
# Columns: the events of a cell's context in the log or epoch that counts them, and how often it has so many.
SIZE, NUMBER, MISSING, EXPLORED = "size", "number", "missing", "explored"


@dataclass(frozen=True, eq=False)
class PlannedRows:
    """A policy's choices with what the log knows of them; ``rows`` is held in the engine.

    ``events``: those of the log; ``epochs``: how many it has, if propensities are counted within them; ``rare``: the
    policy's probability of a choice that is rare for it, 1 if it has one choice in a context.
    """

    cells: Cells
    rows: ir.Table
    events: float
    epochs: float | None
    rare: float

    @classmethod
    def of(cls, weighted: WeightedRows, cells: Cells, resources: ExitStack) -> PlannedRows:
        """Add to the weighted table what a plan needs to know, held in the engine until ``resources`` are released."""
        rows, keys = weighted.table, list(cells.columns.context_keys)
        epochs = None if weighted.epochs is None else float(len(weighted.epochs.numbers))
        rate = cells.engine.fetch(cells.table.agg(rate=cells.table.reward_sum.sum() / cells.table.n.sum()))[0]["rate"]
        contexts = cells.contexts.select(*keys, whole_n="context_n", whole_rewards="context_reward_sum")
        rows = rows.filter(rows[PROBABILITY] > 0, rows.context_n > 0).join(contexts, keys)
        p, h = rows[PROPENSITY].coalesce(0.0), rows[PROBABILITY]
        groups = ibis.window(group_by=list(weighted.groups))
        decided, covered, size = h.sum().over(groups), p.sum().over(groups), rows.context_n
        favoured = (p < h).ifelse(p, 0.0).sum().over(groups)
        if epochs is not None:
            # What was not shown is one row for all epochs, of its own.
            nowhere = rows[EPOCH].isnull()
            decided, covered = nowhere.ifelse(1.0, decided), nowhere.ifelse(0.0, covered)
            favoured = nowhere.ifelse(0.0, favoured)
            size = nowhere.ifelse(rows.whole_n / float_literal(epochs), size)
        rows = rows.select(
            *keys,
            propensity=p,
            probability=h,
            decided=decided,
            rest=ibis.greatest(1.0 - covered, float_literal(0)) * h / decided,
            favoured=favoured,
            expected=(rows.whole_rewards + STRENGTH * rate) / (rows.whole_n + STRENGTH),
            **{SIZE: size, NUMBER: rows.context_n / size},
        )
        rows = cells.engine.materialise(rows)
        resources.callback(rows.release)
        return cls(cells, rows, weighted.events, epochs, _rare(cells, rows))

    @property
    def traffic(self) -> ir.Value:
        """Return the events on which the policy would make a choice, as a column."""
        return self.rows[NUMBER] * self.rows[SIZE] * self.rows.probability

    def supported(self, tau: float) -> float:
        """Return the part of the policy's traffic that the log supports."""
        rows = self.rows
        enough = (rows.propensity >= tau).ifelse(self.traffic, 0.0).sum()
        totals = self.cells.engine.fetch(rows.agg(enough=enough, all=self.traffic.sum()))[0]
        return float(totals["enough"] or 0.0) / float(totals["all"])

    def where(self, share: float, coverage: float) -> ir.Table:
        """Return the contexts to explore in: the busiest of those that show the policy's choices less often than asked.

        As many as it takes for ``coverage`` of the policy's traffic. Columns: those of the context, ``missing``.

        Args:
            share: The share of the events of a context that will explore.
            coverage: The part of the policy's traffic that is to be supported.
        """
        rows, keys = self.rows, list(self.cells.columns.context_keys)
        below = rows.propensity < share * rows.probability
        rows = rows.mutate(lacks=below.ifelse(self.traffic, 0.0), traffic=self.traffic)
        contexts = rows.group_by(*keys).agg(**{MISSING: rows.lacks.sum()}, traffic=rows.traffic.sum())
        ordered = ibis.window(order_by=[ibis.desc(MISSING), *keys], preceding=None, following=0)
        everything = ibis.window()
        before = contexts[MISSING].sum().over(ordered) - contexts[MISSING]
        short = contexts[MISSING].sum().over(everything) - (1.0 - coverage) * contexts.traffic.sum().over(everything)
        contexts = contexts.mutate(before=before, short=short)
        chosen = contexts.filter(contexts[MISSING] > 0, contexts.before < contexts.short - 1e-9)
        return chosen.select(*keys, MISSING)

    def chosen_cells(self, contexts: ir.Table) -> ChosenCells:
        """Return the policy's choices in bins, those in some contexts explored."""
        keys = list(self.cells.columns.context_keys)
        marks = contexts.select(*keys, **{EXPLORED: ibis.literal(1)})
        rows = self.rows.left_join(marks, keys)
        rows = rows.select(*self.rows.columns, explored=rows[EXPLORED].coalesce(0))
        n, names = rows[NUMBER] * rows[SIZE], ("propensity", "probability", "decided", "rest", "favoured", "expected")
        bins = {f"{name}_bin": _log_bin(rows[name]) for name in (SIZE, "propensity", "probability")}
        bins |= {"level": level(rows.expected), EXPLORED: rows.explored}
        sums = {name: (n * rows[name]).sum() / n.sum() for name in names}
        binned = rows.group_by(**bins).agg(**sums, number=rows[NUMBER].sum(), events=n.sum() / rows[NUMBER].sum())
        columns = ("number", "events", *names, EXPLORED)
        fetched = fetch_columns(self.cells.engine, binned.order_by(*bins).select(*columns))
        by_name = dict(zip(columns, fetched, strict=True))
        return ChosenCells(**{**by_name, EXPLORED: by_name[EXPLORED] > 0})

    def facts(self, contexts: ir.Table) -> tuple[int, float, float]:
        """Count some contexts; return their share of the events, and what logging earns there per event of all."""
        table = self.cells.contexts.semi_join(contexts, list(self.cells.columns.context_keys))
        totals = {"contexts": table.count(), "n": table.context_n.sum(), "rewards": table.context_reward_sum.sum()}
        result = self.cells.engine.fetch(table.agg(**totals))[0]
        n, rewards = (float(result[name] or 0.0) / self.events for name in ("n", "rewards"))
        return int(result["contexts"]), n, rewards

    def busiest(
        self, policy: PolicyTable, contexts: ir.Table, *, most: int, name_texts: bool
    ) -> tuple[tuple[Any, ...], ...]:
        """Return the busiest of some contexts: their columns, what the policy shows there first, events and share.

        Contexts that are free text are numbered unless ``name_texts``.
        """
        keys, columns = list(self.cells.columns.context_keys), self.cells.columns
        first = contexts.order_by(ibis.desc(MISSING), *keys).limit(most)
        choices = policy.choices(self.cells).join(first, keys)
        order = ibis.window(group_by=keys, order_by=[ibis.desc(PROBABILITY), ACTION])
        choices = choices.mutate(place=ibis.row_number().over(order))
        choices = choices.filter(choices.place == 0).join(self.cells.contexts.select(*keys, "context_n"), keys)
        ordered = choices.order_by(ibis.desc(MISSING), *keys).select(*columns.keys, "context_n")
        rows, engine = self.cells.engine.fetch(ordered), self.cells.engine
        hidden = {} if name_texts else free_texts(engine, self.cells.contexts, keys, self.events)
        return tuple(
            (*(row[key] for key in columns.keys), round(row["context_n"]), row["context_n"] / self.events)
            for row in without_texts(rows, hidden)
        )

    def mixture(self, policy: PolicyTable, contexts: ir.Table, share: float) -> pa.Table:
        """Return what to show in some contexts: logging's shares, mixed with a share of the policy's choices.

        Where the policy leaves a part of a context undecided, logging keeps it. Busy contexts first.
        """
        keys, columns = list(self.cells.columns.context_keys), self.cells.columns
        table = self.cells.table
        shown = table.filter(table.n > 0).semi_join(contexts, keys)
        shown = shown.select(*columns.keys, p=counted_propensity(shown), h=float_literal(0))
        choices = policy.choices(self.cells).semi_join(contexts, keys)
        if EPOCH in choices.columns:
            # A policy that chooses anew in every epoch: its mean over them.
            of_context = choices.group_by(*keys).agg(epochs=choices[EPOCH].nunique().cast("float64"))
            choices = choices.join(of_context, keys)
            choices = choices.mutate(**{PROBABILITY: choices[PROBABILITY] / choices.epochs})
        chosen = choices.select(*columns.keys, p=float_literal(0), h=choices[PROBABILITY])
        both = ibis.union(shown, chosen, distinct=False)
        rows = both.group_by(*columns.keys).agg(p=both.p.sum(), h=both.h.sum())
        decided = rows.h.sum().over(ibis.window(group_by=keys))
        mixed = rows.select(*columns.keys, **{PROBABILITY: (1.0 - share * decided) * rows.p + share * rows.h})
        mixed = mixed.filter(mixed[PROBABILITY] > 0).join(contexts, keys)
        given = columns.fixed_to_given
        ordered = mixed.order_by(ibis.desc(MISSING), *keys, ibis.desc(PROBABILITY), columns.keys[-1])
        table = self.cells.engine.fetch_arrow(ordered.select(*columns.keys, PROBABILITY))
        return table.rename_columns([given.get(name, name) for name in table.column_names])


def unit_counts(cells: Cells, visits: Visits, icc: float, together: float) -> UnitVisits:
    """Count units by how often they come; see ``UnitVisits``."""
    units = visits.table.group_by(*visits.units).agg(visits=visits.table[VISIT_N].sum())
    counted = units.group_by("visits").agg(units=units.count().cast("float64")).order_by("visits")
    number, of_each = fetch_columns(cells.engine, counted.select("visits", "units"))
    return UnitVisits(np.round(number), of_each, icc, together)


def _rare(cells: Cells, rows: ir.Table) -> float:
    """Return the probability that all but the rarest choices of a policy have, by traffic."""
    bins = (rows.probability.ln() / math.log(RATIO)).round().cast("int64")
    traffic = rows[NUMBER] * rows[SIZE] * rows.probability
    sums = rows.group_by(bin=bins).agg(least=rows.probability.min(), traffic=traffic.sum()).order_by("bin")
    least, weight = fetch_columns(cells.engine, sums.select("least", "traffic"))
    return float(least[np.searchsorted(np.cumsum(weight), RARE * weight.sum(), side="right").clip(max=len(least) - 1)])


def _log_bin(value: ir.Value) -> ir.Value:
    """Return the bin of a number's logarithm; zeros have their own."""
    logarithm = ibis.greatest(value, float_literal(1e-12)).ln()
    return (logarithm / math.log(RATIO)).floor().cast("int64")
