"""A saved policy that chooses with NumPy alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.core import SourceError, UsageError, printable
from warmstart.scoring.about import read_about, read_files, settings_of
from warmstart.scoring.candidates import Candidates, Ints, Unknown
from warmstart.scoring.chosen import Chosen
from warmstart.scoring.deferring import DeferringPolicy, deferring_policy, load_ranked
from warmstart.scoring.exploring import check_exploration, epsilon_greedy
from warmstart.scoring.fields import FILE
from warmstart.scoring.keys import load_keys
from warmstart.scoring.kinds import load_actions, load_model
from warmstart.scoring.models import Predictor, RewardModel, expected_rewards
from warmstart.scoring.records import Records, columns_of, rows_of_records
from warmstart.scoring.rows import SparseRows
from warmstart.scoring.settings import FeatureSettings
from warmstart.scoring.unfamiliar import GivenRecords, known_buckets, unfamiliar_features

# So many pairs of contexts and actions are scored at a time.
PAIRS_PER_BLOCK, CONTEXTS_PER_BLOCK = 200_000, 4_000


@dataclass(frozen=True, eq=False)
class ScoringPolicy:
    """A learned policy inside a service: ``actions`` that it knows, and what it chooses for contexts.

    ``reads``: the columns that a context must have.
    """

    actions: list[Any]
    settings: FeatureSettings
    model: RewardModel
    rows: SparseRows
    factors: NDArray[np.float64]
    lowest: float

    @property
    def reads(self) -> list[str]:
        """Return the columns that a context must have."""
        return self.settings.columns

    def choose(
        self,
        contexts: Records,
        actions: Sequence[Sequence[Any]] | None = None,
        *,
        unknown: Unknown = "refuse",
        explore: float | None = None,
        rng: np.random.Generator | None = None,
    ) -> Chosen:
        """Return the best action for every context, as ``warmstart choose`` does: the first of equals.

        With ``explore`` (epsilon-greedy) every action is drawn: with that probability any of the different candidates,
        else the best.

        Args:
            contexts: a list of dicts, or a dict of columns. None is a missing value.
            actions: for every context the candidates (feasible actions); all known ones for all, if None.
            unknown: refuse a candidate that the training window never had, or leave it out.
            explore: the share of choices that explore.
            rng: a NumPy generator, the same one in every call.
        """
        columns, size = columns_of(contexts, self.reads)
        candidates = Candidates.read(self._places, size, actions, unknown)
        chosen, scores = np.full(size, -1), np.full(size, np.nan)
        for begin, end in _blocks(candidates.sizes):
            rows = self._rows(columns, begin, end)
            numbers, sizes = candidates.of(begin, end)
            pairs = self._scores(np.repeat(np.arange(end - begin), sizes), numbers, rows)
            best = _first_best(pairs, sizes)
            filled = begin + np.flatnonzero(sizes)
            chosen[filled], scores[filled] = numbers[best], pairs[best]
        if explore is None:
            return Chosen([self.actions[number] if number >= 0 else None for number in chosen.tolist()], scores)
        return self._explored(chosen, scores, columns, candidates, (explore, check_exploration(explore, rng)))

    def unfamiliar(self, contexts: Records) -> list[str]:
        """Return remarks on what contexts have that training never had; none if it had all of it.

        Values, words and gaps that are new, and numbers, times and embeddings far from those of training.
        """
        columns, size = columns_of(contexts, self.reads)
        return unfamiliar_features(GivenRecords(columns, size), self.settings, self._known, "context")

    @cached_property
    def _known(self) -> NDArray[Any] | None:
        return known_buckets(self.model)[0]

    def _explored(
        self,
        best: Ints,
        scores: NDArray[np.float64],
        columns: Mapping[str, list[Any]],
        candidates: Candidates,
        exploration: tuple[float, np.random.Generator],
    ) -> Chosen:
        """Draw for every context that has candidates."""
        explore, rng = exploration
        filled = np.flatnonzero(best >= 0)
        listed = [candidates.different(row) for row in filled.tolist()]
        places = np.array([int(np.flatnonzero(mine == best[row])[0]) for mine, row in zip(listed, filled, strict=True)])
        counts = np.array([len(mine) for mine in listed])
        # One number for all, if it is one, draws as for a table of actions.
        among = int(counts[0]) if len(counts) and (counts == counts[0]).all() else counts
        drawn, shares = epsilon_greedy(places.astype(np.int64), among, explore, rng)
        numbers, probabilities = best.copy(), np.full(len(best), np.nan)
        numbers[filled] = [mine[place] for mine, place in zip(listed, drawn.tolist(), strict=True)]
        probabilities[filled] = shares
        for begin in range(0, len(best), CONTEXTS_PER_BLOCK):
            end = min(begin + CONTEXTS_PER_BLOCK, len(best))
            moved = np.flatnonzero(numbers[begin:end] != best[begin:end])
            if len(moved):
                rows = self._rows(columns, begin, end)
                scores[begin + moved] = self._scores(moved, numbers[begin + moved], rows)
        actions = [self.actions[number] if number >= 0 else None for number in numbers.tolist()]
        return Chosen(actions, scores, probabilities)

    def _rows(self, columns: Mapping[str, list[Any]], begin: int, end: int) -> SparseRows:
        part = {name: values[begin:end] for name, values in columns.items()}
        return rows_of_records(part or {"": [None] * (end - begin)}, self.settings)

    def _scores(self, contexts: Ints, numbers: Ints, rows: SparseRows) -> NDArray[np.float64]:
        return expected_rewards(self._predictor(contexts, numbers, rows), self.lowest, self.factors[numbers])

    @cached_property
    def _predictor(self) -> Predictor:
        return self.model.for_actions(self.rows)

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {action: number for number, action in enumerate(self.actions)}


def load(folder: str | Path) -> ScoringPolicy | DeferringPolicy:
    """Load a saved policy to choose with NumPy alone: everything is checked, and no code is run.

    Arrays are read into memory, so that a later change of the folder changes nothing. A damaged or changed folder, or
    one of another version, is an error that names the file and the field. A safe policy chooses None where it defers. A
    policy learned with a model of your own has decisions only, and is refused.
    """
    path, where = Path(folder), printable(folder)
    if not (path / FILE).is_file():
        raise SourceError(f"{where} is no saved policy: it has no {FILE}.")
    about = read_about(path, where)
    read_files(path, about)
    if about.get("defers"):
        known = load_keys(path, about["action_type"]).values()
        ranked = load_ranked(path, about["context_types"], len(known))
        return deferring_policy(ranked, known, list(about["columns"]["context"]))
    if about["model"] is None:
        what = f"{where} was learned with a model of your own, which is not saved: it has decisions only."
        raise UsageError(what, "Look up its decisions.parquet, or score contexts with your model.")
    settings, of_actions = (settings_of(about[name]) for name in ("context_features", "action_features"))
    actions = load_keys(path, about["action_type"]).values()
    bits = (settings.bits, of_actions.bits)
    model = load_model(path, about["model"], bits, len(actions), reading="whole")
    rows, factors = load_actions(path, len(actions), of_actions.bits, reading="whole")
    return ScoringPolicy(actions, settings, model, rows, factors, float(about["lowest"]))


def _blocks(sizes: Ints) -> Iterator[tuple[int, int]]:
    """Yield spans of contexts that have about so many pairs together, at least one context each."""
    ends, begin = np.cumsum(sizes), 0
    while begin < len(sizes):
        before = ends[begin - 1] if begin else 0
        end = int(np.searchsorted(ends, before + PAIRS_PER_BLOCK, "right"))
        end = min(max(end, begin + 1), begin + CONTEXTS_PER_BLOCK, len(sizes))
        yield begin, end
        begin = end


def _first_best(scores: NDArray[np.float64], sizes: Ints) -> Ints:
    """Return the place of the first highest score of every context that has any."""
    sizes = sizes[sizes > 0]
    starts = np.cumsum(sizes) - sizes
    if len(sizes) == 0:
        return np.zeros(0, dtype=np.int64)
    if (sizes == sizes[0]).all():
        return np.asarray(starts + scores.reshape(len(sizes), -1).argmax(axis=1))
    highest = np.repeat(np.maximum.reduceat(scores, starts), sizes)
    places = np.flatnonzero(scores == highest)
    first: Ints = places[np.searchsorted(places, starts)]
    return first
