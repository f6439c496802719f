"""Import Vowpal Wabbit's predictions for exported contexts as a table of decisions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from warmstart.core import (
    PROBABILITY,
    DataError,
    SavedFileError,
    UsageError,
    printable,
    quoted,
    write_output,
    write_parquet,
)
from warmstart.interop.export_log import companion
from warmstart.interop.features import ROWS
from warmstart.interop.lines import BadLineError, LogFile, named_files
from warmstart.interop.vw.numbering import FEASIBLE, context_tag
from warmstart.results import Decisions

Scores = Literal["costs", "probabilities"]
SUM_TOLERANCE = 1e-3
ONE_EACH = "Predict the exported contexts file, with -t and without --passes."


class _Prediction(NamedTuple):
    """A line of ``-p``: an action's number alone, or pairs of numbers and scores; and the tag behind."""

    pairs: list[tuple[int, float | None]]
    tag: str

    @classmethod
    def parse(cls, line: str) -> _Prediction:
        text, _, tag = line.strip(" ").partition(" ")
        pairs: list[tuple[int, float | None]] = []
        try:
            for part in text.split(","):
                action, colon, score = part.partition(":")
                pairs.append((int(float(action)), float(score) if colon else None))
        except (ValueError, OverflowError) as error:
            raise BadLineError(f"{quoted(text)} is no prediction") from error
        if any(score is not None and not math.isfinite(score) for _, score in pairs):
            raise BadLineError("a score is not finite")
        return cls(pairs, tag)

    def choices(self, scores: Scores) -> list[tuple[int, float]]:
        """Return the numbers of actions with their probabilities; of costs, the least has probability 1."""
        if scores == "probabilities" and self.pairs[0][1] is not None:
            total = sum(score or 0.0 for _, score in self.pairs)
            return [(number, score / total) for number, score in self.pairs if score]
        number, _ = min(self.pairs, key=lambda pair: pair[1] if pair[1] is not None else 0.0)
        return [(number, 1.0)]


def import_predictions(
    predictions: str | Path,
    exported: str | Path,
    out: str | Path,
    *,
    scores: Scores | None = None,
    first_number: Literal[0, 1] | None = None,
    force: bool = False,
) -> Decisions:
    """Turn what ``vw -t -d train.contexts.vw -p FILE`` wrote into a table of decisions, which ``evaluate`` takes.

    A line of predictions is an action's number, or a list of ``number:score``. Scores are costs, of which the least is
    chosen, or probabilities, as of ``--cb_explore`` and ``--cb_explore_adf``; lists that sum to 1 could be either, so
    they must be named. A lone number of ``--cb`` counts from 0 in Vowpal Wabbit 9.11 and from 1 before and with
    ``--cb_force_legacy``. Lists count from 0.

    Args:
        predictions: the file of predictions.
        exported: the file that ``export`` wrote (``train.vw``), beside which its keys lie.
        out: the Parquet file to write.
        scores: "costs" or "probabilities".
        first_number: 0 or 1, where the numbers cannot tell.
        force: replace a file that this library did not write; an input is never replaced.
    """
    [path], out = named_files(predictions), Path(out)
    if scores is not None and scores not in get_args(Scores):
        raise UsageError(f"Scores cannot be {quoted(scores)}.", f"Choose {' or '.join(get_args(Scores))}.")
    if first_number not in (None, 0, 1):
        raise UsageError(f"Actions are numbered from 0 or from 1, not from {quoted(first_number)}.")
    keys, log = _ExportedKeys.open(Path(exported)), LogFile(path)
    with write_output(out, inputs=[path, exported, *keys.paths], force=force) as temporary:
        summary = _Summary.of(log.parse(_Prediction.parse))
        first = 0 if keys.have_feasible or summary.lists else _first_number(summary, keys, first_number, path)
        decisions = _decisions(log, keys, scores=_scores(summary, scores, path), first=first)
        batches = iter(lambda: list(chain.from_iterable(islice(decisions, ROWS))), [])
        written = write_parquet(temporary, (pa.Table.from_pylist(batch, schema=keys.schema) for batch in batches))
    return Decisions(out, pq.read_metadata(keys.paths[0]).num_rows, written)


@dataclass
class _Summary:
    """What all lines together tell: the least and the largest number, how many are lists, and how many sum to 1."""

    lists: int = 0
    summing_to_one: int = 0
    least: float = math.inf
    largest: float = -math.inf

    @classmethod
    def of(cls, predictions: Iterator[_Prediction]) -> _Summary:
        summary = cls()
        for prediction in predictions:
            numbers = [number for number, _ in prediction.pairs]
            summary.least, summary.largest = min(summary.least, *numbers), max(summary.largest, *numbers)
            values = [score for _, score in prediction.pairs if score is not None]
            if values:
                summary.lists += 1
                proper = all(0 <= value <= 1 + SUM_TOLERANCE for value in values)
                summary.summing_to_one += proper and abs(sum(values) - 1) < SUM_TOLERANCE
        return summary


@dataclass(frozen=True)
class _ExportedKeys:
    """The keys of contexts and actions that ``export`` wrote beside the events, in files at ``paths``."""

    paths: list[Path]
    names: tuple[str, ...]
    have_feasible: bool
    actions: pa.Table
    schema: pa.Schema

    @classmethod
    def open(cls, exported: Path) -> _ExportedKeys:
        paths = [companion(exported, "contexts.parquet"), companion(exported, "actions.parquet")]
        named_files(paths, hint="Name the file that export wrote; its keys lie beside.")
        try:
            contexts, actions = pq.read_schema(paths[0]), pq.read_table(paths[1])
        except (OSError, pa.ArrowException) as error:
            raise _no_keys(exported) from error
        indices = contexts.field(FEASIBLE).type if FEASIBLE in contexts.names else pa.list_(pa.int64())
        if actions.num_columns != 1 or not (pa.types.is_list(indices) and pa.types.is_integer(indices.value_type)):
            raise _no_keys(exported)
        fields = [field for field in contexts if field.name != FEASIBLE]
        schema = pa.schema([*fields, *actions.schema, pa.field(PROBABILITY, pa.float64())])
        names = tuple(field.name for field in fields)
        return cls(paths, names, FEASIBLE in contexts.names, actions, schema)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give the contexts in the order in which they were written."""
        with pq.ParquetFile(self.paths[0]) as file:
            for group in range(file.num_row_groups):
                yield from file.read_row_group(group).to_pylist()


def _no_keys(exported: Path) -> SavedFileError:
    return SavedFileError(
        f"The keys beside {printable(exported)} are not what an export wrote.", "Export the log again."
    )


def _first_number(summary: _Summary, keys: _ExportedKeys, stated: Literal[0, 1] | None, path: Path) -> int:
    """Return whether lone numbers count from 0 or from 1: as the numbers show, or as stated."""
    shown = 0 if summary.least == 0 else 1 if summary.largest == keys.actions.num_rows else None
    if shown is None and stated is None:
        hint = "Pass first_number=0 (--first-number 0) for Vowpal Wabbit 9.11, 1 for earlier ones or --cb_force_legacy."
        what = "from the numbers it cannot be told whether actions count from 0 or from 1"
        raise UsageError(f"{printable(path)}: {what}.", hint)
    if stated is not None and shown is not None and shown != stated:
        raise UsageError(f"{printable(path)}: actions count from {shown}, not from {stated}.")
    return (shown if stated is None else stated) or 0


def _scores(summary: _Summary, stated: Scores | None, path: Path) -> Scores:
    could_be = summary.lists > 0 and summary.summing_to_one == summary.lists
    if stated == "probabilities" and not could_be:
        raise DataError(f"{printable(path)}: there are scores that sum to no 1, so they are no probabilities.")
    if stated is None and could_be:
        hint = "Say what they are: scores='probabilities' (--scores probabilities), or 'costs'."
        raise UsageError(f"{printable(path)}: all scores sum to 1.", hint)
    return stated or "costs"


def _decisions(log: LogFile, keys: _ExportedKeys, *, scores: Scores, first: int) -> Iterator[list[dict[str, Any]]]:
    """Give the decisions of each context, in order; refuse predictions that are not of these contexts."""
    actions, [action], contexts = keys.actions[0].to_pylist(), keys.actions.column_names, keys.rows()

    def decide(line: str) -> list[dict[str, Any]]:
        prediction, context = _Prediction.parse(line), next(contexts, None)
        if context is None:
            raise DataError(f"{printable(log.path)} has more predictions than there are contexts.", ONE_EACH)
        tag = context_tag(context, keys.names)
        if prediction.tag and prediction.tag != tag:
            raise BadLineError(f"it is of the context {quoted(prediction.tag)}, not of {tag}")
        feasible = context.pop(FEASIBLE, range(len(actions)))
        choices = [(number - first, probability) for number, probability in prediction.choices(scores)]
        for index, _ in choices:
            if not 0 <= index < len(feasible):
                raise BadLineError(f"it names the action with index {index}, and the context has {len(feasible)}")
        return [{**context, action: actions[feasible[index]], PROBABILITY: p} for index, p in choices]

    yield from log.parse(decide)
    if next(contexts, None) is not None:
        raise DataError(f"{printable(log.path)} has fewer predictions than there are contexts.", ONE_EACH)
