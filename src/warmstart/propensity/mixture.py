"""Mixture over epochs: the propensity of a logger that changed, where contexts do not repeat.

    pi_hat(a|x) = sum_e P_hat(e|x) * pi_hat_e(a|x)

One classifier of all epochs is never sharp where the logger is deterministic at any moment and changes: what was shown
gets propensities that are too small. So there is one classifier an epoch (an imitator), and P_hat tells which epochs
a context comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warmstart.core import to_arrow
from warmstart.features import KeyEncoder, other_folds
from warmstart.propensity.classifier import (
    MOST_ROWS,
    ROWS_TO_CHOOSE,
    FoldModel,
    PropensityModel,
    learn_propensity,
    one_thread,
    training_rows,
)
from warmstart.propensity.epoch_shares import EpochShares
from warmstart.propensity.imitators import Imitators
from warmstart.propensity.quality import log_loss
from warmstart.propensity.training import Candidates, PooledFit, batch_size, draw

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.features import Matrix
    from warmstart.propensity.training import Training

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# Lengths of epochs are compared on as many folds as it takes to have about so many events.
EVENTS_TO_COMPARE = 3_000
# Of candidates in the order of their number of epochs, so many in a row that are no better end the search.
WORSE_IN_A_ROW = 2


@dataclass(frozen=True, eq=False)
class EpochMixture:
    """pi_e(a|x) and P(e|x)."""

    imitators: Imitators
    shares: EpochShares

    @classmethod
    def learn(
        cls,
        pooled: PooledFit,
        training: Training,
        epochs: Ints,
        rng: np.random.Generator,
        *,
        model: Any = None,
        final: bool = True,
    ) -> EpochMixture:
        """Learn both from the events that a pooled model learned from, weights and penalties on those it held out.

        Args:
            pooled: The model of all epochs.
            training: All rows.
            epochs: The epoch of every row of the log, from 0.
            rng: Of samples.
            model: A scikit-learn classifier to clone for every epoch.
            final: Fit to all rows in the end; else to those that were not held out.
        """
        imitators = Imitators.learn(pooled, training, epochs, model, final=final)
        return cls(imitators, EpochShares.learn(pooled, training, epochs, rng, final=final))

    def mixed(self, x: Matrix, pooled: Floats) -> Floats:
        """Return sum_e P(e|x) * pi_e(a|x) for rows, given their pooled probabilities."""
        return self.imitators.mixed(x, pooled, self.shares.probabilities(x))


def learn_mixture(
    contexts: pa.Table,
    actions: pa.Array | pa.ChunkedArray,
    n: Floats,
    folds: Ints,
    epochs: Ints,
    *,
    model: Any = None,
    seed: int = 0,
    most: int = MOST_ROWS,
) -> PropensityModel:
    """Fit a mixture over epochs with cross-fitting: for every fold, models learned from all other folds.

    Args:
        contexts: The context columns, one row per cell, epoch and fold.
        actions: The action of every row.
        n: The events of every row.
        folds: The fold of every row.
        epochs: The epoch of every row, numbered from 0.
        model: A scikit-learn classifier, cloned for every epoch; without one, multinomial logistic regressions.
        seed: Of samples and held-out events.
        most: Learn from at most this many rows (fewer with many actions), sampled without bias.
    """

    def mix(pooled: PooledFit, training: Training, rng: np.random.Generator, given: Any) -> EpochMixture:
        return EpochMixture.learn(pooled, training, epochs, rng, model=given)

    return learn_propensity(contexts, actions, n, folds, model=model, seed=seed, most=most, mix=mix)


def compare_epochs(
    contexts: pa.Table,
    actions: pa.Array | pa.ChunkedArray,
    n: Floats,
    folds: Ints,
    candidates: Mapping[str, Ints],
    *,
    model: Any = None,
    seed: int = 0,
) -> dict[str, float]:
    """Return the held-out log-loss of one pooled model (``""``) and of mixtures over several divisions into epochs.

    Every model learns from the same events, is tuned on the same and judged on a fold that none of them saw.

    Args:
        contexts: The context columns, one row per cell, finest epoch and fold.
        actions: The action of every row.
        n: The events of every row.
        folds: The fold of every row.
        candidates: The epoch of every row under each division, those of few epochs first.
        model: A scikit-learn classifier, cloned; without one, multinomial logistic regressions.
        seed: Of samples and held-out events.
    """
    numbers, contexts = KeyEncoder.of(actions).numbers(actions), contexts.combine_chunks()
    choices = Candidates.of(model, seed)
    tried = list(other_folds(n, folds))
    tried = tried[: int(np.clip(np.ceil(EVENTS_TO_COMPARE * len(tried) / n.sum()), 1, len(tried)))]
    with one_thread():
        rows = _Rows(contexts, numbers, n, folds)
        judges = [_Judge.of(rows, fold, others, choices, seed) for fold, others in tried]
        losses = {"": float(np.mean([judge.loss(None) for judge in judges]))}
        worse = 0
        for name, epochs in candidates.items():
            loss = float(np.mean([judge.loss(epochs) for judge in judges]))
            worse = 0 if loss < min(losses.values()) else worse + 1
            losses[name] = loss
            if worse >= WORSE_IN_A_ROW:
                break
    return losses


class _Rows(NamedTuple):
    contexts: pa.Table
    numbers: Ints
    n: Floats
    folds: Ints


@dataclass(frozen=True, eq=False)
class _Judge:
    """One fold's events, to judge models of the others by; all divisions share the pooled model."""

    model: FoldModel
    pooled: PooledFit
    training: Training
    x: Matrix
    classes: Ints
    n: Floats
    given: Any
    seed: int

    @classmethod
    def of(cls, rows: _Rows, fold: int, others: Ints, choices: Candidates, seed: int) -> _Judge:
        rng = np.random.default_rng([seed, fold, 1])
        matrix, training = training_rows(rows.contexts, rows.numbers, rows.n, others, rng, most=4 * ROWS_TO_CHOOSE)
        pooled = PooledFit.learn(training, choices, rng, most=ROWS_TO_CHOOSE, power=None)
        own = np.flatnonzero((rows.folds == fold) & (rows.n > 0))
        drawn, weights = draw(rows.n[own], batch_size(len(pooled.fitted.classes)), rng)
        x = matrix.apply(rows.contexts.take(to_arrow(own[drawn])))
        model = FoldModel(matrix, pooled.inner, pooled.temperature, True)
        return cls(model, pooled, training, x, rows.numbers[own[drawn]], weights, choices.given, seed)

    def loss(self, epochs: Ints | None) -> float:
        """Return the log-loss of the mixture over these epochs, or of the pooled model."""
        rng = np.random.default_rng([self.seed, 2])
        p = self.model.pooled(self.x)
        fitted = self.pooled.inner
        if epochs is not None:
            mixture = EpochMixture.learn(self.pooled, self.training, epochs, rng, model=self.given, final=False)
            whole = np.zeros((len(p), len(mixture.imitators.classes)))
            whole[:, np.searchsorted(mixture.imitators.classes, fitted.classes)] = p
            p = mixture.mixed(self.x, whole)[:, np.searchsorted(mixture.imitators.classes, fitted.classes)]
        places = fitted.places(self.classes)
        known = places >= 0
        return log_loss(p[known, places[known]], self.n[known]).log_loss
