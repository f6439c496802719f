"""Spark, for logs that outgrow one machine."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.types as ir
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from warmstart.core.errors import EngineError, SourceError
from warmstart.core.text import printable
from warmstart.engine.engine import FileKind, Opened, Row

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.backends.pyspark import Backend


@ibis.udf.scalar.builtin(  # type: ignore[untyped-decorator]
    name="unix_micros", signature=((ibis.dtype("timestamp"),), ibis.dtype("int64"))
)
def _unix_micros(moment: Any) -> Any:
    """Name Spark's own function for Ibis."""


class SparkEngine:
    """An Ibis Spark connection."""

    name = "spark"

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    @classmethod
    def local(cls, *, threads: int | None = None) -> SparkEngine:
        """Start Spark on this machine, or join the session that is already running."""
        session = (
            SparkSession.builder.appName("warmstart")
            .master(f"local[{threads or '*'}]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.caseSensitive", "true")
            .config("spark.sql.session.timeZone", "UTC")
            .getOrCreate()
        )
        return cls(ibis.pyspark.connect(session))

    @property
    def session(self) -> SparkSession:
        """Return the Spark session."""
        session: SparkSession = self.backend._session
        return session

    def open_files(self, paths: Sequence[str], kind: FileKind) -> Opened:
        """Open files of one kind as one table, without copying them."""
        try:
            if kind == "parquet":
                frame = self.session.read.parquet(*paths)
            else:
                frame = self.session.read.csv(list(paths), header=True, inferSchema=True)
        except PySparkException as error:
            raise SourceError(f"Spark cannot read {printable(paths[0])}: {_first_line(error)}") from error
        table = self._view(frame)
        return Opened(table, tuple(table.columns))

    def open_arrow(self, frame: pa.Table) -> ir.Table:
        """Show an Arrow table to the engine."""
        return self._view(self.session.createDataFrame(frame))

    def epoch_microseconds(self, moment: ir.Value) -> ir.Value:
        """Turn a timestamp expression into microseconds since 1970, UTC."""
        return _unix_micros(moment.cast("timestamp('UTC')"))

    def fetch(self, expression: ir.Table) -> list[Row]:
        """Run an expression with a small result and return its rows."""
        with _engine_errors():
            return [row.asDict() for row in self.session.sql(str(self.backend.compile(expression))).collect()]

    def materialise(self, expression: ir.Table) -> ir.CachedTable:
        """Keep the result of an expression in the cluster until it is released."""
        with _engine_errors():
            return expression.cache()

    def progress(self) -> float | None:
        """Return nothing: Spark does not say how far a query is."""
        return None

    def _view(self, frame: DataFrame) -> ir.Table:
        name = f"warmstart_{uuid.uuid4().hex}"
        frame.createTempView(name)
        return self.backend.table(name)


@contextmanager
def _engine_errors() -> Iterator[None]:
    try:
        yield
    except PySparkException as error:
        raise EngineError(f"Spark could not run the query: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return printable(str(error).strip().split("\n", maxsplit=1)[0])
