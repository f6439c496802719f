"""Import logs of requests to language models as events whose action is the model, and scores to join with them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa

from warmstart.core import (
    Progress,
    SourceError,
    UsageError,
    __version__,
    iso,
    printable,
    quoted,
    silent,
    write_output,
    write_parquet,
)
from warmstart.interop.json_values import A_LINE, Record, parse_json
from warmstart.interop.lines import BadLineError, LogFile, MalformedLines, named_files
from warmstart.interop.routers.actions import AS_IT_IS, ModelName, Naming, alike
from warmstart.interop.routers.calls import (
    CALL_SCHEMA,
    FAILED,
    FALLBACK,
    REPEATED,
    SCORE_SCHEMA,
    Call,
    Dropped,
    Item,
    RowFile,
    stored_batches,
)
from warmstart.interop.routers.langfuse import read_langfuse
from warmstart.interop.routers.litellm import read_litellm
from warmstart.interop.routers.otel import read_otel
from warmstart.interop.routers.prompts import prompt_hash, prompt_text
from warmstart.interop.routers.scores import ScoreFiles, write_scores
from warmstart.interop.routers.traces import TRACE_SCHEMA, Trace, fill_from_traces
from warmstart.results import ImportedCalls

CallFormat = Literal["litellm", "langfuse", "otel"]
Prompts = Literal["none", "hash", "text"]
Read = Callable[[Record], Iterator[Item | Trace]]
READERS: dict[CallFormat, Read] = {
    "litellm": read_litellm,
    "langfuse": read_langfuse,
    "otel": read_otel,
}
# The format whose calls have the model that was asked for and the one that answered.
BOTH_NAMES: CallFormat = "otel"
RAW_CALLS, RAW_SCORES, RAW_TRACES = (f"{what}-as-read.parquet" for what in ("calls", "scores", "traces"))
FILLED_CALLS = "calls-with-traces.parquet"


def import_calls(
    sources: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    format: CallFormat,  # noqa: A002
    prompts: Prompts = "none",
    model: ModelName = "auto",
    skip_malformed: bool = False,
    on_progress: Progress = silent,
) -> ImportedCalls:
    """Turn logs of requests to language models into a folder: events whose action is ``model``, and scores.

    ``events.parquet`` has a row for each call that a model answered, with its cost, latency and tokens, and who asked;
    ``scores/NAME.parquet`` the judgements of that name, for ``join``. Answers from a cache, failed calls, fallbacks and
    what is no answer to a prompt are left out and counted. Calls that lack user, session or tags have those of their
    trace, if the log has it. Of records with one id the first counts. The folder is written whole or not at all.

    Args:
        sources: files of JSON lines, plain or gzipped; a line may be a record, a list of them or a page of an API.
        out: the folder to write: a new or an empty one.
        format: "litellm" (spend logs), "langfuse" (observations and scores) or "otel" (OTLP traces and logs).
        prompts: write no prompts, a "hash" that equal prompts share, or their "text" too.
        model: the action is the model of the "request" or that of the "response"; "auto": the request's, but where
            several models answered under one name that are no versions of it, such as that of a router, the response's.
            Logs of OpenTelemetry have both.
        skip_malformed: count lines that cannot be read instead of raising an error.
        on_progress: called with what is done and which share of it.
    """
    paths, out = named_files(sources), Path(out)
    _check(format, prompts, model)
    malformed, tally = MalformedLines(skip_malformed), Tally()
    with write_output(out, inputs=paths, folder=True) as folder:
        raw = [folder / name for name in (RAW_CALLS, RAW_SCORES, RAW_TRACES)]
        with (
            RowFile(raw[0], CALL_SCHEMA, lambda call: call.request_id) as calls,
            RowFile(raw[1], SCORE_SCHEMA, lambda score: score.score_id) as scores,
            RowFile(raw[2], TRACE_SCHEMA, lambda trace: trace.trace_id) as traces,
        ):
            for path in paths:
                for item in _items(LogFile(path, malformed, on_progress), READERS[format]):
                    tally.add(item)
                    if isinstance(item, Call):
                        calls.add(_with_prompt(item, prompts))
                    elif not isinstance(item, Dropped):
                        (traces if isinstance(item, Trace) else scores).add(item)
        if not calls.rows:
            hint = f"Is it a log of another tool? Left out: {tally.dropped_words() or 'nothing'}."
            raise SourceError(f"{printable(paths[0])} has no call that a model answered.", hint)
        on_progress("writing")
        score_files = write_scores(raw[1], raw[0], folder / "scores", calls.has)
        filled = fill_from_traces(calls, traces, folder / FILLED_CALLS)
        naming = Naming.of(filled.path, model) if format == BOTH_NAMES else AS_IT_IS
        filled.present["requested_model"] += naming.renamed
        columns = {name: filled.present[name] for name in CALL_SCHEMA.names if filled.present[name]}
        write_parquet(folder / "events.parquet", tally.events(filled.path, naming, list(columns)))
        for path in {*raw, filled.path}:
            path.unlink()
        about = {
            "from": format,
            "files": [str(path) for path in paths],
            "prompts": prompts,
            **tally.summary(calls, scores, score_files, columns),
            "action": model,
            "aliases": naming.aliases,
            "alike": alike(list(tally.models)),
            "traces": {"read": traces.rows + traces.repeated, "calls": filled.calls},
            "malformed": {"lines": malformed.lines, "first": malformed.messages},
            "warmstart_version": __version__,
        }
        written = json.dumps(about, indent=2, ensure_ascii=False)
        (folder / "about.json").write_text(f"{written}\n", encoding="utf-8")
    return ImportedCalls(out, about)


def _check(format_: CallFormat, prompts: Prompts, model: ModelName) -> None:
    """Refuse words that are no choices."""
    choices: dict[str, tuple[str, Any]] = {
        "format": (format_, CallFormat),
        "choice of prompts": (prompts, Prompts),
        "name of a model": (model, ModelName),
    }
    for what, (given, known) in choices.items():
        if given not in get_args(known):
            raise UsageError(f"There is no {what} {quoted(given)}.", f"Choose {', '.join(get_args(known))}.")
    if model != "auto" and format_ != BOTH_NAMES:
        raise UsageError(f"Logs of {format_} name one model a call.", "model (--model) is for logs of OpenTelemetry.")


@dataclass
class Tally:
    """Counts what is read: calls and scores, those that are dropped by reason, failures by model, times and costs."""

    read: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    dropped_scores: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    span: tuple[int, int] | None = None
    cost: tuple[float, float] | None = None

    def add(self, item: Item | Trace) -> None:
        """Count an item; traces are no records of their own."""
        if isinstance(item, Trace):
            return
        if isinstance(item, Dropped):
            self.read["scores" if item.is_score else "records"] += 1
            (self.dropped_scores if item.is_score else self.dropped)[item.reason] += 1
            if item.reason in (FAILED, FALLBACK) and item.model is not None:
                self.failed[item.model] += 1
            return
        self.read["records" if isinstance(item, Call) else "scores"] += 1
        if isinstance(item, Call):
            self.span = _widened(self.span, item.time)
            if item.cost is not None:
                self.cost = _widened(self.cost, item.cost)

    def events(self, calls: Path, naming: Naming, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Give these columns of the calls, with their actions, and count the calls of each."""
        for batch in map(naming.apply, stored_batches(calls)):
            for pair in batch["model"].value_counts().to_pylist():
                self.models[pair["values"]] += pair["counts"]
            yield batch.select(columns)

    def dropped_words(self) -> str:
        """Say how many records were left out, and why."""
        return ", ".join(f"{n:,} {reason}" for reason, n in self.dropped.most_common())

    def summary(self, calls: RowFile, scores: RowFile, files: ScoreFiles, columns: Mapping[str, int]) -> dict[str, Any]:
        """Return the counts as ``about`` has them."""
        dropped = {**self.dropped, **({REPEATED: calls.repeated} if calls.repeated else {})}
        of_scores = self.dropped_scores + files.dropped + Counter({REPEATED: scores.repeated})
        return {
            "read": self.read["records"],
            "events": calls.rows,
            "dropped": dropped,
            "models": dict(self.models.most_common()),
            "failed": dict(self.failed.most_common()),
            "columns": dict(columns),
            "times": None if self.span is None else [iso(moment) for moment in self.span],
            "costs": self.cost,
            "scores": {
                "read": self.read["scores"],
                "dropped": dict(of_scores),
                "named": {name: asdict(one) for name, one in files.named.items()},
            },
        }


def _widened(ends: tuple[Any, Any] | None, value: Any) -> tuple[Any, Any]:
    return (value, value) if ends is None else (min(ends[0], value), max(ends[1], value))


def _items(log: LogFile, read: Read) -> Iterator[Item | Trace]:
    for items in log.parse(lambda line: _items_of(line, read)):
        yield from items


def _items_of(line: str, read: Read) -> list[Item | Trace]:
    """Return what the records of a line are: one record, a list of them, or a page with ``data``."""
    value = parse_json(line)
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        value = value["data"]
    records = value if isinstance(value, list) else [value]
    if not all(isinstance(record, dict) for record in records):
        raise BadLineError("it holds something else than objects", A_LINE)
    try:
        return [item for record in records for item in read(record)]
    except RecursionError as error:
        raise BadLineError("it is nested too deeply") from error


def _with_prompt(call: Call, prompts: Prompts) -> Call:
    """Return the call with no more of its prompt than the user asked for."""
    text = None if prompts == "none" else prompt_text(call.prompt)
    hashed = None if text is None else prompt_hash(text)
    return call._replace(prompt_hash=hashed, prompt=text if prompts == "text" else None)
