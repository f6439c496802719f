"""``evaluate`` by unit, relative to the same evaluation by event: 54 M events of 5 M users.

``python -m benchmarks.units WHAT LOG`` is one measurement in a process of its own.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import Run, interleave, preload_warmstart, print_run, relative, run_child
from benchmarks.paper_log import paper_log, with_users
from benchmarks.records import Rows

TAUS = (0.01, 0.05)
POLICIES = {"one policy": ["uniform"], "two policies": ["uniform", "constant:7"]}
NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}


def costs(events: int, units: int, runs: int) -> dict[str, Rows]:
    """Return the table ``units``: time, CPU and memory by unit, relative to those by event."""
    log = with_users(paper_log(events), units)
    work = {
        f"{name}|{by}": partial(run_child, "benchmarks.units", f"{name}|{by}", log)
        for name in POLICIES
        for by in ("event", "unit")
    }
    results = interleave(work, runs)
    rows: Rows = {}
    for name in POLICIES:
        row: dict[str, Any] = relative(results[f"{name}|unit"], results[f"{name}|event"])
        rows[name] = {key.replace("floor", "by event"): value for key, value in row.items()}
    return {"units": rows}


def evaluate(what: str, path: Path) -> Run:
    """Evaluate some policies by event or by unit."""
    import warmstart as ws

    name, by = what.split("|")
    events = ws.read_events(path, **NAMES, unit=() if by == "event" else "who")
    result = ws.evaluate(POLICIES[name], events, tau=TAUS, live=False)
    return {"value": result["uniform"].value}


def main() -> None:
    what, path = sys.argv[1:]
    preload_warmstart()
    print_run(partial(evaluate, what, Path(path)))


if __name__ == "__main__":
    main()
