"""Users of the ad month: who comes, what they keep, and that the truth is still the truth."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warmstart as ws
from warmstart.core import MICROSECONDS_PER_DAY
from warmstart.simulation.streams import Stream, stream

NUMBERS = {"events": 60_000, "n_contexts": 300, "n_actions": 200, "days": 10, "topics": 8, "vocabulary": 2_000}
NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
HEAVY = {"visits": 20, "heavy_users": 40, "heavy_visits": 500, "heavy_rate": 0.25}


def month(folder, *, users=None, **numbers):
    settings = None if users is None else ws.UserSettings(**users)
    return ws.simulate(folder / "month", **{**NUMBERS, "click_rate": 0.1, "seed": 2, **numbers}, users=settings)


def rows(world):
    log = pq.read_table(world.events_path)
    pages, ads = log["page"].to_numpy(), log["ad"].to_numpy().astype(np.int32)
    frame = log.to_pandas()
    return frame.assign(mean=world.population.click_probability(pages, ads), day=frame.shown_at.dt.day - 1)


def test_without_users_the_month_uses_no_other_random_numbers(tmp_path):
    """A day without users has pages, times and clicks from one stream, in this order."""
    world = month(tmp_path)
    log = rows(world)
    assert log.columns.tolist()[:4] == ["page", "ad", "click", "shown_at"]
    assert "user" not in log.columns
    assert "users" not in json.loads((world.folder / "truth" / "world.json").read_text())["settings"]
    day = log[log.day == 3]
    rng = stream(2, Stream.EVENTS, 3)
    ranks = np.exp(rng.random(len(day)) * np.log(301)).astype(np.int64)
    assert (world.population.page_of_rank(np.clip(ranks, 1, 300)) == day.page).all()
    moments = np.sort(rng.integers(MICROSECONDS_PER_DAY, size=len(day)))
    micros = pa.array(day.shown_at).cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy()
    assert (moments == micros % MICROSECONDS_PER_DAY).all()
    assert ((rng.random(len(day), dtype=np.float32) < day["mean"]) == day.click).all()


def test_users_change_neither_pages_nor_what_is_shown_unless_they_keep_it(tmp_path):
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    without = pq.read_table(month(tmp_path / "a").events_path)
    named = pq.read_table(month(tmp_path / "b", users={}).events_path)
    assert named.column_names == [*without.column_names, "user"]
    assert named.drop_columns(["user"]).equals(without)
    assert np.bincount(named["user"].to_numpy()).tolist() == [20] * 3_000


@pytest.mark.parametrize("sticky", ["action", "both"])
def test_users_keep_their_ad_where_it_can_be_shown(tmp_path, sticky):
    world = month(tmp_path, users={"sticky": sticky}, random_share=0.3)
    log = rows(world)
    if sticky == "both":
        assert log.groupby("user").page.nunique().max() == 1
    for _, visits in list(log.groupby("user"))[:200]:
        kept = -1
        for day, today in visits.groupby("day"):
            if kept < 0 or not world.starts[kept] <= day < world.stops[kept]:
                kept = today.ad.iloc[0]
            can_show = (world.population.candidates[today.page] == kept).any(axis=1)
            assert (today.ad[can_show] == kept).all()
    live = (world.starts[log.ad] <= log.day) & (log.day < world.stops[log.ad])
    assert live.all()


def test_in_a_static_month_users_keep_page_and_ad_from_first_to_last(tmp_path):
    log = rows(month(tmp_path, users={"sticky": "both"}, random_share=0.3, churn=False))
    kinds = log.groupby("user")[["page", "ad"]].nunique()
    assert (kinds == 1).all(axis=None)


@pytest.mark.parametrize("frailty", [1.0, 0.1])
def test_frailty_leaves_the_mean_and_makes_users_differ(tmp_path, frailty):
    """z-scores by user, in thirds of click probability: beyond 4.5 in one of 50 k runs."""
    log = rows(month(tmp_path, users={"frailty": frailty}, click_rate=0.2))
    log["error"] = log.click - log["mean"]
    for _, third in log.groupby(np.argsort(np.argsort(log["mean"])) * 3 // len(log)):
        by_user = third.groupby("user").error.sum()
        assert abs(by_user.sum()) < 4.5 * np.sqrt((by_user**2).sum())
    by_user = log.groupby("user").error.sum()
    assert (by_user**2).sum() > 2 * (log["mean"] * (1 - log["mean"])).sum()


def test_the_truths_per_event_and_per_unit(tmp_path):
    """By hand on a window with drift; and against the clicks: 60 k of rate .1 have a standard error of .0012."""
    world = month(tmp_path, users=HEAVY, drift=0.5)
    log = rows(world)
    log["earned"] = log["mean"] * world.population.drift(log.ad.to_numpy(), log.day.to_numpy())
    log["earned"] *= np.where(log.user < 40, 0.25, 1.0)
    assert log.click.mean() == pytest.approx(log.earned.mean(), abs=0.006)
    policy = pa.table({"page": np.arange(300), "ad": np.full(300, 7)})
    mean = world.population.click_probability(np.arange(300), np.full(300, 7, dtype=np.int32))
    _, late = ws.read_events(pq.read_table(world.events_path), **NAMES, unit="user").split(at="2026-10-06")
    window = log[log.day >= 5]
    drift = world.population.drift(np.array([7]), window.day.to_numpy())
    earned = mean[window.page] * drift * np.where(window.user < 40, 0.25, 1.0)
    per_unit = window.assign(earned=earned).groupby("user").earned.mean().mean()
    assert world.true_value(policy, events=late) == pytest.approx(earned.mean(), rel=1e-5)
    assert world.true_value(policy, events=late, per="unit") == pytest.approx(per_unit, rel=1e-5)
    assert per_unit > 1.2 * earned.mean()
    whole = world.true_value(policy)
    assert world.true_value(policy, per="unit") / whole == pytest.approx((40 * 0.25 + 2_000) / 2_040 / 0.75)


def test_a_month_with_users_opens_again(tmp_path):
    world = month(tmp_path, users={**HEAVY, "sticky": "both", "frailty": 0.25})
    again = ws.AdWorld.open(world.folder)
    assert again.settings == world.settings
    assert again.settings.users == ws.UserSettings(**HEAVY, sticky="both", frailty=0.25)
    with pytest.raises(ws.UsageError, match="Users keep their ads"):
        again.logging_policy()


def test_a_month_too_short_for_its_heavy_users_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ws.UsageError, match="too few for 1,000 heavy users"):
        month(tmp_path, users={"heavy_users": 1_000})
    assert list(tmp_path.iterdir()) == []
