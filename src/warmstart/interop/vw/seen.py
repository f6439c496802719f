"""Which keys were met before, at 16 bytes a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class SeenKeys:
    """Digests in sorted arrays, each at least twice as long as the next, so that adding costs little on average."""

    def __init__(self) -> None:
        self._levels: list[NDArray[Any]] = []

    def __len__(self) -> int:
        return sum(len(level) for level in self._levels)

    def add(self, digests: list[bytes]) -> list[int]:
        """Add digests of 16 bytes; return the places of those that are new, each once."""
        given = np.frombuffer(b"".join(digests), dtype="S16")
        unique, first = np.unique(given, return_index=True)
        new = np.ones(len(unique), dtype=bool)
        for level in self._levels:
            at = np.searchsorted(level, unique)
            new &= level[np.minimum(at, len(level) - 1)] != unique
        if new.any():
            self._keep(unique[new])
        found: list[int] = np.sort(first[new]).tolist()
        return found

    def _keep(self, level: NDArray[Any]) -> None:
        while self._levels and len(self._levels[-1]) < 2 * len(level):
            level = np.sort(np.concatenate([self._levels.pop(), level]), kind="stable")
        self._levels.append(level)
