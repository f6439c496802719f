"""From cells to scores: the model of features, and what ids add to it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.core.progress import Progress, silent
from warmstart.reward.credibility import Credibility
from warmstart.reward.product import ProductModel, Stream, learn
from warmstart.reward.settings import FitSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.features import FeatureRows
    from warmstart.reward.examples import Examples

FIT_TAUS = (1.0, 0.3, 0.1, 0.05, 0.01)
# Passes over cells, each with half the rate of the one before.
CELL_PASSES, CELL_DECAY = 3, 0.5
FEWEST_IN_A_PASS = 5_000
# The fit's tau is chosen with so many cells, by a value that is clipped at this tau.
CELLS_TO_CHOOSE_WITH, VALUE_TAU = 300_000, 0.05


@dataclass(frozen=True, eq=False)
class Learned:
    """A model (None if it is the user's own), what ids add, and what the cells are expected to earn."""

    model: ProductModel | None
    credibility: Credibility
    scores: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Learner:
    """Everything that stays the same whichever cells are learned from."""

    x: FeatureRows
    a: FeatureRows
    settings: FitSettings
    own_model: Any = None

    def learn(
        self,
        examples: Examples,
        tau: float,
        *,
        events: Stream | None = None,
        passes: int = 1,
        on_progress: Progress = silent,
    ) -> Learned:
        """Learn from cells, or from events in time order, with weights 1 / max(propensity, tau)."""
        if self.own_model is not None:
            from warmstart.reward.sklearn_model import predict_with

            model, predictions = None, predict_with(self.own_model, examples, self.x, self.a, tau)
        else:
            model = learn(
                events or repeated(cell_stream(examples, tau)),
                self.x,
                self.a,
                bits=self.settings.bits,
                rates=self.settings.learning_rates,
                loss=self.settings.loss,
                passes=passes,
                decay=CELL_DECAY,
                shuffle_seed=self.settings.seed if events is None else None,
                threads=self.settings.workers,
                racing=self.settings.racing,
                on_progress=on_progress,
            )
            predictions = model.predict(examples.contexts, examples.actions, self.x, self.a)
        if self.settings.cross_only:
            nothing = Credibility.nothing(len(self.x), len(self.a), len(examples))
            return Learned(model, nothing, predictions.astype(np.float64))
        credibility = Credibility.learn(examples, predictions, len(self.x), len(self.a))
        return Learned(model, credibility, credibility.apply(examples, predictions))

    def choose_tau(
        self, earlier: Examples, later: Examples, on_progress: Progress = silent
    ) -> tuple[float, dict[str, float]]:
        """Choose the fit's tau by the clipped value, on later cells, of what earlier ones teach with each.

        A larger tau is kept unless a smaller one is better by more than two standard errors of the difference.
        """
        some = earlier.of_some_contexts(CELLS_TO_CHOOSE_WITH, len(self.x), self.settings.seed)
        first = self.learn(some, FIT_TAUS[0])
        rates = None if first.model is None else (first.model.rate,)
        alone = replace(self, settings=replace(self.settings, rates=rates, threads=1))
        with ThreadPoolExecutor(self.settings.workers if self.own_model is None else 1) as pool:
            learned = chain([first], pool.map(lambda tau: alone.learn(some, tau), FIT_TAUS[1:]))
            weights = {}
            for i, (tau, found) in enumerate(zip(FIT_TAUS, learned, strict=True), start=1):
                weights[tau] = _weights_of_best(some, found.scores, later, len(self.a))
                on_progress("choosing the fit's tau", i / len(FIT_TAUS))
        return _not_beaten(weights, later)


def cell_stream(examples: Examples, tau: float) -> Stream:
    """Learn from a cell's mean reward, with the weight of its events."""
    return Stream(examples.contexts, examples.actions, examples.means.astype(np.float32), examples.importance(tau))


def repeated(stream: Stream) -> Stream:
    """Repeat a small stream, so that a pass is long enough to learn something."""
    times = FEWEST_IN_A_PASS // max(len(stream), 1)
    if times < 2:
        return stream
    numbers = (np.tile(stream.contexts, times), np.tile(stream.actions, times))
    return Stream(*numbers, np.tile(stream.targets, times), np.tile(stream.importance, times))


def event_stream(
    examples: Examples, contexts: NDArray[np.int64], actions: NDArray[np.int64], rewards: NDArray[Any], tau: float
) -> Stream:
    """Learn from events in the order given, each with the weight that its cell's propensity gives it."""
    size = int(examples.actions.max()) + 1
    cell = np.searchsorted(examples.contexts * size + examples.actions, contexts * size + actions)
    weights = 1 / np.maximum(examples.propensity[cell], tau)
    return Stream(contexts, actions, rewards.astype(np.float32), (weights / weights.mean()).astype(np.float32))


def first_of_contexts(
    contexts: NDArray[np.int64], actions: NDArray[np.int64], scores: NDArray[Any]
) -> NDArray[np.int64]:
    """Order cells by context, best score first; ties go to the action that sorts first."""
    order: NDArray[np.int64] = np.lexsort((actions, -scores, contexts))
    return order


def ranked(
    examples: Examples, scores: NDArray[Any], settings: FitSettings
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the feasible cells, those of a context together and best first, and their ranks from 1."""
    feasible = np.flatnonzero((examples.n >= settings.min_events) & (examples.propensity >= settings.min_propensity))
    context = examples.contexts[feasible]
    order = first_of_contexts(context, examples.actions[feasible], scores[feasible])
    context = context[order]
    begins = np.flatnonzero(np.append(True, context[1:] != context[:-1])[: len(order)])
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order)))) + 1
    return feasible[order], rank.astype(np.int32)


def _weights_of_best(learned: Examples, scores: NDArray[Any], window: Examples, actions: int) -> NDArray[np.float64]:
    """Return, for the cells of a window, the clipped weights of choosing the best-scored action of every context."""
    order = first_of_contexts(learned.contexts, learned.actions, scores)
    first = np.ones(len(order), dtype=bool)
    first[1:] = learned.contexts[order][1:] != learned.contexts[order][:-1]
    chosen = learned.contexts[order[first]] * actions + learned.actions[order[first]]
    matched = np.isin(window.contexts * actions + window.actions, chosen)
    weights: NDArray[np.float64] = matched / np.maximum(window.propensity, VALUE_TAU)
    return weights


def _not_beaten(weights: Mapping[float, NDArray[np.float64]], window: Examples) -> tuple[float, dict[str, float]]:
    events = window.n.sum()
    values = {tau: float((w * window.reward_sum).sum() / events) for tau, w in weights.items()}
    best = max(values, key=lambda tau: values[tau])
    for tau in sorted(weights, reverse=True):
        spread = float(np.sqrt((((weights[best] - weights[tau]) ** 2) * window.reward_sq_sum).sum()) / events)
        if values[best] - values[tau] <= 2 * spread:
            break
    return tau, {f"{t:g}": value for t, value in values.items()}
