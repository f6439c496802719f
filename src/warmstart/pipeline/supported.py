"""Where the log supports policies: their contexts and actions, as a table of the rule to deploy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from warmstart.core import ACTION, PROBABILITY, PROPENSITY, UsageError, quoted
from warmstart.engine import float_literal

if TYPE_CHECKING:
    from warmstart.estimators import WeightedRows
    from warmstart.pipeline.prepare import EvaluationInputs
    from warmstart.policy import NamedPolicy

# What a batch of supported rows is given to.
OnSupport = Callable[[pa.Table], object]
OWN = ("policy", "tau", PROBABILITY, PROPENSITY, "events")
RULE = "It is a rule by context, from counts of the log that are not divided by epoch."


def check_supported(send: OnSupport | None, policies: Sequence[NamedPolicy], inputs: EvaluationInputs) -> None:
    """Refuse a table of supported choices where no rule by context can be told, or a column is in its way."""
    columns, source = inputs.cells.columns, inputs.source
    if send is None:
        return
    if taken := set(OWN) & {*columns.context, columns.action}:
        raise UsageError(
            f"A column of the log is called {quoted(min(taken))}, as in the table of supported choices.", "Rename it."
        )
    if all(policy.keyword == "logging" for policy in policies):
        raise UsageError("Logging supports all that it did: no table says where.", "Name another policy.")
    by_event = next((policy.name for policy in policies if policy.column is not None), None)
    if by_event is not None:
        raise UsageError(f"{quoted(by_event)} chooses by event: no table says where it is supported.", RULE)
    if not source.counted or source.epoch is not None:
        raise UsageError(
            f"No table says where a policy is supported by propensities {source.words}.",
            f"{RULE} --propensities counts (propensities='counts') gives it, without --epoch.",
        )


def send_supported(weighted: WeightedRows, taus: Sequence[Any], send: OnSupport) -> None:
    """Send the contexts and actions that a policy chooses and the log supports, tau by tau, batch by batch."""
    rows, keys = weighted.table, [*weighted.context_keys, ACTION]
    for tau in taus:
        supported = rows.filter((rows[PROBABILITY] > 0) & (rows[PROPENSITY] >= float_literal(tau)))
        chosen = supported.select(*keys, PROBABILITY, PROPENSITY, "n")
        send(_named(weighted, tau, chosen.schema().to_pyarrow().empty_table()))
        for batch in weighted.engine.stream(chosen):
            send(_named(weighted, tau, pa.Table.from_batches([batch])))


def _named(weighted: WeightedRows, tau: float, rows: pa.Table) -> pa.Table:
    """Return rows under the user's names, which an engine might take for one another."""
    keys = [*weighted.context_keys, ACTION]
    size = rows.num_rows
    columns = [pa.repeat(pa.scalar(weighted.policy), size), pa.repeat(pa.scalar(tau, pa.float64()), size)]
    columns += [rows[name] for name in (*keys, PROBABILITY, PROPENSITY)]
    columns.append(rows["n"].cast(pa.int64()))
    names = ["policy", "tau", *weighted.names, weighted.action, PROBABILITY, PROPENSITY, "events"]
    return pa.Table.from_arrays(columns, names=names)
