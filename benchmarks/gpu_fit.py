"""``python -m benchmarks.gpu_fit FOLDER``: ``fit`` from Parquet to a saved policy, on a GPU and on the CPU.

Simulates a month there (``--scale``), fits by the paper's way and by default on each device, and says what steps took,
and what the policies truly earn in the test window. Times are absolute.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import warmstart as ws
from warmstart.demo.experiment import PAPER_TAU

NAMES: dict[str, Any] = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
TRAIN_SHARE = 35 / 54
WAYS: dict[str, dict[str, Any]] = {
    "the paper's way": {"fit_tau": PAPER_TAU, "learn_from": "events", "cross_only": True},
    "default": {},
}


class Steps:
    """A progress callback that adds up what each step takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._step, self._since = "opening", time.perf_counter()

    def __call__(self, step: str, *_: Any) -> None:
        if step != self._step:
            self.end()
            self._step = step

    def end(self) -> None:
        now = time.perf_counter()
        self.seconds[self._step] = round(self.seconds.get(self._step, 0.0) + now - self._since, 2)
        self._since = now


def fit_once(folder: Path, way: str, device: str) -> dict[str, Any]:
    """Fit and save in this process; return times by step and the true value."""
    start = time.perf_counter()
    world = ws.AdWorld.open(folder)
    train, test = ws.read_events(world.events_path, **NAMES).split(fraction=TRAIN_SHARE)
    tables: dict[str, Any] = {"contexts": world.contexts_path, "actions": world.actions_path}
    steps = Steps()
    policy = ws.fit(train, **tables, **WAYS[way], device=device, on_progress=steps)
    steps("saving")
    policy.save(folder / f"{way}-{device}-{os.getpid()}".replace(" ", "-").replace("'", ""))
    steps.end()
    took = time.perf_counter() - start
    report = policy.report
    found = {"way": way, "device": device, "seconds": round(took, 1), "steps": steps.seconds}
    found |= {"rate": report["rate"], "loss": report["training_loss"], "cells": report["cells"]}
    return found | {"value": world.true_value(policy.decisions, events=test)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", default="paper", help="small, medium or paper")
    parser.add_argument("--runs", default="cuda:the paper's way,cuda:default,cpu:the paper's way,cpu:default")
    parser.add_argument("--one", help="one DEVICE:WAY, in this process")
    options = parser.parse_args()
    month = options.folder / f"month-{options.scale}"
    if options.one:
        device, _, way = options.one.partition(":")
        print(json.dumps(fit_once(month, way, device)))
        return
    if not month.exists():
        start = time.perf_counter()
        ws.simulate(month, scale=options.scale)
        print(f"simulated in {time.perf_counter() - start:.0f} s", flush=True)
    for run in filter(None, options.runs.split(",")):
        # A process each, so that every one pays for its imports and the GPU's start.
        command = [sys.executable, "-m", "benchmarks.gpu_fit", str(options.folder), "--scale", options.scale]
        start = time.perf_counter()
        subprocess.run([*command, "--one", run], check=True)
        print(f"{run}: {time.perf_counter() - start:.1f} s as a process, its true value included", flush=True)


if __name__ == "__main__":
    main()
