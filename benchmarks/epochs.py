"""``evaluate`` with counts within 30 daily epochs, relative to the same evaluation without epochs.

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
# Decisions: of the actions that a context was shown, the one of the smallest or of the largest number.
CHOICES = ("min", "max")


def costs(events: int, runs: int) -> dict[str, Rows]:
    """Return the table ``epochs``: time, CPU and memory within epochs, relative to those without."""
    log = paper_log(events)
    for choice in CHOICES:
        decisions(log, choice)
    work = {
        f"{name}|{epoch}": partial(run_child, "benchmarks.epochs", f"{name}|{epoch}", log)
        for name in POLICIES
        for epoch in ("none", "day")
    }
    results = interleave(work, runs)
    rows: Rows = {}
    for name in POLICIES:
        row: dict[str, Any] = relative(results[f"{name}|day"], results[f"{name}|none"])
        rows[name] = {key.replace("floor", "without epochs"): value for key, value in row.items()}
    return {"epochs": rows}


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
    """Evaluate some policies with or without epochs."""
    import warmstart as ws

    name, epoch = what.split("|")
    events = ws.read_events(path, **NAMES, epoch=None if epoch == "none" else epoch)
    asked = POLICIES[name]
    policies = {policy: str(decisions(path, policy)) if policy in CHOICES else policy for policy in asked}
    fixed = {policy: "never" for policy in asked if policy in CHOICES}
    result = ws.evaluate(policies, events, tau=TAUS, trained_until=fixed, propensities="counts")
    return {"value": result[asked[0]].value}


def main() -> None:
    what, path = sys.argv[1:]
    preload_warmstart()
    print_run(partial(evaluate, what, Path(path)))


if __name__ == "__main__":
    main()
