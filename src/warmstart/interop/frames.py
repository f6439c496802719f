"""Another library's log in memory, as Arrow tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
