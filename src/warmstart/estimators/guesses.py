"""Point estimates for policies: strata and a cross-fitted reward model as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from warmstart.core.arrays import to_arrow, to_numpy
from warmstart.core.names import ACTION, FOLD, PROBABILITY, PROPENSITY
from warmstart.estimators.estimators import GuessSums, Weighed, added_up, point_estimate
from warmstart.features import KeyEncoder
from warmstart.reward import learn_by_cell

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.events import Cells
    from warmstart.policy import Policy
    from warmstart.results.point_estimate import PointEstimate

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

    contexts: KeyEncoder
    actions: KeyEncoder
    model: Any

    def predict(self, contexts: Numbers, actions: Numbers, folds: Numbers) -> Floats:
        """Return the expected rewards."""
        keys = self.actions.keys[ACTION].combine_chunks()
        known = to_arrow(np.minimum(actions, len(keys) - 1), actions < len(keys))
        scores: Floats = self.model.predict(self.contexts.keys, contexts, keys.take(known), folds)
        return scores


@dataclass(frozen=True, eq=False)
class Strata:
    """Strata as arrays, of a window or of some of its contexts: numbers of their contexts and actions, folds, sums.

    ``traffic``: the events of every context by fold. The number ``unseen`` stands for an action that was never shown.
    """

    contexts: KeyEncoder
    unseen: int
    x: Numbers
    a: Numbers
    fold: Numbers
    n: Floats
    reward_sum: Floats
    reward_sq_sum: Floats
    propensity: Floats
    traffic: Floats

    @classmethod
    def of_rows(cls, rows: pa.Table, contexts: KeyEncoder, a: Numbers, *, actions: int, folds: int) -> Self:
        """Take the columns of a table, with the propensities it has or else counted ones."""
        x, fold = contexts.numbers(rows), numbers(rows, FOLD)
        n, rewards, squares = (floats(rows, name) for name in ("n", "reward_sum", "reward_sq_sum"))
        by_fold = np.bincount(x * folds + fold, weights=n, minlength=len(contexts) * folds)
        traffic = by_fold.astype(np.float64).reshape(-1, folds)
        known = floats(rows, PROPENSITY) if PROPENSITY in rows.column_names else _counted(x, a, n)
        return cls(contexts, actions, x, a, fold, n, rewards, squares, known, traffic)

    def guesses(
        self, scores: Scores, chosen: pa.Table, a: Numbers, names: Sequence[str], taus: Sequence[float]
    ) -> Iterator[Iterator[GuessSums]]:
        """Return the sums behind every estimator at every tau, for a policy that chooses these contexts and actions."""
        x, h = self.contexts.numbers(chosen), floats(chosen, PROBABILITY)
        expected = np.zeros_like(self.traffic)
        for fold in range(expected.shape[1]):
            found = scores.predict(x, a, np.full_like(x, fold))
            expected[:, fold] = np.bincount(x, weights=h * found, minlength=len(self.contexts))
        rows = Weighed(
            n=self.n,
            reward_sum=self.reward_sum,
            reward_sq_sum=self.reward_sq_sum,
            propensity=np.where(np.isfinite(self.propensity), self.propensity, np.inf),
            probability=_looked_up(x * (self.unseen + 1) + a, h, self.x * (self.unseen + 1) + self.a),
            score=scores.predict(self.x, self.a, self.fold),
            expected=expected[self.x, self.fold],
        )
        sums = {
            "events": float(self.n.sum()),
            "model": float((self.traffic * expected).sum()),
            "model_sq": float((self.traffic * expected**2).sum()),
        }
        return ((added_up(name, rows, tau=tau, **sums) for name in names) for tau in taus)


@dataclass(frozen=True, eq=False)
class Guesser:
    """The evaluated window's strata, fetched once, and a reward model over them."""

    cells: Cells
    actions: KeyEncoder
    strata: Strata
    scores: Scores

    @classmethod
    def learn(cls, cells: Cells, strata: ir.Table, *, by_columns: bool, model: Any = None) -> Self:
        """Fetch strata and learn a reward model.

        ``by_columns``: one regression of the context columns an action; else cell means that borrow.
        """
        found = cells.engine.fetch_arrow(strata.order_by([*cells.columns.keys, FOLD]))
        contexts, actions = (KeyEncoder.of(found.select(keys)) for keys in (cells.columns.context_keys, [ACTION]))
        folds = int(numbers(found, FOLD).max()) + 1
        held = Strata.of_rows(found, contexts, actions.numbers(found), actions=len(actions), folds=folds)
        scores: Scores
        if by_columns:
            from warmstart.reward.by_action import learn_by_action

            learned = learn_by_action(
                contexts.keys, held.x, found[ACTION], held.n, held.reward_sum, folds=held.fold, model=model
            )
            scores = ScoresByColumns(contexts, actions, learned)
        else:
            scores = learn_by_cell(held.x, held.a, held.fold, held.n, held.reward_sum)
        return cls(cells, actions, held, scores)

    def guess(
        self, policy: Policy, names: Sequence[str], *, taus: Sequence[float], delta: float
    ) -> list[tuple[PointEstimate, ...]]:
        """Return the estimates asked for, one tuple a tau."""
        chosen = self.cells.engine.fetch_arrow(policy.on(self.cells).select(*self.cells.columns.keys, PROBABILITY))
        a = self.actions.numbers(chosen)
        sums = self.strata.guesses(self.scores, chosen, np.where(a < 0, len(self.actions), a), names, taus)
        return [finite_estimates(names, some, delta) for some in sums]


def finite_estimates(names: Sequence[str], sums: Iterable[GuessSums], delta: float) -> tuple[PointEstimate, ...]:
    """Return the estimates that sums give, but for those that they do not."""
    found = (point_estimate(name, some, delta=delta) for name, some in zip(names, sums, strict=True))
    return tuple(guess for guess in found if np.isfinite(guess.value))


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


def floats(table: pa.Table, name: str) -> Floats:
    """Return a column as floats, with NaN for nulls."""
    values: Floats = to_numpy(table[name]).astype(np.float64)
    return values


def numbers(table: pa.Table, name: str) -> Numbers:
    """Return a column of whole numbers."""
    values: Numbers = to_numpy(table[name]).astype(np.int64)
    return values
