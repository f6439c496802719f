"""The contexts or the actions of a log as a table: each once, with the words that describe it."""

from __future__ import annotations

from hashlib import md5
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from warmstart.core.arrays import list_array, number_array, text_array
from warmstart.interop.vw.features import Features
from warmstart.interop.vw.seen import SeenKeys

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

PENDING_WORDS, PENDING_KEYS = 1_000_000, 200_000
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
        self._pending = _Pending()
        self._tables: list[pa.Table] = []
        self._writer: pq.ParquetWriter | None = None

    def add(self, key: str, features: Features, tag: str | None = None) -> None:
        """Take note of a key; it may have been there before."""
        self._pending.add(key, features, tag)
        if len(self._pending.words) > PENDING_WORDS or len(self._pending.keys) > PENDING_KEYS:
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

        if not self._pending.keys:
            return
        table, new = self._pending.table(self.name), self._seen.add(self._pending.digests())
        self._pending = _Pending()
        self.count += len(new)
        if len(new) < table.num_rows:
            table = table.take(number_array(new, pa.int64()))
        if self._writer is None:
            self._tables.append(table)
        else:
            self._writer.write_table(table)


class _Pending:
    """Rows that wait to be written, flat: many small tuples would keep the garbage collector busy."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.words: list[str] = []
        self._weights: list[float] = []
        self._tags: list[str | None] = []
        self._lengths: list[int] = []

    def add(self, key: str, features: Features, tag: str | None) -> None:
        self.keys.append(key)
        self.words += features.words
        self._weights += features.weights
        self._tags.append(tag)
        self._lengths.append(len(features.words))

    def digests(self) -> list[bytes]:
        return [md5(key.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest() for key in self.keys]

    def table(self, name: str) -> pa.Table:
        import pyarrow as pa

        words = list_array(self._lengths, text_array(self.words))
        weights = list_array(self._lengths, number_array(self._weights, pa.float64()))
        return pa.table([text_array(self.keys), words, weights, text_array(self._tags)], schema=side_schema(name))
