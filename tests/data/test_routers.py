"""The study of routers: its truths, and its bounds from sums by question, which are those of evaluate."""

import os
from pathlib import Path

import numpy as np
import pytest
from studies.router_months import DAYS, HALF, Calls, Pool
from studies.router_sums import Events, estimated, gain_told, value_ends
from studies.router_tables import intervals_hold
from studies.router_truths import Context, Truth, of_prompts
from studies.routers import TAU, draw, fixed_policies, read

import warmstart as ws

DATA = Path(os.environ.get("WARMSTART_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
QUESTIONS = DATA / "llm_routing" / "mmlu_routing.csv.gz"


def context(counts, means, shown):
    arrays = (np.array(part, dtype=float) for part in (counts, means, shown))
    counts, means, shown = arrays
    return Context(np.arange(len(counts)), counts, means, shown, np.ones_like(means), np.ones_like(means))


def test_without_hidden_segments_nothing_is_in_doubt_and_the_gain_is_that_of_the_supported_part():
    log = context([[60, 40], [100, 0]], [[0.5, 0.7], [0.4, 0.9]], [[0.5, 0.7], [0.4, 0.9]])
    large = Truth.of(log, np.array([1, 1]), 0.05)
    assert large.doubt == 1
    assert large.value == pytest.approx(0.8)
    assert large.gain == pytest.approx(0.5 * (0.7 - 0.58) + 0.5 * 0.5)
    assert large.sure_gain == pytest.approx(0.5 * (0.7 - 0.58))
    defers = Truth.of(log, np.array([-1, -1]), 0.05)
    assert (defers.gain, defers.departs) == (0, False)


def test_the_true_doubt_is_where_the_bound_of_what_was_shown_meets_the_truth():
    # Where the large one was shown it is right in .6, where it was not in .8: .7 in all.
    log = context([[50, 50]], [[0.5, 0.7]], [[0.5, 0.6]])
    rho = Truth.of(log, np.array([1]), 0.05).doubt
    assert min(rho * 0.6, 1 - 0.4 / rho) == pytest.approx(0.8)


@pytest.mark.slow
@pytest.mark.skipif(not QUESTIONS.exists(), reason="no llm_routing data")
@pytest.mark.parametrize(("router", "doubt"), [("sticky", 1.0), ("prompt", 1.1)])
def test_bounds_from_sums_by_question_are_those_of_evaluate(tmp_path, router, doubt):
    pool = Pool.read(QUESTIONS, tmp_path / "grouping")
    # A month in which both constants are supported everywhere, so that no reward model has a part in estimates.
    month = draw(pool, router, 1)
    calls = month.only(month.time >= HALF)
    options = {"tau": TAU, "live": False} | ({"doubt": doubt} if doubt > 1 else {})
    found = ws.evaluate("constants", read(calls, pool, "subject"), **options)
    for name in list(fixed_policies(pool, "subject"))[:2]:
        events, one = Events.of(pool, calls, "subject", fixed_policies(pool, "subject")[name], TAU), found[name]
        ends = one.certified_lower, one.certified_upper
        if doubt == 1:
            told, guess = estimated(events, 0.05), one.gain.estimated
            assert told.value == pytest.approx((one.best.value, one.best.lower, one.best.upper))
            assert told.gain == pytest.approx((guess.difference, guess.lower, guess.upper))
        assert value_ends(events, 0.05, doubt) == pytest.approx(ends, abs=0.003)
        sure = one.gain.certified
        for beyond, missed in ((-0.004, True), (0.004, False)):
            assert gain_told(events, 0.05, doubt, sure.lower + beyond).missed[0] == missed
            assert gain_told(events, 0.05, doubt, sure.upper - beyond).missed[1] == missed


def test_calls_whose_model_the_router_would_have_chosen_on_no_day_are_told_apart():
    large = np.zeros((DAYS, 2))
    large[HALF:, 0], large[HALF, 1] = 1, 0.5
    calls = Calls(np.array([0, 0, 0, 1]), HALF + np.array([0.1, 0.2, 1.1, 1.2]), np.array([1, 1, 1, 0]), large)
    pool = Pool([], np.array([[0.0, 1.0], [1.0, 1.0]]), np.ones((2, 2)), {}, np.zeros((2, 1)), np.zeros(2))
    small, mixed = (of_prompts(pool, calls, np.array(table)) for table in ([0, 0], [1, 1]))
    assert (small.never_sent, mixed.never_sent) == (0.75, 0)
    assert small.gain == pytest.approx(-0.75)


def test_intervals_are_counted_by_policy():
    row = {
        "seed": 0,
        "truth": 0.5,
        "gain_truth": 0.1,
        "departs": True,
        "best": [0.5, 0.4, 0.6],
        "gain": [0.3, 0.2, 0.4],
    }
    other = {**row, "gain": [0.3, 0.0, 0.4], "departs": False}
    assert intervals_hold([row, other]) == {"estimate holds": "2 of 2", "gain holds": "0 of 1"}
