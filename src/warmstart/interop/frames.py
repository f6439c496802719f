"""Another library's log in memory, as tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warmstart.core.errors import SourceError
from warmstart.core.version import __version__
from warmstart.interop.vw.feature_table import Side
from warmstart.interop.vw.records import CostRange, EventColumns, Example, batches, event_schema

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, repr=False)
class ImportedTables:
    """A log as Arrow tables: events for ``read_events``, contexts and actions for ``fit``, and what is known of them.

    ``decisions``: a policy that came with it, as ``evaluate`` takes it.
    """

    events: pa.Table
    contexts: pa.Table
    actions: pa.Table
    about: dict[str, Any]
    decisions: pa.Table | None = None

    def __repr__(self) -> str:
        sizes = ", ".join(f"{getattr(self, name).num_rows:,} {name}" for name in ("events", "contexts", "actions"))
        return f"ImportedTables({sizes}; events have {', '.join(self.events.column_names)})"


def tables_of(
    examples: Iterable[Example], contexts: Side, actions: Side, cost_range: tuple[float, float] | None, *, source: str
) -> ImportedTables:
    """Gather examples, whose sides are being collected, into tables."""
    import pyarrow as pa

    columns = EventColumns()
    read = pa.concat_tables([event_schema().empty_table(), *batches(iter(examples), columns)])
    if not columns.events:
        raise SourceError(f"There are no events among the {columns.examples:,} of {source}.")
    costs = CostRange.of(columns.low, columns.high, cost_range)
    described = contexts.table(), actions.table()
    about = {
        "from": source,
        "examples": columns.examples,
        "events": columns.events,
        "contexts": contexts.count,
        "actions": actions.count,
        "propensities": columns.present.get("propensity", 0),
        "costs": costs.to_dict(),
        "warmstart_version": __version__,
    }
    return ImportedTables(costs.rewarded(read, columns.columns), *described, about)
