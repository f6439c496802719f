"""Policies in Python: functions, models with ``predict``, objects with ``table``, asked about the distinct contexts.

In this process they are asked in chunks, on Spark by the workers. What comes back is a table of choices as of any other
policy: zeros are left out, so that nothing of size contexts x actions is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa

from warmstart.core import ACTION, PROBABILITY, DecisionError, Progress, UsageError, quoted, shortened, to_arrow
from warmstart.engine import is_partitioned
from warmstart.policy.answers import Answer, Question, contexts_as_text
from warmstart.policy.contexts import as_frame, described_contexts, frame_kind, renamed
from warmstart.policy.policy_table import PolicyTable
from warmstart.policy.protocol import Policy, predicts
from warmstart.policy.unknown import check_actions

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import PartitionedEngine
    from warmstart.events import Cells

# So many contexts are asked about in one call.
CHUNK = 100_000
# An error names so many of the contexts that raised it.
NAMED = 3
FAULT = "fault"


@dataclass(frozen=True, eq=False)
class Asked:
    """A function from a frame of contexts to an answer, the library of the frame, and how to read the answer."""

    function: Callable[[Any], Any]
    kind: str
    question: Question

    def choose(self, contexts: pa.Table) -> Answer:
        """Ask about a chunk of contexts under the user's names."""
        try:
            answer = self.function(as_frame(contexts, self.kind))
        except UsageError:
            raise
        except Exception as error:  # whatever the user's code raises
            raise self._failure(contexts, error) from error
        return self.question.read(answer, contexts)

    def _failure(self, contexts: pa.Table, error: Exception) -> DecisionError:
        """Name the first contexts that the user's code fails on, found by halving it."""
        rows = list(islice(self._failing(contexts), NAMED))
        found = contexts_as_text(contexts, rows, self.question.context)
        columns = ", ".join(map(quoted, contexts.column_names))
        return DecisionError(
            f"{self.question.where} raised {type(error).__name__}: {shortened(error, 200)} (for {found}).",
            f"It gets all distinct contexts at once, a {self.kind} frame with the columns {columns}, and returns one "
            "action per row.",
        )

    def _failing(self, contexts: pa.Table, begin: int = 0) -> Iterator[int]:
        """Yield in order the rows of contexts on which the code fails; they are known to fail together."""
        rows, together = contexts.num_rows, True
        if rows == 1:
            yield begin
            return
        for start, length in ((0, rows // 2), (rows // 2, rows - rows // 2)):
            part = contexts.slice(start, length)
            if self._fails(part):
                together = False
                yield from self._failing(part, begin + start)
        if together:
            yield from range(begin, begin + rows)

    def _fails(self, contexts: pa.Table) -> bool:
        try:
            self.function(as_frame(contexts, self.kind))
        except Exception:  # noqa: BLE001  whatever the user's code raises
            return True
        return False


def asked_policy(
    cells: Cells,
    source: Any,
    *,
    name: str,
    contexts: Any = None,
    allow_unknown: bool = False,
    on_progress: Progress,
) -> PolicyTable:
    """Return what a policy in Python chooses in the contexts of the evaluated window.

    Args:
        cells: The cells of the window.
        source: A function, a model with ``predict`` or ``predict_proba``, or an object with the protocol ``Policy``.
        name: Of the policy.
        contexts: A table of contexts with features, if there is one.
        allow_unknown: Whether it may choose actions that the log never shows.
        on_progress: Called after every chunk.
    """
    described, names = described_contexts(cells, contexts)
    asked = _asked(cells, source, name)
    if is_partitioned(cells.engine):
        opened = _ask_workers(cells.engine, cells, described, asked, names)
    else:
        opened = _ask_here(cells, described, asked, names, on_progress)
    cast = {key: opened[key].cast(cells.table[key].type()) for key in cells.columns.keys}
    policy = PolicyTable(name, opened.select(**cast, **{PROBABILITY: opened[PROBABILITY]}))
    if not allow_unknown:
        check_actions(cells, policy.table, asked.question.where)
    return policy


def _asked(cells: Cells, source: Any, name: str) -> Asked:
    columns, function = cells.columns, source
    if isinstance(source, Policy):
        function = source.table
    elif predicts(source):
        function = source.predict
    elif hasattr(source, "predict_proba"):
        function = source.predict_proba
    owner = getattr(function, "__self__", source)
    kind = cells.table[ACTION].type().to_pyarrow()
    classes = getattr(owner, "classes_", None)
    question = Question(name, columns.context, columns.action, kind, None if classes is None else list(classes))
    predicting = predicts(owner) or hasattr(owner, "predict_proba")
    return Asked(function, frame_kind(cells.evaluated.log.origin, predicts=predicting), question)


def _ask_here(
    cells: Cells, described: ir.Table, asked: Asked, names: Mapping[str, str], on_progress: Progress
) -> ir.Table:
    keys, step = list(cells.columns.context_keys), f"asking {asked.question.name}"
    parts, done, contexts = list[pa.Table](), 0, cells.engine.materialise(described)
    try:
        number = cells.engine.fetch(contexts.agg(contexts=contexts.count()))[0]["contexts"]
        for batch in cells.engine.stream(contexts.order_by(keys), CHUNK):
            chunk = pa.Table.from_batches([batch])
            parts.append(_choices(chunk, keys, asked.choose(renamed(chunk, names))))
            done += chunk.num_rows
            on_progress(step, done / number, f"{done:,} of {number:,} contexts")
    finally:
        contexts.release()
    return cells.engine.open_arrow(pa.concat_tables(parts))


def _choices(chunk: pa.Table, keys: list[str], answer: Answer) -> pa.Table:
    chosen = {ACTION: answer.actions, PROBABILITY: to_arrow(answer.probability)}
    return pa.table({**{key: chunk[key].take(to_arrow(answer.rows)) for key in keys}, **chosen})


def _ask_workers(
    engine: PartitionedEngine, cells: Cells, described: ir.Table, asked: Asked, names: Mapping[str, str]
) -> ir.Table:
    """Ask on the engine's workers; a failure comes back as a row."""
    keys = cells.columns.context_keys
    kinds = {key: cells.table[key].type() for key in cells.columns.keys}
    schema = ibis.schema({**kinds, PROBABILITY: "float64", FAULT: "string"})
    mapped = engine.map_batches(described, _answer_batch, schema, inputs=(asked, dict(names), list(keys)))
    stored = engine.materialise(mapped)
    faults = engine.fetch(stored.filter(stored[FAULT].notnull()).select(FAULT).limit(1))
    if faults:
        message, hint, cause = json.loads(faults[0][FAULT])
        raise DecisionError(message, hint) from (None if cause is None else RuntimeError(cause))
    return stored.drop(FAULT)


def _answer_batch(rows: pa.Table, inputs: tuple[Asked, dict[str, str], list[str]]) -> pa.Table:
    asked, names, keys = inputs
    try:
        chosen = _choices(rows, keys, asked.choose(renamed(rows, names)))
    except (DecisionError, UsageError) as error:
        nulls = {key: pa.nulls(1, rows[key].type) for key in keys}
        nulls |= {ACTION: pa.nulls(1, asked.question.action_type), PROBABILITY: pa.nulls(1, pa.float64())}
        return pa.table({**nulls, FAULT: pa.array([_packed(error)], pa.string())})
    return chosen.append_column(FAULT, pa.nulls(chosen.num_rows, pa.string()))


def _packed(error: DecisionError | UsageError) -> str:
    """Return an error as text for the way home, with its cause in words: no object of a user's travels."""
    cause = error.__cause__
    return json.dumps([error.message, error.hint, None if cause is None else f"{type(cause).__name__}: {cause}"])
