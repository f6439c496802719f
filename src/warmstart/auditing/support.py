"""How much choice the log holds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import ibis

from warmstart.core.names import PROBABILITY
from warmstart.results import ActionCount, EvenShares, Exploration, SupportAt

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells

TAUS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
BINS = (("1", 1, 1), ("2", 2, 2), ("3 to 5", 3, 5), ("6 to 10", 6, 10), ("11 or more", 11, math.inf))
# A context is asked whether its actions were shown evenly if each could be expected so often.
EXPECTED_EACH = 5
CHOICE_KEPT, EQUAL = 0.9, 1e-9
Z_ONE_PERCENT = 2.3263478740408408


def exploration(cells: Cells, uniform: ir.Table, *, live: bool) -> Exploration:
    """Describe the choice in the log; ``uniform`` is the uniform policy's table, with the columns of its cells."""
    found = cells.engine.fetch(_by_context(cells))[0]
    table, events = cells.table, cells.evaluated.window.events
    entropy = cells.engine.fetch(table.agg(h=(table.n * (table.context_n / table.n).ln()).sum()))[0]["h"] / events
    counts = tuple(
        ActionCount(label, round(found[f"contexts_{j}"]), found[f"traffic_{j}"] / events)
        for j, (label, _, _) in enumerate(BINS)
    )
    sums = cells.engine.fetch(_uniform_sums(uniform))[0]
    rate = sums["rewards"] / events
    support = tuple(
        SupportAt(
            tau,
            (sums[f"supported_{i}"] or 0.0) / events,
            found[f"choice_{i}"] / events,
            (rate * (sums[f"lost_{i}"] or 0.0) / events) ** 2 + rate * (sums[f"squares_{i}"] or 0.0) / events**2,
        )
        for i, tau in enumerate(TAUS)
    )
    tested = round(found["tested"])
    even = EvenShares(tested, found["rejected"] / tested if tested else 0.0)
    return Exploration(counts, math.exp(entropy), support, even, live)


def recommended_tau(found: Exploration) -> float:
    """Return the tau at which clipping and variance together cost uniform least; of equals the largest.

    A larger tau has the narrower interval. Taus at which much of the choice would be lost are left out.
    """
    most = max(at.choice for at in found.support)
    kept = [at for at in found.support if at.choice >= CHOICE_KEPT * most]
    least = min(at.error for at in kept)
    return max(at.tau for at in kept if at.error <= least * (1 + EQUAL))


def _by_context(cells: Cells) -> ir.Table:
    table = cells.table
    propensity = table.n / table.context_n
    above = {f"above_{i}": (propensity >= tau).cast("float64").sum() for i, tau in enumerate(TAUS)}
    contexts = table.group_by(*cells.columns.context_keys).agg(
        n=table.context_n.max(),
        actions=table.context_actions.max(),
        squares=(table.n * table.n).sum(),
        **above,
    )
    n, actions = contexts.n, contexts.actions
    sums: dict[str, ir.Value] = {}
    for j, (_, fewest, most) in enumerate(BINS):
        inside = actions >= fewest if math.isinf(most) else actions.between(fewest, most)
        sums |= {f"contexts_{j}": inside.cast("float64").sum(), f"traffic_{j}": inside.ifelse(n, 0.0).sum()}
    for i in range(len(TAUS)):
        sums[f"choice_{i}"] = (contexts[f"above_{i}"] >= 2).ifelse(n, 0.0).sum()
    tested = (actions > 1) & (n >= EXPECTED_EACH * actions)
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


def _uniform_sums(rows: ir.Table) -> ir.Table:
    h, propensity = rows[PROBABILITY], rows.n / rows.context_n
    sums: dict[str, ir.Value] = {"rewards": rows.reward_sum.sum()}
    for i, tau in enumerate(TAUS):
        floor = ibis.greatest(propensity, ibis.literal(tau))
        weight = h / floor
        sums |= {
            f"supported_{i}": (propensity >= tau).ifelse(rows.context_n * h, 0.0).sum(),
            f"lost_{i}": (rows.context_n * h * (1.0 - propensity / floor)).sum(),
            f"squares_{i}": (rows.n * weight * weight).sum(),
        }
    return rows.agg(**sums)
