"""Bounds over epochs hold at all epoch ends at once where loggers learn while they log; what does not is caught.

By the reference in NumPy: tests/estimators/test_epochs.py shows that the library says the same. An end is allowed two
standard errors beyond its share. In 300 logs of each world no end missed in more than 4.4 % of them where 25 % are
allowed, and in .4 % where 2.5 % are, so that false alarms are next to impossible.
"""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.epoch_worlds import World, decisions, draw, earned_on_supported, ever_missed, reference

DELTAS = (0.05, 0.5)
TAU = 0.05
LOOKS = 30
WORLDS = {
    "thompson": World("thompson", epochs=LOOKS, events=120, contexts=40),
    "epsilon-greedy": World("epsilon-greedy", epochs=LOOKS, events=120, contexts=40),
    "greedy": World("greedy", epochs=LOOKS, events=120, contexts=40),
    "drifting": World("epsilon-greedy", epochs=LOOKS, events=120, contexts=40, drift=4.0),
}
# Fifty users who come about twice in an epoch, and come back in all of them.
RETURNING = World(epochs=LOOKS, events=100, contexts=4, visits=60, sticky="all", shape=0.1)
INSIDE = World(epochs=10, events=200, contexts=4, visits=20, sticky="epoch", shape=0.1)


def allowed(delta, logs):
    """Each end's share, and two standard errors."""
    return delta / 2 + 2 * np.sqrt(delta / 2 * (1 - delta / 2) / logs)


def whole_window(log):
    return np.zeros_like(log.epoch)


def of_user(log):
    return log.user


def misses(world, logs, *deltas, first=0, policy=None, **options):
    """How often ends miss at any look: at every delta, the lower and upper ends of value and gain."""
    missed = []
    for seed in range(first, first + logs):
        log = draw(world, seed)
        some = {name: make(log) for name, make in options.items()}
        h = decisions(world, seed) if policy is None else policy
        found = reference(log, h, tau=TAU, **some)
        missed.append([ever_missed(found, delta) for delta in deltas])
    return np.mean(missed, axis=0)


class TestCoverage:
    """Any miss at any of 30 looks counts."""

    @pytest.mark.parametrize("world", WORLDS)
    def test_no_end_ever_misses_more_than_its_share(self, world):
        logs = 30
        missed, more = misses(WORLDS[world], logs, 0.5, 0.99)
        assert (missed <= allowed(0.5, logs)).all()
        # Bounds that can never miss would not show what is wrong.
        assert more.max() > 0

    @pytest.mark.slow
    @pytest.mark.parametrize("world", WORLDS)
    def test_no_end_ever_misses_more_than_its_share_in_many_logs(self, world):
        logs, larger = 300, replace(WORLDS[world], events=400)
        missed = misses(larger, logs, *DELTAS, first=1_000)
        assert (missed <= [[allowed(delta, logs)] for delta in DELTAS]).all()

    @pytest.mark.parametrize("world", ["thompson", "epsilon-greedy", "greedy"])
    def test_counts_of_the_whole_window_would_be_caught(self, world):
        """Where an action was unlucky it is shown less, so that its share of the window is small and it weighs more."""
        logs = 15
        assert misses(replace(WORLDS[world], null=True), logs, 0.5, within=whole_window).max() > allowed(0.5, logs)


class TestBias:
    """What a policy earned on supported traffic against what it was to be expected to, by learners of 20 updates."""

    LEARNERS = tuple(
        World(kind, events=100, contexts=4, null=True) for kind in ("thompson", "epsilon-greedy", "greedy")
    )

    @staticmethod
    def bias(world, logs, within):
        h = decisions(world)
        sums = [
            earned_on_supported(log, h, tau=0.02, within=within(log)) for log in (draw(world, s) for s in range(logs))
        ]
        earned, expected = np.mean(sums, axis=0)
        off = np.array(sums) @ (1, -earned / expected)
        return earned / expected - 1, off.std() / expected / np.sqrt(logs)

    @pytest.mark.parametrize("world", LEARNERS, ids=lambda world: world.kind)
    def test_counts_within_epochs_have_none_and_those_of_the_window_do(self, world):
        within, whole = (self.bias(world, 100, groups) for groups in (lambda log: log.epoch, whole_window))
        assert abs(within[0]) <= 4 * within[1]
        assert within[1] < 0.03
        assert whole[0] < -0.07
        assert whole[0] < -5 * whole[1]

    @pytest.mark.slow
    @pytest.mark.parametrize("world", LEARNERS, ids=lambda world: world.kind)
    def test_many_logs(self, world):
        bias, error = self.bias(world, 3_000, lambda log: log.epoch)
        assert error <= 0.007
        assert abs(bias) <= 0.02
        assert self.bias(world, 1_000, whole_window)[0] < -0.08


class TestUnits:
    def test_units_inside_epochs_are_covered(self):
        logs = 30
        assert (misses(INSIDE, logs, 0.5, unit=of_user) <= allowed(0.5, logs)).all()

    @pytest.mark.slow
    def test_units_inside_epochs_are_covered_in_many_logs(self):
        logs = 300
        missed = misses(INSIDE, logs, *DELTAS, first=1_000, unit=of_user)
        assert (missed <= [[allowed(delta, logs)] for delta in DELTAS]).all()

    def test_their_events_taken_for_units_would_be_caught(self):
        logs = 30
        assert misses(INSIDE, logs, 0.05).max() > 2 * allowed(0.05, logs)

    def test_a_unit_split_over_epochs_would_be_caught(self):
        logs = 30
        assert misses(RETURNING, logs, 0.05, unit=of_user).max() > 2 * allowed(0.05, logs)


class TestSelection:
    """Among 20 policies that gain nothing, one is certified in no more than delta of the logs."""

    @staticmethod
    def certified(world, logs, *deltas):
        """How often one is at the end of the log, at every delta."""
        policies, found = [decisions(world, seed) for seed in range(20)], []
        for seed in range(logs):
            log = draw(world, seed)
            gains = [reference(log, h, tau=TAU, unit=log.user).gain for h in policies]
            found.append([any(gain.ends(delta / 20)[0] > 1e-9 for gain in gains) for delta in deltas])
        return np.mean(found, axis=0)

    @pytest.mark.slow
    def test_units_inside_epochs(self):
        logs, deltas = 150, np.array(DELTAS)
        limits = deltas + 2 * np.sqrt(deltas * (1 - deltas) / logs)
        assert (self.certified(replace(INSIDE, null=True), logs, *DELTAS) <= limits).all()

    def test_units_split_over_epochs_would_be_caught(self):
        assert self.certified(replace(RETURNING, null=True), 8, 0.05)[0] > 0.3
