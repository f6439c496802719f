"""Logs to audit, with everything that an audit tells of, and what an engine tells of them."""

from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws

CLOSE = {"rel": 1e-9, "abs": 1e-9}
START = datetime(2026, 10, 1, tzinfo=UTC)


def gappy_log(seed, *, events=420, days=9):
    """Churn, contexts absent on some days, contexts of one action or one event, duplicates, rewards in quarters.

    x0 always shows a0; x1 is shown evenly; the others follow the calendar with some chance. a3 ends after day 3, a4
    begins on day 5; a5 and a6 come early and once again late. x7 to x9 are new on day 6, and no event falls on day 4.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(events):
        day = i * days // events
        day += day == 4
        x = int(rng.choice(7, p=np.arange(7, 0, -1) / 28))
        if x > 1 and (day + x) % 4 == 0:
            x = 0
        if x == 0:
            a = 0
        elif x == 1:
            a = int(rng.integers(3))
        elif rng.random() < 0.15:
            a = int(rng.integers(5))
        else:
            a = (x + (day + x) // 3) % 5
        if (a == 3 and day > 3) or (a == 4 and day < 5):
            a = 1
        reward = float(rng.choice([0, 0, 0, 0.25, 0.5, 1]))
        rows.append((f"x{x}", f"a{a}", reward, day, int(rng.integers(86_400))))
    rows += rows[10:13] + rows[10:11] + rows[-9:-7]
    rows += [("x2", "a5", 0.5, 1, 5), ("x2", "a5", 1.0, 7, 5), ("x1", "a6", 0.0, 2, 5), ("x1", "a6", 0.25, 8, 5)]
    return [*rows, ("x7", "a0", 0.5, 6, 5), ("x8", "a9", 0.0, 6, 7), ("x9", "a2", 1.0, 8, 9), ("x9", "a1", 0.0, 8, 9)]


def table(rows, *, whole_days=False, scale=(0, 1)):
    low, high = scale
    contexts, actions, rewards, days, seconds = zip(*rows, strict=True)
    times = [START + timedelta(days=d, seconds=0 if whole_days else s) for d, s in zip(days, seconds, strict=True)]
    columns = {"action": actions, "reward": [low + (high - low) * r for r in rewards]}
    columns["time"] = pa.array(times, pa.timestamp("us", "UTC"))
    if isinstance(contexts[0], tuple):
        columns |= {f"part{i}": part for i, part in enumerate(zip(*contexts, strict=True))}
    else:
        columns["context"] = contexts
    return pa.table({name: list(c) if isinstance(c, tuple) else c for name, c in columns.items()})


def read(rows, engine="duckdb", *, time=True, scale=(0, 1), **options):
    log = table(rows, scale=scale, **options)
    context = [name for name in log.column_names if name.startswith("part")] or "context"
    return ws.read_events(
        log,
        context=context,
        action="action",
        reward="reward",
        time="time" if time else None,
        ranges={"reward": scale},
        engine=engine,
    )


def day_text(day):
    return f"{START + timedelta(days=day):%Y-%m-%d}"


def late_half(rows):
    return [row for row in rows if row[3] >= 3]


@cache
def case(name, engine):
    """A log, what of it is audited, its scale, and the audit."""
    if name == "split":
        rows = gappy_log(1)
        _, late = read(rows, engine).split(at=START + timedelta(days=3))
        return rows, late_half(rows), (0, 1), ws.audit(late), late
    if name == "several columns":
        rows = [(("p" + x[1:], int(x[1:]) % 3), *rest) for x, *rest in gappy_log(2)]
        rows += [(("p1", 7), "a2", 0.25, 3, 11)]
    else:
        rows = gappy_log(3)
    scale = {"zero to five": (0, 5), "minus one to one": (-1, 1)}.get(name, (0, 1))
    if name == "minus one to one":
        rows = [(x, a, 1 - r, *rest) for x, a, r, *rest in rows]
    events = read(rows, engine, scale=scale)
    return rows, rows, scale, ws.audit(events), events


CASES = ["plain", "split", "several columns", "zero to five", "minus one to one"]


def every_case(test):
    """Every case on DuckDB; on Spark, where an audit takes half a minute, a window of one."""
    marks = [pytest.mark.spark]
    pairs = [pytest.param(name, "duckdb", id=f"{name}-duckdb") for name in CASES]
    pairs += [
        pytest.param(name, "spark", id=f"{name}-spark", marks=marks if name == "split" else [*marks, pytest.mark.slow])
        for name in CASES
    ]
    return pytest.mark.parametrize(("name", "engine"), pairs, indirect=["engine"])(test)


def same(found, expected):
    """Hold the named attributes of a result to a dictionary of numbers."""
    for name, value in expected.items():
        assert getattr(found, name) == (value if value is None else pytest.approx(value, **CLOSE)), name
