"""The worlds that judge learners: their truth is exact, and their logger deterministic within a day."""

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.worlds import DAYS, WORLDS

SMALL = {
    "topics": {"events": 6_000, "pages": 20, "ads": 15, "vocabulary": 50},
    "clusters": {"events": 6_000, "users": 20, "items": 15},
    "ids": {"events": 6_000, "contexts": 20, "actions": 15},
    "thresholds": {"events": 6_000, "unseen": 500},
}


@pytest.fixture(params=WORLDS, scope="module")
def name(request):
    return request.param


@pytest.fixture(scope="module")
def world(name):
    return WORLDS[name](0, **SMALL[name])


def test_the_truth_of_decisions_is_the_mean_of_rewards_that_they_draw(world):
    decisions = world.best_decisions
    rng = np.random.default_rng(1)
    asked = rng.choice(len(world.traffic), size=200_000, p=world.traffic / world.traffic.sum())
    chosen = np.full(len(world.traffic), -1)
    chosen[decisions["context"].to_numpy()] = decisions["action"].to_numpy()
    drawn = (rng.random(len(asked)) < world.means[asked, chosen[asked]]).mean()
    truth = world.truth(decisions)
    # Four standard errors: false alarms in 1 of 16,000 draws.
    assert abs(drawn - truth) < 4 * (truth * (1 - truth) / len(asked)) ** 0.5
    assert world.scaled(truth) == pytest.approx(1)
    assert world.uniform < truth


def test_rewards_of_the_log_have_the_means_of_the_truth(world):
    x, a, r = (world.events[column].to_numpy() for column in ("context", "action", "reward"))
    means = world.means[x, a]
    assert abs((r - means).sum()) < 4 * (means * (1 - means)).sum() ** 0.5


def test_a_day_shows_one_action_in_a_context_and_days_differ(world):
    day = world.events["time"].to_numpy().astype("datetime64[D]").astype(int)
    assert len(np.unique(day)) == DAYS
    x, a = world.events["context"].to_numpy(), world.events["action"].to_numpy()
    assert len(np.unique(np.stack([day, x, a]), axis=1).T) == len(np.unique(np.stack([day, x]), axis=1).T)
    assert len(np.unique(a)) > 1
    if world.unseen is None:
        assert np.median(world.allowed.sum(axis=1)) >= 3


def test_the_same_seed_draws_the_same_log_and_another_one_does_not(name, world):
    assert WORLDS[name](0, **SMALL[name]).events.equals(world.events)
    assert not WORLDS[name](1, **SMALL[name]).events.equals(world.events)


def test_decisions_that_are_missing_are_refused(world):
    with pytest.raises(ValueError, match="once for every context"):
        world.truth(world.best_decisions.slice(1))


def test_an_action_that_was_never_shown_in_its_context_is_refused():
    world = WORLDS["ids"](0, **SMALL["ids"])
    x = world.best_decisions["context"].to_numpy()
    with pytest.raises(ValueError, match="never shown"):
        world.truth(pa.table({"context": x, "action": world.allowed[x].argmin(axis=1)}))
