"""Cells as arrays, with contexts and actions as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warmstart.core.arrays import to_arrow, to_numpy, without_minus_zero
from warmstart.core.names import ACTION

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.events import Cells


# What is fetched of a cell beside its keys.
SUMS = ("n", "reward_sum", "reward_sq_sum", "context_n")


@dataclass(frozen=True, eq=False)
class Numbering:
    """Distinct rows of key columns, in order; their positions are the numbers."""

    keys: pa.Table

    @classmethod
    def of_rows(cls, rows: pa.Table) -> Self:
        """Number the distinct rows of a table."""
        import pyarrow.compute as pc

        rows = _settled(rows)
        distinct = rows.take(to_arrow(_first_of_each(rows.columns)))
        in_order = pc.sort_indices(distinct, sort_keys=[(name, "ascending") for name in rows.column_names])
        return cls(distinct.take(in_order).combine_chunks())

    def __len__(self) -> int:
        return int(self.keys.num_rows)

    def numbers(self, rows: pa.Table) -> NDArray[np.int64]:
        """Return the numbers of rows; -1 for one that is not known."""
        codes = self._combined([rows[name] for name in self.keys.column_names], self._steps[1])
        known, order = self._known
        if not len(known):
            return np.full(rows.num_rows, -1)
        place = np.minimum(np.searchsorted(known, codes), len(known) - 1)
        return np.where((known[place] == codes) & (codes >= 0), order[place], -1)

    @cached_property
    def _values(self) -> list[pa.Array]:
        import pyarrow.compute as pc

        return [pc.unique(without_minus_zero(column)) for column in self.keys.columns]

    @cached_property
    def _known(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        codes = self._steps[0]
        order = np.argsort(codes, kind="stable")
        return codes[order], order

    @cached_property
    def _steps(self) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
        """Return the codes of the keys, and the distinct codes after each column but the first."""
        steps: list[NDArray[np.int64]] = []
        return self._combined(self.keys.columns, steps, learn=True), steps

    def _combined(
        self, columns: list[Any], steps: list[NDArray[np.int64]], *, learn: bool = False
    ) -> NDArray[np.int64]:
        """Turn rows of keys into one integer each; -1 where a value is not known.

        After each column codes are numbered anew, so that many columns do not overflow.
        """
        import pyarrow.compute as pc

        total = np.zeros(len(columns[0]), dtype=np.int64)
        unknown = np.zeros(len(columns[0]), dtype=bool)
        for i, (column, values) in enumerate(zip(columns, self._values, strict=True)):
            cast = column if column.type == values.type else pc.cast(column, values.type)
            found = to_numpy(pc.index_in(without_minus_zero(cast), value_set=values), null=-1)
            unknown |= found < 0
            total = total * (len(values) + 1) + found
            if i > 0:
                if learn:
                    steps.append(np.unique(total))
                seen = steps[i - 1]
                place = np.minimum(np.searchsorted(seen, total), max(len(seen) - 1, 0))
                unknown |= seen[place] != total if len(seen) else True
                total = place
        return np.where(unknown, -1, total)


def _settled(rows: pa.Table) -> pa.Table:
    for i, name in enumerate(rows.column_names):
        rows = rows.set_column(i, name, without_minus_zero(rows[name]))
    return rows


def _first_of_each(columns: Sequence[pa.ChunkedArray]) -> NDArray[np.int64]:
    """Return the first of the rows that are alike, for all rows; Arrow's own grouping would load pandas."""
    import pyarrow.compute as pc

    codes, kinds = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        values = pc.unique(column)
        numbers = codes * len(values) + to_numpy(pc.index_in(column, value_set=values))
        pairs = pc.dictionary_encode(to_arrow(numbers))
        codes, kinds = to_numpy(pairs.indices).astype(np.int64), len(pairs.dictionary)
    first = np.zeros(kinds, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first


@dataclass(frozen=True, eq=False)
class Examples:
    """One entry a cell: numbers of its context and action, events, rewards, squared rewards, events of the context."""

    contexts: NDArray[np.int64]
    actions: NDArray[np.int64]
    n: NDArray[np.float64]
    reward_sum: NDArray[np.float64]
    reward_sq_sum: NDArray[np.float64]
    context_n: NDArray[np.float64]

    @classmethod
    def of_cells(
        cls, cells: Cells, numberings: tuple[Numbering, Numbering] | None = None
    ) -> tuple[Self, Numbering, Numbering]:
        """Fetch the cells of a window; number their contexts and actions, or use numbers that are known."""
        keys = cells.columns.context_keys
        found = cells.engine.fetch_arrow(cells.table.filter(cells.table.n > 0).select(*keys, ACTION, *SUMS))
        contexts, actions = numberings or (
            Numbering.of_rows(found.select(list(keys))),
            Numbering.of_rows(found.select([ACTION])),
        )
        return cls.of_rows(found, contexts, actions), contexts, actions

    @classmethod
    def of_rows(cls, found: pa.Table, contexts: Numbering, actions: Numbering) -> Self:
        """Number the rows of a table of cells; those whose context or action has no number are left out."""
        x, a = contexts.numbers(found), actions.numbers(found)
        # In the order of numbers, so that the same log gives the same model whatever order the engine answers in.
        order = np.lexsort((a, x))
        order = order[(x[order] >= 0) & (a[order] >= 0)]
        return cls(x[order], a[order], *(to_numpy(found[name])[order] for name in SUMS))

    def __len__(self) -> int:
        return len(self.n)

    @property
    def means(self) -> NDArray[np.float64]:
        """Return the mean reward of every cell."""
        return self.reward_sum / self.n

    @property
    def propensity(self) -> NDArray[np.float64]:
        """Return the share of the action among the context's events."""
        return self.n / self.context_n

    def importance(self, tau: float) -> NDArray[np.float32]:
        """Return the weights n / max(propensity, tau), with mean 1: a learning rate means the same for any tau."""
        weights = self.n / np.maximum(self.propensity, tau)
        relative: NDArray[np.float32] = (weights / weights.mean()).astype(np.float32)
        return relative

    def of_some_contexts(self, cells: int, contexts: int, seed: int) -> Self:
        """Keep the cells of randomly chosen contexts, about as many cells as asked for."""
        if len(self) <= cells:
            return self
        chosen = np.random.default_rng(seed).random(contexts) < cells / len(self)
        keep = chosen[self.contexts]
        return replace(self, **{name: getattr(self, name)[keep] for name in self.__dataclass_fields__})
