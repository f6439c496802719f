"""A saved policy that defers: it chooses in the contexts of its ranking, and in all others leaves it to logging."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warmstart.core import ColumnError, UsageError, quoted
from warmstart.scoring.arrays import ArraySpec, damaged, read_array
from warmstart.scoring.candidates import Candidates, Unknown
from warmstart.scoring.chosen import Chosen
from warmstart.scoring.keys import SavedKeys, key_arrays, read_keys
from warmstart.scoring.records import Records, columns_of

DRAWS = "A policy that defers does not draw: where it defers, logging's choice stands, with logging's probabilities."
NO_DRAWS = "Explore with the policy that fit learns without safe=True (--safe)."
# The numbers of the actions of every context, the best first, and their scores.
RANKED_ARRAYS = {
    "actions": ArraySpec("ranked_actions.npy", "uint32", ("ranked actions",), below="actions"),
    "scores": ArraySpec("ranked_scores.npy", "float64", ("ranked actions",), 0.0, 1.0),
    "starts": ArraySpec("ranked_starts.npy", "int64", ("contexts + 1",), offsets_to="ranked actions"),
}
_NUMBERS = (int, float, Decimal, np.number, np.bool_)


class Ranked(NamedTuple):
    """A ranking as arrays: the keys of its contexts, column by column, and their actions by number, the best first."""

    contexts: tuple[SavedKeys, ...]
    actions: NDArray[np.uint32]
    scores: NDArray[np.float64]
    starts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DeferringPolicy:
    """A safe policy inside a service: ``actions`` that it knows, and what it chooses, None where it defers.

    ``reads``: the columns that a context must have, the log's own; ``ranked``: by their values, the numbers of the
    actions and their scores, the best first.
    """

    actions: list[Any]
    reads: list[str]
    ranked: Mapping[tuple[Any, ...], tuple[list[int], list[float]]]

    def choose(
        self,
        contexts: Records,
        actions: Sequence[Sequence[Any]] | None = None,
        *,
        unknown: Unknown = "refuse",
        explore: float | None = None,
        rng: np.random.Generator | None = None,  # noqa: ARG002
    ) -> Chosen:
        """Return the action for every context, as ``warmstart choose`` does: None where what logging does stands.

        Args:
            contexts: a list of dicts, or a dict of columns.
            actions: for every context the candidates (feasible actions): the first of its ranking is chosen that is
                one of them.
            unknown: refuse a candidate that the training window never had, or leave it out.
            explore: refused, since logging's choice has logging's probabilities.
            rng: not used.
        """
        if explore is not None:
            raise UsageError(DRAWS, NO_DRAWS)
        columns, size = columns_of(contexts, self.reads)
        candidates = Candidates.read(self._places, size, actions, unknown)
        chosen: list[Any] = [None] * size
        scores = np.full(size, np.nan)
        # A policy that acts nowhere knows no context, of whatever type.
        for row, key in enumerate(zip(*self._checked(columns), strict=True) if self.ranked else ()):
            numbers, own = self.ranked.get(key, ((), ()))
            for number, score in zip(numbers, own, strict=True):
                if actions is None or number in candidates.numbers[row]:
                    chosen[row], scores[row] = self.actions[number], score
                    break
        return Chosen(chosen, scores)

    def _checked(self, columns: Mapping[str, list[Any]]) -> Iterator[list[Any]]:
        """Yield the columns; a value of another type would never be a known context, and is refused."""
        for place, name in enumerate(self.reads):
            for row, value in enumerate(columns[name]):
                if value is not None and not _alike(value, next(iter(self.ranked))[place]):
                    known = quoted(str(next(iter(self.ranked))[place]))
                    what = f"{quoted(name)} of context {row} has another type than in the log, where it is {known}"
                    raise ColumnError(f"{what}: {quoted(str(value))}.", "Give it as the log has it.")
            yield columns[name]

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {action: number for number, action in enumerate(self.actions)}


def _alike(value: Any, key: Any) -> bool:
    """Tell whether a value could be equal to keys like this one."""
    if isinstance(key, _NUMBERS):
        return isinstance(value, _NUMBERS)
    zoned = not isinstance(key, datetime | time) or (getattr(value, "tzinfo", None) is None) == (key.tzinfo is None)
    return isinstance(value, type(key)) and zoned


def ranked_files(types: Sequence[str]) -> set[str]:
    """Return the files of the ranking of a policy that defers, from the types of its context columns."""
    keys = [key_arrays(kind, f"context_{place}", "contexts") for place, kind in enumerate(types)]
    return {spec.file for arrays in (RANKED_ARRAYS, *keys) for spec in arrays.values()}


def load_ranked(folder: Path, types: Sequence[str], actions: int) -> Ranked:
    """Return the ranking of a policy that defers, checked.

    Args:
        folder: of the saved policy.
        types: of its context columns.
        actions: how many are known.
    """
    sizes = {"actions": actions}
    arrays = {name: read_array(folder, spec, sizes, reading="whole") for name, spec in RANKED_ARRAYS.items()}
    if (arrays["starts"][1:] == arrays["starts"][:-1]).any():
        raise damaged("ranked_starts.npy", "every context must have an action")
    keys = tuple(read_keys(folder, kind, f"context_{place}", "contexts") for place, kind in enumerate(types))
    for one in keys:
        if len(one) != len(arrays["starts"]) - 1:
            raise damaged(one.file, f"has {len(one):,} contexts, and ranked_starts.npy {len(arrays['starts']) - 1:,}")
    return Ranked(keys, **arrays)


def deferring_policy(ranked: Ranked, actions: list[Any], reads: list[str]) -> DeferringPolicy:
    """Return the policy of a ranking; contexts must be different."""
    starts, numbers, scores = ranked.starts.tolist(), ranked.actions.tolist(), ranked.scores.tolist()
    spans = [slice(begin, end) for begin, end in pairwise(starts)]
    contexts = list(zip(*(keys.values() for keys in ranked.contexts), strict=True))
    table = {key: (numbers[span], scores[span]) for key, span in zip(contexts, spans, strict=True)}
    if len(table) < len(contexts):
        raise damaged(ranked.contexts[0].file, "context must be unique")
    return DeferringPolicy(actions, reads, table)
