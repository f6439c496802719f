"""The paper's regressor on a GPU: the same model, learned by many examples in flight at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from warmstart.core import Progress, silent
from warmstart.features import FeatureRows
from warmstart.kernels import ProductsOnGpu, predict_on_gpu, stable_in_flight
from warmstart.reward.examples import Examples
from warmstart.reward.product import LOSS_CODES, PAPER_RATES, ProductModel, Stream, rate_groups, with_spare_lanes
from warmstart.scoring import LossName

Ints = NDArray[np.int64]
Singles = NDArray[np.float32]
CHUNK = 1_000_000


def learn_on_gpu(
    stream: Stream,
    x: FeatureRows,
    a: FeatureRows,
    *,
    bits: tuple[int, int],
    rates: Sequence[float] = PAPER_RATES,
    loss: LossName = "squared",
    passes: int = 1,
    decay: float = 1.0,
    shuffle_seed: int | None = None,
    on_progress: Progress = silent,
) -> ProductModel:
    """Learn as ``learn`` does, but for what examples in flight at the same time do not know of each other.

    They are as many as leave learning stable. Examples are shuffled on their own, since cells of one context in flight
    together would repeat each other's steps. Sums are taken in no fixed order: results agree but for rounding.
    """
    examples = _part(stream, slice(None))
    rows = (x.arrays, x.squares, a.arrays, a.squares)
    groups = [with_spare_lanes(group) for group in rate_groups(rates, threads=1)]
    in_flight = {group: stable_in_flight(examples, rows, max(group)) for group in groups}
    model = ProductsOnGpu.zero(in_flight, 1 << sum(bits), 1 << bits[1], rows, loss=LOSS_CODES[loss])
    losses, weight = dict.fromkeys(rates, 0.0), max(float(stream.importance.sum(dtype=np.float64)), 1e-12)
    rng = None if shuffle_seed is None else np.random.default_rng(shuffle_seed)
    best, size = rates[0], len(stream)
    for number in range(passes):
        order = None if rng is None else rng.permutation(size)
        for begin in range(0, size, CHUNK):
            end = min(begin + CHUNK, size)
            part = slice(begin, end) if order is None else order[begin:end]
            for rate, more in model.train(_part(stream, part), decay**number).items():
                losses[rate] += more if number == 0 else 0.0
            done = end / size if number == 0 else 1.0
            detail = f"loss {min(losses.values()) / weight / done:.5f}, on a GPU"
            on_progress("learning", (number + end / size) / passes, detail)
        if number == 0:
            best = min(losses, key=lambda rate: losses[rate])
            model, losses = model.only(best), {best: losses[best]}
    return ProductModel(model.weights(best), 1 << bits[1], loss, best, losses[best] / weight)


def _part(stream: Stream, at: slice | Ints) -> tuple[Ints, Ints, Singles, Singles]:
    return stream.contexts[at], stream.actions[at], stream.targets[at], stream.importance[at]


def predict_cells_on_gpu(model: ProductModel, examples: Examples, x: FeatureRows, a: FeatureRows) -> Singles:
    """Return f in [0, 1] for cells."""
    products = predict_on_gpu(examples.contexts, examples.actions, x.arrays, a.arrays, model.weights, model.width)
    return model.bounded(products)
