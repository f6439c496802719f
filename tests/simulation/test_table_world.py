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
