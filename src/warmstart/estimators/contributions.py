"""The contexts and actions that a value rests on most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import ibis

from warmstart.core import ACTION, PROBABILITY
from warmstart.estimators.tau import choose_tau_by_epoch
from warmstart.estimators.weights import Clip, clipped
from warmstart.events import free_texts, without_texts
from warmstart.results import Contribution

if TYPE_CHECKING:
    from warmstart.estimators.rows import WeightedRows
    from warmstart.results import ValueEstimate


def top_contributions(
    weighted: WeightedRows, estimate: ValueEstimate, *, most: int, name_texts: bool = False
) -> list[Contribution]:
    """Return the contexts, then the actions, with the largest parts of reward * probability / max(propensity, tau).

    Contexts that are free text, such as prompts, are numbered, and only named with ``name_texts``.
    """
    rows, engine, tau = weighted.table, weighted.engine, estimate.tau
    clip: Clip = tau
    if estimate.tau_choice is not None and weighted.epochs is not None:
        clip, *_ = choose_tau_by_epoch(engine, rows, weighted.epochs)
    part = (rows.n > 0).ifelse(clipped(rows, weighted.floor(clip)) * rows.reward_sum, 0.0)
    terms = rows.mutate(part=part, traffic=rows.context_n * rows[PROBABILITY])
    total = engine.fetch(terms.agg(total=terms.part.sum()))[0]["total"] or 0.0
    if total <= 0:
        return []
    sides: list[tuple[Literal["context", "action"], Sequence[str]]] = [
        ("context", weighted.context_keys),
        ("action", (ACTION,)),
    ]
    largest = []
    for kind, keys in sides:
        parts = terms.group_by(*keys).agg(part=terms.part.sum(), traffic=terms.traffic.sum(), n=terms.n.sum())
        hidden = {} if kind == "action" or name_texts else free_texts(engine, parts, keys, weighted.events)
        result = engine.fetch(parts.filter(parts.part > 0).order_by(ibis.desc("part"), *keys).limit(most))
        for row in without_texts(result, hidden):
            name = tuple(row[key] for key in keys)
            share, traffic = row["part"] / total, row["traffic"] / weighted.events
            largest.append(Contribution(weighted.policy, tau, kind, name, share, traffic, round(row["n"])))
    return largest
