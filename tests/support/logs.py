"""Small logs for tests, as lists of (context, action, reward, day) and as Arrow tables."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

import warmstart as ws

START = datetime(2026, 10, 1, 12, tzinfo=UTC)


def random_log(seed, *, events=300, contexts=6, actions=5, days=8, fractional=True):
    """A log with churn, rare cells, contexts of one action and rewards between 0 and 1."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(events):
        day = i * days // events
        x = int(rng.choice(contexts, p=np.arange(contexts, 0, -1) / sum(range(contexts + 1))))
        if rng.random() < 0.08:
            a = int(rng.integers(actions))
        else:
            a = (x + (day + x) // 3) % actions if x else 0
        r = float(rng.integers(0, 5)) / 4 if fractional else float(rng.random() < 0.3)
        rows.append((f"x{x}", f"a{a}", r, day))
    return rows


def table(rows):
    columns = list(zip(*rows, strict=True)) if rows else [[], [], [], []]
    return pa.table(
        {
            "context": pa.array(columns[0], pa.string()),
            "action": pa.array(columns[1], pa.string()),
            "reward": pa.array(columns[2], pa.float64()),
            "time": pa.array([START + timedelta(days=d) for d in columns[3]], pa.timestamp("us", "UTC")),
        }
    )


def read(rows, engine, *, time=True, **options):
    return ws.read_events(
        rows if isinstance(rows, pa.Table) else table(rows),
        context="context",
        action="action",
        reward="reward",
        time="time" if time else None,
        engine=engine,
        **options,
    )


def every_event(events):
    """What an engine holds of a log, in order."""
    rows = events.engine.fetch(events.table)
    return sorted(tuple(row[name] for name in sorted(row)) for row in rows)


def decisions(h):
    """A policy {(context, action): probability} as a table of decisions."""
    keys = list(h)
    return pa.table(
        {
            "context": pa.array([x for x, _ in keys], pa.string()),
            "action": pa.array([a for _, a in keys], pa.string()),
            "probability": pa.array([h[key] for key in keys], pa.float64()),
        }
    )


def cut(rows, day):
    """Split rows as Events.split(at=that day) does."""
    return [row for row in rows if row[3] < day], [row for row in rows if row[3] >= day]


def moment(day):
    return START + timedelta(days=day)


def churning_log(seed):
    """A random log in which actions come and go: a3 ends after day 3, a4 begins on day 5, a2 ends after 6."""
    last = {"a3": 3, "a2": 6}
    kept = []
    for x, a, r, day in random_log(seed, events=500):
        gone = day > last.get(a, 99) or (a == "a4" and day < 5)
        kept.append((x, "a1" if gone else a, r, day))
    return kept


def some_policy(rows):
    """Stochastic decisions: some seen, some rare, some never shown, some contexts left out or half decided."""
    contexts = sorted({x for x, *_ in rows})
    h = {}
    for i, x in enumerate(contexts[:-1]):
        h[x, f"a{i % 5}"] = 0.5
        h[x, "a0" if i % 5 else "a1"] = 0.25
        h[x, "never-shown"] = 0.1
    h["no-such-context", "a0"] = 1.0
    return h
