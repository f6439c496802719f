"""``evaluate`` and ``audit`` of a large log, relative to a bare DuckDB query of the same log.

``python -m benchmarks.paper_scale WHAT LOG WINDOW LIMIT`` is one measurement in a process of its own. It uses only
what every version of the library has, so that two source trees can be compared (``benchmarks.compare``).
"""

from __future__ import annotations

import itertools
import math
import statistics
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import CPU, Run, interleave, preload, preload_warmstart, print_run, relative, run_child
from benchmarks.paper_log import paper_log
from benchmarks.records import Rows

TAUS = (0.01, 0.05)
SMALL_EVENTS = 1_000_000
WARM_UP_EVENTS = 100_000
LIMITS = ("none", "2GB")
WINDOWS = {"whole": "whole log", "split": "65 % split"}
LIVE = {"evaluate": "`--no-live`", "evaluate-live": "daily live actions"}
LIMIT_WORDS = {"none": "", "2GB": ", `--memory-limit 2GB`"}


def case_name(what: str, window: str, limit: str) -> str:
    """Return a row's name in the tables."""
    first = what if what in {"floor", "audit"} else f"{WINDOWS[window]}, {LIVE[what]}"
    return first + LIMIT_WORDS[limit]


def cases(*, floors: bool = True) -> list[tuple[str, str, str]]:
    """Return what is measured, in which window, with which memory limit of the engine."""
    verbs = [*(["floor"] if floors else []), "evaluate", "evaluate-live"]
    grid = [(what, *rest) for rest in itertools.product(WINDOWS, LIMITS) for what in verbs]
    return [*grid, *(("audit", "whole", limit) for limit in LIMITS)]


def measure(
    what: str, log: Path, window: str, limit: str, *, settings: Mapping[str, str] | None = None
) -> Callable[[], Run]:
    """Return a call that measures one case, in a process with further environment variables."""
    return partial(run_child, "benchmarks.paper_scale", what, log, window, limit, settings=settings)


def warm_up(settings: Mapping[str, str] | None = None) -> None:
    """Run what is compiled on first use, so that no measurement pays for it."""
    for what in ("evaluate-live", "audit"):
        measure(what, paper_log(WARM_UP_EVENTS), "whole", "none", settings=settings)()


def costs(events: int, runs: int) -> dict[str, Rows]:
    """Return the tables ``evaluate`` and ``audit``: every case relative to the floor of its window and limit."""
    log = paper_log(events)
    warm_up()
    results = interleave({"|".join(case): measure(case[0], log, *case[1:]) for case in cases()}, runs)
    tables: dict[str, Rows] = {"evaluate": {}, "audit": {}}
    for what, window, limit in cases(floors=False):
        runs_of, floors = results[f"{what}|{window}|{limit}"], results[f"floor|{window}|{limit}"]
        row: dict[str, Any] = relative(runs_of, floors)
        if what == "audit":
            row = {"time / evaluate": _ratio(runs_of, results[f"evaluate-live|whole|{limit}"]), **row}
        # Without live actions both value the same policy.
        elif what == "evaluate" and abs(runs_of[0]["value"] - floors[0]["value"]) > 1e-9:
            raise SystemExit(f"The value is not the floor's: {runs_of[0]['value']} and {floors[0]['value']}.")
        tables["audit" if what == "audit" else "evaluate"][case_name(what, window, limit)] = row
    if events > SMALL_EVENTS:
        tables["growth"] = growth(events, results["evaluate|whole|none"], runs)
    return tables


def growth(events: int, large: list[Run], runs: int) -> Rows:
    """Return the power of the number of events with which the CPU time of ``evaluate`` grows."""
    work = measure("evaluate", paper_log(SMALL_EVENTS), "whole", "none")
    small = statistics.median(work()[CPU] for _ in range(runs))
    ratio = statistics.median(run[CPU] for run in large) / small
    power = math.log(ratio) / math.log(events / SMALL_EVENTS)
    return {case_name("evaluate", "whole", "none"): {"from": SMALL_EVENTS, "to": events, "power": round(power, 2)}}


def _ratio(runs: list[Run], others: list[Run]) -> float:
    return round(relative(runs, others)["time / floor"], 3)


def floor(path: str, *, split: bool, limit: str | None) -> Run:
    """What DuckDB alone needs: GROUP BY, window, sum; the same windows and taus, nothing checked, no interval."""
    import duckdb

    config: dict[str, Any] = {"preserve_insertion_order": False, **({"memory_limit": limit} if limit else {})}
    connection = duckdb.connect(config=config)
    connection.execute("SET enable_progress_bar = false")
    cut = f"(SELECT quantile_cont(epoch_us(shown_at), 0.65) FROM '{path}')"
    evaluated = f"epoch_us(shown_at) >= {cut}" if split else "true"
    feasible = "n_train > 0" if split else "n > 0"
    sums = ", ".join(f"sum(s * h / greatest(n / n_x, {tau})) / sum(n)" for tau in TAUS)
    query = f"""
        WITH cells AS (
            SELECT page, ad, count(*) FILTER (evaluated)::DOUBLE AS n,
                   count(*) FILTER (NOT evaluated)::DOUBLE AS n_train,
                   sum(click) FILTER (evaluated)::DOUBLE AS s
            FROM (SELECT page, ad, click, {evaluated} AS evaluated FROM '{path}') GROUP BY page, ad
        ), shares AS (
            SELECT n, s, sum(n) OVER context AS n_x,
                   CASE WHEN {feasible} THEN 1.0 / sum(({feasible})::INT) OVER context ELSE 0 END AS h
            FROM cells WINDOW context AS (PARTITION BY page)
        )
        SELECT {sums}, sum(s) / sum(n) FROM shares WHERE n_x > 0
    """
    return {"value": float(connection.execute(query).fetchall()[0][0])}


def read_log(path: str, limit: str | None) -> Any:
    import warmstart as ws
    from warmstart.engine import connect

    engine = connect(memory_limit=limit)
    return ws.read_events(path, context="page", action="ad", reward="click", time="shown_at", engine=engine)


def evaluate(path: str, *, split: bool, limit: str | None, live: bool) -> Run:
    """Read, check, split, evaluate uniform and logging at two taus, every output."""
    import warmstart as ws

    events = read_log(path, limit)
    train, evaluated = events.split(fraction=0.65) if split else (None, events)
    result = ws.evaluate(["uniform", "logging"], evaluated, train=train, tau=TAUS, live=live)
    return {"value": result["uniform"].value, "cells": result.log.cells}


def audit(path: str, *, split: bool, limit: str | None) -> Run:
    """Every question of an audit, of the whole log."""
    import warmstart as ws

    assert not split
    result = ws.audit(read_log(path, limit))
    return {"value": result.log.reward_rate, "cells": result.log.cells}


WORK: dict[str, Callable[..., Run]] = {
    "floor": floor,
    "evaluate": partial(evaluate, live=False),
    "evaluate-live": partial(evaluate, live=True),
    "audit": audit,
}


def main() -> None:
    what, path, window, limit = sys.argv[1:]
    preload("duckdb")
    if what != "floor":
        preload_warmstart()
    print_run(partial(WORK[what], path, split=window == "split", limit=None if limit == "none" else limit))


if __name__ == "__main__":
    main()
