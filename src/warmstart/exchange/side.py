"""The contexts or the actions of a log as a table: each once, with the words that describe it."""

from __future__ import annotations

from hashlib import md5
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import numpy as np

from warmstart.exchange.seen import SeenKeys
from warmstart.exchange.words import Features

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

PENDING_WORDS = 1_000_000
TAG, WORDS, WEIGHTS = "tag", "words", "weights"


def side_schema(name: str) -> pa.Schema:
    """Return the columns of a side: its key, the words with their weights, and the tag it was first met with."""
    import pyarrow as pa

    words, weights = pa.list_(pa.string()), pa.list_(pa.float64())
    return pa.schema([(name, pa.string()), (WORDS, words), (WEIGHTS, weights), (TAG, pa.string())])


class Side:
    """Collects the keys of one side and writes each once, in row groups, as they come."""

    def __init__(self, name: str, path: Path | None = None) -> None:
        self.name = name
        self.count = 0
        self._path = path
        self._seen = SeenKeys()
        self._pending: list[tuple[str, Features, str | None]] = []
        self._words = 0
        self._tables: list[pa.Table] = []
        self._writer: pq.ParquetWriter | None = None

    def add(self, key: str, features: Features, tag: str | None = None) -> None:
        """Take note of a key; it may have been there before."""
        self._pending.append((key, features, tag))
        self._words += 1 + len(features.words)
        if self._words > PENDING_WORDS:
            self._flush()

    def table(self) -> pa.Table:
        """Return what was collected, if it is not written to a file."""
        import pyarrow as pa

        self._flush()
        return pa.concat_tables([side_schema(self.name).empty_table(), *self._tables])

    def __enter__(self) -> Self:
        import pyarrow.parquet as pq

        if self._path is not None:
            self._writer = pq.ParquetWriter(self._path, side_schema(self.name), compression="zstd")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._flush()
        finally:
            if self._writer is not None:
                self._writer.close()

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._pending:
            return
        digests = [
            md5(key.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest() for key, _, _ in self._pending
        ]
        rows = [self._pending[i] for i in self._seen.add(digests)]
        self._pending, self._words = [], 0
        self.count += len(rows)
        starts = np.cumsum([0, *(len(features.words) for _, features, _ in rows)], dtype=np.int32)
        schema = side_schema(self.name)
        # Lists from flat values: Arrow is ten times slower at lists of tuples.
        arrays = [
            pa.array([key for key, _, _ in rows], pa.string()),
            _lists(starts, pa.array([word for _, features, _ in rows for word in features.words], pa.string())),
            _lists(starts, pa.array([w for _, features, _ in rows for w in features.weights], pa.float64())),
            pa.array([tag for _, _, tag in rows], pa.string()),
        ]
        table = pa.table(arrays, schema=schema)
        if self._writer is None:
            self._tables.append(table)
        else:
            self._writer.write_table(table)


def _lists(starts: NDArray[np.int32], values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pa.Array.from_buffers(
        pa.list_(values.type), len(starts) - 1, [None, pa.py_buffer(starts)], children=[values]
    )
