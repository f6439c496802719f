"""Reward models as they predict, with NumPy alone: product, low-rank, logistic, cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from warmstart.scoring.rows import SparseRows

LossName = Literal["squared", "logistic"]
ROWS_PER_CHUNK = 20_000
# A row belongs to so many groups; similarities are squared into memberships.
MEMBERSHIPS, SHARPNESS = 3, 2.0
ROWS_TO_MULTIPLY = 256
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
# Expected rewards of pairs: rows of contexts, and places of actions, which were given before.
Predictor = Callable[[NDArray[Any], NDArray[Any], SparseRows], Singles]
Block = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]


class RewardModel(Protocol):
    """Predicts the reward of an action in a context from their features, as a share of its range."""

    def predict(self, contexts: NDArray[Any], actions: NDArray[Any], x: SparseRows, a: SparseRows) -> Singles:
        """Return expected rewards in [0, 1] for pairs: rows of ``x`` and rows of ``a``."""
        ...

    def for_actions(self, a: SparseRows) -> Predictor:
        """Return the same for actions that stay the same, what only they decide being computed once."""
        ...

    def among(self, numbers: Ints) -> RewardModel:
        """Return the model of some of the known actions: row i of actions is then known action ``numbers[i]``."""
        ...

    @property
    def scores_new(self) -> bool:
        """Tell whether actions that training never had can be scored, by their features."""
        ...


class ByFeatures:
    """A model that knows actions by their features alone."""

    scores_new = True

    def among(self, numbers: Ints) -> Self:  # noqa: ARG002
        """Return the model itself, whichever actions it is about."""
        return self


@dataclass(frozen=True, eq=False)
class MeanModel(ByFeatures):
    """The kind ``cells``: the mean reward for all. What cells, actions and contexts earned is left to their factors."""

    mean: float

    def predict(self, contexts: NDArray[Any], *_: Any) -> Singles:
        """Return the mean for every pair."""
        return np.full(len(contexts), self.mean, dtype=np.float32)

    def for_actions(self, a: SparseRows) -> Predictor:  # noqa: ARG002
        """Return ``predict``: actions do not matter."""
        return self.predict


@dataclass(frozen=True, eq=False)
class ProductModel(ByFeatures):
    """A table of weights, ``width`` columns wide; the learning rate that was chosen and its progressive loss."""

    weights: Singles
    width: int
    loss: LossName
    rate: float
    training_loss: float

    def predict(self, contexts: NDArray[Any], actions: NDArray[Any], x: SparseRows, a: SparseRows) -> Singles:
        """Return f in [0, 1] for pairs of contexts and actions."""
        return self.for_actions(a)(contexts, actions, x)

    def for_actions(self, a: SparseRows) -> Predictor:
        """Multiply the weights with the actions' features, if that makes the table no wider."""
        table = self.weights.reshape(-1, self.width)
        if len(a) > self.width:

            def by_columns(x: SparseRows) -> Block:
                columns = x.times(table)
                return lambda contexts, actions: self.bounded(_products(columns, a, contexts, actions))

            return by_block(by_columns)
        blocks = range(0, len(table), ROWS_TO_MULTIPLY)
        parts = [a.times(np.ascontiguousarray(table[begin : begin + ROWS_TO_MULTIPLY].T)).T for begin in blocks]
        of_actions = np.ascontiguousarray(np.concatenate(parts))

        def block(x: SparseRows) -> Block:
            products = x.times(of_actions)
            return lambda contexts, actions: self.bounded(products[contexts, actions])

        return by_block(block)

    def bounded(self, scores: Singles) -> Singles:
        """Turn products into predictions in [0, 1]."""
        return np.clip(scores, 0, 1) if self.loss == "squared" else sigmoid(scores)


class Members(NamedTuple):
    """The groups of every row, and how much it belongs to each; a row without known features belongs to none."""

    groups: Ints
    shares: Floats


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows: ``projection`` takes features to vectors, ``centers`` are those of the groups, of length 1."""

    projection: Singles
    centers: Singles

    def members(self, rows: SparseRows) -> Members:
        """Return the nearest groups of every row."""
        size = min(MEMBERSHIPS, len(self.centers))
        groups, shares = np.empty((len(rows), size), dtype=np.int64), np.empty((len(rows), size))
        for part in chunks(len(rows)):
            vectors = unit(rows.take(part).times(self.projection, np.float64))
            # Rounded, so that groups that are equally near are so in whatever order sums are taken.
            near = np.maximum((vectors @ self.centers.T.astype(np.float64)).astype(np.float32), 0)
            nearest = np.argpartition(-near, size - 1, axis=1)[:, :size]
            weight = np.take_along_axis(near, nearest, axis=1).astype(np.float64) ** SHARPNESS
            groups[part], shares[part] = nearest, weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-12)
        return Members(groups, shares)


@dataclass(frozen=True, eq=False)
class LowRankModel(ByFeatures):
    """Groups of contexts and of actions, the ``factors`` of their pairs, and the ``mean`` reward that they multiply."""

    contexts: Groups
    actions: Groups
    factors: Floats
    mean: float

    def predict(self, contexts: NDArray[Any], actions: NDArray[Any], x: SparseRows, a: SparseRows) -> Singles:
        """Return expected rewards in [0, 1] for pairs: rows of ``x`` and rows of ``a``."""
        columns, action = asked(a, actions)
        return self.for_actions(columns)(contexts, action, x)

    def for_actions(self, a: SparseRows) -> Predictor:
        """Find the groups of the actions."""
        right = self.actions.members(a)

        def block(x: SparseRows) -> Block:
            left = self.contexts.members(x)
            # What is more or less than 1, by context and group of actions.
            more = sum(
                shares[:, None] * (self.factors[groups] - 1)
                for groups, shares in zip(left.groups.T, left.shares.T, strict=True)
            )

            def expected(contexts: NDArray[Any], actions: NDArray[Any]) -> NDArray[Any]:
                match = np.ones(len(contexts))
                for groups, shares in zip(right.groups.T, right.shares.T, strict=True):
                    match += shares[actions] * more[contexts, groups[actions]]
                return np.clip(self.mean * match, 0, 1)

            return expected

        return by_block(block)


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """``coefficients`` of every action for the ``buckets`` in use, in rising order, and its ``intercepts``."""

    buckets: NDArray[np.uint32]
    coefficients: Singles
    intercepts: Singles
    scores_new = False

    def predict(self, contexts: NDArray[Any], actions: NDArray[Any], x: SparseRows, a: SparseRows) -> Singles:
        """Return expected rewards in [0, 1] for pairs: rows of ``x`` and known actions by their number."""
        return self.for_actions(a)(contexts, actions, x)

    def for_actions(self, a: SparseRows) -> Predictor:  # noqa: ARG002
        """Return ``predict``: actions are known by their number, and their features do not matter."""
        table = np.ascontiguousarray(self.coefficients.T)

        def block(x: SparseRows) -> Block:
            logits = x.among(self.buckets).times(table)
            return lambda contexts, actions: sigmoid(logits[contexts, actions] + self.intercepts[actions])

        return by_block(block)

    def among(self, numbers: Ints) -> LogisticModel:
        """Return the model of some of the known actions."""
        return replace(self, coefficients=self.coefficients[numbers], intercepts=self.intercepts[numbers])


def chunks(size: int) -> Iterator[Ints]:
    """Yield the numbers below ``size``, some thousands at a time."""
    for begin in range(0, size, ROWS_PER_CHUNK):
        yield np.arange(begin, min(begin + ROWS_PER_CHUNK, size))


def asked(rows: SparseRows, places: NDArray[Any]) -> tuple[SparseRows, Ints]:
    """Return the rows at these places, each once, and where each place is among them; all rows, if few."""
    if len(rows) <= len(places):
        return rows, np.asarray(places, dtype=np.int64)
    distinct, where = np.unique(places, return_inverse=True)
    return rows.take(distinct), where


def unit(points: NDArray[Any]) -> NDArray[Any]:
    """Return points at length 1; those at 0 stay there."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    result: NDArray[Any] = points / np.maximum(lengths, 1e-9)
    return result


def expected_rewards(predicted: Singles, lowest: float, factors: Floats) -> Floats:
    """Return predictions raised to the lowest, times the factors of their actions, at most 1.

    >>> expected_rewards(np.array([0.25, 0.0], dtype=np.float32), 0.125, np.array([8.0, 2.0])).tolist()
    [1.0, 0.25]
    """
    result: Floats = np.minimum(np.maximum(predicted, lowest) * factors, 1.0)
    return result


def sigmoid(logits: NDArray[Any]) -> Singles:
    """Return 1 / (1 + exp(-logits)), which never overflows.

    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    result: Singles = np.exp(-np.logaddexp(0, -logits)).astype(np.float32)
    return result


def by_block(block: Callable[[SparseRows], Block]) -> Predictor:
    """Predict for some thousands of contexts at a time."""

    def predict(contexts: NDArray[Any], actions: NDArray[Any], x: SparseRows) -> Singles:
        rows, context = asked(x, contexts)
        if len(rows) <= ROWS_PER_CHUNK:
            few: Singles = block(rows)(context, actions).astype(np.float32, copy=False)
            return few
        result = np.empty(len(contexts), dtype=np.float32)
        order = np.argsort(context, kind="stable")
        bounds = np.searchsorted(context[order], [0, *(part[-1] + 1 for part in chunks(len(rows)))])
        for number, part in enumerate(chunks(len(rows))):
            mine = order[bounds[number] : bounds[number + 1]]
            result[mine] = block(rows.take(part))(context[mine] - part[0], actions[mine])
        return result

    return predict


def _products(columns: Singles, a: SparseRows, contexts: NDArray[Any], actions: NDArray[Any]) -> Singles:
    """Return the products of rows of columns and features of actions, for pairs."""
    wanted = a.take(actions)
    owner = np.repeat(contexts, np.diff(wanted.starts))
    terms = columns.ravel().take(owner * columns.shape[1] + wanted.buckets) * wanted.values
    result = np.zeros(len(actions), dtype=np.float32)
    filled = np.flatnonzero(np.diff(wanted.starts))
    if len(filled):
        result[filled] = np.add.reduceat(terms, wanted.starts[filled])
    return result
