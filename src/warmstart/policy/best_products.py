"""The best of all actions for every context by a model that is linear in products: on threads, or on a GPU."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from warmstart.features import FeatureRows
from warmstart.kernels import DeviceName, best_of_all_on_gpu, either, pack_columns
from warmstart.reward import ProductModel

THREADS = 2
CONTEXTS_PER_JOB = 128
Choices = tuple[NDArray[np.int64], NDArray[np.float64]]


def best_of_products(
    model: ProductModel,
    contexts: FeatureRows,
    actions: FeatureRows,
    factors: NDArray[np.float64],
    lowest: float,
    *,
    device: DeviceName = "auto",
) -> Choices:
    """Return the number of the best action for every context, the first of equals, and its score.

    The GPU's choices are meant to be those of the CPU, to the last bit with the squared loss.
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

    return either(device, on_gpu=on_gpu, on_cpu=on_cpu)
