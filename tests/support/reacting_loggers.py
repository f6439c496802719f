"""Logs of loggers that change by the calendar, and of loggers that learn from rewards, at any speed.

A log is (context, action, reward, time in days), in the order of time.
"""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

import warmstart as ws

# A Monday.
START = int(datetime(2026, 10, 5, tzinfo=UTC).timestamp()) * 1_000_000


def traffic(rng, *, contexts=20, actions=4, days=14, per_day=1500, rate=0.1):
    """Contexts, times, and the mean reward of every cell."""
    weight = np.arange(1, contexts + 1) ** -0.7
    x = rng.choice(contexts, days * per_day, p=weight / weight.sum())
    means = np.clip(rate * rng.lognormal(0, 0.4, (contexts, actions)), 0, 0.9)
    return x, np.sort(rng.random(len(x)) * days), means


def calendar(rng, *, sharp, hours=5.0, **shape):
    """Every few hours, at another time in every context, other shares that no reward decides."""
    x, time, means = traffic(rng, **shape)
    contexts, actions = means.shape
    block = np.floor(time * 24 / hours + rng.random(contexts)[x]).astype(int)
    concentration = np.full(actions, 1e-3 if sharp else 0.7)
    shares = rng.dirichlet(concentration, size=(block.max() + 1, contexts)).cumsum(axis=-1)
    a = (rng.random(len(x))[:, None] > shares[block, x]).sum(axis=1).clip(0, actions - 1)
    return x, a, (rng.random(len(x)) < means[x, a]).astype(float), time


def choose(rng, kind, shown, won):
    """Actions by what was shown and won in the context of each event."""
    if kind == "thompson":
        return rng.beta(1 + won, 5 + shown - won).argmax(axis=1)
    best = ((won + 0.3) / (shown + 2) + 1e-9 * rng.random(shown.shape)).argmax(axis=1)
    explore = rng.random(len(best)) < (0.1 if kind == "epsilon" else 0.0)
    return np.where(explore, rng.integers(shown.shape[1], size=len(best)), best)


def learner(rng, kind, *, every, late=0.0, **shape):
    """A logger that is updated every so many days; a new model is used so many days ``late``, 0: at once."""
    x, time, means = traffic(rng, **shape)
    luck = rng.random(len(x))
    a, r = np.empty(len(x), int), np.empty(len(x))
    shown, won = np.zeros((2, *means.shape))
    model = shown, won
    for begin in np.arange(0, shape.get("days", 14), every):
        first, switch, last = np.searchsorted(time, [begin, begin + late, begin + every])
        a[first:switch] = choose(rng, kind, *(part[x[first:switch]] for part in model))
        model = shown.copy(), won.copy()
        a[switch:last] = choose(rng, kind, *(part[x[switch:last]] for part in model))
        now = slice(first, last)
        r[now] = luck[now] < means[x[now], a[now]]
        np.add.at(shown, (x[now], a[now]), 1)
        np.add.at(won, (x[now], a[now]), r[now])
    return x, a, r, time


def learner_at_every_event(rng, kind, **shape):
    x, time, means = traffic(rng, **shape)
    a, r = np.empty(len(x), int), np.empty(len(x))
    shown, won = np.zeros((2, *means.shape))
    for i, context in enumerate(x):
        a[i] = choose(rng, kind, shown[[context]], won[[context]])[0]
        r[i] = rng.random() < means[context, a[i]]
        shown[context, a[i]] += 1
        won[context, a[i]] += r[i]
    return x, a, r, time


def read(log, engine="duckdb", **options):
    x, a, r, time = log
    at = pa.array(START + np.floor(time * 86_400e6).astype(np.int64), pa.timestamp("us", "UTC"))
    table = pa.table({"context": x, "action": a, "reward": r, "time": at})
    names = {"context": "context", "action": "action", "reward": "reward", "time": "time"}
    return ws.read_events(table, **names, engine=engine, **options)
