"""Learn expected rewards from cells: a model of features, and factors of ids on top."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.core import Progress, silent
from warmstart.features import FeatureRows, few_threads, regressor_copy, users_model
from warmstart.kernels import either
from warmstart.reward.credibility import LOWEST_SHARE, LOWEST_SHARE_OF_CHANCES, Credibility, Halves
from warmstart.reward.examples import Examples
from warmstart.reward.logistic import learn_logistic
from warmstart.reward.low_rank import learn_low_rank
from warmstart.reward.models import ModelName
from warmstart.reward.on_gpu import learn_on_gpu, predict_cells_on_gpu
from warmstart.reward.product import ProductModel, Stream, learn
from warmstart.reward.settings import FitSettings
from warmstart.reward.trees import learn_trees
from warmstart.scoring import BlendModel, MeanModel, RewardModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FIT_TAUS = (1.0, 0.3, 0.1, 0.05, 0.01)
# Passes over cells, each with half the rate of the one before.
CELL_PASSES, CELL_DECAY = 3, 0.5
FEWEST_IN_A_PASS = 5_000
# The fit's tau is chosen with so many cells, by a value that is clipped at this tau.
CELLS_TO_CHOOSE_WITH, VALUE_TAU = 300_000, 0.05


@dataclass(frozen=True, eq=False)
class LearnedRewards:
    """A model (None if scikit-learn's), factors of actions on predictions not below ``lowest``, scores of all cells.

    ``predictions``: of all cells, before factors.
    """

    model: RewardModel | None
    factors: Floats
    lowest: float
    scores: Floats
    predictions: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Learner:
    """Features of contexts and actions, settings, and a scikit-learn regressor to learn with in place of our model.

    ``shares``: of the kinds of model in a blend, in the place of the one in the settings.
    """

    x: FeatureRows
    a: FeatureRows
    settings: FitSettings
    regressor: Any = None
    shares: Mapping[ModelName, float] | None = None

    def learn(
        self,
        examples: Examples,
        tau: float,
        *,
        events: Stream | None = None,
        passes: int = 1,
        halves: Halves = Halves(),  # noqa: B008  immutable
        on_progress: Progress = silent,
    ) -> LearnedRewards:
        """Learn from cells, or from events in time order, with weights 1 / max(propensity, tau).

        Args:
            examples: the cells.
            tau: the clipping constant of the weights.
            events: the events to learn from instead.
            passes: passes over cells or events.
            halves: how far factors of ids are shrunk.
            on_progress: called with the step, the share that is done and the running loss.
        """
        if self.regressor is not None:
            model, predictions = None, self._fit_predict(examples, tau)
        else:
            model = self._model(examples, tau, events, passes, on_progress)
            predictions = self._predict(model, examples)
        if self.settings.cross_only:
            return LearnedRewards(model, np.ones(len(self.a)), 0.0, predictions.astype(np.float64), predictions)
        known = self.credibility(examples, predictions, halves)
        scores = known.apply(examples, predictions)
        return LearnedRewards(model, known.actions, known.lowest, scores, predictions)

    def credibility(self, examples: Examples, predictions: NDArray[np.float32], halves: Halves) -> Credibility:
        """Return the factors of ids on predictions of cells."""
        is_linear = self.regressor is not None or (self.settings.model == "product" and not self.shares)
        share = LOWEST_SHARE if is_linear else LOWEST_SHARE_OF_CHANCES
        return Credibility.learn(examples, predictions, len(self.x), len(self.a), halves, lowest_share=share)

    def _model(
        self, examples: Examples, tau: float, events: Stream | None, passes: int, on_progress: Progress
    ) -> RewardModel:
        """Learn a model of the kind that the settings name; only the product learns from events."""
        settings = self.settings
        if self.shares:
            learners = [replace(self, shares=None, settings=replace(settings, model=kind)) for kind in self.shares]
            parts = tuple(learner._model(examples, tau, events, passes, on_progress) for learner in learners)
            return BlendModel(parts, tuple(self.shares.values()))
        if settings.model == "low-rank":
            options: dict[str, Any] = {"bits": settings.bits, "seed": settings.seed, "on_progress": on_progress}
            with few_threads(max(len(examples), len(self.x)), settings.threads):
                return learn_low_rank(examples, tau, self.x, self.a, **options)
        if settings.model == "logistic":
            with few_threads(len(examples), settings.threads):
                return learn_logistic(examples, tau, self.x, self.a, seed=settings.seed, on_progress=on_progress)
        if settings.model == "trees":
            options = {"seed": settings.seed, "threads": settings.threads, "on_progress": on_progress}
            return learn_trees(examples, tau, self.x, self.a, **options)
        if settings.model == "cells":
            return MeanModel(float(examples.reward_sum.sum() / examples.n.sum()))
        given = events or repeat_if_short(cell_stream(examples, tau))
        settled: dict[str, Any] = {
            "bits": settings.bits,
            "rates": settings.learning_rates,
            "loss": settings.loss,
            "passes": passes,
            "decay": CELL_DECAY,
            "shuffle_seed": settings.seed if events is None else None,
            "on_progress": on_progress,
        }
        threads: dict[str, Any] = {"threads": settings.workers, "racing": settings.racing}
        return either(
            settings.device,
            on_gpu=lambda: learn_on_gpu(given, self.x, self.a, **settled),
            on_cpu=lambda: learn(given, self.x, self.a, **settled, **threads),
        )

    def _predict(self, model: RewardModel, examples: Examples) -> NDArray[np.float32]:
        """Return what the model expects of cells."""
        if not isinstance(model, ProductModel):
            return model.predict(examples.contexts, examples.actions, self.x, self.a)
        return either(
            self.settings.device,
            on_gpu=lambda: predict_cells_on_gpu(model, examples, self.x, self.a),
            on_cpu=lambda: model.predict(examples.contexts, examples.actions, self.x, self.a),
        )

    def _fit_predict(self, examples: Examples, tau: float) -> NDArray[np.float32]:
        """Fit a clone of the regressor on cells, features of contexts beside those of actions, and predict them."""
        from scipy import sparse

        def matrix(rows: FeatureRows) -> Any:
            """Return the columns of the buckets in use: dense models would choke on empty ones."""
            used, columns = np.unique(rows.buckets, return_inverse=True)
            return sparse.csr_matrix((rows.values, columns, rows.starts), shape=(len(rows), max(len(used), 1)))

        both = sparse.hstack([matrix(self.x)[examples.contexts], matrix(self.a)[examples.actions]], format="csr")
        fitted = regressor_copy(self.regressor, self.settings.seed)
        with users_model(self.regressor):
            fitted.fit(both, examples.means, sample_weight=examples.importance(tau).astype(np.float64))
            return np.clip(np.asarray(fitted.predict(both), dtype=np.float32), 0, 1)

    def sample(self, examples: Examples) -> Examples:
        """Return cells to choose a model or tau with: those of some contexts, if there are many."""
        return examples.sample_contexts(CELLS_TO_CHOOSE_WITH, len(self.x), self.settings.seed)

    def choose_tau(
        self,
        earlier: Examples,
        later: Examples,
        on_progress: Progress,
        *,
        first: LearnedRewards | None = None,
        halves: Halves = Halves(),  # noqa: B008  immutable
    ) -> tuple[float, dict[str, float]]:
        """Choose the fit's tau by the clipped IPS value, on later cells, of policies learned from earlier ones.

        A larger tau wins unless a smaller one is better by more than two standard errors of the difference.
        Returns it with the values of all.

        Args:
            earlier: the cells to learn from, of ``sample``.
            later: the cells to judge by.
            on_progress: called with the step and the share that is done.
            first: what was learned from the earlier cells with the largest tau, if that is there.
            halves: how far factors of ids are shrunk.
        """
        first = first or self.learn(earlier, FIT_TAUS[0], halves=halves)
        rate = getattr(first.model, "rate", None)
        one_thread = replace(self, settings=replace(self.settings, rates=None if rate is None else (rate,), threads=1))
        with ThreadPoolExecutor(self.settings.workers if self.regressor is None else 1) as pool:
            learned = chain([first], pool.map(lambda tau: one_thread.learn(earlier, tau, halves=halves), FIT_TAUS[1:]))
            weights = {}
            for i, (tau, rewards) in enumerate(zip(FIT_TAUS, learned, strict=True), start=1):
                weights[tau] = greedy_weights(earlier, rewards.scores, later, len(self.a))
                on_progress("choosing the fit's tau", i / len(FIT_TAUS))
        return _largest_tau_not_beaten(weights, later)


def cell_stream(examples: Examples, tau: float, mean_weight: float | None = None) -> Stream:
    """Return cells as training examples: their mean rewards, with the importance weights of their events."""
    weights = examples.importance(tau, mean_weight)
    return Stream(examples.contexts, examples.actions, examples.means.astype(np.float32), weights)


def repeat_if_short(stream: Stream) -> Stream:
    """Repeat a short stream, so that a pass is long enough to learn something."""
    if (times := FEWEST_IN_A_PASS // max(len(stream), 1)) < 2:
        return stream
    return Stream(*(np.tile(array, times) for array in vars(stream).values()))


def event_stream(examples: Examples, contexts: Ints, actions: Ints, rewards: NDArray[Any], tau: float) -> Stream:
    """Return events as training examples, each with the importance weight of its cell.

    Args:
        examples: the cells.
        contexts: of the events, in the order in which they are learned.
        actions: of the events.
        rewards: of the events.
        tau: the clipping constant of the weights.
    """
    size = int(examples.actions.max()) + 1
    cell = np.searchsorted(examples.contexts * size + examples.actions, contexts * size + actions)
    weights = examples.weights(tau)[cell]
    return Stream(contexts, actions, rewards.astype(np.float32), (weights / weights.mean()).astype(np.float32))


def rank_feasible(examples: Examples, scores: NDArray[Any], settings: FitSettings) -> tuple[Ints, NDArray[np.int32]]:
    """Return the feasible cells, those of a context together and best first, and their ranks from 1."""
    feasible = np.flatnonzero((examples.n >= settings.min_events) & (examples.propensity >= settings.min_propensity))
    order, begins = _best_first(examples.contexts[feasible], examples.actions[feasible], scores[feasible])
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order)))) + 1
    return feasible[order], rank.astype(np.int32)


def _best_first(contexts: Ints, actions: Ints, scores: NDArray[Any]) -> tuple[Ints, Ints]:
    """Order cells by context, best score first, ties by action; return the order, and where in it contexts begin."""
    order = np.lexsort((actions, -scores, contexts))
    context = contexts[order]
    return order, np.flatnonzero(np.append(True, context[1:] != context[:-1])[: len(order)])


def greedy_weights(learned: Examples, scores: NDArray[Any], window: Examples, actions: int) -> Floats:
    """Return the clipped importance weights of a window's cells for the policy that takes the best-scored actions."""
    order, begins = _best_first(learned.contexts, learned.actions, scores)
    best = order[begins]
    chosen = learned.contexts[best] * actions + learned.actions[best]
    matched = np.isin(window.contexts * actions + window.actions, chosen)
    weights: Floats = matched / np.maximum(window.propensity, VALUE_TAU)
    return weights


def _largest_tau_not_beaten(weights: Mapping[float, Floats], window: Examples) -> tuple[float, dict[str, float]]:
    events = window.n.sum()
    values = {tau: float((w * window.reward_sum).sum() / events) for tau, w in weights.items()}
    best = max(values, key=lambda tau: values[tau])
    for tau in sorted(weights, reverse=True):
        spread = float(np.sqrt((((weights[best] - weights[tau]) ** 2) * window.reward_sq_sum).sum()) / events)
        if values[best] - values[tau] <= 2 * spread:
            break
    return tau, {f"{t:g}": value for t, value in values.items()}
