"""A randomised trial's trainees against survey controls: what is known to be wrong tips under a smaller doubt."""

import warnings

import pytest
from studies.training_trial import BEFORE, DOUBT, PEOPLE, judge, people

ALL_REWARDS = pytest.mark.parametrize("reward", ["earned_1978", pytest.param("employed_1978", marks=pytest.mark.slow)])


@pytest.fixture(scope="module")
def trial():
    with warnings.catch_warnings():
        # What other libraries deprecate is not ours.
        warnings.simplefilter("ignore")
        return people()


@ALL_REWARDS
def test_the_conclusion_that_is_wrong_tips_below_what_a_hidden_column_would_make(trial, reward):
    assert trial.gain(reward) < 0
    naive = judge(trial.log, PEOPLE, reward)
    assert naive.gain.estimated.lower > 0
    # Of earnings it is even certified.
    assert (naive.gain.certified.lower > 0) == (reward == "earned_1978")
    for column in BEFORE:
        context = (*PEOPLE, column)
        full = judge(trial.log, context, reward, doubt=DOUBT)
        assert full.gain.estimated.difference < 0
        made = next(one.factor for one in full.doubt.columns if one.column == column)
        assert (naive.doubt.tipping or 1.0) < naive.doubt.estimated_tipping < made
        # The trial's own control group says that without both columns the log lacks still more.
        assert trial.doubt(context, reward) < 1.3 < made < trial.doubt(PEOPLE, reward)


@ALL_REWARDS
def test_bounds_that_allow_for_the_doubt_that_the_trial_shows_hold_its_answer(trial, reward):
    found = judge(trial.log, PEOPLE, reward, doubt=trial.doubt(PEOPLE, reward))
    for gain in (found.gain.certified, found.gain.estimated):
        assert gain.lower < trial.gain(reward) < gain.upper
