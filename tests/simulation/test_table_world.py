"""Table worlds: what they draw and what they say is true agree."""

import numpy as np
import pytest
from tests.support.logs import read

import warmstart as ws
from warmstart.simulation import TableWorld


@pytest.fixture(scope="module")
def world():
    logging = np.array([[[0.2, 0.8], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]])
    return TableWorld(np.array([0.3, 0.7]), np.array([[0.1, 0.6], [0.4, 0.2]]), logging, events_per_day=50_000)


def test_a_draw_has_the_worlds_frequencies(world):
    """200 k draws of probabilities: 5 standard errors are under .006."""
    log = world.draw(seed=3).to_pandas()
    assert (log.context == "page-0").mean() == pytest.approx(0.3, abs=0.006)
    day = log.time.dt.day
    first = log[(day == 1) & (log.context == "page-0")]
    assert (first.action == "ad-1").mean() == pytest.approx(0.8, abs=0.02)
    second = log[(day == 2) & (log.context == "page-0")]
    assert (second.action == "ad-1").all()
    means = log.groupby(["context", "action"]).reward.mean()
    assert means["page-0", "ad-1"] == pytest.approx(0.6, abs=0.02)


def test_a_seed_draws_the_same_log_again(world):
    assert world.draw(seed=1).equals(world.draw(seed=1))
    assert not world.draw(seed=1).equals(world.draw(seed=2))


def test_enumerated_logs_have_probability_one_and_the_right_mean():
    world = TableWorld(
        np.array([0.3, 0.7]), np.array([[0.1, 0.6], [0.4, 0.2]]), np.full((2, 2, 2), 0.5), events_per_day=1
    )
    logs = list(world.logs())
    assert len(logs) == 8**2
    assert sum(p for p, _ in logs) == pytest.approx(1)
    mean = sum(p * np.mean(log["reward"].to_pylist()) for p, log in logs)
    assert mean == pytest.approx(world.true_value(world.average_logging))


def test_the_true_value_is_exact_in_the_population_and_on_a_window(world, duckdb):
    h = np.array([[0.0, 1.0], [0.5, 0.5]])
    assert world.true_value(h) == pytest.approx(0.3 * 0.6 + 0.7 * 0.3)
    events = read(world.draw(seed=4).slice(0, 1000), duckdb)
    share = sum(x == "page-0" for x in world.draw(seed=4)["context"].to_pylist()[:1000]) / 1000
    assert world.true_value(h, events=events) == pytest.approx(share * 0.6 + (1 - share) * 0.3)
    assert world.true_value(world.policy_from_array(h)) == pytest.approx(world.true_value(h))


def test_the_month_is_deterministic_within_a_day_and_changes():
    month = TableWorld.month(seed=1)
    assert set(np.unique(month.logging)) == {0.0, 1.0}
    assert (month.logging[0] != month.logging[-1]).any()
    assert 0.005 < month.true_value(month.average_logging) < 0.1


@pytest.mark.parametrize(
    "change",
    [
        {"traffic": np.array([0.5, 0.6])},
        {"traffic": np.array([1.0])},
        {"reward_means": np.full((2, 2), 1.5)},
        {"logging": np.full((1, 2, 2), 0.4)},
        {"events_per_day": 0},
    ],
)
def test_impossible_worlds_are_refused(change):
    parts = {
        "traffic": np.array([0.5, 0.5]),
        "reward_means": np.full((2, 2), 0.5),
        "logging": np.full((1, 2, 2), 0.5),
        "events_per_day": 1,
    }
    with pytest.raises(ws.UsageError):
        TableWorld(**(parts | change))


MEANS = np.array([[0.1, 0.6], [0.4, 0.2]])
TRAFFIC = np.array([0.3, 0.7])
LOGGING = np.array([[[0.2, 0.8], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]])


def with_users(events_per_day=50_000, **settings):
    return TableWorld(TRAFFIC, MEANS, LOGGING, events_per_day, ws.UserSettings(**settings))


def test_without_users_a_draw_uses_no_other_random_numbers(world):
    """A log without users has contexts, actions and rewards from one stream, in this order."""
    rng = np.random.default_rng(8)
    total, day = 100_000, np.repeat([0, 1], 50_000)
    x = rng.choice(2, size=total, p=TRAFFIC)
    a = (rng.random(total) >= LOGGING[day, x, 0]).astype(int)
    reward = (rng.random(total) < MEANS[x, a]).astype(float)
    log = world.draw(seed=8)
    assert log.column_names == ["context", "action", "reward", "time"]
    assert log["context"].to_pylist() == [f"page-{i}" for i in x]
    assert log["action"].to_pylist() == [f"ad-{i}" for i in a]
    assert log["reward"].to_pylist() == reward.tolist()


@pytest.mark.parametrize("sticky", ["nothing", "action", "both"])
@pytest.mark.parametrize("frailty", [None, 1.0, 0.1])
def test_with_users_the_means_of_cells_are_the_worlds(sticky, frailty):
    """z-scores by user of the rewards less their means, at most 4 cells: beyond 4.5 in one of 30 k runs."""
    log = with_users(visits=20, frailty=frailty, sticky=sticky).draw(seed=5).to_pandas()
    x, a = (log[name].str[-1].astype(int) for name in ("context", "action"))
    log["error"] = log.reward - MEANS[x, a]
    for _, cell in log.groupby(["context", "action"]):
        by_user = cell.groupby("user").error.sum()
        assert abs(by_user.sum()) < 4.5 * np.sqrt((by_user**2).sum())


@pytest.mark.parametrize("sticky", ["nothing", "action", "both"])
def test_users_keep_what_they_should(sticky):
    log = with_users(visits=20, sticky=sticky).draw(seed=6).to_pandas()
    kinds = log.groupby("user")[["context", "action"]].nunique()
    assert log.groupby("user").size().tolist() == [20] * 5_000
    assert (kinds.action.max() == 1) == (sticky != "nothing")
    assert (kinds.context.max() == 1) == (sticky == "both")


@pytest.mark.parametrize("sticky", ["nothing", "action", "both"])
def test_the_average_logging_policy_is_that_of_drawn_logs(sticky):
    """5,000 users who keep everything: 5 standard errors of a share among 1,500 of them are under .07."""
    world = with_users(visits=20, sticky=sticky)
    log = world.draw(seed=7).to_pandas()
    shown = log.groupby("context").action.apply(lambda actions: (actions == "ad-1").mean())
    assert shown.tolist() == pytest.approx(world.average_logging[:, 1].tolist(), abs=0.07)
    assert (log.context == "page-0").mean() == pytest.approx(0.3, abs=0.04)


def test_a_smaller_shape_makes_rewards_of_a_user_more_alike():
    """The variance of users' totals over that of independent rewards (the design effect)."""
    effects = []
    for frailty in (None, 1.0, 0.25, 0.1):
        log = with_users(visits=20, frailty=frailty, sticky="both").draw(seed=9).to_pandas()
        x, a = (log[name].str[-1].astype(int) for name in ("context", "action"))
        log["error"] = log.reward - MEANS[x, a]
        by_user = log.groupby("user").error.sum()
        effects.append((by_user**2).sum() / (MEANS[x, a] * (1 - MEANS[x, a])).sum())
    assert effects[0] == pytest.approx(1, abs=0.1)
    assert effects[0] * 2 < effects[1] < effects[2] < effects[3]


def test_where_heavy_users_earn_less_the_truths_per_event_and_per_unit_differ(duckdb):
    """100 k rewards of mean .2 or more: 5 standard errors are under .01."""
    settings = {"visits": 20, "heavy_users": 100, "heavy_visits": 400, "heavy_rate": 0.25}
    world = with_users(**settings)
    log = world.draw(seed=10)
    events = read(log, duckdb, unit="user")
    truths = {per: world.true_value(world.average_logging, events=events, per=per) for per in ("event", "unit")}
    rows = log.to_pandas()
    assert rows.reward.mean() == pytest.approx(truths["event"], abs=0.01)
    assert rows.groupby("user").reward.mean().mean() == pytest.approx(truths["unit"], abs=0.01)
    assert truths["unit"] > 1.2 * truths["event"]
    for per, truth in truths.items():
        assert world.true_value(world.average_logging, per=per) == pytest.approx(truth, abs=0.005)


def test_the_value_per_unit_on_a_window_is_the_mean_over_its_users(duckdb):
    world = with_users(events_per_day=400, visits=7, heavy_users=3, heavy_visits=50, heavy_rate=0.5)
    h = np.array([[0.0, 1.0], [0.5, 0.5]])
    log = world.draw(seed=11).slice(100, 300)
    rows = log.to_pandas()
    earned = np.where(rows.context == "page-0", 0.6, 0.3) * np.where(rows.user < 3, 0.5, 1.0)
    events = read(log, duckdb, unit="user")
    assert world.true_value(h, events=events) == pytest.approx(earned.mean())
    by_user = rows.assign(earned=earned).groupby("user").earned.mean()
    assert world.true_value(h, events=events, per="unit") == pytest.approx(by_user.mean())
    assert by_user.mean() != pytest.approx(earned.mean(), rel=0.01)


def test_logs_with_users_are_not_enumerated():
    world = with_users(events_per_day=1, visits=1)
    with pytest.raises(ws.UsageError, match="independent events"):
        next(world.logs())
    with pytest.raises(ws.UsageError, match="independent events"):
        next(world.rewardings(world.draw(seed=1)))


def test_a_log_too_short_for_its_heavy_users_is_refused():
    with pytest.raises(ws.UsageError, match="2 events are too few for 3 heavy users"):
        with_users(events_per_day=1, heavy_users=3, heavy_visits=10)
