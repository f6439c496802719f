"""The ranking of a learned policy: in memory, in a file, or in the engine that learned it.

Columns: the log's context columns, its action column, rank (from 1) and score.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import ibis.expr.types as ir
import pyarrow as pa

from warmstart.core import Columns, SavedFileError, printable
from warmstart.engine import Engine, PartitionedEngine

RANK, SCORE = "rank", "score"


class RankingStore(ABC):
    """A ranking, wherever it is stored."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return the whole ranking."""

    def batches(self) -> Iterator[pa.Table]:
        """Yield the ranking in batches: one, unless it is large."""
        yield self.to_arrow()

    def opened(self, engine: Engine) -> ir.Table:
        """Open the ranking as a table of an engine."""
        return engine.open_arrow(self.to_arrow())


@dataclass(frozen=True, eq=False)
class RankingInMemory(RankingStore):
    """An Arrow table."""

    table: pa.Table

    def to_arrow(self) -> pa.Table:
        """Return the whole ranking."""
        return self.table


@dataclass(frozen=True, eq=False)
class RankingFile(RankingStore):
    """A Parquet file, read on demand, by the engine itself where one opens it."""

    path: Path

    def to_arrow(self) -> pa.Table:
        """Read the whole ranking."""
        import pyarrow.parquet as pq

        try:
            return pq.ParquetFile(self.path).read()
        except (OSError, pa.ArrowException) as error:
            raise SavedFileError(f"{printable(self.path)} is damaged: {printable(error)}", "Fit again.") from error

    def opened(self, engine: Engine) -> ir.Table:
        """Let an engine read it; not in a folder that looks like a Hive partition, which would add a column."""
        if any("=" in part for part in self.path.parts):
            return super().opened(engine)
        return engine.open_files([str(self.path)], "parquet").table


@dataclass(frozen=True, eq=False)
class RankingInEngine(RankingStore):
    """A table of the engine that learned it."""

    engine: PartitionedEngine
    table: ir.Table
    columns: Columns

    def to_arrow(self) -> pa.Table:
        """Fetch the whole ranking, in the order of contexts and ranks."""
        ranking = pa.concat_tables(self.batches())
        return ranking.sort_by([(name, "ascending") for name in (*self.columns.context, RANK)])

    def batches(self) -> Iterator[pa.Table]:
        """Fetch the ranking in batches, in any order."""
        for batch in self.engine.stream(self.table):
            yield pa.Table.from_batches([batch])

    def opened(self, engine: Engine) -> ir.Table:
        """Return the table itself if this engine has it; else fetch it."""
        return self.table if engine.holds(self.table) else super().opened(engine)
