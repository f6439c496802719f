"""A dict from contexts to actions, or to probabilities of actions, as a table of decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from warmstart.core import PROBABILITY, ColumnError, Columns, DecisionError, first_lines, quoted


def lookup_table(decisions: Mapping[Any, Any], columns: Columns, name: str) -> pa.Table:
    """Return a dict as a table: the log's context columns, its action column, probability.

    Args:
        decisions: From a context, a tuple if it has several columns, to an action, None for no choice, or a dict from
            actions to probabilities.
        columns: Of the log.
        name: Of the policy.
    """
    width = len(columns.context)
    keys, actions, probabilities = list[tuple[Any, ...]](), list[Any](), list[float]()
    for context, choice in decisions.items():
        key = context if isinstance(context, tuple) else (context,)
        if len(key) != width:
            wanted = f"({', '.join(columns.context)})"
            raise DecisionError(
                f"The policy {quoted(name)} decides {quoted(str(context))}, and the log's contexts are {wanted}.",
                "A key is a value of the context column, or a tuple with one value per context column, in their order.",
            )
        choices = choice if isinstance(choice, Mapping) else {} if choice is None else {choice: 1.0}
        for action, probability in choices.items():
            keys.append(key)
            actions.append(action)
            probabilities.append(probability)
    if not keys:
        raise DecisionError(f"The policy {quoted(name)} has no decisions.")
    try:
        given = zip(columns.context, zip(*keys, strict=True), strict=True)
        arrays = {column: pa.array(list(values)) for column, values in given}
        return pa.table({**arrays, columns.action: pa.array(actions), PROBABILITY: pa.array(probabilities, "float64")})
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError) as error:
        raise ColumnError(
            f"The policy {quoted(name)} is a dict of mixed types: {first_lines(error)}.",
            "Contexts, actions and probabilities have one type each, as in the log.",
        ) from error
