"""The reward model for contexts that do not repeat: a cross-fitted regression of the context columns per action."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from warmstart.core import (
    ACTION,
    EXPECTED,
    FOLD,
    LEFT_OUT,
    UsageError,
    to_arrow,
    to_numpy,
)
from warmstart.engine import LocalEngine, add_predictions, float_literal
from warmstart.events import FOLDS, Cells, Strata, fetch_to_learn_from, with_key_folds
from warmstart.features import (
    ContextMatrix,
    KeyEncoder,
    Matrix,
    other_folds,
    regressor_copy,
    scikit_learn,
    users_model,
)
from warmstart.reward.left_out import cell_errors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# An action of fewer events has no regression; its mean is believed by half at this many.
FEWEST_EVENTS = 5.0
# Of squared coefficients of columns of spread 1: from rewards that context decides to rewards that it hardly moves.
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1_000.0)
ACTIONS_TO_CHOOSE = 20
HELD_OUT = 0.2
MOST_IN_A_BATCH = 50_000
# So many columns are solved for directly. Newton's steps are squared from one to the next, so that after one that moves
# the logarithm of the odds by no more than this nothing moves it by 1e-9; to choose a penalty, less will do.
WIDE = 300
MOST_STEPS, CLOSE, ROUGHLY, LONGEST, FLAT = 50, 2e-5, 1e-2, 5.0, 1e-6


@dataclass(frozen=True, eq=False)
class Regressions:
    """The reward model by action, asked for rows of the weighted table.

    ``errors``: where folds are of cells, so that a cell is expected to earn what a model says that never saw it, how
    far that is off, by column; else folds are of events, and rows carry theirs.
    """

    engine: LocalEngine
    context_keys: tuple[str, ...]
    learned: RewardByAction
    errors: Mapping[str, float] | None = None
    resources: ExitStack | None = None

    @classmethod
    def learn(cls, strata: Strata, model: Any = None) -> Self:
        """Learn from strata by fold of events; ``model``: a scikit-learn regressor, cloned."""
        keys = strata.cells.columns.context_keys
        return cls(strata.cells.engine, keys, _learned(strata.to_learn_from(), keys, model))

    @classmethod
    def learn_from_cells(cls, cells: Cells, resources: ExitStack, model: Any = None) -> Self:
        """Learn from the cells of the evaluated window by fold of cells; ``model``: a scikit-learn regressor.

        What it is asked for is held in the engine until ``resources`` are released.
        """
        engine, keys = cells.engine, cells.columns.context_keys
        table = _with_folds(cells.table.filter(cells.table.n > 0), engine, keys)
        rows = fetch_to_learn_from(engine, table, [*keys, ACTION, FOLD])
        learned = _learned(rows, keys, model)
        return cls(engine, keys, learned, cell_errors(rows, keys, _expected(rows, (learned, keys))), resources)

    def expect(self, rows: ir.Table) -> ir.Table:
        """Return rows of the weighted table with the reward expected of them, in [0, 1]."""
        keys, reads = self.context_keys, [*self.context_keys, ACTION, FOLD]
        if self.errors is not None and self.resources is not None:
            rows = self.engine.materialise(_with_folds(rows, self.engine, keys))
            self.resources.callback(rows.release)
        rows = add_predictions(self.engine, rows, EXPECTED, _expected, (self.learned, keys), reads=reads)
        if self.errors is None:
            return rows
        errors = {name: float_literal(error) for name, error in self.errors.items()}
        return rows.mutate(**{LEFT_OUT: rows[EXPECTED]}, **errors)

    def sample(self, rows: ir.Table) -> ir.Table:
        """Return the rows that were shown: each was predicted already."""
        return rows.filter(rows.n > 0)


def _with_folds(rows: ir.Table, engine: LocalEngine, keys: Sequence[str]) -> ir.Table:
    return with_key_folds(rows, engine, [*keys, ACTION], FOLDS, name=FOLD, salt="cells ")


def _learned(rows: pa.Table, keys: Sequence[str], model: Any) -> RewardByAction:
    contexts = KeyEncoder.of(rows.select(list(keys)))
    n, rewards, folds = (to_numpy(rows[name]) for name in ("n", "reward_sum", FOLD))
    return learn_by_action(contexts.keys, contexts.numbers(rows), rows[ACTION], n, rewards, folds=folds, model=model)


def _expected(rows: pa.Table, inputs: tuple[RewardByAction, tuple[str, ...]]) -> Floats:
    learned, keys = inputs
    contexts = KeyEncoder.of(rows.select(list(keys)))
    return learned.predict(contexts.keys, contexts.numbers(rows), rows[ACTION], to_numpy(rows[FOLD]))


@dataclass(frozen=True, eq=False)
class RewardByAction:
    """The expected reward of ``labels``; ``learned``: for every fold, the model of the events of all others."""

    labels: KeyEncoder
    learned: dict[int, FoldRewards]

    @property
    def penalties(self) -> dict[int, float]:
        """Return the penalty of every fold; nothing where the model is not ours."""
        return {fold: model.penalty for fold, model in self.learned.items() if model.penalty is not None}

    def predict(self, contexts: pa.Table, which: Ints, actions: pa.Array | pa.ChunkedArray, folds: Ints) -> Floats:
        """Return what actions are expected to earn by the model of their folds, in [0, 1].

        ``which``: the position of every action's context.
        """
        contexts = contexts.combine_chunks()
        numbers = self.labels.numbers(actions)
        result = np.empty(len(numbers))
        for fold in np.unique(folds).tolist():
            if fold not in self.learned:
                raise UsageError(f"Fold {fold} has no model.", f"Models were learned for {sorted(self.learned)}.")
            own, model = np.flatnonzero(folds == fold), self.learned[fold]
            for start in range(0, len(own), MOST_IN_A_BATCH):
                rows = own[start : start + MOST_IN_A_BATCH]
                seen, place = np.unique(which[rows], return_inverse=True)
                x = model.matrix.apply(contexts.take(to_arrow(seen)))
                for action, among in _by_action(numbers[rows]):
                    result[rows[among]] = model.predict(x, place[among], action)
        return np.clip(result, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class FoldRewards:
    """The model of one fold. Without a regression an action earns its mean, shrunk; without events, ``overall``."""

    matrix: ContextMatrix
    overall: float
    means: dict[int, float]
    regressions: dict[int, Any]
    penalty: float | None

    def predict(self, x: Matrix, rows: Ints, action: int) -> Floats:
        """Return what an action is expected to earn in some rows of a matrix."""
        if action not in self.regressions:
            return np.full(len(rows), self.means.get(action, self.overall))
        with users_model(regression := self.regressions[action]):
            return np.asarray(regression.predict(x[rows]), dtype=np.float64)


def learn_by_action(
    contexts: pa.Table,
    which: Ints,
    actions: pa.Array | pa.ChunkedArray,
    n: Floats,
    reward_sum: Floats,
    *,
    folds: Ints,
    model: Any = None,
    seed: int = 0,
) -> RewardByAction:
    """Learn, for every fold and action, the mean reward of cells from the n events of those of all other folds.

    An action of few events, or of rewards that never differ, has its mean, shrunk to that of all actions:
    ``(rewards + k * overall) / (n + k)``.

    Args:
        contexts: The distinct contexts.
        which: The position of every cell's context among them.
        actions: The action of every cell.
        n: Its events.
        reward_sum: Its rewards.
        folds: Its fold.
        model: A scikit-learn regressor, cloned; without one, a logistic regression with the penalty that predicts a
            held-out fifth of the rows of all actions best.
        seed: Of random choices.
    """
    labels = KeyEncoder.of(actions)
    numbers = labels.numbers(actions)
    contexts = contexts.combine_chunks()
    given = None if model is None else regressor_copy(model, seed)

    def of_fold(fold: int, rows: Ints) -> FoldRewards:
        seen, place = np.unique(which[rows], return_inverse=True)
        taken = contexts.take(to_arrow(seen))
        matrix = ContextMatrix.learn(taken, np.bincount(place, weights=n[rows]).astype(np.float64))
        overall = float(reward_sum[rows].sum() / n[rows].sum())
        x = matrix.apply(taken)
        examples = [
            _Examples(action, x[place[among]], n[rows[among]], reward_sum[rows[among]] / n[rows[among]])
            for action, among in _by_action(numbers[rows])
        ]
        enough = [cells for cells in examples if cells.events >= FEWEST_EVENTS and 0 < cells.rewards < cells.events]
        penalty = None if given is not None else _penalty(enough, np.random.default_rng([seed, fold]))

        def fit(cells: _Examples) -> Any:
            if penalty is not None:
                return _logistics(cells, (penalty,))[0]
            with users_model(given):
                return scikit_learn("base").clone(given).fit(cells.x, cells.means, sample_weight=cells.n)

        means = {
            cells.action: (cells.rewards + FEWEST_EVENTS * overall) / (cells.events + FEWEST_EVENTS)
            for cells in examples
        }
        return FoldRewards(matrix, overall, means, {cells.action: fit(cells) for cells in enough}, penalty)

    # Matrices of one action are so small that threads would spend their time waiting for one another.
    with threadpool_limits(limits=1, user_api="blas"):
        return RewardByAction(labels, {fold: of_fold(fold, rows) for fold, rows in other_folds(n, folds)})


@dataclass(frozen=True, eq=False)
class _Examples:
    """The cells of one action: their contexts as a matrix, their events and mean rewards."""

    action: int
    x: Matrix
    n: Floats
    means: Floats

    @property
    def events(self) -> float:
        return float(self.n.sum())

    @property
    def rewards(self) -> float:
        return float(self.n @ self.means)

    def take(self, rows: NDArray[np.bool_]) -> _Examples:
        return _Examples(self.action, self.x[rows], self.n[rows], self.means[rows])


def _penalty(examples: list[_Examples], rng: np.random.Generator) -> float:
    """Choose the penalty with the least squared error on held-out rows of the actions with most events.

    The largest of those that do as well: where nothing could be held out, context says next to nothing.
    """
    errors = np.zeros(len(PENALTIES))
    for example in sorted(examples, key=lambda example: -example.events)[:ACTIONS_TO_CHOOSE]:
        is_held_out = rng.random(len(example.n)) < HELD_OUT
        if is_held_out.all() or not is_held_out.any():
            continue
        held_out = example.take(is_held_out)
        for i, regression in enumerate(_logistics(example.take(~is_held_out), PENALTIES, ROUGHLY)):
            errors[i] += held_out.n @ (held_out.means - regression.predict(held_out.x)) ** 2
    return PENALTIES[len(PENALTIES) - 1 - int(np.argmin(errors[::-1]))]


@dataclass(frozen=True, eq=False)
class Logistic:
    """A logistic regression."""

    coefficients: Floats
    intercept: float

    def predict(self, x: Matrix) -> Floats:
        """Return 1 / (1 + exp(-(intercept + x * coefficients)))."""
        odds: Floats = np.asarray(x @ self.coefficients, dtype=np.float64) + self.intercept
        return _chance(odds)


def _chance(odds: Floats) -> Floats:
    chance: Floats = np.exp(-np.logaddexp(0.0, -odds))
    return chance


def _logistics(cells: _Examples, penalties: Sequence[float], close: float = CLOSE) -> list[Logistic]:
    """Learn logistic regressions of the mean rewards of cells, their intercept free.

    By Newton's method, each from the one before; wide matrices are left to scikit-learn's solvers.
    """
    x, n, means = cells.x, cells.n, cells.means
    rate, width = float(n @ means / n.sum()), x.shape[1]
    if not 0 < rate < 1:
        return [Logistic(np.zeros(width), np.copysign(np.inf, rate - 0.5))] * len(penalties)
    if width > WIDE:
        return [_by_scikit_learn(cells, penalty) for penalty in penalties]
    columns = np.column_stack([np.ones(len(n)), x if isinstance(x, np.ndarray) else x.toarray()])
    at, result = np.array([np.log(rate / (1 - rate)), *np.zeros(width)]), {}
    for penalty in sorted(penalties, reverse=True):
        at = _newton(columns, means, n, at, np.array([0.0, *np.full(width, penalty)]), close=close)
        result[penalty] = Logistic(at[1:], float(at[0]))
    return [result[penalty] for penalty in penalties]


def _newton(columns: Floats, means: Floats, n: Floats, at: Floats, penalty: Floats, *, close: float) -> Floats:
    for _ in range(MOST_STEPS):
        chance = _chance(columns @ at)
        curvature = n * np.maximum(chance * (1 - chance), FLAT)
        slope = columns.T @ (n * (means - chance)) - penalty * at
        step = np.linalg.solve((columns.T * curvature) @ columns + np.diag(penalty), slope)
        farthest = float(np.abs(columns @ step).max())
        at = at + step * min(1.0, LONGEST / max(farthest, FLAT))
        if farthest < close:
            break
    return at


def _by_scikit_learn(cells: _Examples, penalty: float) -> Logistic:
    """Let every row be rewards and, once more, their lack, because classes are whole."""
    from scipy import sparse

    x, n, means = cells.x, cells.n, cells.means
    twice = sparse.vstack([x, x]) if sparse.issparse(x) else np.vstack([x, x])
    rewarded = np.repeat([1, 0], len(n))
    regression = scikit_learn("linear_model").LogisticRegression(C=1 / penalty, max_iter=1_000)
    regression.fit(twice, rewarded, sample_weight=np.concatenate([n * means, n * (1 - means)]))
    return Logistic(regression.coef_[0], float(regression.intercept_[0]))


def _by_action(numbers: Ints) -> Iterator[tuple[int, Ints]]:
    """Give every action the rows that are its own."""
    order = np.argsort(numbers, kind="stable")
    actions, starts = np.unique(numbers[order], return_index=True)
    yield from zip(actions.tolist(), np.split(order, starts[1:]), strict=True)
