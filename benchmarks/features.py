"""Sparse rows, keys and design matrices beside SciPy, pandas and scikit-learn, as ratios measured in the same run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from warmstart.features import ContextMatrix, FeatureRows, KeyEncoder

ROWS, WORDS, CONTEXTS, REPEATS = 100_000, 40, 200_000, 5


def processor_time() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def best(*ways: Callable[[], Any]) -> list[float]:
    """Time ways in turn, several times; return the least processor time of each, child processes included."""
    times = [[0.0] * REPEATS for _ in ways]
    for i in range(REPEATS):
        for way, measured in zip(ways, times, strict=True):
            start = processor_time()
            way()
            measured[i] = processor_time() - start
    return [min(measured) for measured in times]


def take_with_numpy(rows: FeatureRows, places: Any) -> tuple[Any, Any]:
    """Take rows without SciPy, as before it was used."""
    lengths = np.diff(rows.starts)[places]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    at = np.repeat(rows.starts[places], lengths) + np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    return rows.buckets[at], rows.values[at]


def sparse_rows(rng: np.random.Generator) -> None:
    buckets = rng.integers(0, 1 << 16, ROWS * WORDS)
    rows = FeatureRows.of(np.repeat(np.arange(ROWS), WORDS), buckets, rng.random(ROWS * WORDS), ROWS)
    places = rng.permutation(ROWS)
    numpy, scipy = best(lambda: take_with_numpy(rows, places), lambda: rows.take(places))
    print(f"rows taken by SciPy's CSR: {numpy / scipy:.1f} times as fast as with NumPy ({scipy * 1e3:.0f} ms)")


def keys(rng: np.random.Generator) -> None:
    import pandas as pd

    table = pa.table({"page": rng.integers(0, 3_000, 10 * ROWS), "slot": rng.integers(0, 30, 10 * ROWS)})
    frame = table.to_pandas()

    def ours() -> None:
        KeyEncoder.of(table).numbers(table)

    def theirs() -> None:
        index = pd.MultiIndex.from_frame(frame.drop_duplicates()).sort_values()
        index.get_indexer(pd.MultiIndex.from_frame(frame))

    mine, pandas = best(ours, theirs)
    print(f"keys of two columns: {pandas / mine:.1f} times as fast as pandas' MultiIndex ({mine * 1e3:.0f} ms)")


def design_matrix(rng: np.random.Generator) -> None:
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    table = pa.table(
        {
            "price": rng.random(CONTEXTS),
            "age": rng.random(CONTEXTS),
            "shop": pa.array([f"s{i}" for i in rng.integers(0, 100, CONTEXTS)]),
            "device": pa.array([f"d{i}" for i in rng.integers(0, 5, CONTEXTS)]),
        }
    )
    weights, frame = np.ones(CONTEXTS), table.to_pandas()
    one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=257)
    theirs = ColumnTransformer(
        [("numbers", StandardScaler(), ["price", "age"]), ("categories", one_hot, ["shop", "device"])],
        sparse_threshold=0,
    )
    mine, sklearn = best(
        lambda: ContextMatrix.learn(table, weights).apply(table), lambda: theirs.fit(frame).transform(frame)
    )
    print(f"design matrix: {sklearn / mine:.1f} times as fast as scikit-learn's transformers ({mine * 1e3:.0f} ms)")


def imports() -> None:
    def loading(modules: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, "-c", f"import numpy, pyarrow, {modules}"], check=True)

    nothing, scipy, sklearn, pandas = best(*map(loading, ("json", "scipy.sparse", "sklearn.preprocessing", "pandas")))
    for name, seconds in (("scipy.sparse", scipy), ("sklearn.preprocessing", sklearn), ("pandas", pandas)):
        print(f"import {name}: {seconds - nothing:.2f} s")


if __name__ == "__main__":
    generator = np.random.default_rng(0)
    for measure in (sparse_rows, keys, design_matrix):
        measure(generator)
    imports()
