"""Contexts that are free text, such as prompts, which results number unless they are asked to name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

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
    return {key: int(row[key]) for key in texts if _is_free(row[f"{key}_words"], row[key], events)}


def free_texts_of(contexts: pa.Table, events: float) -> dict[str, int]:
    """Return the same of a table in memory, a row for every context."""
    import pyarrow as pa
    import pyarrow.compute as pc

    results = {}
    for name in contexts.column_names:
        column = contexts[name]
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            words = pc.mean(pc.add(pc.count_substring(column, " "), 1)).as_py()
            different = pc.count_distinct(column).as_py()
            if _is_free(words, different, events):
                results[name] = int(different)
    return results


def _is_free(words: float | None, different: int, events: float) -> bool:
    return (words or 0.0) >= WORDS or (different >= DISTINCT and different > SHARE * events)


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
