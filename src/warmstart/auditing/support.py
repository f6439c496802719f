"""How much choice the log holds: support (overlap) by tau, and the tau to begin with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import ibis

from warmstart.estimators import choose_tau, squared_error, supported_ratio
from warmstart.events import counted_propensity
from warmstart.results import ActionCount, EvenShares, Exploration, SupportAt

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.estimators import WeightedRows
    from warmstart.events import Cells

TAUS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
BINS = (("1", 1, 1), ("2", 2, 2), ("3 to 5", 3, 5), ("6 to 10", 6, 10), ("11 or more", 11, math.inf))
# A context is asked whether its actions were shown evenly if each could be expected so often.
EXPECTED_EACH = 5
Z_ONE_PERCENT = 2.3263478740408408


def counted_exploration(weighted: WeightedRows, cells: Cells, *, live: bool) -> tuple[Exploration, float]:
    """Describe the choice in the log, and return the tau that evaluate would choose for the uniform policy.

    Args:
        weighted: The weighted table of the uniform policy.
        cells: The cells of the log.
        live: Whether that policy chooses among the actions that are live on the day.
    """
    engine, rows, table, events = cells.engine, weighted.table, cells.table, weighted.events
    choice = choose_tau(engine, rows, events, None)
    costs = {at.tau: (at.lost, at.standard_error**2 / choice.rate) for at in choice.curve}
    taus = sorted({*TAUS, choice.tau})
    by_context = engine.fetch(_by_context(cells, taus))[0]
    of_cells = engine.fetch(_over_cells(table))[0]
    by_context = {name: value or 0.0 for name, value in by_context.items()}
    by_context |= {"contexts_0": of_cells["single"], "traffic_0": of_cells["single_traffic"]}
    counts = tuple(
        ActionCount(label, round(by_context[f"contexts_{j}"]), by_context[f"traffic_{j}"] / events)
        for j, (label, _, _) in enumerate(BINS)
    )
    rate = cells.totals["rewards"] / events
    support = tuple(
        SupportAt(at, share, by_context[f"choice_{i}"] / events, squared_error(*costs[at], rate))
        for i, (at, share) in enumerate(zip(taus, supported_shares(weighted, taus), strict=True))
    )
    tested = round(by_context["tested"])
    even = EvenShares(tested, by_context["rejected"] / tested if tested else 0.0)
    return Exploration(counts, math.exp(of_cells["entropy"] / events), support, even, live), choice.tau


def supported_shares(weighted: WeightedRows, taus: Sequence[float]) -> list[float]:
    """Return the share of traffic on which a policy is supported, for every tau."""
    rows = weighted.table
    sums = {f"{tau}": (supported_ratio(rows, tau) * rows.n).sum() for tau in taus}
    totals = weighted.engine.fetch(rows.agg(**sums))[0]
    return [float(totals[f"{tau}"] or 0.0) / weighted.events for tau in taus]


def _over_cells(table: ir.Table) -> ir.Table:
    """Return one row: the entropy of actions, and the contexts with a single action, whose cell says all of them."""
    single = (table.context_actions == 1) & (table.n > 0)
    return table.agg(
        entropy=-(table.n * counted_propensity(table).ln()).sum(),
        single=single.cast("float64").sum(),
        single_traffic=single.ifelse(table.n, 0.0).sum(),
    )


def _by_context(cells: Cells, taus: Sequence[float]) -> ir.Table:
    """Return one row of sums over the contexts with several actions: most have one, and no choice."""
    table = cells.table.filter(cells.table.context_actions > 1)
    propensity = counted_propensity(table)
    above = {f"above_{i}": (propensity >= tau).cast("float64").sum() for i, tau in enumerate(taus)}
    contexts = table.group_by(*cells.columns.context_keys).agg(
        n=table.context_n.max(),
        actions=table.context_actions.max(),
        squares=(table.n * table.n).sum(),
        **above,
    )
    n, actions = contexts.n, contexts.actions
    sums: dict[str, ir.Value] = {}
    for j, (_, fewest, most) in enumerate(BINS[1:], start=1):
        inside = actions >= fewest if math.isinf(most) else actions.between(fewest, most)
        sums |= {f"contexts_{j}": inside.cast("float64").sum(), f"traffic_{j}": inside.ifelse(n, 0.0).sum()}
    for i in range(len(taus)):
        sums[f"choice_{i}"] = (contexts[f"above_{i}"] >= 2).ifelse(n, 0.0).sum()
    tested = n >= EXPECTED_EACH * actions
    rejected = tested & _uneven(n, actions, contexts.squares)
    sums |= {"tested": tested.cast("float64").sum(), "rejected": rejected.cast("float64").sum()}
    return contexts.agg(**sums)


def _uneven(n: ir.Value, actions: ir.Value, squares: ir.Value) -> ir.BooleanValue:
    """Tell whether chi-square against equal shares lies beyond its 1 % point (Wilson and Hilferty's transform)."""
    freedom = ibis.greatest(actions - 1.0, ibis.literal(1.0))
    statistic = squares * actions / n - n
    spread = 2.0 / (9.0 * freedom)
    root = ibis.greatest(statistic / freedom, ibis.literal(0.0)) ** (1 / 3)
    return root > 1.0 - spread + Z_ONE_PERCENT * spread.sqrt()
