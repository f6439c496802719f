"""Traces, which know of calls what their own records lack: who asked, in which session, under which name and tags."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from warmstart.interop.routers.calls import CALL_SCHEMA, RowFile, stored_batches


class Trace(NamedTuple):
    """What a trace says of all calls in it; the names are those of ``Call``."""

    trace_id: str
    user: str | None = None
    session: str | None = None
    trace_name: str | None = None
    tags: str | None = None


FILLED = Trace._fields[1:]
TRACE_SCHEMA = pa.schema([CALL_SCHEMA.field(name) for name in Trace._fields])


class Filled(NamedTuple):
    """A file of calls, how many of them got something from their trace, and the values of each column."""

    path: Path
    calls: int
    present: Counter[str]


def fill_from_traces(calls: RowFile, traces: RowFile, out: Path) -> Filled:
    """Write calls with what they lack taken from their traces; the file as it is where there are no traces.

    Memory grows with the traces, not with the calls.
    """
    if not traces.rows:
        return Filled(calls.path, 0, calls.present)
    known, filled, present = pq.read_table(traces.path), 0, Counter[str]()
    with pq.ParquetWriter(out, CALL_SCHEMA, compression="zstd") as writer:
        for read in stored_batches(calls.path):
            batch, changed = _filled(read, known)
            filled += changed
            present.update({name: len(batch) - batch[name].null_count for name in batch.column_names})
            writer.write_table(batch)
    return Filled(out, filled, present)


def _filled(calls: pa.Table, known: pa.Table) -> tuple[pa.Table, int]:
    """Return calls with what their traces say where they say nothing, and how many of them changed."""
    place = pc.index_in(calls["trace_id"].combine_chunks(), value_set=known["trace_id"].combine_chunks())
    changed, result = pa.repeat(False, len(calls)), calls
    for name in FILLED:
        own = calls[name].combine_chunks()
        both = pc.coalesce(own, known[name].combine_chunks().take(place))
        changed = pc.or_(changed, pc.and_(own.is_null(), both.is_valid()))
        result = result.set_column(calls.schema.get_field_index(name), CALL_SCHEMA.field(name), both)
    return result, changed.true_count
