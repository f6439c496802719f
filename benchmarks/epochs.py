"""``evaluate`` within 30 daily epochs, relative to without; and with the doubly robust estimate, relative to without.

``python -m benchmarks.epochs WHAT LOG`` is one measurement in a process of its own.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.measure import Run, interleave, preload_warmstart, print_run, relative, run_child
from benchmarks.paper_log import paper_log
from benchmarks.records import Rows

TAUS = (0.01, 0.05)
POLICIES = {"decisions": ("min",), "two decisions": ("min", "max"), "uniform and logging": ("uniform", "logging")}
NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
# What is measured: epochs, and point estimates. The last has no reward model.
CASES: dict[str, dict[str, Any]] = {"day": {"epoch": "day"}, "none": {}, "plain": {"estimators": ("ips",)}}
# Decisions: of the actions that a context was shown, the one of the smallest or of the largest number.
CHOICES = ("min", "max")


def costs(events: int, runs: int) -> dict[str, Rows]:
    """Return the table ``epochs``: time, CPU and memory within epochs, relative to those without."""
    return {"epochs": _compared(events, runs, "day", "none", "without epochs")}


def best_estimate_costs(events: int, runs: int) -> dict[str, Rows]:
    """Return the table ``with-dr``: time, CPU and memory with the best estimate, relative to those without."""
    return {"with-dr": _compared(events, runs, "none", "plain", "without dr")}


def _compared(events: int, runs: int, case: str, floor: str, words: str) -> Rows:
    log = paper_log(events)
    for choice in CHOICES:
        decisions(log, choice)
    work = {
        f"{name}|{which}": partial(run_child, "benchmarks.epochs", f"{name}|{which}", log)
        for name in POLICIES
        for which in (floor, case)
    }
    results = interleave(work, runs)
    rows: Rows = {}
    for name in POLICIES:
        row: dict[str, Any] = relative(results[f"{name}|{case}"], results[f"{name}|{floor}"])
        rows[name] = {key.replace("floor", words): value for key, value in row.items()}
    return rows


def decisions(log: Path, choice: str) -> Path:
    """Write (once) and return decisions for every context of the log: one of the actions that it was shown."""
    path = log.with_name(f"{log.stem}-{choice}.parquet")
    if not path.exists():
        temporary = path.with_suffix(".part")
        chosen = f"SELECT page, {choice}(ad) AS ad FROM '{log}' GROUP BY page"
        duckdb.sql(f"COPY ({chosen}) TO '{temporary}' (FORMAT parquet)")
        temporary.rename(path)
    return path


def evaluate(what: str, path: Path) -> Run:
    """Evaluate some policies in one of the cases."""
    import warmstart as ws

    name, case = what.split("|")
    settings = dict(CASES[case])
    events = ws.read_events(path, **NAMES, epoch=settings.pop("epoch", None))
    asked = POLICIES[name]
    policies = {policy: str(decisions(path, policy)) if policy in CHOICES else policy for policy in asked}
    fixed = {policy: "never" for policy in asked if policy in CHOICES}
    result = ws.evaluate(policies, events, tau=TAUS, trained_until=fixed, propensities="counts", **settings)
    return {"value": result[asked[0]].value}


def main() -> None:
    what, path = sys.argv[1:]
    preload_warmstart()
    print_run(partial(evaluate, what, Path(path)))


if __name__ == "__main__":
    main()
