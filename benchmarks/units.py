"""``evaluate`` by unit, relative to the same evaluation by event: 54 M events of 5 M users.

``python -m benchmarks.units WHAT LOG`` is one measurement in a process of its own.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from benchmarks.measure import Run, compared, preload_warmstart, print_run
from benchmarks.paper_log import first_action, paper_log, with_users
from benchmarks.records import Rows

TAUS = (0.01, 0.05)
# What is evaluated beside uniform: always one action, which the log must have.
CONSTANT = {"one policy": False, "two policies": True}
NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}


def costs(events: int, units: int, runs: int) -> dict[str, Rows]:
    """Return the table ``units``: time, CPU and memory by unit, relative to those by event."""
    log = with_users(paper_log(events), units)
    return {"units": compared("benchmarks.units", log, list(CONSTANT), ("unit", "event"), runs=runs, words="by event")}


def evaluate(by: str, path: Path, policies: list[str]) -> Run:
    """Evaluate some policies by event or by unit."""
    import warmstart as ws

    events = ws.read_events(path, **NAMES, unit=() if by == "event" else "who")
    result = ws.evaluate(policies, events, tau=TAUS, live=False)
    return {"value": result["uniform"].value}


def main() -> None:
    what, path = sys.argv[1:]
    name, by = what.split("|")
    policies = ["uniform", *([f"constant:{first_action(Path(path))}"] if CONSTANT[name] else [])]
    preload_warmstart()
    print_run(partial(evaluate, by, Path(path), policies))


if __name__ == "__main__":
    main()
