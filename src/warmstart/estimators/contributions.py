"""The contexts and actions that an estimate rests on most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import ibis

from warmstart.core.names import ACTION, PROBABILITY, WindowName
from warmstart.estimators.sums import divided
from warmstart.propensity import counted_propensity
from warmstart.results import Contribution

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells
    from warmstart.policy import Policy


def top_contributions(
    policy: Policy, cells: Cells, *, tau: float, weights_from: WindowName, most: int
) -> list[Contribution]:
    """Return the contexts, then the actions, with the largest parts of reward * probability / max(propensity, tau)."""
    rows = policy.on(cells)
    floor = 0.0 if policy.is_logging else tau
    weights_from = "evaluated" if policy.is_logging else weights_from
    weight = divided(rows[PROBABILITY], counted_propensity(rows, weights_from), floor)
    part = (rows.n > 0).ifelse(weight * rows.reward_sum, 0.0)
    terms = rows.mutate(part=part, traffic=rows.context_n * rows[PROBABILITY])
    total = cells.engine.fetch(terms.agg(total=terms.part.sum()))[0]["total"] or 0.0
    if total <= 0:
        return []
    sides: list[tuple[Literal["context", "action"], Sequence[str]]] = [
        ("context", cells.columns.context_keys),
        ("action", (ACTION,)),
    ]
    found = []
    for kind, keys in sides:
        for row in cells.engine.fetch(_largest(terms, keys, most)):
            name = tuple(row[key] for key in keys)
            share, traffic = row["part"] / total, row["traffic"] / cells.evaluated.window.events
            found.append(Contribution(policy.name, tau, kind, name, share, traffic, round(row["n"])))
    return found


def _largest(terms: ir.Table, keys: Sequence[str], most: int) -> ir.Table:
    parts = terms.group_by(*keys).agg(part=terms.part.sum(), traffic=terms.traffic.sum(), n=terms.n.sum())
    return parts.filter(parts.part > 0).order_by(ibis.desc("part"), *keys).limit(most)
