"""Contexts that are free text, such as prompts, which results number unless they are asked to name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import LocalEngine

# Text of so many words on average is nobody's category (names of groups of prompts have up to four), nor is text that
# hardly repeats.
WORDS, DISTINCT, SHARE = 5, 20, 0.5


def free_texts(engine: LocalEngine, contexts: ir.Table, keys: Sequence[str], events: float) -> dict[str, int]:
    """Return the context columns that are free text, and how many different texts each has.

    Args:
        engine: Where the contexts are.
        contexts: A row for every context.
        keys: Its columns.
        events: The events of all contexts.
    """
    texts = {key: contexts[key] for key in keys if contexts[key].type().is_string()}
    if not texts:
        return {}
    sums: dict[str, ir.Scalar] = {}
    for key, text in texts.items():
        spaces = text.length() - text.replace(" ", "").length()
        sums |= {f"{key}_words": (spaces + 1).mean(), key: text.nunique()}
    row = engine.fetch(contexts.agg(**sums))[0]

    def is_free(key: str) -> bool:
        hardly_repeats = row[key] >= DISTINCT and row[key] > SHARE * events
        return (row[f"{key}_words"] or 0.0) >= WORDS or hardly_repeats

    return {key: int(row[key]) for key in texts if is_free(key)}


def without_texts(rows: Sequence[Mapping[str, Any]], hidden: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return rows with a number in the place of each free text, in the order in which they come.

    >>> without_texts([{"prompt": "a"}, {"prompt": "b"}, {"prompt": "a"}], {"prompt": 9})[2]
    {'prompt': 'text 1 of 9, not shown'}
    """
    numbers: dict[str, dict[str, int]] = {key: {} for key in hidden}
    shown = []
    for row in rows:
        texts = {key: row[key] for key in hidden if row[key] is not None}
        places = {key: numbers[key].setdefault(text, len(numbers[key]) + 1) for key, text in texts.items()}
        shown.append({**row, **{key: f"text {i} of {hidden[key]:,}, not shown" for key, i in places.items()}})
    return shown
