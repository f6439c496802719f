"""Learn and predict on a GPU a model that is linear in the product of two sparse vectors; product.cu has the loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from warmstart.kernels.columns import Array, Rows
from warmstart.kernels.device import LESS, check_gpu_memory, gpu, kernel, to_gpu

# A thread takes so many pairs of features of an example, or a few more.
PAIRS_PER_THREAD, WARP, MOST_THREADS = 8, 32, 512
_ROWS = (np.int64, np.uint32, np.float32)
_EXAMPLES = (np.int32, np.int32, np.float32, np.float32)
# Examples in flight, times the rate, times the largest eigenvalue of the mean outer product of examples: a linear
# recursion with that delay does not swing below 1 / e, and diverges above pi / 2.
STABLE, MOST_IN_FLIGHT = 0.5, 256
SAMPLE, EXAMPLES_EACH = 512, 1_000


@dataclass(frozen=True, eq=False)
class ProductsOnGpu:
    """Weights of learning rates and features of contexts and actions, on the GPU.

    ``tables``: weights by the rates (1, 2 or 4) whose weights lie side by side in them. ``in_flight``: by the same, how
    many examples are worked on at once, each predicted without the steps of the others.
    """

    tables: Mapping[tuple[float, ...], Any]
    in_flight: Mapping[tuple[float, ...], int]
    features: tuple[Any, ...]
    width: int
    loss: int
    threads: int

    @classmethod
    def zero(
        cls,
        in_flight: Mapping[tuple[float, ...], int],
        weights: int,
        width: int,
        rows: tuple[Rows, Array, Rows, Array],
        *,
        loss: int,
    ) -> Self:
        """Return weights of zero; ``rows``: of contexts with their squared lengths, and of actions with theirs."""
        x, x_squares, a, a_squares = rows
        held = sum(array.nbytes for array in (*x, x_squares, *a, a_squares))
        lanes = sum(map(len, in_flight))
        check_gpu_memory(4 * weights * lanes + held, f"The weights of {lanes} learning rates and all features", LESS)
        cupy = gpu()
        tables = {rates: cupy.zeros(weights * len(rates), dtype=np.float32) for rates in in_flight}
        features = (*to_gpu(x, _ROWS), *to_gpu([x_squares], [np.float32]))
        features += (*to_gpu(a, _ROWS), *to_gpu([a_squares], [np.float32]))
        return cls(tables, in_flight, features, width, loss, _threads_for(x, a))

    def train(self, examples: tuple[Array, Array, Array, Array], factor: float = 1.0) -> dict[float, float]:
        """Run a pass over examples with every rate times a factor; return the progressive losses by rate.

        Examples (contexts, actions, targets, importance weights) are learned in their order but for those in flight.
        """
        cupy, count = gpu(), len(examples[0])
        given = to_gpu(examples, _EXAMPLES)
        losses: dict[float, float] = {}
        for rates, weights in self.tables.items():
            blocks = self.in_flight[rates]
            sums = cupy.zeros((blocks, len(rates)), dtype=np.float64)
            scaled = cupy.asarray(np.array(rates) * factor)
            options = (weights, np.int64(self.width), scaled, np.int32(self.loss), sums)
            train = kernel("product", "train", LANES=len(rates))
            train((blocks,), (self.threads,), (np.int32(count), *given, *self.features, *options))
            losses |= dict(zip(rates, cupy.asnumpy(sums).sum(axis=0).tolist(), strict=True))
        return {rate: lost for rate, lost in losses.items() if rate > 0}

    def only(self, rate: float) -> Self:
        """Return the table of one rate alone."""
        rates = next(rates for rates in self.tables if rate in rates)
        alone = self.tables[rates][rates.index(rate) :: len(rates)].copy()
        in_flight: dict[tuple[float, ...], int] = {(rate,): self.in_flight[rates]}
        return type(self)({(rate,): alone}, in_flight, self.features, self.width, self.loss, self.threads)

    def weights(self, rate: float) -> Array:
        """Return the weights of a rate, in this process's memory."""
        rates = next(rates for rates in self.tables if rate in rates)
        weights: Array = gpu().asnumpy(self.tables[rates][rates.index(rate) :: len(rates)])
        return weights


def predict_on_gpu(contexts: Array, actions: Array, x: Rows, a: Rows, weights: Array, width: int) -> Array:
    """Return the products of pairs of contexts and actions."""
    cupy, size = gpu(), len(contexts)
    held = sum(array.nbytes for array in (*x, *a, weights)) + 12 * size
    check_gpu_memory(held, "Weights, features and cells", LESS)
    pairs = to_gpu((contexts, actions), (np.int32, np.int32))
    scores, table = cupy.empty(size, dtype=np.float32), cupy.asarray(weights)
    warps = 8
    blocks = max(min(-(-size // warps), 1 << 16), 1)
    predict = kernel("product", "predict", LANES=1)
    given = (np.int32(size), *pairs, *to_gpu(x, _ROWS), *to_gpu(a, _ROWS), table, np.int64(width), scores)
    predict((blocks,), (warps * WARP,), given)
    products: Array = cupy.asnumpy(scores)
    return products


def stable_in_flight(
    examples: tuple[Array, Array, Array, Array], rows: tuple[Rows, Array, Rows, Array], rate: float, seed: int = 0
) -> int:
    """Return how many examples may be in flight for learning to be as stable as one after the other.

    Judged by a sample of examples: the largest eigenvalue of their products with each other, with the weights that
    steps of this rate really have.
    """
    x, x_squares, a, a_squares = rows
    size = len(examples[0])
    chosen = np.random.default_rng(seed).choice(size, min(SAMPLE, size), replace=False)
    contexts, actions, _, importance = (array[chosen] for array in examples)
    square = np.maximum(x_squares[contexts].astype(np.float64) * a_squares[actions], 1e-12)
    step = -np.expm1(-rate * importance * square) / square
    products = _inner_products(contexts, x) * _inner_products(actions, a) * np.sqrt(np.outer(step, step))
    largest = float(np.linalg.eigvalsh(products / len(chosen))[-1])
    return max(int(min(STABLE / max(largest, 1e-12), MOST_IN_FLIGHT, size // EXAMPLES_EACH)), 1)


def _inner_products(chosen: Array, rows: Rows) -> Array:
    """Return the inner products of some rows with each other."""
    starts, buckets, values = rows
    lengths = np.diff(starts)[chosen]
    owner = np.repeat(np.arange(len(chosen)), lengths)
    places = np.arange(len(owner)) + np.repeat(starts[chosen] - (np.cumsum(lengths) - lengths), lengths)
    used, column = np.unique(buckets[places], return_inverse=True)
    dense = np.zeros((len(chosen), max(len(used), 1)))
    np.add.at(dense, (owner, column), values[places])
    products: Array = dense @ dense.T
    return products


def _threads_for(x: Rows, a: Rows) -> int:
    """Return how many threads share an example: a power of two."""
    pairs = (len(x[1]) / max(len(x[0]) - 1, 1)) * (len(a[1]) / max(len(a[0]) - 1, 1))
    return int(min(max(1 << int(np.ceil(np.log2(max(pairs / PAIRS_PER_THREAD, 1)))), WARP), MOST_THREADS))
