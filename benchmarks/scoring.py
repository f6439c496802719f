"""``python -m benchmarks.scoring``: ``warmstart.scoring`` beside the library's own ``choose``, in the same run.

A policy of every kind of model, learned in the world ``topics`` (texts of 40 words, 300 ads), chooses for contexts
that are given as dicts, each with 100 feasible actions of its own; features included. Trees take no words: they have
ten numbers in their place. Seconds are CPU time of one thread.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import warmstart as ws
from benchmarks.records import Rows
from benchmarks.tables import publish
from benchmarks.worlds import NAMES, topics
from warmstart import scoring
from warmstart.reward import MODELS

FEASIBLE, ONE_BY_ONE = 100, 300


def costs(contexts: int, runs: int, models: Sequence[str] = MODELS) -> Rows:
    """Return contexts a second, and times relative to the library's, medians over runs."""
    world, rng = topics(0, events=100_000), np.random.default_rng(0)
    assert world.contexts is not None
    assert world.actions is not None
    places = rng.integers(0, len(world.contexts), contexts)
    ads = sorted(set(world.events["action"].to_pylist()))
    each = [rng.choice(ads, FEASIBLE, replace=False).tolist() for _ in range(contexts)]
    some = world.actions.take(pa.array(rng.choice(ads, FEASIBLE, replace=False)))
    rows: Rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            given = of_numbers(world, rng) if model == "trees" else tables(world)
            asked, dicts = asked_of(given["contexts"], places)
            policy = ws.fit(ws.read_events(world.events, **NAMES), **given, model=model)
            service = scoring.load(policy.save(Path(folder) / model))
            rows[model] = measured(policy, service, (dicts, each), (asked, some), runs)
    return rows


def of_numbers(world: Any, rng: np.random.Generator) -> dict[str, pa.Table]:
    """Return ten numbers in the place of texts: trees take no words."""
    size = len(world.contexts)
    numbers = {f"n{i}": rng.normal(size=size) for i in range(10)}
    return {"contexts": pa.table({"context": world.contexts["context"], **numbers})}


def asked_of(contexts: pa.Table, places: Any) -> tuple[pa.Table, list[dict[str, Any]]]:
    asked = contexts.take(pa.array(places))
    return asked, asked.to_pylist()


def tables(world: Any) -> dict[str, pa.Table]:
    return {"contexts": world.contexts, "actions": world.actions}


def measured(
    policy: ws.FittedPolicy,
    service: scoring.ScoringPolicy,
    records: tuple[list[dict[str, Any]], list[list[Any]]],
    table: tuple[pa.Table, pa.Table],
    runs: int,
) -> dict[str, Any]:
    """Measure interleaved; the first calls, which compile and prepare, are not counted."""
    dicts, each = records
    few, theirs = dicts[:ONE_BY_ONE], each[:ONE_BY_ONE]
    same = [table[1]["action"].to_pylist()] * len(dicts)
    ways = {
        "each": lambda: service.choose(dicts, each),
        "same": lambda: service.choose(dicts, same),
        "table": lambda: policy.choose_table(*table),
        "one": lambda: [service.choose([x], [a]) for x, a in zip(few, theirs, strict=True)],
        "library's one": lambda: [policy.choose(x, a) for x, a in zip(few, theirs, strict=True)],
    }
    for way in ways.values():
        way()
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, way in ways.items():
            begun = time.process_time()
            way()
            times[name].append(time.process_time() - begun)
    least = {name: statistics.median(taken) for name, taken in times.items()}
    return {
        "contexts a second": int(len(dicts) / least["each"]),
        "one a call, contexts a second": int(len(few) / least["one"]),
        "CPU time / choose_table": least["same"] / least["table"],
        "one a call, CPU time / policy.choose": least["one"] / least["library's one"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contexts", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--models", default=",".join(MODELS), help="models of fit, with commas between")
    parser.add_argument("--record", action="store_true", help="keep the results in benchmarks/results")
    options = parser.parse_args()
    settings = {"contexts": options.contexts, "runs": options.runs}
    publish("scoring", costs(**settings, models=options.models.split(",")), settings, record=options.record)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
