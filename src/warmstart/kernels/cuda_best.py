"""The best of all actions for every context, on a GPU; best.cu has the loops."""

from __future__ import annotations

import numpy as np

from warmstart.kernels.columns import Array, Rows
from warmstart.kernels.device import LESS, check_gpu_memory, gpu, kernel, to_gpu

# Contexts whose columns lie in a block's shared memory: as many as fit.
CONTEXTS_EACH = (32, 16, 8, 4, 2, 1)
THREADS = 1024
# Blocks for every multiprocessor, so that few contexts use all of them too.
BLOCKS_EACH = 4
_RESULT = np.dtype(np.float64).itemsize + np.dtype(np.int32).itemsize


def best_of_all_on_gpu(
    x: Rows, actions: tuple[Rows, Array, Array], weights: Array, width: int, *, lowest: float, loss: int
) -> tuple[Array, Array]:
    """Return the best of all actions for every context, the first of equals, and its score.

    Args:
        x: features of contexts.
        actions: features of actions and the columns in use, of ``pack_columns``, and factors.
        weights: the table of weights.
        width: of the table.
        lowest: predictions are raised to it.
        loss: squared or logistic.
    """
    cupy, (a, used, factors) = gpu(), actions
    contexts = len(x[0]) - 1
    device = cupy.cuda.Device().attributes
    room, processors = device["MaxSharedMemoryPerBlockOptin"], device["MultiProcessorCount"]
    together = next(size for size in CONTEXTS_EACH if 4 * size * len(used) <= room or size == 1)
    blocks = -(-contexts // together)
    parts = int(min(max(BLOCKS_EACH * processors // max(blocks, 1), 1), len(factors)))
    held = sum(array.nbytes for array in (*x, *a, factors, weights)) + _RESULT * parts * contexts
    check_gpu_memory(held, "Weights, features and choices", LESS)
    best = cupy.zeros((parts, contexts), dtype=np.int32)
    scores = cupy.empty((parts, contexts), dtype=np.float64)
    features = np.stack([a[1].astype(np.uint32), a[2].astype(np.float32).view(np.uint32)], axis=1)
    of_contexts = (np.int32(contexts), *to_gpu(x, (np.int64, np.uint32, np.float32)))
    of_actions = to_gpu((a[0], features, factors), (np.int64, np.uint32, np.float64))
    table = (*to_gpu((used, weights), (np.int64, np.float32)), np.int64(width), np.float64(lowest), np.int32(loss))
    chosen = kernel("best", "best_of_all", CONTEXTS=together)
    shared = max(4 * together * len(used), THREADS * _RESULT)
    chosen.max_dynamic_shared_size_bytes = shared
    given = (*of_contexts, np.int32(len(factors)), *of_actions, np.int32(len(used)), *table, best, scores)
    chosen((blocks, parts), (THREADS,), given, shared_mem=shared)
    return _first_of_best(cupy.asnumpy(best), cupy.asnumpy(scores))


def _first_of_best(best: Array, scores: Array) -> tuple[Array, Array]:
    """Return the best of all parts of the actions: the first part of equals."""
    part, every = scores.argmax(axis=0), np.arange(scores.shape[1])
    return best[part, every].astype(np.int64), scores[part, every]
