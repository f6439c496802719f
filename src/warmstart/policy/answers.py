"""Read what a policy in Python answers: one action per context, probabilities per action, or a table of choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from warmstart.core import PROBABILITY, DecisionError, counted, excerpt, first_lines, quoted, to_arrow, to_numpy
from warmstart.engine import frame_to_arrow
from warmstart.features import KeyEncoder, plain_column

SUM_TOLERANCE = 1e-6
HOW = "Return one action per row, or a frame of probabilities whose columns are the actions."


class Answer(NamedTuple):
    """Choices: the row of the context, the action and its probability; rows without a choice are absent."""

    rows: NDArray[np.int64]
    actions: pa.Array
    probability: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Question:
    """A policy of the user's, and what is needed to read its answers.

    ``name``: of the policy. ``context``, ``action``: the log's names. ``action_type``: of the log's actions.
    ``classes``: the actions that the columns of an array stand for, if the policy says.
    """

    name: str
    context: tuple[str, ...]
    action: str
    action_type: pa.DataType
    classes: Sequence[Any] | None = None

    @property
    def where(self) -> str:
        """Return the policy's name for messages."""
        return f"The policy {quoted(self.name)}"

    def read(self, answer: Any, contexts: pa.Table) -> Answer:
        """Return the choices for a chunk of contexts; refuse an answer that is none."""
        names = _frame_names(answer)
        answer = answer if not hasattr(answer, "__next__") else list(answer)
        if names is not None and self.action in names:
            return self._read_table(answer, contexts, [str(name) for name in names])
        if names is not None:
            # Columns that it got and hands back are no actions.
            given = set(contexts.column_names)
            columns = {name: _column(answer, name, i) for i, name in enumerate(names) if name not in given}
            return self._read_probabilities(columns, contexts, answer)
        if getattr(answer, "ndim", 1) == 2:
            return self._read_array(np.asarray(answer), contexts)
        actions = self._actions(_aligned(answer, contexts.num_rows, self.where))
        self._check_length(len(actions), contexts)
        rows = np.flatnonzero(to_numpy(actions.is_valid()))
        return Answer(rows, self._cast(actions.take(to_arrow(rows))), np.ones(len(rows)))

    def _read_array(self, array: NDArray[Any], contexts: pa.Table) -> Answer:
        if array.shape[1] == 1 and self.classes is None:
            return self.read(array[:, 0], contexts)
        if self.classes is None:
            raise DecisionError(
                f"{self.where} returned an array of {array.shape[1]} columns, and does not say which actions they are.",
                "Return a DataFrame whose columns are the actions, or name them in the attribute classes_.",
            )
        if len(self.classes) != array.shape[1]:
            raise DecisionError(
                f"{self.where} returned {counted(array.shape[1], 'column')}, and has {len(self.classes)} classes_."
            )
        columns = {label: array[:, i] for i, label in enumerate(self.classes)}
        return self._read_probabilities(columns, contexts, array)

    def _read_probabilities(self, columns: Mapping[Any, Any], contexts: pa.Table, answer: Any) -> Answer:
        """Read one column of probabilities per action; zeros are no choices."""
        order = _order(answer, contexts.num_rows, self.where)
        rows, labels, values = [np.zeros(0, np.int64)], list[NDArray[np.int64]](), [np.zeros(0)]
        for number, (label, column) in enumerate(columns.items()):
            try:
                given = np.asarray(column, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise DecisionError(
                    f"{self.where} returned {quoted(label)}, a column that holds no probabilities: "
                    f"{first_lines(error)}.",
                    f"{HOW} The log's action column is {quoted(self.action)}.",
                ) from error
            self._check_length(len(given), contexts)
            given = given if order is None else given[order]
            chosen = np.flatnonzero(given != 0)
            rows.append(chosen)
            labels.append(np.full(len(chosen), number))
            values.append(given[chosen])
        row, probability = np.concatenate(rows), np.concatenate(values)
        self._check_probabilities(row, probability, contexts)
        used, numbers = np.unique(np.concatenate([np.zeros(0, np.int64), *labels]), return_inverse=True)
        named = self._cast(self._actions([list(columns)[number] for number in used]), as_text=True)
        return _merged(Answer(row, named.take(to_arrow(numbers)), probability))

    def _read_table(self, answer: Any, contexts: pa.Table, names: list[str]) -> Answer:
        """Read a frame with the action column: rows by context where it has the context's columns, else in order."""
        by_context = all(name in names for name in self.context)
        wanted = [*(self.context if by_context else ()), self.action, *([PROBABILITY] if PROBABILITY in names else [])]
        if isinstance(answer, Mapping):
            table = pa.table({name: self._actions(answer[name]) for name in wanted})
        else:
            table = frame_to_arrow(answer, {name: name for name in wanted}, self.where)
        if by_context:
            keys = KeyEncoder.of(contexts.select(list(self.context)))
            place = np.append(np.argsort(keys.numbers(contexts)), -1)
            rows = place[keys.numbers(table)]
        else:
            self._check_length(table.num_rows, contexts)
            order = _order(answer, contexts.num_rows, self.where)
            rows = np.arange(table.num_rows) if order is None else np.argsort(order)
        actions = plain_column(table[self.action])
        # Contexts that nobody asked about have no say.
        kept = np.flatnonzero((rows >= 0) & to_numpy(actions.is_valid()))
        given = table[PROBABILITY] if PROBABILITY in names else None
        probability = np.ones(len(rows)) if given is None else to_numpy(given.cast("float64"), null=np.nan)
        self._check_probabilities(rows[kept], probability[kept], contexts)
        return _merged(Answer(rows[kept], self._cast(actions.take(to_arrow(kept))), probability[kept]))

    def _actions(self, values: Any) -> pa.Array:
        try:
            actions = plain_column(_as_arrow(values))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
            raise DecisionError(
                f"{self.where} returned {quoted(type(values).__name__)}, which holds no actions: {first_lines(error)}.",
                HOW,
            ) from error
        if pa.types.is_nested(actions.type):
            raise DecisionError(f"{self.where} returned rows of type {actions.type}.", HOW)
        return actions

    def _cast(self, actions: pa.Array, *, as_text: bool = False) -> pa.Array:
        """Cast actions to the log's type; names of columns may be the text of a number."""
        kind, wanted = actions.type, self.action_type
        if kind == wanted or pa.types.is_null(kind):
            return actions.cast(wanted)
        texts = (pa.types.is_string(kind) or pa.types.is_large_string(kind), _is_text(wanted))
        numbers = tuple(pa.types.is_integer(t) or pa.types.is_floating(t) for t in (kind, wanted))
        times = tuple(pa.types.is_temporal(t) for t in (kind, wanted))
        if not (all(texts) or all(numbers) or all(times) or (as_text and texts[0])):
            raise DecisionError(
                f"{self.where} chooses actions of type {kind}, and those of the log are {wanted}.",
                f"Write them as in the column {quoted(self.action)} of the log.",
            )
        try:
            return actions.cast(wanted)
        except pa.ArrowInvalid as error:
            raise DecisionError(
                f"{self.where} chooses what is no {wanted}, the type of the log's actions: {first_lines(error)}.",
                f"Write actions as in the column {quoted(self.action)} of the log.",
            ) from error

    def _check_length(self, length: int, contexts: pa.Table) -> None:
        if length != contexts.num_rows:
            per_event = " If these are choices per event, make them a column of the log, and pass 'column:NAME'."
            raise DecisionError(
                f"{self.where} was asked about {counted(contexts.num_rows, 'context')} and answered with "
                f"{counted(length, 'row')}.",
                "Return one row for each context, in their order; a null where it chooses nothing."
                + (per_event if length > contexts.num_rows else ""),
            )

    def _check_probabilities(self, rows: NDArray[np.int64], values: NDArray[np.float64], contexts: pa.Table) -> None:
        wrong = ~((values >= 0) & (values <= 1 + SUM_TOLERANCE))
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            found = contexts_as_text(contexts, [int(rows[first])], self.context)
            raise DecisionError(
                f"{self.where} returned a probability of {values[first]:g} (for {found}).",
                "Probabilities lie in [0, 1]; leave a context out by zeros.",
            )
        sums = np.bincount(rows, weights=values, minlength=contexts.num_rows)
        if (sums > 1 + SUM_TOLERANCE).any():
            place = int(sums.argmax())
            found = contexts_as_text(contexts, [place], self.context)
            raise DecisionError(
                f"{self.where} returned probabilities that sum to {sums[place]:g} (for {found}).",
                "Those of a context sum to at most 1; the rest is undecided.",
            )


def _merged(answer: Answer) -> Answer:
    """Return one row per context and action: probabilities of the same action add up."""
    encoded = answer.actions.dictionary_encode()
    size = max(len(encoded.dictionary), 1)
    codes, place = np.unique(answer.rows * size + to_numpy(encoded.indices), return_inverse=True)
    if len(codes) == len(answer.rows):
        return answer
    actions = encoded.dictionary.take(to_arrow(codes % size))
    probability = np.zeros(len(codes))
    np.add.at(probability, place, answer.probability)
    return Answer(codes // size, actions, probability)


def contexts_as_text(contexts: pa.Table, rows: Sequence[int], names: Sequence[str]) -> str:
    """Return contexts for a message, under the user's names."""
    listed = contexts.select(list(names)).take(pa.array(list(rows), pa.int64())).to_pylist()
    return "; ".join(", ".join(f"{name} = {excerpt(value)}" for name, value in row.items()) for row in listed)


def _library(value: Any) -> str:
    return type(value).__module__.split(".", maxsplit=1)[0]


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _frame_names(answer: Any) -> list[Any] | None:
    """Return the columns of a frame or a mapping, as they are written; None for an array of actions."""
    if isinstance(answer, Mapping):
        return list(answer)
    if isinstance(answer, pa.Table | pa.RecordBatch):
        return list(answer.schema.names)
    return list(answer.columns) if hasattr(answer, "columns") and _library(answer) in ("pandas", "polars") else None


def _column(answer: Any, name: Any, place: int) -> Any:
    if isinstance(answer, pa.Table | pa.RecordBatch):
        return to_numpy(answer[name].cast("float64"), null=np.nan)
    return answer.iloc[:, place] if hasattr(answer, "iloc") else answer[name]


def _order(answer: Any, number: int, where: str) -> NDArray[np.int64] | None:
    """Return where the rows of a pandas answer are in it, if its index is a permutation of ours."""
    if _library(answer) != "pandas" or not hasattr(answer, "index") or len(answer.index) != number:
        return None
    index = np.asarray(answer.index)
    if np.array_equal(index, np.arange(number)):
        return None
    order = np.argsort(index, kind="stable")
    if index.dtype.kind not in "iu" or not np.array_equal(index[order], np.arange(number)):
        raise DecisionError(
            f"{where} returned rows under another index than those of the frame that it got.",
            "Keep the index, or return an array in the order of the frame: .to_numpy().",
        )
    return order


def _aligned(answer: Any, number: int, where: str) -> Any:
    order = _order(answer, number, where)
    return answer if order is None else answer.iloc[order]


def _as_arrow(values: Any) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, str | bytes) or values is None or (np.ndim(values) == 0 and not hasattr(values, "__len__")):
        raise TypeError("it is no list, array or Series")
    if _library(values) == "polars":
        return values.to_arrow()
    values = values if hasattr(values, "__array__") else list(values)
    return pa.array(values, from_pandas=True)
