"""Small logs with several outcomes, for every kind of evaluation; and what two estimates must have in common."""

from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws

START = datetime(2026, 10, 1, 6, tzinfo=UTC)
NAMES = {"context": ["page", "country"], "action": "ad"}
RANGES = {"cost": (0.0, 0.02), "delay": (-5.0, 20.0)}


def columns(seed=0, *, events=600, days=6, users=80):
    """Clicks, costs (in eighths of a cent) and delays of three ads on four pages in three countries.

    Users come back, each on one day only (``user``), or on any (``visitor``); ``pscore`` is the true propensity.
    """
    rng = np.random.default_rng(seed)
    page = rng.integers(0, 4, events)
    country = rng.choice(3, events, p=[0.6, 0.3, 0.1])
    shares = rng.dirichlet(np.full(3, 2.0), size=(4, 3))
    shares[3] = [1.0, 0.0, 0.0]
    ad = (rng.random(events)[:, None] > shares[page, country].cumsum(axis=1)[:, :2]).sum(axis=1)
    day = np.arange(events) * days // events
    means = rng.uniform(0.2, 0.8, size=(4, 3, 3))[page, country, ad]
    visitor = rng.integers(0, users, events)
    return {
        "page": [f"p{i}" for i in page],
        "country": [("at", "be", "ch")[i] for i in country],
        "ad": [f"a{i}" for i in ad],
        "click": (rng.random(events) < means).astype(float),
        "cost": rng.binomial(8, means) * 0.02 / 8,
        "delay": np.round(rng.uniform(-5, 15, events), 2),
        "pscore": shares[page, country, ad],
        "at": [START + timedelta(days=int(d), seconds=i) for i, d in enumerate(day)],
        "id": np.arange(events),
        "user": [f"u{d}-{v % 12}" for d, v in zip(day, visitor, strict=True)],
        "visitor": visitor,
    }


def table(log):
    return pa.table(log)


def read(log, reward="click", *, engine="duckdb", names=NAMES, ranges=RANGES, **options):
    """Read a log; of the known ranges, those of its outcomes."""
    also = options.get("also", ())
    outcomes = [reward, *([also] if isinstance(also, str) else also)]
    own = {name: ends for name, ends in ranges.items() if name in outcomes}
    return ws.read_events(pa.table(log), **names, reward=reward, ranges=own, engine=engine, **options)


def kept(log, keep):
    """The rows of a log for which a mask holds."""
    return {name: [value for value, one in zip(values, keep, strict=True) if one] for name, values in log.items()}


def without(log, name, seed=1, share=0.3):
    """A log in which an outcome is unknown in some events, mostly large values; and the mask of what is known."""
    rng = np.random.default_rng(seed)
    values = np.asarray(log[name], float)
    large = values > np.median(values)
    known = rng.random(len(values)) >= share * (0.5 + large)
    return {**log, name: [v if k else None for v, k in zip(values.tolist(), known, strict=True)]}, known


def same(found, expected, *, leave=(), close=1e-9, where=""):
    """Hold two results to each other, field by field; ``leave`` names what may differ."""
    for field in fields(expected):
        if field.name in leave:
            continue
        one, other = getattr(found, field.name), getattr(expected, field.name)
        name = f"{where}{field.name}"
        if is_dataclass(other):
            assert one is not None, name
            same(one, other, leave=leave, close=close, where=f"{name}.")
        elif isinstance(other, tuple) and other and is_dataclass(other[0]):
            assert len(one) == len(other), name
            for i, pair in enumerate(zip(one, other, strict=True)):
                same(*pair, leave=leave, close=close, where=f"{name}[{i}].")
        elif isinstance(other, float):
            assert one == pytest.approx(other, rel=close, abs=close), name
        else:
            assert one == other, name
