"""The best of all actions for every context by a model that is linear in products: on threads, or on a GPU."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from warmstart.features import FeatureRows
from warmstart.kernels import best_of_all_on_gpu, either, pack_columns
from warmstart.reward import ProductModel

THREADS = 2
CONTEXTS_PER_JOB = 128
# From so many contexts times features of all actions on a GPU pays, whose start takes two to three seconds.
LEAST_PRODUCTS = 1e11
Choices = tuple[NDArray[np.int64], NDArray[np.float64]]


def best_of_products(
    model: ProductModel, contexts: FeatureRows, actions: FeatureRows, factors: NDArray[np.float64], lowest: float
) -> Choices:
    """Return the number of the best action for every context, the first of equals, and its score.

    The GPU's choices are those of the CPU, to the last bit with the squared loss.
    """
    packed = (*pack_columns(actions.arrays, model.width), factors)

    def on_gpu() -> Choices:
        table = (model.weights, model.width)
        return best_of_all_on_gpu(contexts.arrays, packed, *table, lowest=lowest, loss=model.loss_code)

    def on_cpu() -> Choices:
        from warmstart.kernels import best_of_all

        best, scores = np.zeros(len(contexts), dtype=np.int64), np.empty(len(contexts))
        table = (model.weights, model.width, lowest, model.loss_code)

        def choose(begin: int) -> None:
            rows = np.arange(begin, min(begin + CONTEXTS_PER_JOB, len(contexts)))
            results = (array[begin : begin + len(rows)] for array in (best, scores))
            best_of_all(rows, contexts.arrays, packed, table, *results)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(choose, range(0, len(contexts), CONTEXTS_PER_JOB)))
        return best, scores

    products = len(contexts) * len(actions.buckets)
    return either("auto", pays=products >= LEAST_PRODUCTS, on_gpu=on_gpu, on_cpu=on_cpu)
