"""The ad month with a learner: what it shows follows from the clicks before the period; the truth stays the truth."""

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warmstart as ws
from warmstart.simulation.ad_logger import AdLogger

NUMBERS = {"events": 60_000, "n_contexts": 40, "n_actions": 60, "days": 8, "topics": 8, "vocabulary": 2_000}
NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
KINDS = ("thompson", "epsilon-greedy", "greedy", "nightly")
DAY = 86_400_000_000


def month(folder, kind, *, users=None, updates_per_day=1, **numbers):
    learner = None if kind is None else ws.LearnerSettings(kind=kind, updates_per_day=updates_per_day)
    numbers = {**NUMBERS, "click_rate": 0.1, "seed": 2, **numbers}
    return ws.simulate(folder / f"month-{kind}", **numbers, learner=learner, users=users)


def rows(world):
    """The log, with the position of the ad among the page's candidates, and the time in days."""
    log = pq.read_table(world.events_path)
    micros = log["shown_at"].cast(pa.int64()).to_numpy()
    frame = log.to_pandas().assign(time=micros / DAY - micros.min() // DAY)
    place = (world.population.candidates[frame.page] == frame.ad.to_numpy()[:, None]).argmax(axis=1)
    return frame.assign(place=place, day=frame.time.astype(int))


def sums(world, log):
    """Clicks and shows by page and position."""
    shape = world.population.candidates.shape
    clicks, shows = np.zeros(shape), np.zeros(shape)
    np.add.at(shows, (log.page, log.place), 1)
    np.add.at(clicks, (log.page, log.place), log.click)
    return clicks, shows


def said(world, kind, before, live):
    """The probabilities of positions that a learner should have by page after a log, by default settings."""
    clicks, shows = sums(world, before)
    mean = (before.click.sum() + 0.5) / (len(before) + 1)
    means = (clicks + 10 * mean) / (shows + 10)
    if kind == "thompson":
        posterior = clicks + 10 * mean, shows - clicks + 10 * (1 - mean)
        draws = np.random.default_rng(0).beta(*posterior, size=(20_000, *live.shape))
        best = np.where(live, draws, -1).argmax(axis=2)
        return np.stack([(best == place).mean(axis=0) for place in range(live.shape[1])], axis=1)
    if kind == "nightly":
        by_ad = before.groupby("ad").click.agg(["sum", "count"]).reindex(range(NUMBERS["n_actions"]), fill_value=0)
        overall = ((by_ad["sum"] + 10 * mean) / (by_ad["count"] + 10)).to_numpy()[world.population.candidates]
        means = (clicks + 10 * overall) / (shows + 10)
        score = live * (means / (1 - means)) ** 4
        return score / score.sum(axis=1, keepdims=True)
    # Ads without a show have the same mean: the belief decides.
    best = np.where(live, means, -1)
    believed = AdLogger(world.population)._belief
    best = np.eye(live.shape[1])[np.where(best == best.max(axis=1, keepdims=True), believed, -np.inf).argmax(axis=1)]
    return best if kind == "greedy" else 0.9 * best + 0.1 * live / live.sum(axis=1, keepdims=True)


def live_on(world, day):
    live = (world.starts <= day) & (day < world.stops)
    return np.append(live, False)[world.population.candidates]


@pytest.mark.parametrize("kind", KINDS)
def test_the_shares_of_a_day_are_what_the_learner_says_given_the_clicks_before_it(tmp_path, kind):
    """z-scores of the shares of 12 ads of the 10 busiest pages on 3 days: beyond 5 in one of 5 k runs."""
    world = month(tmp_path, kind)
    log = rows(world)
    busy = log.page.value_counts().index[:10]
    for day in (5, 6, 7):
        policy = said(world, kind, log[log.day < day], live_on(world, day))[busy]
        _, shows = sums(world, log[log.day == day])
        shows = shows[busy]
        number = shows.sum(axis=1, keepdims=True)
        assert number.min() > 100
        # The second term is the error of a simulated posterior.
        spread = np.sqrt(number * policy * (1 - policy) + (number * 0.0036) ** 2 * (kind == "thompson"))
        assert (np.abs(shows - number * policy) <= 5 * spread + 1).all()


@pytest.mark.parametrize("often", [1, 4, 1 / 2])
def test_a_greedy_learner_is_deterministic_from_one_update_to_the_next(tmp_path, often):
    """Budgets never stop an ad here, so that the live ads do not change inside a period."""
    log = rows(month(tmp_path, "greedy", updates_per_day=often, churn=False))
    kinds = log.groupby([(log.time * often).astype(int).rename("period"), "page"]).ad.nunique().reset_index()
    assert kinds.ad[kinds.period > 0].max() == 1
    assert log[log.time * often >= 1].groupby("page").ad.nunique().max() > 2
    inside = log.groupby([(log.time * often / 2).astype(int), "page"]).ad.nunique()
    assert inside.max() > 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_period_is_that_of_a_logger_which_does_not_learn(tmp_path, kind):
    learned, plain = rows(month(tmp_path, kind, updates_per_day=2)), rows(month(tmp_path, None))
    for name in ("page", "time"):
        assert (learned[name] == plain[name]).all()
    first = learned.time < 0.5
    assert (learned[["ad", "click"]] == plain[["ad", "click"]])[first].all(axis=None)
    assert (learned.ad != plain.ad)[~first & (learned.day == 0)].any()


@pytest.mark.parametrize("kind", KINDS)
def test_ads_are_shown_only_while_they_are_live_and_learning_pays(tmp_path, kind):
    world = month(tmp_path, kind)
    log = rows(world)
    assert ((world.starts[log.ad] <= log.day) & (log.day < world.stops[log.ad])).all()
    mean = world.population.click_probability(log.page.to_numpy(), log.ad.to_numpy().astype(np.int32))
    plain = month(tmp_path, None)
    other = rows(plain)
    without = plain.population.click_probability(other.page.to_numpy(), other.ad.to_numpy().astype(np.int32))
    assert mean[log.day >= 4].mean() > 1.1 * without[log.day >= 4].mean()


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_writes_the_same_bytes(tmp_path, kind):
    digests = []
    for name, threads, seed in (("one", 1, 5), ("two", 2, 5), ("other", 1, 6)):
        (tmp_path / name).mkdir()
        world = month(tmp_path / name, kind, threads=threads, seed=seed, random_share=0.1)
        digests.append(hashlib.sha256(world.events_path.read_bytes()).hexdigest())
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_is_what_a_policy_earns_on_the_windows_traffic(tmp_path, kind):
    """By hand; and clicks against the truth of what was shown: 60 k of rate .1 have a standard error of .0013."""
    world = month(tmp_path, kind, drift=0.3)
    log = rows(world)
    chances = world.population.click_probability(log.page.to_numpy(), log.ad.to_numpy().astype(np.int32))
    drift = world.population.drift(log.ad.to_numpy(), log.day.to_numpy())
    assert log.click.mean() == pytest.approx((chances * drift).mean(), abs=0.0065)
    policy = pa.table({"page": np.arange(40), "ad": np.full(40, 7)})
    _, late = ws.read_events(world.events_path, **NAMES).split(at="2026-10-05")
    window = log[log.day >= 4]
    mean = world.population.click_probability(window.page.to_numpy(), np.full(len(window), 7, dtype=np.int32))
    expected = (mean * world.population.drift(np.array([7]), window.day.to_numpy())).mean()
    assert world.true_value(policy, events=late) == pytest.approx(expected, rel=1e-5)


def test_users_keep_what_a_learner_showed_them_first(tmp_path):
    users = ws.UserSettings(visits=10, sticky="both")
    log = rows(month(tmp_path, "thompson", users=users, churn=False, updates_per_day=3))
    assert (log.groupby("user")[["page", "ad"]].nunique() == 1).all(axis=None)
    assert log.drop_duplicates("user").groupby(["day", "page"]).ad.nunique().max() > 2


def test_a_month_with_a_learner_opens_again_and_has_no_logging_policy(tmp_path):
    world = month(tmp_path, "epsilon-greedy", updates_per_day=1 / 7)
    again = ws.AdWorld.open(world.folder)
    assert again.settings.learner == ws.LearnerSettings(kind="epsilon-greedy", updates_per_day=1 / 7)
    with pytest.raises(ws.UsageError, match="The logger learns"):
        again.logging_policy()


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"updates_per_day": "event"}, "cannot be updated after every event"),
        ({"reaction": 5.0}, "cannot be combined with reaction"),
        ({"hidden": 0.5}, "cannot be combined with hidden"),
    ],
)
def test_what_a_learner_of_ads_cannot_do_is_refused_before_anything_is_written(tmp_path, numbers, message):
    with pytest.raises(ws.UsageError, match=message):
        month(tmp_path, "greedy", **numbers)
    assert list(tmp_path.iterdir()) == []
