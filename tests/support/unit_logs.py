"""Logs whose users come back: users may keep their actions, be alike in their rewards, and earn by how often they come.

Rows are (user, context, action, reward); all names are text, rewards quarters or clicks.
"""

import numpy as np
import pyarrow as pa

import warmstart as ws

NAMES = {"context": "page", "action": "ad", "reward": "gain"}


def unit_log(
    seed=0, *, users=60, visits=8, keep=0.0, alike=0.0, slope=0.0, pages=4, ads=3, rate=0.3, graded=False, rare=True
):
    """Draw a log.

    ``keep``: the share of a user's events that show the user's own ad; ``alike``: the variance of a factor that all
    rewards of a user have; ``slope``: how rewards grow with the logarithm of visits, relative to the mean. ``rare``:
    with a page of one user, one of a single event, and users who come once.
    """
    rng = np.random.default_rng(seed)
    n = 1 + rng.geometric(1 / visits, size=users)
    n[:2] = 1 if rare else n[:2]
    user = np.repeat(np.arange(users), n)
    page, own = rng.integers(pages, size=len(user)), rng.integers(ads, size=users)
    ad = np.where(rng.random(len(user)) < keep, own[user], rng.integers(ads, size=len(user)))
    factor = rng.gamma(1 / alike, alike, size=users) if alike else np.ones(users)
    mean = np.clip(rate * (1 + 0.2 * ad / ads) * factor[user] * (1 + slope * np.log2(n[user] / visits)), 0, 1)
    reward = (rng.random(len(user)) < mean).astype(float)
    if graded:
        reward *= rng.integers(1, 5, size=len(user)) / 4
    rows = [(f"u{i}", f"p{x}", f"a{a}", float(r)) for i, x, a, r in zip(user, page, ad, reward, strict=True)]
    lonely = [("u1", "only", "a0", 1.0), ("u1", "only", "a1", 0.0), ("u3", "once", "a2", 1.0)]
    return rows + lonely if rare else rows


def unit_table(rows):
    names = ("user", "page", "ad", "gain")
    return pa.table({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})


def read_units(rows, engine="duckdb", *, scale=(0, 1), unit="user"):
    """Read rows whose rewards are stretched to a scale."""
    low, high = scale
    log = unit_table([(*row[:3], low + (high - low) * row[3]) for row in rows])
    return ws.read_events(log, **NAMES, unit=unit, ranges={NAMES["reward"]: scale}, engine=engine)
