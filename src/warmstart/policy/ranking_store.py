"""The ranking of a learned policy: in memory, in a file, or in the engine that learned it.

Columns: the log's context columns, its action column, rank (from 1) and score.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

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

    def check_unchanged(self) -> None:
        """Refuse a ranking that was replaced after it was loaded: what was read of it would be of two policies."""
        return


@dataclass(frozen=True, eq=False)
class RankingInMemory(RankingStore):
    """An Arrow table."""

    table: pa.Table

    def to_arrow(self) -> pa.Table:
        """Return the whole ranking."""
        return self.table


@dataclass(frozen=True, eq=False)
class RankingFile(RankingStore):
    """A Parquet file, read on demand, by the engine itself where one opens it; ``identity``: as it was loaded."""

    path: Path
    identity: tuple[int, ...]

    @classmethod
    def at(cls, path: Path) -> Self:
        """Return the ranking in a file as it is now."""
        return cls(path, _identity(path))

    def check_unchanged(self) -> None:
        """Refuse a file that is another than the one that was loaded."""
        try:
            same = _identity(self.path) == self.identity
        except OSError:
            same = False
        if not same:
            what = f"{printable(self.path)} was replaced or removed while it was in use."
            raise SavedFileError(what, "Run it again with the policy that is there now.")

    def to_arrow(self) -> pa.Table:
        """Read the whole ranking."""
        import pyarrow.parquet as pq

        self.check_unchanged()
        try:
            return pq.ParquetFile(self.path).read()
        except (OSError, pa.ArrowException) as error:
            raise SavedFileError(f"{printable(self.path)} is damaged: {printable(error)}", "Fit again.") from error

    def opened(self, engine: Engine) -> ir.Table:
        """Let an engine read it; not in a folder that looks like a Hive partition, which would add a column."""
        if any("=" in part for part in self.path.parts):
            return super().opened(engine)
        self.check_unchanged()
        return engine.open_files([str(self.path)], "parquet").table


def _identity(path: Path) -> tuple[int, ...]:
    about = path.stat()
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


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
