"""Learn from earlier cells and judge by later ones: what a policy earns there, and how well rewards are predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.reward.credibility import Credibility, Halves
from warmstart.reward.examples import Examples
from warmstart.reward.learner import LearnedRewards, Learner, greedy_weights
from warmstart.reward.models import ModelName

Floats = NDArray[np.float64]
Division = tuple[Examples, Examples]
# Expected rewards at which factors are shrunk half way, the most shrunk first; the last ones hardly shrink.
CELL_HALVES = (240.0, 120.0, 60.0, 30.0, 15.0, 8.0, 4.0, 2.0, 1.0)
CONTEXT_HALVES = (30.0, 8.0, 2.0)
# The usual halves are left for others whose loss is less by so many standard errors.
CLEARLY = 2.0
# Predictions that are 0 or 1 are moved inside by this share of the mean reward.
INSIDE = 0.01


def inside(predicted: NDArray[Any], later: Examples) -> Floats:
    """Return predictions for later cells; those that are 0 or 1 are moved inside."""
    mean = float(later.reward_sum.sum() / later.n.sum())
    edge = INSIDE * min(mean, 1 - mean) + 1e-9
    return np.clip(predicted.astype(np.float64), edge, 1 - edge)


@dataclass(frozen=True, eq=False)
class Losses:
    """The log-loss of each later cell's rewards (``of_reward``) and of what they lack (``of_none``), per event."""

    of_reward: Floats
    of_none: Floats

    @classmethod
    def of(cls, predicted: Floats, later: Examples) -> Losses:
        """Return the losses of predictions for later cells; those that are 0 or 1 are moved inside."""
        p = inside(predicted, later)
        return cls(-np.log(p), -np.log1p(-p))

    def sum(self, later: Examples) -> float:
        """Return the loss of all later events."""
        return float(later.reward_sum @ self.of_reward + (later.n - later.reward_sum) @ self.of_none)

    def spread(self, other: Losses, later: Examples) -> float:
        """Return the variance of the sum's difference to another's."""
        good, bad = (self.of_reward - other.of_reward) ** 2, (self.of_none - other.of_none) ** 2
        return float(later.reward_sum @ good + (later.n - later.reward_sum) @ bad)


@dataclass(frozen=True, eq=False)
class Trial:
    """What came of learning from earlier cells, one entry a division of events into earlier and later ones.

    ``learned``: of the first division; None of a blend. ``weights``: of later cells, clipped, for the policy's choices.
    ``parts``: predictions before factors.
    """

    learned: LearnedRewards | None
    halves: Halves
    weights: list[Floats]
    losses: list[Losses]
    parts: list[Part]

    def value(self, later: Sequence[Examples]) -> float:
        """Return the clipped value of the policy on later events."""
        earned = sum(float(one @ cells.reward_sum) for one, cells in zip(self.weights, later, strict=True))
        return earned / events_of(later)

    def loss(self, later: Sequence[Examples]) -> float:
        """Return the mean log-loss of later events."""
        return sum(one.sum(cells) for one, cells in zip(self.losses, later, strict=True)) / events_of(later)

    def value_spread(self, other: Trial, later: Sequence[Examples]) -> float:
        """Return the standard error of the difference of two values."""
        each = zip(self.weights, other.weights, later, strict=True)
        squared = sum(float((one - two) ** 2 @ cells.reward_sq_sum) for one, two, cells in each)
        return float(np.sqrt(squared)) / events_of(later)


def events_of(windows: Sequence[Examples]) -> float:
    """Return the number of events."""
    return sum(float(window.n.sum()) for window in windows)


@dataclass(frozen=True, eq=False)
class Part:
    """Predictions of one division, before factors of ids; ``places``: of later cells among earlier ones, or -1."""

    learner: Learner
    earlier: Examples
    later: Examples
    of_earlier: NDArray[np.float32]
    of_later: NDArray[np.float32]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, learner: Learner, learned: LearnedRewards, earlier: Examples, later: Examples) -> Part:
        """Predict later cells by what was learned from earlier ones."""
        of_earlier, places = learned.predictions, earlier.places(later)
        if learned.model is None:
            # A regressor that is not kept predicts the cells it has learned from, and the mean of others.
            mean = np.float32(earlier.reward_sum.sum() / earlier.n.sum())
            of_later = np.where(places >= 0, of_earlier[places], mean)
        else:
            of_later = learned.model.predict(later.contexts, later.actions, learner.x, learner.a)
        return cls(learner, earlier, later, of_earlier, of_later, places)

    @classmethod
    def blend(cls, parts: Sequence[Part], shares: Mapping[ModelName, float]) -> Part:
        """Return the weighted mean of the predictions of several kinds."""
        of_earlier, of_later = (
            np.sum([share * one for share, one in zip(shares.values(), each, strict=True)], axis=0).astype(np.float32)
            for each in ([part.of_earlier for part in parts], [part.of_later for part in parts])
        )
        first = parts[0]
        learner = replace(first.learner, shares=shares)
        return cls(learner, first.earlier, first.later, of_earlier, of_later, first.places)

    def known(self, halves: Halves) -> Credibility:
        """Return the factors of ids that earlier cells have with these halves."""
        return self.learner.credibility(self.earlier, self.of_earlier, halves)

    def losses(self, halves: Halves) -> Losses:
        """Return the losses of later cells with these halves."""
        known, later = self.known(halves), self.later
        by_cell = np.where(self.places >= 0, known.cells[self.places], 1.0)
        by_id = known.actions[later.actions] * known.contexts[later.contexts]
        return Losses.of(np.maximum(self.of_later, known.lowest) * by_id * by_cell, later)


def with_rewards(divisions: Sequence[Division]) -> list[Division]:
    """Return the divisions whose earlier and later cells have rewards and lack some."""
    return [pair for pair in divisions if all(0 < cells.reward_sum.sum() < cells.n.sum() for cells in pair)]


def try_out(learner: Learner, divisions: Sequence[Division], tau: float) -> Trial:
    """Learn from the earlier cells of each division, and choose how far factors of contexts and cells are shrunk."""
    learned = [learner.learn(earlier, tau) for earlier, _ in divisions]
    parts = [Part.of(learner, one, *division) for one, division in zip(learned, divisions, strict=True)]
    return judged(learned[0], parts)


def judged(learned: LearnedRewards | None, parts: list[Part]) -> Trial:
    """Return the trial of what was learned, by its predictions; ``learned``: of the first division."""
    halves, losses = choose_halves(parts)
    weights = []
    for part in parts:
        scores = part.known(halves).apply(part.earlier, part.of_earlier)
        weights.append(greedy_weights(part.earlier, scores, part.later, len(part.learner.a)))
    return Trial(learned, halves, weights, losses, parts)


def choose_halves(parts: Sequence[Part]) -> tuple[Halves, list[Losses]]:
    """Return the halves with the least loss, first of cells, then of contexts, and the losses of later cells.

    The usual ones stay unless others are clearly better.
    """
    best = usual = Halves()
    losses = first = [part.losses(usual) for part in parts]
    least = total = _total(first, parts)
    for name, halves in (("cell", CELL_HALVES), ("context", CONTEXT_HALVES)):
        for half in halves:
            tried = best._replace(**{name: half})
            results = [part.losses(tried) for part in parts]
            if _total(results, parts) < least:
                best, losses, least = tried, results, _total(results, parts)
    spread = sum(one.spread(two, part.later) for one, two, part in zip(losses, first, parts, strict=True)) ** 0.5
    return (usual, first) if total - least <= CLEARLY * spread else (best, losses)


def _total(losses: Sequence[Losses], parts: Sequence[Part]) -> float:
    return sum(one.sum(part.later) for one, part in zip(losses, parts, strict=True))
