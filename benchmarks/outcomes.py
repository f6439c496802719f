"""``evaluate`` of three outcomes, relative to the same evaluation of one.

``python -m benchmarks.outcomes WHAT LOG`` is one measurement in a process of its own.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.epochs import decisions
from benchmarks.measure import Run, compared, preload_warmstart, print_run
from benchmarks.paper_log import paper_log, with_outcomes
from benchmarks.records import Rows

NAMES = {"context": "page", "action": "ad", "reward": "click"}
ALSO = ("cost", "delay")
# The least that DuckDB alone can do: group the events, with the sums that one or three outcomes need.
BARE = "bare DuckDB, cells alone"
CASES: dict[str, dict[str, Any]] = {
    "decisions": {},
    "decisions, no reward model": {"estimators": ("ips",)},
}


def costs(events: int, runs: int) -> dict[str, Rows]:
    """Return the table ``outcomes``: time, CPU and memory of three outcomes, relative to those of one."""
    log = with_outcomes(paper_log(events), ALSO)
    decisions(log, "min")
    names = (*CASES, BARE)
    return {"outcomes": compared("benchmarks.outcomes", log, names, ("three", "one"), runs=runs, words="one outcome")}


def evaluate(what: str, path: Path) -> Run:
    """Evaluate decisions and logging, with one outcome or three."""
    import warmstart as ws

    name, number = what.split("|")
    also = ALSO if number == "three" else ()
    if name == BARE:
        return bare(path, also)
    events = ws.read_events(path, **NAMES, also=also, minimize=also)
    policies = {"min": str(decisions(path, "min")), "logging": "logging"}
    result = ws.evaluate(policies, events, trained_until={"min": "never"}, propensities="counts", **CASES[name])
    return {"value": result["min"].value}


def bare(path: Path, also: tuple[str, ...]) -> Run:
    """Group events into cells by a bare query, and add up a sum of each outcome."""
    connection = duckdb.connect(config={"preserve_insertion_order": False})
    connection.execute("SET enable_progress_bar = false")
    columns = ("click", *also)
    sums = ", ".join(f"sum({name}::DOUBLE) AS s_{name}, sum({name}::DOUBLE * {name}) AS q_{name}" for name in columns)
    connection.execute(f"CREATE TEMP TABLE cells AS SELECT page, ad, count(*) AS n, {sums} FROM '{path}' GROUP BY ALL")
    totals = ", ".join(f"sum(s_{name})" for name in columns)
    (row,) = connection.execute(f"SELECT {totals} FROM cells").fetchall()
    return {"value": float(row[0])}


def main() -> None:
    what, path = sys.argv[1:]
    preload_warmstart()
    print_run(partial(evaluate, what, Path(path)))


if __name__ == "__main__":
    main()
