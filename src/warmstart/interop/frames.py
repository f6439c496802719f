"""Another library's log in memory, as tables."""

from __future__ import annotations

from collections.abc import Iterable

from warmstart.core.errors import SourceError
from warmstart.core.version import __version__
from warmstart.interop.vw.feature_table import Side
from warmstart.interop.vw.records import CostRange, EventColumns, Example, batches, event_schema
from warmstart.results import ImportedTables


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
