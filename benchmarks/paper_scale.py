"""One measurement in its own process: ``python -m benchmarks.paper_scale WHAT LOG SPLIT`` prints seconds and memory."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

TAUS = (0.01, 0.05)
MEMORY_LIMIT = "2GB"


def floor(path: str, *, split: bool) -> tuple[float, int]:
    """What DuckDB alone needs: GROUP BY, window, sum; the same windows and taus, nothing checked, nothing beside."""
    import duckdb

    connection = duckdb.connect(config={"memory_limit": MEMORY_LIMIT, "preserve_insertion_order": False})
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
    found = connection.execute(query).fetchall()[0]
    return float(found[0]), 0


def warmstart(path: str, *, split: bool) -> tuple[float, int]:
    """Read, check, split, evaluate uniform and logging at two taus, every output."""
    import warmstart as ws
    from warmstart.engine import connect

    engine = connect(memory_limit=MEMORY_LIMIT)
    events = ws.read_events(path, context="page", action="ad", reward="click", time="shown_at", engine=engine)
    train, evaluated = events.split(fraction=0.65) if split else (None, events)
    # live=False so that both sides value the same policy; warmstart-live is measured apart.
    found = ws.evaluate(["uniform", "logging"], evaluated, train=train, tau=TAUS, live=False)
    return found["uniform"].value, found.log.cells


def warmstart_live(path: str, *, split: bool) -> tuple[float, int]:
    """The same with the default: uniform among the actions live on the day."""
    import warmstart as ws
    from warmstart.engine import connect

    engine = connect(memory_limit=MEMORY_LIMIT)
    events = ws.read_events(path, context="page", action="ad", reward="click", time="shown_at", engine=engine)
    train, evaluated = events.split(fraction=0.65) if split else (None, events)
    found = ws.evaluate(["uniform", "logging"], evaluated, train=train, tau=TAUS)
    return found["uniform"].value, found.log.cells


def audit(path: str, *, split: bool) -> tuple[float, int]:
    """Every question of an audit, of the whole log."""
    import warmstart as ws
    from warmstart.engine import connect

    assert not split
    engine = connect(memory_limit=MEMORY_LIMIT)
    events = ws.read_events(path, context="page", action="ad", reward="click", time="shown_at", engine=engine)
    found = ws.audit(events)
    return found.log.reward_rate, found.log.cells


WHAT: dict[str, Callable[..., tuple[float, int]]] = {
    "floor": floor,
    "warmstart": warmstart,
    "warmstart-live": warmstart_live,
    "audit": audit,
}


def main() -> None:
    what, path, split = sys.argv[1:]
    import ibis  # noqa: F401  imports are not measured
    import pyarrow.parquet  # noqa: F401

    start, cpu = time.perf_counter(), time.process_time()
    value, cells = WHAT[what](path, split=split == "split")
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    used = time.process_time() - cpu
    print(json.dumps({"seconds": seconds, "cpu_seconds": used, "peak_mb": peak, "value": value, "cells": cells}))


if __name__ == "__main__":
    main()
