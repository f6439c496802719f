"""Another library's log in memory, as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warmstart.core.errors import SourceError
from warmstart.interop.feature_table import FeatureTable
from warmstart.interop.records import CostRange, EventBatches, Example, event_schema

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


def import_tables(
    examples: Iterable[Example],
    contexts: FeatureTable,
    actions: FeatureTable,
    cost_range: tuple[float, float] | None,
    *,
    source: str,
) -> ImportedTables:
    """Return examples as tables of events, contexts and actions.

    Args:
        examples: the log; reading it fills ``contexts`` and ``actions``.
        contexts: the feature table of contexts.
        actions: the feature table of actions.
        cost_range: the stated range of costs, if any.
        source: what kind of log it is, for messages and ``about``.
    """
    import pyarrow as pa

    batches = EventBatches()
    events = pa.concat_tables([event_schema().empty_table(), *batches.read(examples)])
    if not batches.events:
        raise SourceError(f"There are no events among the {batches.examples:,} of {source}.")
    costs = CostRange.choose(batches.low, batches.high, cost_range)
    features = contexts.table(), actions.table()
    about = batches.summary(source, contexts, actions, costs)
    return ImportedTables(costs.with_rewards(events, batches.columns), *features, about)
