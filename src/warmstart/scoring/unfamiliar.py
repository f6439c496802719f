"""What a policy is asked about and does not know: gaps, numbers far from those of training, words it never had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from warmstart.core import counted, quoted
from warmstart.scoring.blend import BlendModel
from warmstart.scoring.models import LogisticModel, LowRankModel, ProductModel, RewardModel
from warmstart.scoring.parts import LARGEST_NUMBER
from warmstart.scoring.records import is_absent, numbers_or_times, rows_of_records, vectors_of_lists
from warmstart.scoring.rows import SparseRows
from warmstart.scoring.settings import FeatureSettings, Scale
from warmstart.scoring.trees import TreesModel

GAPS_KNOWN = ("number", "date", "timestamp", "category", "text")
NAMED = ("words", "weighted words", "ids", "text", "category")
LACKED = {"category": "a value that training never had", "ids": "no id that training had"}
# In seconds, some thousand years.
FARTHEST = 1e11
Floats = NDArray[np.float64]
Buckets = NDArray[Any]


class Given(Protocol):
    """The columns that a policy is asked about, as arrays."""

    @property
    def size(self) -> int:
        """Return the number of rows."""
        ...

    def numbers(self, name: str, *, times: bool) -> Floats:
        """Return a column of numbers, or of times in seconds; NaN where there is none."""
        ...

    def vectors(self, name: str, dimensions: int) -> Floats:
        """Return the embeddings that are there, a row each."""
        ...

    def gaps(self, name: str) -> int:
        """Return how many values are missing."""
        ...

    def rows(self, settings: FeatureSettings) -> SparseRows:
        """Return features by these settings."""
        ...


def known_buckets(model: RewardModel | None) -> tuple[Buckets | None, Buckets | None]:
    """Return the buckets of contexts' and of actions' features that training had; None where they do not matter."""
    if isinstance(model, BlendModel):
        each = zip(*map(known_buckets, model.parts), strict=True)
        return tuple(_all(side) for side in each)  # type: ignore[return-value]
    if isinstance(model, ProductModel):
        table = model.weights.reshape(-1, model.width) != 0
        return np.flatnonzero(table.any(axis=1)), np.flatnonzero(table.any(axis=0))
    if isinstance(model, LowRankModel):
        sides = (model.contexts.projection, model.actions.projection)
        return np.flatnonzero(sides[0].any(axis=1)), np.flatnonzero(sides[1].any(axis=1))
    if isinstance(model, LogisticModel):
        return model.buckets, None
    return (model.context_columns, model.action_columns) if isinstance(model, TreesModel) else (None, None)


def _all(side: Iterable[Buckets | None]) -> Buckets | None:
    known = [buckets for buckets in side if buckets is not None]
    return np.unique(np.concatenate(known)) if known else None


def unfamiliar_features(given: Given, settings: FeatureSettings, known: Buckets | None, what: str) -> list[str]:
    """Say what of these columns training never had; nothing if it had all of it.

    Args:
        given: the columns.
        settings: how the columns of training became features.
        known: the buckets of training's features; None: they do not matter.
        what: what the rows are, in words.
    """
    notes = []
    for name, kind in settings.kinds.items():
        if kind in ("number", "date", "timestamp"):
            scale, times = settings.scales[name], kind != "number"
            numbers = given.numbers(name, times=times)[:, None]
            notes += _far(numbers, [scale], name, (given.size, what), _range(*scale, times=times))
        elif kind == "embedding":
            scales = settings.dimensions(name)
            notes += _far(given.vectors(name, len(scales)), scales, name, (given.size, what), "those of training")
        if kind in NAMED and known is not None:
            notes += _unknown(given, settings, name, known, what)
        gaps = given.gaps(name) if kind in GAPS_KNOWN and name not in settings.missing else 0
        if gaps:
            notes.append(
                f"{quoted(name)}: {gaps:,} of {counted(given.size, what)} without a value, where training had no gap: "
                "scored without it."
            )
    return notes


def _far(values: Floats, scales: list[Scale], name: str, rows: tuple[int, str], where: str) -> list[str]:
    """Count rows with a number beyond some spreads of training."""
    middles, spreads = (np.array(column) for column in zip(*scales, strict=True))
    with np.errstate(invalid="ignore", over="ignore"):
        far = int((np.abs(values / 2 - middles / 2) > LARGEST_NUMBER * (spreads / 2)).any(axis=1).sum())
    spread = f"{LARGEST_NUMBER:g} spreads of training: scored as if at the edge."
    return [f"{quoted(name)}: {far:,} of {counted(*rows)} outside {where}, {spread}"] if far else []


def _range(middle: float, spread: float, *, times: bool) -> str:
    edges = (middle - LARGEST_NUMBER * spread, middle + LARGEST_NUMBER * spread)
    if times and all(abs(edge) < FARTHEST for edge in edges):
        return " to ".join(str(np.datetime64(int(edge), "s").astype("datetime64[m]")) for edge in edges)
    return f"[{edges[0]:.4g}, {edges[1]:.4g}]"


def _unknown(given: Given, settings: FeatureSettings, name: str, known: Buckets, what: str) -> list[str]:
    """Count rows of which no word, or not the category, was in training; buckets that are shared hide some."""
    kind = settings.kinds[name]
    rows = given.rows(settings.of(name))
    sizes, ours = np.diff(rows.starts), np.concatenate([[0], np.cumsum(np.isin(rows.buckets, known))])
    new = int(((sizes > 0) & (np.diff(ours[rows.starts]) == 0)).sum())
    said = LACKED.get(kind, "no word that training had")
    return [f"{quoted(name)}: {new:,} of {counted(given.size, what)} with {said}: scored without."] if new else []


@dataclass(frozen=True, eq=False)
class GivenRecords:
    """Contexts that are given as dicts or as columns of Python values."""

    columns: Mapping[str, list[Any]]
    size: int

    def numbers(self, name: str, *, times: bool) -> Floats:
        """Return a column of numbers, or of times in seconds; NaN where there is none."""
        return numbers_or_times(self.columns[name], name, times=times)

    def vectors(self, name: str, dimensions: int) -> Floats:
        """Return the embeddings that are there, a row each."""
        return vectors_of_lists(self.columns[name], name, dimensions)[1]

    def gaps(self, name: str) -> int:
        """Return how many values are missing."""
        return sum(map(is_absent, self.columns[name]))

    def rows(self, settings: FeatureSettings) -> SparseRows:
        """Return features by these settings."""
        return rows_of_records(self.columns, settings)
