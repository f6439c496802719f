"""The candidates (feasible actions) of contexts, by their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from warmstart.core import UsageError, quoted
from warmstart.scoring.records import listed_values

Ints = NDArray[np.int64]
Unknown = Literal["refuse", "leave-out"]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The numbers of the candidates of every context, and how many they are."""

    numbers: list[Ints]
    sizes: Ints

    @classmethod
    def read(
        cls, known: Mapping[Any, int], size: int, actions: Sequence[Sequence[Any]] | None, unknown: Unknown
    ) -> Candidates:
        """Read the candidates of so many contexts.

        Args:
            known: the numbers of the known actions.
            size: how many contexts there are.
            actions: for every context the candidates; all known ones for all, if None.
            unknown: refuse an action that is not known, or leave it out.
        """
        if unknown not in ("refuse", "leave-out"):
            raise UsageError(f"unknown must be 'refuse' or 'leave-out', and is {quoted(unknown)}.")
        if actions is None:
            every = np.arange(len(known))
            return cls([every] * size, np.full(size, len(every)))
        if isinstance(actions, str | bytes) or not hasattr(actions, "__len__"):
            what = f"Actions must be a list of lists, one for each context, and are {quoted(actions)}."
            raise UsageError(what, "Pass [[4, 7]] for one context.")
        if len(actions) != size:
            raise UsageError(
                f"There are {size:,} contexts and {len(actions):,} lists of actions.", "Give one for each."
            )
        # The same list for many contexts is read once; what was read is held, so that no other has its identity.
        read: dict[int, tuple[Any, Ints]] = {}
        numbers = []
        for row, listed in enumerate(actions):
            if id(listed) not in read:
                read[id(listed)] = (listed, _numbers(known, listed, row, unknown))
            numbers.append(read[id(listed)][1])
        return cls(numbers, np.array([len(mine) for mine in numbers], dtype=np.int64))

    def of(self, begin: int, end: int) -> tuple[Ints, Ints]:
        """Return the candidates of some contexts one after another, and how many each has."""
        return np.concatenate(self.numbers[begin:end]), self.sizes[begin:end]

    def different(self, row: int) -> Ints:
        """Return the different candidates of a context, in their order."""
        mine = self.numbers[row]
        first = np.unique(mine, return_index=True)[1]
        return mine if len(first) == len(mine) else mine[np.sort(first)]


def _numbers(known: Mapping[Any, int], actions: Sequence[Any], row: int, unknown: Unknown) -> Ints:
    try:
        listed = [[]] if isinstance(actions, str | bytes) else listed_values(actions)
        numbers = [known.get(action, -1) for action in listed]
    except TypeError as error:
        what = f"The actions of context {row} must be a list of actions, and are {quoted(actions)}."
        raise UsageError(what, "Pass a list of actions for each context.") from error
    if unknown == "refuse":
        if not numbers:
            raise UsageError(f"Context {row} has no action to choose among.")
        if -1 in numbers:
            action = quoted(listed[numbers.index(-1)])
            hint = "Choose among those of the log, or leave such out with unknown='leave-out'."
            raise UsageError(f"The policy does not know the action {action}.", hint)
    return np.array([number for number in numbers if number >= 0], dtype=np.int64)
