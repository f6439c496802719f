"""Back-off: counts of other events at every level, as plain Python counts; weights independent of what they weigh."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.events import open_cells, open_strata
from warmstart.propensity.backoff import STRENGTHS, UNSEEN, best_strengths, borrowed_propensity

LEVELS = [["context_0", "context_1"], ["context_0"]]


def two_columns(seed, events=400):
    """Contexts of two columns, of which many are rare; the first column says much of what is shown."""
    rng = np.random.default_rng(seed)
    site = rng.integers(0, 3, events)
    user = rng.integers(0, 60, events)
    action = np.where(rng.random(events) < 0.7, site, rng.integers(0, 5, events))
    return pa.table(
        {"site": site, "user": user, "ad": action, "click": rng.random(events) < 0.2, "id": np.arange(events)}
    )


def opened(log, engine, context=("site", "user")):
    return ws.read_events(log, context=context, action="ad", reward="click", event_id="id", engine=engine)


def by_hand(events, strengths):
    """The propensity of every event under the counts of all others."""
    kinds = len({event[-1] for event in events})
    found = []
    for i, (site, user, ad) in enumerate(events):
        others = events[:i] + events[i + 1 :]
        p = (sum(other[2] == ad for other in others) + UNSEEN) / (len(others) + UNSEEN * kinds)
        for level, strength in ((1, strengths[1]), (0, strengths[0])):
            same = [other for other in others if other[0] == site and (level == 1 or other[1] == user)]
            p = (sum(other[2] == ad for other in same) + strength * p) / (len(same) + strength)
        found.append(p)
    return found


def test_back_off_counts_the_other_events_as_plain_python_does(engine):
    log = two_columns(1, events=120)
    with open_cells(opened(log, engine)) as cells, open_strata(cells) as strata:
        rows = cells.engine.fetch(borrowed_propensity(strata.table, LEVELS, (3.0, 10.0)))
    found = {(row["context_0"], row["context_1"], row["action"], row["fold"]): row["propensity"] for row in rows}
    by_cell = {}
    for key, p in found.items():
        by_cell.setdefault(key[:3], set()).add(round(p, 12))
    assert all(len(each) == 1 for each in by_cell.values())
    events = list(zip(*(log[name].to_pylist() for name in ("site", "user", "ad")), strict=True))
    for event, p in zip(events, by_hand(events, (3.0, 10.0)), strict=True):
        assert list(by_cell[event]) == pytest.approx([p], abs=1e-11)


def test_every_level_has_the_strength_with_the_smallest_loss(duckdb):
    log = two_columns(2, events=150)
    with open_cells(opened(log, duckdb)) as cells, open_strata(cells) as strata:
        strengths, loss = best_strengths(cells.engine, strata.table, LEVELS)
    events = list(zip(*(log[name].to_pylist() for name in ("site", "user", "ad")), strict=True))
    losses = {
        pair: -sum(map(math.log, by_hand(events, pair))) / len(events)
        for pair in itertools.product(
            (STRENGTHS[0], strengths[0], STRENGTHS[-1]), (STRENGTHS[0], *{strengths[1], 30.0})
        )
    }
    assert losses[strengths] == pytest.approx(loss, abs=1e-9)
    assert loss == pytest.approx(min(losses.values()), abs=1e-9)
    assert strengths[0] > strengths[1]


def grouped(seed, events=4000, *, good=0.0):
    """Every context once, in five groups with their own logging shares of two actions; action 1 may be better."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 5, events)
    share = np.array([0.2, 0.35, 0.5, 0.65, 0.8])[group]
    shown = (rng.random(events) < share).astype(int)
    click = rng.random(events) < 0.3 + good * shown
    return pa.table(
        {"site": group, "user": np.arange(events), "ad": shown, "click": click, "id": np.arange(events)}
    ), share


@pytest.mark.parametrize("strengths", [None, (1.0, 1.0)])
def test_weights_are_not_correlated_with_what_was_shown(duckdb, strengths):
    """4,000 contexts in 5 groups: no action may get a larger propensity for having been shown, at any strength."""
    log, share = grouped(0)
    with open_cells(opened(log, duckdb)) as cells, open_strata(cells) as strata:
        used = strengths or best_strengths(cells.engine, strata.table, LEVELS)[0]
        rows = cells.engine.fetch_arrow(borrowed_propensity(strata.table, LEVELS, used).order_by("context_1"))
    p, shown = rows["propensity"].to_numpy(), log["ad"].to_numpy()
    assert np.abs(p - np.where(shown == 1, share, 1 - share)).max() < 0.05
    for action in (0, 1):
        assert ((shown == action) / p).mean() == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize(("good", "truth"), [(0.0, 0.0), (0.1, 0.1)])
def test_policies_are_valued_for_what_they_are(duckdb, good, truth):
    """A null policy and one that gains .1 over the action it replaces: within four standard errors of the truth."""
    log, share = grouped(1, good=good)
    policy = {"one": log.select(["site", "user"]).append_column("ad", pa.array(np.ones(4000, dtype=np.int64)))}
    events = opened(log, duckdb)
    found = ws.evaluate(policy, events, propensities="back-off", coarser=[["site"]], tau=0.01)
    expected = 0.3 + truth
    error = math.sqrt((expected / share).mean() / 4000)
    assert found["one"].value == pytest.approx(expected, abs=4 * error)
    assert "finest level first" in str(found)


def test_contexts_that_never_repeat_borrow_everything(duckdb):
    log, _ = grouped(2, 300)
    with open_cells(opened(log, duckdb)) as cells, open_strata(cells) as strata:
        strengths, _ = best_strengths(cells.engine, strata.table, LEVELS)
    assert strengths[0] == STRENGTHS[-1]


@pytest.mark.slow_on_spark
def test_where_units_count_the_same_an_event_leaves_out_no_more_than_its_cell(engine):
    log = two_columns(3, events=60).append_column("visitor", pa.array([i % 4 for i in range(60)]))
    events = ws.read_events(
        log, context="site", action="ad", reward="click", event_id="id", unit="visitor", engine=engine
    )
    found = ws.evaluate("uniform", events, per="unit", propensities="back-off", tau=0.1)
    assert found.propensities.log_loss > 0
    assert math.isfinite(found["uniform"].value)
