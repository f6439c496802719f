"""A randomised trial's trainees against survey controls: what is known to be wrong tips under a smaller doubt."""

import warnings

import pytest
from studies.training_trial import BEFORE, PEOPLE, judge, people

import warmstart as ws


@pytest.fixture(scope="module")
def trial():
    with warnings.catch_warnings():
        # What other libraries deprecate is not ours.
        warnings.simplefilter("ignore")
        log, effect = people()
    trained = sum(value == "yes" for value in log["training"].to_pylist()) / log.num_rows
    return log, -effect * trained


def test_the_conclusion_that_is_wrong_tips_below_what_a_hidden_column_would_make(trial):
    log, truth = trial
    assert truth < 0
    naive, _ = judge(log, PEOPLE)
    assert naive.gain.certified.lower > 0
    assert naive.gain.estimated.lower > 0
    for column in BEFORE:
        full, doubted = judge(log, (*PEOPLE, column))
        assert full.gain.estimated.difference < 0
        made = next(one.factor for one in doubted.doubt.columns if one.column == column)
        assert naive.doubt.tipping < naive.doubt.estimated_tipping < made


def test_bounds_that_allow_for_the_hidden_column_hold_the_trials_answer(trial):
    log, truth = trial
    _, full = judge(log, (*PEOPLE, BEFORE[1]))
    made = next(one.factor for one in full.doubt.columns if one.column == BEFORE[1])
    events = ws.read_events(
        log, context=list(PEOPLE), action="training", reward="earned_1978", ranges={"earned_1978": (0, 25_565)}
    )
    found = ws.evaluate("constant:no", events, tau=0.01, doubt=made)["constant:no"]
    assert found.gain.certified.lower < truth < found.gain.certified.upper
    assert found.gain.estimated.lower < truth < found.gain.estimated.upper
