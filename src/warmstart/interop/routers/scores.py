"""Scores of imported calls: whose they are, one file for each name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from warmstart.core import SourceError, quoted
from warmstart.interop.routers.calls import TIME_TYPE, stored_batches, table_of

MOST_NAMES = 100
# Of calls, the columns that scores may name them by.
ALIASES = ("trace_id", "response_id")
NO_CALL = "of no imported call: of another step, or of one that is left out"
UNKNOWN, SEVERAL = "of a trace or a response with no imported call", "of a trace or a response with several calls"
_SCHEMA = pa.schema([("request_id", pa.string()), ("time", TIME_TYPE), ("score", pa.float64())])


@dataclass
class NamedScores:
    """The scores of one name: their file, how many they are and their range."""

    file: str
    scores: int = 0
    low: float = float("inf")
    high: float = float("-inf")


@dataclass
class ScoreFiles:
    """Scores by name, and by reason those that belong to no call, or not to one alone."""

    named: dict[str, NamedScores] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)


def write_scores(scores: Path, calls: Path, folder: Path, is_call: Callable[[Sequence[str]], list[bool]]) -> ScoreFiles:
    """Write scores (request_id, time, score) into a file for each name.

    A score of a trace or of a response is that of the one imported call in it; one of something else than an imported
    call, such as an agent's step, is left out. Memory grows with the traces and responses that have scores.
    """
    owners = _owners(scores, calls)
    result = ScoreFiles()
    with ExitStack() as stack:
        writers: dict[str, pq.ParquetWriter] = {}
        for read in stored_batches(scores):
            batch = _of_calls(read, is_call, result.dropped)
            for name, rows in _by_name(batch, owners, result.dropped).items():
                if name not in writers:
                    writers[name] = stack.enter_context(_open(name, folder, result))
                about, values = result.named[name], [row[2] for row in rows]
                about.scores += len(rows)
                about.low, about.high = min(about.low, *values), max(about.high, *values)
                writers[name].write_table(table_of(rows, _SCHEMA))
    return result


def _of_calls(batch: pa.Table, is_call: Callable[[Sequence[str]], list[bool]], dropped: Counter[str]) -> pa.Table:
    """Return the scores that name an imported call, or none by its id; count the others."""
    requests = batch["request_id"].to_pylist()
    named = [request for request in requests if request is not None]
    known = iter(is_call(named))
    wanted = [request is None or next(known) for request in requests]
    if len(wanted) > sum(wanted):
        dropped[NO_CALL] += len(wanted) - sum(wanted)
    return batch.filter(pa.array(wanted, pa.bool_()))


def _open(name: str, folder: Path, result: ScoreFiles) -> pq.ParquetWriter:
    if len(result.named) == MOST_NAMES:
        what = f"There are scores of more than {MOST_NAMES} names (the last: {quoted(name)})."
        raise SourceError(what, "Leave out the files or lines of those that are no judgement.")
    folder.mkdir(exist_ok=True)
    result.named[name] = NamedScores(_file_of(f"{folder.name}/{quote(name, safe=' ')}", result))
    return pq.ParquetWriter(folder.parent / result.named[name].file, _SCHEMA, compression="zstd")


def _file_of(path: str, result: ScoreFiles) -> str:
    """Return a name for a file that no other has, also on disks that do not tell capital letters apart."""
    taken = {one.file.casefold() for one in result.named.values()}
    names = (f"{path}{end}.parquet" for end in ("", *(f"-{i}" for i in range(2, len(taken) + 2))))
    return next(name for name in names if name.casefold() not in taken)


def _owners(scores: Path, calls: Path) -> dict[str, dict[str, str | None]]:
    """Return, for each alias that a score uses, the id of its one call; None if it has several."""
    named: dict[str, set[str]] = {alias: set() for alias in ALIASES}
    for batch in stored_batches(scores, ALIASES):
        for alias, known in named.items():
            known.update(pc.drop_null(batch[alias]).to_pylist())
    owners: dict[str, dict[str, str | None]] = {alias: {} for alias in ALIASES}
    if not any(named.values()):
        return owners
    for batch in stored_batches(calls, ("request_id", *ALIASES)):
        requests = batch["request_id"].to_pylist()
        for alias, known in named.items():
            of_alias = owners[alias]
            for request, value in zip(requests, batch[alias].to_pylist(), strict=True):
                if value in known:
                    of_alias[value] = None if value in of_alias else request
    return owners


def _by_name(
    batch: pa.Table, owners: Mapping[str, Mapping[str, str | None]], dropped: Counter[str]
) -> dict[str, list[tuple[Any, ...]]]:
    """Return rows of request, time and score, by name."""
    result: dict[str, list[tuple[Any, ...]]] = {}
    times = batch["time"].cast(pa.int64()).to_pylist()
    columns = [batch[name].to_pylist() for name in ("name", "score", "request_id", *ALIASES)]
    for time, name, score, request, *given in zip(times, *columns, strict=True):
        owner = request
        for alias, value in zip(ALIASES, given, strict=True):
            if owner is None and value is not None:
                owner = owners[alias].get(value)
                dropped[UNKNOWN if value not in owners[alias] else SEVERAL] += owner is None
        if owner is not None:
            result.setdefault(name, []).append((owner, time, score))
    return result
