"""The contexts and actions that a value rests on most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import ibis

from warmstart.core import ACTION, PROBABILITY
from warmstart.estimators.tau import choose_tau_by_epoch
from warmstart.estimators.weights import Clip, clipped
from warmstart.results import Contribution

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.estimators.rows import WeightedRows
    from warmstart.results import ValueEstimate

# Text of so many words on average is nobody's category (names of groups of prompts have up to four), nor is text that
# hardly repeats.
WORDS, DISTINCT, SHARE = 5, 20, 0.5


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
        hidden = _free_texts(weighted, parts, keys) if kind == "context" and not name_texts else {}
        found = engine.fetch(parts.filter(parts.part > 0).order_by(ibis.desc("part"), *keys).limit(most))
        for i, row in enumerate(found, start=1):
            name = tuple(
                f"text {i} of {hidden[key]:,}, not shown" if key in hidden and row[key] is not None else row[key]
                for key in keys
            )
            share, traffic = row["part"] / total, row["traffic"] / weighted.events
            largest.append(Contribution(weighted.policy, tau, kind, name, share, traffic, round(row["n"])))
    return largest


def _free_texts(weighted: WeightedRows, contexts: ir.Table, keys: Sequence[str]) -> dict[str, int]:
    """Return the keys that are free text, and how many different texts each has."""
    texts = {key: contexts[key] for key in keys if contexts[key].type().is_string()}
    if not texts:
        return {}
    sums: dict[str, ir.Scalar] = {}
    for key, text in texts.items():
        spaces = text.length() - text.replace(" ", "").length()
        sums |= {f"{key}_words": (spaces + 1).mean(), key: text.nunique()}
    row = weighted.engine.fetch(contexts.agg(**sums))[0]

    def is_free(key: str) -> bool:
        hardly_repeats = row[key] >= DISTINCT and row[key] > SHARE * weighted.events
        return (row[f"{key}_words"] or 0.0) >= WORDS or hardly_repeats

    return {key: int(row[key]) for key in texts if is_free(key)}
