"""``python -m benchmarks.gpu``: what learning and choosing cost on a GPU. Needs NumPy and CuPy alone.

``--check`` compares the GPU's kernels with their NumPy twin; ``--time`` measures the pass over 35 M examples of 50 x 30
features at 2^22, 2^24 and 2^26 weights, and the best of 880,000 actions for 163,878 contexts. Times are absolute.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tests.support.device_checks import check_best_of_all, check_predictions, check_training

from warmstart.kernels import ProductsOnGpu, best_of_all_on_gpu, pack_columns, stable_in_flight

EVENTS, CONTEXTS, ACTIONS = 35_000_000, 163_878, 880_000
SHOWN, WORDS = 20_000, (50, 30)
CHUNK = 1_000_000
# As learning has them: rates that are over are 0.
PAPER_RATES = ((0.2, 0.1, 0.05, 0.0), (0.02, 0.01))
ONE_RATE = ((0.05,),)


class Side(NamedTuple):
    """Random rows of features: words by Zipf's law, of length 1."""

    arrays: tuple[np.ndarray, np.ndarray, np.ndarray]
    squares: np.ndarray

    @classmethod
    def of(cls, rng: np.random.Generator, size: int, words: int, bits: int) -> Side:
        # As alike as those of simulated months: the mean row has a squared length of about .15.
        chances = 1 / (np.arange(20_000) + 8.0)
        found = np.searchsorted(np.cumsum(chances / chances.sum()), rng.random(size * words))
        buckets = (found.astype(np.uint64) * 2654435761 >> 7).astype(np.uint32) & np.uint32((1 << bits) - 1)
        values = rng.gamma(2.0, 1.0, size=(size, words)).astype(np.float32)
        values /= np.sqrt((values**2).sum(axis=1, keepdims=True))
        starts = np.arange(size + 1, dtype=np.int64) * words
        return cls((starts, buckets, values.ravel()), (values**2).sum(axis=1))


def examples(rng: np.random.Generator, size: int, actions: int) -> tuple[np.ndarray, ...]:
    """Return examples with contexts by Zipf's law."""
    contexts = (CONTEXTS ** rng.random(size)).astype(np.int64) - 1
    chosen = rng.integers(actions, size=size)
    rewards = (rng.random(size) < 0.03).astype(np.float32)
    weights = rng.gamma(0.5, 2.0, size=size).astype(np.float32)
    return contexts, chosen, rewards, weights / weights.mean()


def seconds(work: Callable[..., Any], *given: Any, **options: Any) -> tuple[float, Any]:
    """Return how long a call takes, the GPU's work included, and what it returns."""
    import cupy

    cupy.cuda.Device().synchronize()
    start = time.perf_counter()
    result = work(*given, **options)
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - start, result


def time_passes(bits: tuple[int, ...], in_flights: tuple[int, ...], groups: Any, events: int) -> list[dict[str, Any]]:
    """Time a pass by weights and by examples in flight (0: as many as are stable)."""
    rows = []
    for total in bits:
        columns = max(total // 2 - 2, 2)
        rng = np.random.default_rng(total)
        x, a = Side.of(rng, CONTEXTS, WORDS[0], total - columns), Side.of(rng, SHOWN, WORDS[1], columns)
        stream = examples(rng, min(events, 8 * CHUNK), SHOWN)
        given = (x.arrays, x.squares, a.arrays, a.squares)
        judged, stable = seconds(stable_by_group, stream, given, groups)
        for number in in_flights:
            in_flight = dict.fromkeys(groups, number) if number else stable
            copied, model = seconds(ProductsOnGpu.zero, in_flight, 1 << total, 1 << columns, given, loss=0)
            model.train(tuple(array[:2000] for array in stream))
            took, loss = seconds(learn_all, model, stream, events)
            row = {"bits": total, "rates": sum(map(len, groups)), "in_flight": [*in_flight.values()]}
            row |= {"events": events, "seconds": round(took, 3), "threads": model.threads, "loss": round(loss, 6)}
            row |= {"judging stability": round(judged, 3), "copying features": round(copied, 3)}
            print(row, flush=True)
            rows.append(row)
    return rows


def stable_by_group(stream: Any, given: Any, groups: Any) -> dict[tuple[float, ...], int]:
    return {rates: stable_in_flight(stream, given, max(rates)) for rates in groups}


def learn_all(model: ProductsOnGpu, stream: tuple[np.ndarray, ...], events: int) -> float:
    """Run a pass in chunks; return the least progressive loss."""
    losses = 0.0
    for begin in range(0, events, CHUNK):
        at = begin % len(stream[0])
        losses += min(model.train(tuple(array[at : at + CHUNK] for array in stream)).values())
    return losses / events


def time_naive(contexts: int, actions: int, bits: int) -> dict[str, Any]:
    """Time the best of all actions."""
    columns = max(bits // 2 - 2, 2)
    rng = np.random.default_rng(0)
    x, a = Side.of(rng, contexts, WORDS[0], bits - columns), Side.of(rng, actions, WORDS[1], columns)
    weights = (rng.normal(size=1 << bits) * 0.01).astype(np.float32)
    factors = rng.gamma(4.0, 0.25, size=actions)
    packing, (packed, used) = seconds(pack_columns, a.arrays, 1 << columns)
    options = {"lowest": 1e-4, "loss": 0}
    few = (x.arrays[0][:33], *x.arrays[1:])
    known = ((packed, used, factors), weights, 1 << columns)
    first, _ = seconds(best_of_all_on_gpu, few, *known, **options)
    took, (_, scores) = seconds(best_of_all_on_gpu, x.arrays, *known, **options)
    row = {"contexts": contexts, "actions": actions, "bits": bits, "columns": len(used), "seconds": round(took, 3)}
    row |= {
        "packing columns": round(packing, 3),
        "32 contexts, compiled": round(first, 3),
        "mean": float(scores.mean()),
    }
    print(row, flush=True)
    return row


def about() -> dict[str, Any]:
    """Return what the machine is, and what its libraries are."""
    start = time.perf_counter()
    import cupy

    imported = time.perf_counter() - start
    made, _ = seconds(cupy.zeros, 1)
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    versions = {"python": platform.python_version(), "numpy": np.__version__, "cupy": cupy.__version__}
    return {"gpu": name, **versions, "importing CuPy": round(imported, 2), "first array": round(made, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the kernels with their NumPy twin")
    parser.add_argument("--time", action="store_true", help="measure")
    parser.add_argument("--short", action="store_true", help="measure on a tenth of the examples and contexts")
    parser.add_argument("--out", type=Path, default=Path(), help="the folder of gpu.json")
    options = parser.parse_args()
    result: dict[str, Any] = {"machine": about()}
    print(result["machine"], flush=True)
    if options.check:
        checks = {"training": check_training, "predictions": check_predictions, "best of all": check_best_of_all}
        for name, check in checks.items():
            took, differences = seconds(check)
            result[name] = {**differences, "seconds": round(took, 2)}
            print(name, result[name], flush=True)
    if options.time:
        share = 10 if options.short else 1
        events = EVENTS // share
        result["one rate"] = time_passes((22, 24, 26), (0,), ONE_RATE, events)
        result["five rates"] = time_passes((22, 24, 26), (0,), PAPER_RATES, events)
        result["in flight"] = time_passes((24,), (16, 32, 64, 128, 264, 528, 1056), ONE_RATE, events // 4)
        result["naive"] = [time_naive(CONTEXTS // share, ACTIONS, bits) for bits in (22, 24, 26)]
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "gpu.json").write_text(json.dumps(result, indent=1, default=float))


if __name__ == "__main__":
    main()
