"""``evaluate`` within 30 daily epochs, relative to without; and with the doubly robust estimate, relative to without.

``python -m benchmarks.epochs WHAT LOG`` is one measurement in a process of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.measure import Run, compared, preload_warmstart, print_run
from benchmarks.paper_log import paper_log
from benchmarks.records import Rows

TAUS = (0.01, 0.05)
POLICIES = {"decisions": ("min",), "two decisions": ("min", "max"), "uniform and logging": ("uniform", "logging")}
NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
# What is measured: epochs, and point estimates. The last has no reward model.
CASES: dict[str, dict[str, Any]] = {"day": {"epoch": "day"}, "none": {}, "plain": {"estimators": ("ips",)}}
# The least that DuckDB alone can do for one table of decisions: no checks, no interval, no reward model.
BARE = "bare DuckDB, decisions"
# Decisions: of the actions that a context was shown, the one of the smallest or of the largest number.
CHOICES = ("min", "max")


def costs(events: int, runs: int) -> dict[str, Rows]:
    """Return the table ``epochs``: time, CPU and memory within epochs, relative to those without."""
    return {"epochs": _compared([*POLICIES, BARE], events, runs, case="day", floor="none", words="without epochs")}


def best_estimate_costs(events: int, runs: int) -> dict[str, Rows]:
    """Return the table ``with-dr``: time, CPU and memory with the best estimate, relative to those without."""
    return {"with-dr": _compared(list(POLICIES), events, runs, case="none", floor="plain", words="without dr")}


def _compared(names: Sequence[str], events: int, runs: int, *, case: str, floor: str, words: str) -> Rows:
    """Measure one case relative to another.

    Args:
        names: What is measured, the rows of the table.
        events: The size of the log.
        runs: How many interleaved runs.
        case: What is measured.
        floor: What it is relative to.
        words: How the table calls that.
    """
    log = paper_log(events)
    for choice in CHOICES:
        decisions(log, choice)
    return compared("benchmarks.epochs", log, names, (case, floor), runs=runs, words=words)


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
    if name == BARE:
        return bare(path, within=case == "day")
    settings = dict(CASES[case])
    events = ws.read_events(path, **NAMES, epoch=settings.pop("epoch", None))
    asked = POLICIES[name]
    policies = {policy: str(decisions(path, policy)) if policy in CHOICES else policy for policy in asked}
    fixed = {policy: "never" for policy in asked if policy in CHOICES}
    result = ws.evaluate(policies, events, tau=TAUS, trained_until=fixed, propensities="counts", **settings)
    return {"value": result[asked[0]].value}


def bare(path: Path, *, within: bool) -> Run:
    """Value decisions by bare queries: group, add what actions share with their context (in a day), join, sum."""
    connection = duckdb.connect(config={"preserve_insertion_order": False})
    connection.execute("SET enable_progress_bar = false")
    day, sums = (
        ", shown_at::DATE AS day" if within else "",
        "sum(n) AS n_x, sum(s) AS s_x, sum(q) AS q_x, count(*) AS k",
    )
    keys = "page, day" if within else "page"
    connection.execute(f"""
        CREATE TEMP TABLE shown AS SELECT page, ad{", day" if within else ""},
            count(*)::DOUBLE AS n, sum(reward) AS s, sum(reward * reward) AS q
        FROM (SELECT page, ad, click::DOUBLE AS reward{day} FROM '{path}') GROUP BY ALL
    """)
    # A single action has all of its context's traffic.
    several = f"SELECT {keys}, {sums} FROM shown GROUP BY {keys} HAVING count(*) > 1"
    connection.execute(f"CREATE TEMP TABLE several AS {several}")
    chosen = f"SELECT shown.* FROM shown JOIN '{decisions(path, 'min')}' USING (page, ad)"
    weight = f"greatest(n / coalesce(n_x, n), {TAUS[0]})"
    query = f"SELECT sum(s / {weight}), sum(s_x), sum(q_x), sum(k) FROM ({chosen}) LEFT JOIN several USING ({keys})"
    rows = connection.execute("SELECT sum(n) FROM shown").fetchall(), connection.execute(query).fetchall()
    return {"value": float(rows[1][0][0]) / float(rows[0][0][0])}


def main() -> None:
    what, path = sys.argv[1:]
    preload_warmstart()
    print_run(partial(evaluate, what, Path(path)))


if __name__ == "__main__":
    main()
