"""Calls of language models and scores of their answers, as logs of routers hold them, and the files that they go to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import md5
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import pyarrow as pa
import pyarrow.parquet as pq

from warmstart.core import number_array, text_array
from warmstart.interop.feature_table import SeenKeys

BATCH_ROWS = 50_000
# Why a record of a log is no event.
CACHED = "answers from a cache"
FAILED = "failed calls"
FALLBACK = "fallbacks: the chosen model failed, and another one answered"
INCOMPLETE = "without an id, a time or a model"
INTERNAL = "calls of the tool itself, such as its judges and silent experiments"
NO_ANSWER = "no answers to prompts: embeddings, tools, other steps"
UNFINISHED = "not finished when they were exported"
REPEATED = "the same id again"
_TEXT, _NUMBER, _COUNT, TIME_TYPE = pa.string(), pa.float64(), pa.int64(), pa.timestamp("us", "UTC")


class Call(NamedTuple):
    """One call that a model answered: the event of a router's log. ``model`` is the action.

    ``requested_model``: what the client asked for, such as the router's own name. ``latency`` and ``first_token`` are
    in seconds; ``cost`` in the log's currency. ``route_...``: what the router wrote down of its choice, none of which
    quotes the prompt. ``propensity``: the probability of the choice, if it was drawn and logged. ``prompt``: as the log
    has it; only its hash or its text is written, and only if the user asks.
    """

    request_id: str
    time: int
    model: str
    provider: str | None = None
    requested_model: str | None = None
    response_model: str | None = None
    operation: str | None = None
    name: str | None = None
    trace_name: str | None = None
    service: str | None = None
    environment: str | None = None
    user: str | None = None
    end_user: str | None = None
    session: str | None = None
    team: str | None = None
    organization: str | None = None
    tags: str | None = None
    cost: float | None = None
    latency: float | None = None
    first_token: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    retries: int | None = None
    route_tier: str | None = None
    route_cause: str | None = None
    route_type: str | None = None
    route_score: float | None = None
    route_version: str | None = None
    propensity: float | None = None
    trace_id: str | None = None
    response_id: str | None = None
    prompt_hash: str | None = None
    prompt: Any = None


class Score(NamedTuple):
    """A judgement of a call, which is named by its own id, by that of its trace or by that of its response."""

    score_id: str
    name: str
    time: int
    score: float
    request_id: str | None = None
    trace_id: str | None = None
    response_id: str | None = None


class Dropped(NamedTuple):
    """A call or a score that is left out; ``model``: whose call it was, where that matters."""

    reason: str
    model: str | None = None
    is_score: bool = False


Item = Call | Score | Dropped
_KINDS = {"time": TIME_TYPE, **dict.fromkeys(("input_tokens", "output_tokens", "retries"), _COUNT)}
_KINDS |= dict.fromkeys(("cost", "latency", "first_token", "route_score", "propensity", "score"), _NUMBER)
CALL_SCHEMA, SCORE_SCHEMA = (
    pa.schema([(name, _KINDS.get(name, _TEXT)) for name in kind._fields]) for kind in (Call, Score)
)


class RowFile:
    """Writes rows to a Parquet file, batch by batch, each id once: of several the first. Counts what the rows hold.

    ``repeated`` counts rows whose id was there before, ``present`` the values of each column.
    """

    def __init__(self, path: Path, schema: pa.Schema, key: Callable[[Any], str]) -> None:
        self.path, self.schema, self.key = path, schema, key
        self.rows = self.repeated = 0
        self.present: Counter[str] = Counter()
        self._pending: list[Sequence[Any]] = []
        self._seen = SeenKeys()
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self._flush()
        self._writer.close()

    def add(self, row: Sequence[Any]) -> None:
        """Add a row."""
        self._pending.append(row)
        if len(self._pending) >= BATCH_ROWS:
            self._flush()

    def has(self, ids: Sequence[str]) -> list[bool]:
        """Tell which ids there are rows of."""
        return self._seen.has([_digest(one) for one in ids])

    def _flush(self) -> None:
        if not self._pending:
            return
        new = self._seen.add([_digest(self.key(row)) for row in self._pending])
        table = table_of([self._pending[i] for i in new], self.schema)
        self.repeated += len(self._pending) - len(new)
        self.rows += len(new)
        self.present.update({name: len(new) - table[name].null_count for name in table.column_names})
        self._pending.clear()
        if new:
            self._writer.write_table(table)


def _digest(text: str) -> bytes:
    return md5(text.encode(), usedforsecurity=False).digest()


def table_of(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """Return rows as a table."""
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [() for _ in schema]
    arrays = [
        text_array(column) if kind == _TEXT else number_array(column, kind)
        for column, kind in zip(columns, schema.types, strict=True)
    ]
    return pa.table(arrays, schema=schema)


def stored_batches(path: Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Give the row groups of a file that was written here; an empty one first, so that there is always a schema."""
    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow if columns is None else pa.schema([file.schema_arrow.field(n) for n in columns])
        yield schema.empty_table()
        for group in range(file.num_row_groups):
            yield file.read_row_group(group, columns=None if columns is None else list(columns))
