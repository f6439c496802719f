"""How often an audit says that rewards go with visits, in worlds where they do not, and where they do.

Thousands of logs are tested by arrays; that an audit gives the same p-values is seen on a few. Bounds are the .005 %
and 99.995 % points of the binomial distribution.
"""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import warmstart as ws

LEVEL = 0.05
WORLDS = {
    "independent": {},
    "alike": {"alike": 1.0},
    "alike, and keep their actions": {"alike": 1.0, "keep": 0.9},
    "rare cells": {"alike": 1.0, "pages": 60},
    "few who come often": {"alike": 0.5, "heavy": True},
}


def draw(rng, *, users=150, visits=8, pages=5, ads=3, rate=0.2, alike=0.0, keep=0.0, slope=0.0, heavy=False):
    """Events [unit, context, action, click]; see unit_logs. ``heavy``: some users come ten times as often."""
    n = 1 + rng.geometric(1 / visits, size=users)
    n[rng.random(users) < 0.05] *= 10 if heavy else 1
    user = np.repeat(np.arange(users), n)
    page, own = rng.integers(pages, size=len(user)), rng.integers(ads, size=users)
    ad = np.where(rng.random(len(user)) < keep, own[user], rng.integers(ads, size=len(user)))
    factor = rng.gamma(1 / alike, alike, size=users) if alike else np.ones(users)
    means = rng.uniform(0.5, 1.5, size=(pages, ads)) * rate
    mean = np.clip(means[page, ad] * factor[user] * (1 + slope * np.log2(n[user] / visits)), 0, 1)
    return user, page, ad, (rng.random(len(user)) < mean).astype(float)


def p_value(user, page, ad, click):
    """The test by arrays: sums by cell, and by unit and cell."""
    cell = page * (ad.max() + 1) + ad
    z = np.log2(np.bincount(user))[user]
    n = np.bincount(cell)
    away, residual = (part - (np.bincount(cell, part) / np.maximum(n, 1))[cell] for part in (z, click))
    pair = user * len(n) + cell
    others = 1 - np.bincount(pair)[pair] / n[cell]
    terms = np.where(others > 0, away * residual / np.sqrt(np.maximum(others, 1e-9)), 0.0)
    variance = (np.bincount(user, terms) ** 2).sum()
    return math.erfc(abs((away * residual).sum()) / math.sqrt(2 * variance))


def p_values(logs, **world):
    return np.array([p_value(*draw(np.random.default_rng([7, i]), **world)) for i in range(logs)])


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_an_audit_gives_the_p_value_of_the_arrays(duckdb, world):
    user, page, ad, click = draw(np.random.default_rng(1), **world)
    log = pa.table({"user": user, "page": page, "ad": ad, "click": click})
    events = ws.read_events(log, context="page", action="ad", reward="click", unit="user", engine=duckdb)
    assert ws.audit(events).units.visits.p_value == pytest.approx(p_value(user, page, ad, click), rel=1e-6)


def test_rewards_that_go_with_visits_are_found():
    """Rewards that are a quarter lower for twice as many visits, in 1,350 events: in nearly all of 40 logs."""
    assert (p_values(40, slope=-0.25, alike=0.5) < LEVEL).mean() > 0.8


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
@pytest.mark.parametrize("logs", [500, pytest.param(2000, marks=pytest.mark.slow)])
def test_the_test_fires_at_its_level_where_visits_do_not_matter(world, logs):
    """2,000 logs must give 64 to 140 alarms at 5 %, 500 logs 8 to 46."""
    fired = (p_values(logs, **world) < LEVEL).sum()
    fewest, most = binom.ppf([0.00005, 0.99995], logs, LEVEL)
    assert fewest <= fired <= most
