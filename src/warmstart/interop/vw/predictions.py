"""What Vowpal Wabbit would choose for exported contexts, as a table of decisions that ``evaluate`` takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from warmstart.core.errors import DataError, MalformedLineError, SourceError, UsageError
from warmstart.core.files import check_output, write_output, write_parquet
from warmstart.core.names import PROBABILITY
from warmstart.core.text import printable, quoted
from warmstart.interop.export import beside
from warmstart.interop.vw.lines import named_files, numbered_lines
from warmstart.interop.vw.numbering import FEASIBLE, ROWS, context_tag
from warmstart.results import Decisions

if TYPE_CHECKING:
    import pyarrow as pa

Scores = Literal["costs", "probabilities"]
SUM_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class _Prediction:
    """A line of ``-p``: an action's number alone, or pairs of numbers and scores; and the tag behind."""

    line: int
    pairs: tuple[tuple[int, float | None], ...]
    tag: str | None


def import_predictions(
    predictions: str | Path,
    exported: str | Path,
    out: str | Path,
    *,
    scores: Scores | None = None,
    first_number: Literal[0, 1] | None = None,
    force: bool = False,
) -> Decisions:
    """Turn what ``vw -t -d train.contexts.vw -p FILE`` wrote into decisions: a Parquet file that is a policy.

    ``exported`` is the file that ``export`` wrote (``train.vw``), beside which the keys lie. A line is an action's
    number, or a list of ``number:score``, of which the least cost is chosen (``scores="costs"``), or which are
    probabilities, as of ``--cb_explore`` and ``--cb_explore_adf`` (``scores="probabilities"``). Lists that sum to 1
    could be either, so they must be named.

    A lone number of ``--cb`` counts from 0 in Vowpal Wabbit 9.11 and from 1 before and with ``--cb_force_legacy``;
    ``first_number`` says which where the numbers cannot tell. Lists count from 0. ``force`` replaces a file that this
    library did not write.
    """
    [path], out = named_files(predictions), Path(out)
    if scores is not None and scores not in get_args(Scores):
        raise UsageError(f"Scores cannot be {quoted(scores)}.", f"Choose {' or '.join(get_args(Scores))}.")
    if first_number not in (None, 0, 1):
        raise UsageError(f"Actions are numbered from 0 or from 1, not from {quoted(first_number)}.")
    keys = _Keys.beside(Path(exported))
    check_output(out, inputs=[path, exported, keys.contexts, beside(Path(exported), "actions.parquet")], force=force)
    facts = _Facts.of(_predictions(path))
    base = 0 if keys.has_feasible or facts.lists else _base(facts, keys, first_number, path)
    chosen = _scores(facts, scores, path)
    return _write(path, keys, out, chosen, base)


@dataclass
class _Facts:
    """What all lines together tell: how many there are, the least and largest lone number, what lists sum to."""

    lines: int = 0
    lists: int = 0
    summing_to_one: int = 0
    least: float = math.inf
    largest: float = -math.inf

    @classmethod
    def of(cls, predictions: Iterator[_Prediction]) -> _Facts:
        facts = cls()
        for found in predictions:
            facts.lines += 1
            facts.least = min(facts.least, *(number for number, _ in found.pairs), math.inf)
            facts.largest = max(facts.largest, *(number for number, _ in found.pairs), -math.inf)
            values = [score for _, score in found.pairs if score is not None]
            if values:
                facts.lists += 1
                proper = all(0 <= value <= 1 + SUM_TOLERANCE for value in values)
                facts.summing_to_one += proper and abs(sum(values) - 1) < SUM_TOLERANCE
        return facts


@dataclass(frozen=True)
class _Keys:
    """The tables of keys beside an exported file."""

    contexts: Path
    actions: pa.Table
    names: tuple[str, ...]
    has_feasible: bool = field(default=False)

    @classmethod
    def beside(cls, exported: Path) -> _Keys:
        import pyarrow.parquet as pq

        contexts, actions = beside(exported, "contexts.parquet"), beside(exported, "actions.parquet")
        for needed in (contexts, actions):
            if not needed.is_file():
                raise SourceError(
                    f"There is no file {quoted(str(needed))}.", "Name the file that export wrote; its keys lie beside."
                )
        columns = pq.read_schema(contexts).names
        names = tuple(name for name in columns if name != FEASIBLE)
        return cls(contexts, pq.read_table(actions), names, FEASIBLE in columns)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give the contexts in the order in which they were written."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(self.contexts) as file:
            for group in range(file.num_row_groups):
                yield from file.read_row_group(group).to_pylist()


def _base(facts: _Facts, keys: _Keys, stated: Literal[0, 1] | None, path: Path) -> int:
    """Tell whether lone numbers count from 0 or from 1."""
    last = keys.actions.num_rows
    told = 0 if facts.least == 0 else 1 if facts.largest == last else None
    if told is None and stated is None:
        raise UsageError(
            f"{printable(path)}: from the numbers it cannot be told whether actions count from 0 or from 1.",
            "Pass first_number=0 (--first-number 0) for Vowpal Wabbit 9.11, 1 for earlier ones or --cb_force_legacy.",
        )
    if stated is not None and told is not None and told != stated:
        raise UsageError(f"{printable(path)}: actions count from {told}, not from {stated}.")
    return told if stated is None and told is not None else int(stated or 0)


def _scores(facts: _Facts, stated: Scores | None, path: Path) -> Scores:
    could_be = facts.lists > 0 and facts.summing_to_one == facts.lists
    if stated == "probabilities" and not could_be:
        raise DataError(f"{printable(path)}: there are scores that sum to no 1, so they are no probabilities.")
    if stated is None and could_be:
        raise UsageError(
            f"{printable(path)}: all scores sum to 1.",
            "Say what they are: scores='probabilities' (--scores probabilities), or 'costs'.",
        )
    return stated or "costs"


def _predictions(path: Path) -> Iterator[_Prediction]:
    for number, line in numbered_lines(path):
        if line and not line.isspace():
            yield _prediction(path, number, line)


def _prediction(path: Path, number: int, line: str) -> _Prediction:
    text, _, tag = line.strip(" ").partition(" ")
    try:
        pairs = []
        for part in text.split(","):
            action, colon, score = part.partition(":")
            pairs.append((int(float(action)), float(score) if colon else None))
    except (ValueError, OverflowError) as error:
        raise MalformedLineError(str(path), number, f"{quoted(text)} is no prediction") from error
    if any(score is not None and not math.isfinite(score) for _, score in pairs):
        raise MalformedLineError(str(path), number, "a score is not finite")
    return _Prediction(number, tuple(pairs), tag or None)


def _write(path: Path, keys: _Keys, out: Path, scores: Scores, base: int) -> Decisions:
    import pyarrow as pa
    import pyarrow.parquet as pq

    actions, [action] = keys.actions.column(0).to_pylist(), keys.actions.column_names
    contexts = pq.read_schema(keys.contexts)
    fields = [*(contexts.field(name) for name in keys.names), keys.actions.schema.field(action)]
    schema = pa.schema([*fields, pa.field(PROBABILITY, pa.float64())])
    rows = _decisions(path, keys, actions, action, scores=scores, base=base)
    decided = 0

    def tables() -> Iterator[pa.Table]:
        nonlocal decided
        while batch := list(islice(rows, ROWS)):
            decided += len(batch)
            yield pa.Table.from_pylist([row for of_context in batch for row in of_context], schema=schema)

    with write_output(out, force=True) as temporary:  # what may not be replaced was refused before the work
        written = write_parquet(temporary, tables())
    return Decisions(out, decided, written)


def _decisions(
    path: Path, keys: _Keys, actions: list[Any], action: str, *, scores: Scores, base: int
) -> Iterator[list[dict[str, Any]]]:
    """Give the decisions of each context, in order; refuse predictions that are not of these contexts."""
    lines = _predictions(path)
    for row in keys.rows():
        found = next(lines, None)
        if found is None:
            raise DataError(f"{printable(path)} has fewer predictions than there are contexts.", ONE_EACH)
        if found.tag is not None and found.tag != context_tag(row, keys.names):
            raise MalformedLineError(
                str(path),
                found.line,
                f"it is of the context {quoted(found.tag)}, not of {context_tag(row, keys.names)}",
            )
        feasible = row.pop(FEASIBLE) if keys.has_feasible else range(len(actions))
        known = {name: row[name] for name in keys.names}
        yield [
            {**known, action: actions[_feasible(feasible, number - base, found, path)], PROBABILITY: probability}
            for number, probability in _choices(found, scores)
        ]
    if next(lines, None) is not None:
        raise DataError(f"{printable(path)} has more predictions than there are contexts.", ONE_EACH)


ONE_EACH = "Predict the exported contexts file, with -t and without --passes."


def _feasible(feasible: Any, index: int, found: _Prediction, path: Path) -> int:
    if not 0 <= index < len(feasible):
        raise MalformedLineError(
            str(path), found.line, f"it names the action with index {index}, and the context has {len(feasible)}"
        )
    return int(feasible[index])


def _choices(found: _Prediction, scores: Scores) -> list[tuple[int, float]]:
    if scores == "probabilities" and found.pairs[0][1] is not None:
        total = sum(score or 0.0 for _, score in found.pairs)
        return [(number, score / total) for number, score in found.pairs if score]
    number, _ = min(found.pairs, key=lambda pair: pair[1] if pair[1] is not None else 0.0)
    return [(number, 1.0)]
