"""Point estimates for policies: strata and a cross-fitted reward model as arrays, fetched and learned once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from warmstart.core.arrays import to_arrow, to_numpy
from warmstart.core.names import ACTION, FOLD, PROBABILITY, PROPENSITY
from warmstart.reward import Numbering, learn_by_cell
from warmstart.value.estimators import Weighed, point_estimate

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.core.guess import PointEstimate
    from warmstart.events import Cells
    from warmstart.policy import Policy

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int64]


class Scores(Protocol):
    """A reward model that was learned fold by fold; contexts and actions are numbers."""

    def predict(self, contexts: Numbers, actions: Numbers, folds: Numbers) -> Floats:
        """Return the expected rewards, from models that never saw the fold."""
        ...


@dataclass(frozen=True, eq=False)
class ScoresByColumns:
    """A model of context columns, asked by numbers; an action that the window never showed is null."""

    contexts: Numbering
    actions: Numbering
    model: Any

    def predict(self, contexts: Numbers, actions: Numbers, folds: Numbers) -> Floats:
        """Return the expected rewards."""
        keys = self.actions.keys[ACTION].combine_chunks()
        known = to_arrow(np.minimum(actions, len(keys) - 1), actions < len(keys))
        scores: Floats = self.model.predict(self.contexts.keys.take(to_arrow(contexts)), keys.take(known), folds)
        return scores


@dataclass(frozen=True, eq=False)
class Guesser:
    """The evaluated window's strata as arrays, and a reward model over them."""

    cells: Cells
    contexts: Numbering
    actions: Numbering
    x: Numbers
    a: Numbers
    fold: Numbers
    n: Floats
    reward_sum: Floats
    reward_sq_sum: Floats
    propensity: Floats
    traffic: Floats
    scores: Scores

    @classmethod
    def learn(cls, cells: Cells, strata: ir.Table, *, by_columns: bool, model: Any = None) -> Self:
        """Fetch strata, with the propensities they have or else counted ones, and learn a reward model.

        ``by_columns``: one regression of the context columns an action; else cell means that borrow.
        """
        found = cells.engine.fetch_arrow(strata.order_by([*cells.columns.keys, FOLD]))
        contexts = Numbering.of_rows(found.select(list(cells.columns.context_keys)))
        actions = Numbering.of_rows(found.select([ACTION]))
        x, a, fold = contexts.numbers(found), actions.numbers(found), _numbers(found, FOLD)
        n, rewards, squares = (_floats(found, name) for name in ("n", "reward_sum", "reward_sq_sum"))
        folds = int(fold.max()) + 1
        scores: Scores
        if by_columns:
            from warmstart.reward.by_action import learn_by_action

            columns = found.select(list(cells.columns.context_keys))
            learned = learn_by_action(columns, found[ACTION], n, rewards, fold, model=model)
            scores = ScoresByColumns(contexts, actions, learned)
        else:
            scores = learn_by_cell(x, a, fold, n, rewards)
        by_fold = np.bincount(x * folds + fold, weights=n, minlength=len(contexts) * folds)
        traffic = by_fold.astype(np.float64).reshape(-1, folds)
        propensity = _floats(found, PROPENSITY) if PROPENSITY in found.column_names else _counted(x, a, n)
        arrays = (x, a, fold, n, rewards, squares, propensity, traffic)
        return cls(cells, contexts, actions, *arrays, scores)

    def guess(
        self, policy: Policy, names: Sequence[str], *, taus: Sequence[float], delta: float
    ) -> list[tuple[PointEstimate, ...]]:
        """Return the estimates asked for, one tuple a tau."""
        keys = self.cells.columns.keys
        chosen = self.cells.engine.fetch_arrow(policy.on(self.cells).select(*keys, PROBABILITY))
        x, a, h = self.contexts.numbers(chosen), self.actions.numbers(chosen), _floats(chosen, PROBABILITY)
        a = np.where(a < 0, len(self.actions), a)
        expected = np.zeros_like(self.traffic)
        for fold in range(expected.shape[1]):
            scores = self.scores.predict(x, a, np.full_like(x, fold))
            expected[:, fold] = np.bincount(x, weights=h * scores, minlength=len(self.contexts))
        rows = Weighed(
            n=self.n,
            reward_sum=self.reward_sum,
            reward_sq_sum=self.reward_sq_sum,
            propensity=np.where(np.isfinite(self.propensity), self.propensity, np.inf),
            probability=_looked_up(x * (len(self.actions) + 1) + a, h, self.x * (len(self.actions) + 1) + self.a),
            score=self.scores.predict(self.x, self.a, self.fold),
            expected=expected[self.x, self.fold],
        )
        sums = {
            "events": float(self.n.sum()),
            "model": float((self.traffic * expected).sum()),
            "model_sq": float((self.traffic * expected**2).sum()),
        }
        found = [[point_estimate(name, rows, tau=tau, delta=delta, **sums) for name in names] for tau in taus]
        return [tuple(guess for guess in guesses if np.isfinite(guess.value)) for guesses in found]


def _looked_up(codes: Numbers, values: Floats, wanted: Numbers) -> Floats:
    """Return the value at every code that is wanted; 0 where there is none."""
    if not len(codes):
        return np.zeros(len(wanted))
    order = np.argsort(codes, kind="stable")
    place = np.minimum(np.searchsorted(codes[order], wanted), len(codes) - 1)
    found: Floats = np.where(codes[order][place] == wanted, values[order][place], 0.0)
    return found


def _counted(x: Numbers, a: Numbers, n: Floats) -> Floats:
    _, cell = np.unique(x * (int(a.max()) + 1) + a, return_inverse=True)
    shares: Floats = np.bincount(cell, weights=n)[cell] / np.bincount(x, weights=n)[x]
    return shares


def _floats(table: pa.Table, name: str) -> Floats:
    values: Floats = to_numpy(table[name]).astype(np.float64)
    return values


def _numbers(table: pa.Table, name: str) -> Numbers:
    values: Numbers = to_numpy(table[name]).astype(np.int64)
    return values
