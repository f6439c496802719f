"""Levels and power of the test for reaction inside epochs, by arrays that ``tests/auditing`` holds the audit to."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm
from tests.support import epoch_reference as plain
from tests.support.reacting_loggers import calendar, learner, learner_at_every_event

from warmstart.auditing.epochs import judged
from warmstart.results import EpochLength

LEVEL = 0.01
LENGTHS = ("all", "week", "day", "hour")
MANY, LARGE = 500, "greedy, 11 hours late"
RARE = {"contexts": 300, "rate": 0.03}


@dataclass(frozen=True)
class Found:
    """The p-values of every length in every world (NaN without a test), and the first length not found to react."""

    p_values: np.ndarray
    first: list[EpochLength | None]

    def share(self, name):
        return np.mean([row is not None and row.name == name for row in self.first])


def judge(x, a, r, time):
    """All lengths of a log, judged."""
    rows = []
    for name in LENGTHS:
        epoch, part = plain.slices(time, name)
        test = plain.epoch_test(x, a, r, epoch, part)
        z, _, response, visible, stretches = test or (None, None, None, None, 0.0)
        p_value = None if z is None else plain.p_value(z)
        choice = plain.support(x, a, epoch, 0.01)
        rows.append(EpochLength(name, name, 1, *choice, response, visible, stretches, p_value, None))
    return judged(rows)


def judge_worlds(worlds, make):
    p_values, first = [], []
    for world in range(worlds):
        rows = judge(*make(np.random.default_rng([7, world])))
        p_values.append([np.nan if row.p_value is None else row.p_value for row in rows])
        first.append(next((row for row in rows if not row.reacts), None))
    return Found(np.array(p_values), first)


def hold_to_level(p_values, level=LEVEL):
    """No more alarms than the level gives, in all but one of 20,000 runs."""
    tested = p_values[~np.isnan(p_values)]
    assert (tested < level).sum() <= binom.ppf(0.99995, len(tested), level)


NULLS = {
    "sharp": lambda rng: calendar(rng, sharp=True),
    "soft": lambda rng: calendar(rng, sharp=False),
    "sharp, rare contexts": lambda rng: calendar(rng, sharp=True, **RARE),
    "soft, rare contexts": lambda rng: calendar(rng, sharp=False, **RARE),
}
# Nothing reacts inside a day.
NIGHTLY = {
    "thompson": lambda rng: learner(rng, "thompson", every=1.0),
    "epsilon": lambda rng: learner(rng, "epsilon", every=1.0),
    "greedy": lambda rng: learner(rng, "greedy", every=1.0),
    "thompson, 11 hours late": lambda rng: learner(rng, "thompson", every=1.0, late=11 / 24),
    LARGE: lambda rng: learner(rng, "greedy", every=1.0, late=11 / 24, contexts=300, per_day=6000),
}


@pytest.mark.parametrize("name", ["sharp", "soft"])
def test_the_calendar_is_no_reaction(name):
    """Squares of z follow chi-square, or less: a variance that is half of what it should be fails in every run."""
    found = judge_worlds(25, NULLS[name])
    hold_to_level(found.p_values)
    assert found.share("all") >= 0.9
    squares = norm.isf(found.p_values / 2) ** 2
    fewest, most = chi2.ppf([0.00005, 0.99995], squares.size)
    assert 0.8 * fewest <= squares.sum() <= most


@pytest.mark.parametrize("name", ["thompson", pytest.param(LARGE, marks=pytest.mark.slow)])
def test_what_is_learned_by_night_is_no_reaction_inside_a_day(name):
    found = judge_worlds(30, NIGHTLY[name])
    hold_to_level(found.p_values[:, 2:])
    assert found.share("day") >= 0.8
    assert (found.p_values[:, :2].min(axis=1) < LEVEL).mean() >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("name", NULLS)
def test_the_calendar_is_called_reaction_in_one_percent_of_many_worlds(name):
    found = judge_worlds(MANY, NULLS[name])
    for p_values in found.p_values.T:
        hold_to_level(p_values)
    assert found.share("all") >= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("name", NIGHTLY)
def test_learning_by_night_is_called_reaction_inside_a_day_in_one_percent_of_many_worlds(name):
    found = judge_worlds(150 if name == LARGE else MANY, NIGHTLY[name])
    for p_values in found.p_values[:, 2:].T:
        hold_to_level(p_values)
    assert np.mean([row is None or row.name == "hour" for row in found.first]) <= 0.02


@pytest.mark.parametrize(
    "kind", ["thompson", *(pytest.param(k, marks=pytest.mark.slow) for k in ("epsilon", "greedy"))]
)
def test_a_logger_that_is_updated_four_times_a_day_reacts_inside_a_day(kind):
    found = judge_worlds(12, lambda rng: learner(rng, kind, every=0.25, contexts=100, per_day=3000))
    assert (found.p_values[:, 2] < LEVEL).mean() >= 0.9
    hold_to_level(found.p_values[:, 3])
    assert found.share("hour") >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["thompson", "epsilon", "greedy"])
def test_of_a_logger_that_is_updated_at_every_event_hardly_ever_an_epoch_is_recommended(kind):
    """Inside hours it is found, or the audit says that it cannot tell: it may be wrong where a test just misses."""
    found = judge_worlds(100, lambda rng: learner_at_every_event(rng, kind, contexts=100, days=7, per_day=6000))
    wrong = [row for row in found.first if row is not None and row.reacts is False and row.supported >= 0.01]
    assert len(wrong) <= 5
    assert (found.p_values[:, 2] < LEVEL).mean() >= 0.95
