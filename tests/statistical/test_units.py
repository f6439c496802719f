"""Bounds by unit miss no more often than they promise, where users come back; bounds by event do."""

import numpy as np
import pytest
from tests.support.unit_worlds import Users, decisions, draw, event_ends, unit_totals

from warmstart.estimators.intervals import UnitTotals, unit_gain_ends

DELTAS = (0.05, 0.5)
WORLDS = {
    f"{sticky}, {shape:g}": Users(shape=shape, sticky=sticky, users=500)
    for sticky in ("none", "action", "both")
    for shape in (1.0, 0.25, 0.1)
} | {
    "heavy": Users(shape=0.25, heavy=50),
    "heavy, frequent": Users(shape=0.25, heavy=50, rate=0.3, sticky="action"),
    "even, frequent": Users(shape=1.0, rate=0.5, users=500),
}


def misses(settings, logs, *deltas, first=0, **options):
    """How often the ends of value and gain miss the truth, by delta and end."""
    h, missed = decisions(settings), []
    for seed in range(first, first + logs):
        log = draw(settings, seed)
        found = unit_totals(log, h, **{name: make(log) for name, make in options.items()})
        at = [event_ends(found, delta) if "unit" in options else found.ends(delta) for delta in deltas]
        missed.append([[side for name in ends for side in beyond(ends[name], found.truth[name])] for ends in at])
    return np.mean(missed, axis=0)


def beyond(ends, truth):
    return ends[0] > truth, ends[1] < truth


def allowed(delta, logs):
    """Each end's share, and two standard errors."""
    return delta / 2 + 2 * np.sqrt(delta / 2 * (1 - delta / 2) / logs)


def hold_to_shares(missed, logs):
    """No end at one of DELTAS misses more than its share."""
    for ends, delta in zip(missed, DELTAS, strict=True):
        assert (ends <= allowed(delta, logs)).all(), delta


def every_event(log):
    return np.arange(len(log.x))


def per_unit(_):
    return "unit"


class TestCoverage:
    @pytest.mark.parametrize("world", ["both, 0.1", "none, 0.25"])
    def test_no_end_misses_more_than_its_share(self, world):
        logs = 25
        assert (misses(WORLDS[world], logs, 0.5) <= allowed(0.5, logs)).all()

    @pytest.mark.slow
    @pytest.mark.parametrize("world", WORLDS)
    def test_no_end_misses_more_than_its_share_in_any_world(self, world):
        logs = 300
        hold_to_shares(misses(WORLDS[world], logs, *DELTAS, first=1_000), logs)

    def test_bounds_by_event_would_be_caught(self):
        logs = 25
        settings = Users(shape=0.1, users=150, rate=0.1)
        missed = misses(settings, logs, 0.05, unit=every_event)
        assert missed.max() > 2 * allowed(0.05, logs)
        assert (misses(settings, logs, 0.05) <= allowed(0.05, logs)).all()


class TestLargeGains:
    """A gain larger than rewards were expected, and a heavy unit where the policy is worse than elsewhere."""

    @staticmethod
    def draw(rng):
        size = np.r_[10_000.0, np.ones(10_000 + 100_000)]
        above = np.r_[1.0, np.zeros(10_000), np.ones(50_000), np.zeros(50_000)]
        rewards = np.r_[
            rng.random() < 0.12, rng.random(10_000) < 0.1, rng.random(50_000) < 0.7, rng.random(50_000) < 0.3
        ].astype(float)
        points = np.stack([size, np.where(above > 0, rewards, 1 - rewards), above], axis=1)
        points, position = np.unique(points, axis=0, return_inverse=True)
        units = np.bincount(position.ravel()).astype(float)
        sizes, earned, shares = points.T
        net = ((sizes * (2 * shares - 1)) ** 2 * units).sum()
        return UnitTotals(sizes, earned, units, float((sizes**2 * units).sum() / 10), float(net), shares, known=False)

    @pytest.mark.parametrize("logs", [15, pytest.param(150, marks=pytest.mark.slow)])
    def test_no_end_misses_more_than_its_share(self, logs):
        rng, traffic = np.random.default_rng(0), 120_000.0
        truth = (10_000 * (0.12 - 0.1) + 50_000 * (0.7 - 0.3)) / traffic
        ends = np.array([unit_gain_ends(self.draw(rng), traffic, 0.05) for _ in range(logs)])
        assert np.mean(ends[:, 0] > truth) <= allowed(0.05, logs)
        assert np.mean(ends[:, 1] < truth) <= allowed(0.05, logs)


class TestPerUnit:
    """Heavy users earn less: per event, a policy is valued on their traffic; per unit, all users count the same."""

    SETTINGS = Users(users=400, visits=4, heavy=40, slope=0.5, shape=None, sticky="action", rate=0.5, contexts=3)

    def test_no_end_misses_more_than_its_share(self):
        logs = 30
        missed = misses(self.SETTINGS, logs, 0.5, per=per_unit)
        assert (missed <= allowed(0.5, logs)).all()

    @pytest.mark.slow
    def test_no_end_misses_more_than_its_share_in_many_logs(self):
        logs = 300
        hold_to_shares(misses(self.SETTINGS, logs, *DELTAS, first=1_000, per=per_unit), logs)

    def test_propensities_counted_by_event_would_be_caught(self):
        logs = 30
        missed = misses(self.SETTINGS, logs, 0.05, per=per_unit, counted=lambda log: np.ones(len(log.x)))
        assert missed.max() > 2 * allowed(0.05, logs)


class TestSelection:
    """Among 20 policies that gain nothing, one is certified in no more than delta of the logs."""

    @staticmethod
    def certified(settings, logs, *deltas, **options):
        """How often, at every delta."""
        policies = [decisions(settings, seed) for seed in range(20)]
        found = []
        for seed in range(logs):
            log = draw(settings, seed)
            some = {name: make(log) for name, make in options.items()}
            totals = [unit_totals(log, h, **some) for h in policies]
            if options:
                found.append([any(event_ends(one, d / 20)["gain"][0] > 0 for one in totals) for d in deltas])
            else:
                found.append([any(one.certified(d / 20) for one in totals) for d in deltas])
        return np.mean(found, axis=0)

    def test_few_logs(self):
        settings = Users(users=150, shape=0.1, null=True, rate=0.1)
        assert (self.certified(settings, 15, 0.5, 0.05) <= (0.5, allowed(0.1, 15))).all()

    @pytest.mark.slow
    @pytest.mark.parametrize("settings", [Users(users=150, shape=0.1, null=True, rate=0.1), Users(null=True, heavy=50)])
    def test_many_logs(self, settings):
        logs, deltas = 400 if settings.heavy == 0 else 100, np.array(DELTAS)
        limits = deltas + 2 * np.sqrt(deltas * (1 - deltas) / logs)
        assert (self.certified(settings, logs, *DELTAS) <= limits).all()

    def test_by_event_it_would_be_caught(self):
        settings = Users(users=60, shape=0.1, null=True, rate=0.1)
        assert self.certified(settings, 15, 0.05, unit=every_event)[0] > 0.3


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5])
def test_without_dependence_bounds_are_not_much_farther_than_by_event(rate):
    settings = Users(shape=None, sticky="none", rate=rate)
    h, distances = decisions(settings), []
    for seed in range(3):
        log = draw(settings, seed)
        by_unit, by_event = unit_totals(log, h), unit_totals(log, h, unit=every_event(log))
        estimates = {"value": by_unit.estimate, "gain": by_unit.gain}
        own, others = by_unit.ends(0.05), event_ends(by_event, 0.05)
        distances.append(
            [
                [abs(end - estimates[name]) for end in pair]
                for name in estimates
                for pair in zip(own[name], others[name], strict=True)
            ]
        )
    own, others = np.mean(distances, axis=0).T
    assert (own <= 1.5 * others).all()
