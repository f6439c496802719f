"""The contexts or the actions of an imported log as a feature table: each once, with its named features."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import md5
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from warmstart.core import list_array, number_array, text_array
from warmstart.interop.features import Features

if TYPE_CHECKING:
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

PENDING_WORDS, PENDING_KEYS = 1_000_000, 200_000


class FeatureTable:
    """Collects contexts or actions with their features, and writes each once, in row groups, as they come.

    Columns: the key, ``words``, ``weights``, and ``tag``, the tag that the key was first seen with. ``count`` is the
    number of keys that were written.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self._seen = SeenKeys()
        self._tables: list[pa.Table] = []
        self._writer: pq.ParquetWriter | None = None
        words, weights = pa.list_(pa.string()), pa.list_(pa.float64())
        fields = [(name, pa.string()), ("words", words), ("weights", weights), ("tag", pa.string())]
        self._schema = pa.schema(fields)
        self._clear()

    def add(self, key: str, features: Features, tag: str | None = None) -> None:
        """Add a key; one that is there already is left as it was."""
        self._keys.append(key)
        self._words += features.words
        self._weights += features.weights
        self._tags.append(tag)
        self._lengths.append(len(features.words))
        if len(self._words) > PENDING_WORDS or len(self._keys) > PENDING_KEYS:
            self._flush()

    def table(self) -> pa.Table:
        """Return the rows, if they are not written to a file."""
        self._flush()
        return pa.concat_tables([pa.Table.from_batches([], self._schema), *self._tables])

    @contextmanager
    def written_to(self, path: Path) -> Iterator[Self]:
        """Write the rows to a Parquet file while they come."""
        import pyarrow.parquet as pq

        with pq.ParquetWriter(path, self._schema, compression="zstd") as self._writer:
            yield self
            self._flush()

    def _clear(self) -> None:
        # Flat lists: many small tuples would keep the garbage collector busy.
        self._keys: list[str] = []
        self._words: list[str] = []
        self._weights: list[float] = []
        self._tags: list[str | None] = []
        self._lengths: list[int] = []

    def _flush(self) -> None:
        if not self._keys:
            return
        words = list_array(self._lengths, text_array(self._words))
        weights = list_array(self._lengths, number_array(self._weights, pa.float64()))
        rows = pa.table([text_array(self._keys), words, weights, text_array(self._tags)], schema=self._schema)
        encoded = (key.encode("utf-8", "surrogatepass") for key in self._keys)
        new = self._seen.add([md5(key, usedforsecurity=False).digest() for key in encoded])
        self._clear()
        self.count += len(new)
        if len(new) < rows.num_rows:
            rows = rows.take(number_array(new, pa.int64()))
        if self._writer is None:
            self._tables.append(rows)
        else:
            self._writer.write_table(rows)


class SeenKeys:
    """A set of 16-byte digests that takes 16 bytes each: sorted arrays, each at least twice as long as the next."""

    def __init__(self) -> None:
        self._levels: list[NDArray[Any]] = []

    def __len__(self) -> int:
        return sum(len(level) for level in self._levels)

    def add(self, digests: list[bytes]) -> list[int]:
        """Add digests; return the positions of those that are new, each once."""
        unique, first = np.unique(np.frombuffer(b"".join(digests), dtype="S16"), return_index=True)
        new = ~self._has(unique)
        if new.any():
            added = unique[new]
            while self._levels and len(self._levels[-1]) < 2 * len(added):
                added = np.sort(np.concatenate([self._levels.pop(), added]), kind="stable")
            self._levels.append(added)
        positions: list[int] = np.sort(first[new]).tolist()
        return positions

    def has(self, digests: list[bytes]) -> list[bool]:
        """Tell which digests are in the set."""
        present: list[bool] = self._has(np.frombuffer(b"".join(digests), dtype="S16")).tolist()
        return present

    def _has(self, keys: NDArray[Any]) -> NDArray[np.bool_]:
        present = np.zeros(len(keys), dtype=bool)
        for level in self._levels:
            at = np.searchsorted(level, keys)
            present |= level[np.minimum(at, len(level) - 1)] == keys
        return present
