"""``python -m benchmarks.fit_scale``: what ``fit`` costs at a scale by kind of model, each in a process of its own.

With ``--before SRC`` (the folder that has ``warmstart`` in it) the default of another source tree as well. CPU time,
time and peak memory relative to the first of them, on a simulated month that is made once.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import (
    CPU,
    MADE,
    MEMORY,
    ROOT,
    TIME,
    Run,
    interleave,
    median,
    median_ratio,
    preload,
    print_run,
    run_child,
)
from benchmarks.records import Rows
from benchmarks.tables import publish

NAMES: dict[str, Any] = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
TRAIN_SHARE = 35 / 54
BEFORE = "product, before"
MODELS = ("product", "low-rank")


def month(scale: str) -> Path:
    """Return the folder of a simulated month, which is made where it is missing."""
    folder = MADE / f"month-{scale}"
    if not folder.exists():
        MADE.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "warmstart", "simulate", str(folder), "--scale", scale]
        subprocess.run(command, check=True, capture_output=True)
    return folder


def fit(folder: str, model: str) -> Run:
    """Read a month and learn from its first part."""
    import warmstart as ws

    world = ws.AdWorld.open(Path(folder))
    train, _ = ws.read_events(world.events_path, **NAMES).split(fraction=TRAIN_SHARE)
    options: dict[str, Any] = {} if model == BEFORE else {"model": model}
    policy = ws.fit(train, contexts=world.contexts_path, actions=world.actions_path, **options)
    return {"cells": policy.report["cells"], "policy": len(policy.ranking)}


def costs(scale: str, runs: int, models: list[str], before: Path | None) -> Rows:
    """Return a row a model: medians relative to the first, which is the other tree's if there is one."""
    folder = month(scale)
    cases = {}
    if before is not None:
        path = os.pathsep.join([str(before.resolve()), str(ROOT)])
        cases[BEFORE] = partial(run_child, "benchmarks.fit_scale", BEFORE, folder, settings={"PYTHONPATH": path})
    cases |= {model: partial(run_child, "benchmarks.fit_scale", model, folder) for model in models}
    results = interleave(cases, runs)
    return {name: row(results[name], results[next(iter(cases))]) for name in cases}


def row(runs: list[Run], first: list[Run]) -> dict[str, Any]:
    """Return medians over rounds: time, CPU time and peak memory relative to the first case."""
    ratios = {"time": TIME, "CPU": CPU, "memory": MEMORY}
    relative = {f"{name} / first": round(median_ratio(runs, first, kind), 3) for name, kind in ratios.items()}
    return {**relative, "peak memory, MB": round(median(runs, MEMORY)), "cells": runs[0]["cells"]}


def main() -> None:
    if len(sys.argv) == 3 and Path(sys.argv[2]).is_dir():
        preload("ibis.backends.duckdb", "pyarrow.compute", "pyarrow.parquet", "warmstart.engine", "numba")
        print_run(partial(fit, sys.argv[2], sys.argv[1]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="paper", help="small, medium or paper")
    parser.add_argument("--runs", type=int, default=1, help="interleaved runs; medians are shown")
    parser.add_argument("--models", default=",".join(MODELS), help="models of fit, with commas between")
    parser.add_argument("--before", type=Path, help="another source tree, whose default comes first")
    parser.add_argument("--record", action="store_true", help="keep the results in benchmarks/results")
    options = parser.parse_args()
    rows = costs(options.scale, options.runs, options.models.split(","), options.before)
    settings = {"scale": options.scale, "runs": options.runs}
    publish("fit-scale", rows, settings, record=options.record)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
