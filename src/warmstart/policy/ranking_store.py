"""The ranking of a learned policy, wherever it is kept: in memory, in a file, or in the engine that learned it.

Columns, whichever way it is seen here: the log's context columns, its action column, rank (from 1) and score.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from warmstart.core.errors import SourceError
from warmstart.core.names import Columns
from warmstart.core.text import printable

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from warmstart.engine import Engine, PartitionedEngine

RANK, SCORE = "rank", "score"


class RankingStore(Protocol):
    """What is asked of a ranking."""

    def to_arrow(self) -> pa.Table:
        """Return the whole of it."""
        ...

    def batches(self) -> Iterator[pa.Table]:
        """Return it a little at a time."""
        ...

    def opened(self, engine: Engine) -> ir.Table:
        """Show it to an engine."""
        ...


@dataclass(frozen=True, eq=False)
class RankingInMemory:
    """An Arrow table."""

    table: pa.Table

    def to_arrow(self) -> pa.Table:
        """Return the whole of it."""
        return self.table

    def batches(self) -> Iterator[pa.Table]:
        """Return it at once."""
        yield self.table

    def opened(self, engine: Engine) -> ir.Table:
        """Show it to an engine."""
        return engine.open_arrow(self.table)


@dataclass(frozen=True, eq=False)
class RankingFile:
    """A Parquet file, which is read when it is asked for, and by the engine itself where one is to see it."""

    path: Path

    def to_arrow(self) -> pa.Table:
        """Return the whole of it."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.ParquetFile(self.path).read()
        except (OSError, pa.ArrowException) as error:
            raise SourceError(f"{printable(self.path)} is damaged: {printable(error)}", "Fit again.") from error

    def batches(self) -> Iterator[pa.Table]:
        """Return it at once."""
        yield self.to_arrow()

    def opened(self, engine: Engine) -> ir.Table:
        """Let an engine read it; in a folder that looks like a partition it would take the folder's word."""
        if any("=" in part for part in self.path.parts):
            return engine.open_arrow(self.to_arrow())
        return engine.open_files([str(self.path)], "parquet").table


@dataclass(frozen=True, eq=False)
class RankingInEngine:
    """A table of the engine that learned it."""

    engine: PartitionedEngine
    table: ir.Table
    columns: Columns

    def to_arrow(self) -> pa.Table:
        """Bring all of it here: in the order of contexts and ranks."""
        import pyarrow as pa

        found = pa.concat_tables(self.batches())
        return found.sort_by([(name, "ascending") for name in (*self.columns.context, RANK)])

    def batches(self) -> Iterator[pa.Table]:
        """Bring it here a little at a time, in any order."""
        import pyarrow as pa

        for batch in self.engine.stream(self.table):
            yield pa.Table.from_batches([batch])

    def opened(self, engine: Engine) -> ir.Table:
        """Show it to an engine: it is there already, or comes through here."""
        return self.table if engine.holds(self.table) else engine.open_arrow(self.to_arrow())
