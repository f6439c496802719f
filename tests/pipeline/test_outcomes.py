"""Outcomes beside the reward: each is valued exactly as if the log had been read with it as the reward."""

import pytest
from tests.support.outcome_logs import columns, read, same

import warmstart as ws

# What counts of the values' joint bounds differ by: all outcomes share delta there.
SHARED = ("joint_lower", "joint_upper")
POLICIES = ["logging", "constant:a1"]
CASES = {
    "counts": ({}, {}, False),
    "training": ({"time": "at"}, {}, True),
    "units": ({"unit": "visitor"}, {}, False),
    "units and training": ({"unit": "user", "time": "at"}, {}, True),
    "per unit": ({"unit": "visitor"}, {"per": "unit"}, False),
    "epochs": ({"time": "at", "epoch": "day"}, {}, False),
    "epochs and training": ({"time": "at", "epoch": "day"}, {}, True),
    "units in epochs": ({"time": "at", "epoch": "day", "unit": "user"}, {}, False),
    "logged by keys": ({"propensity": "pscore"}, {"propensities": "logged"}, False),
    "logged and units": ({"propensity": "pscore", "unit": "visitor"}, {"propensities": "logged"}, False),
    "model": ({}, {"propensities": "model"}, False),
    "train's counts": ({"time": "at"}, {"propensities": "train"}, True),
}
# Pairs of what the other cases have, left to the slow tests.
LATER = ("units and training", "epochs and training", "logged and units", "train's counts")


def evaluated(log, reward, case, engine="duckdb", policies=POLICIES, **more):
    reading, settings, split = CASES[case]
    options = {name: more.pop(name) for name in ("also",) if name in more}
    events = read(log, reward, engine=engine, **reading, **options)
    train, events = events.split(fraction=0.4) if split else (None, events)
    return ws.evaluate(policies, events, train=train, tau=0.2, live=False, **{**settings, **more})


@pytest.mark.parametrize("case", [pytest.param(case, marks=[pytest.mark.slow] * (case in LATER)) for case in CASES])
def test_a_further_outcome_is_valued_as_if_it_were_the_reward(case):
    log, policies = columns(), POLICIES if case == "counts" else POLICIES[1:]
    found = evaluated(log, "cost", case, policies=policies, also=["delay"])
    assert [outcome.name for outcome in found.outcomes] == ["cost", "delay"]
    own, expected = found.of_outcome("delay"), evaluated(log, "delay", case, policies=policies)
    for one, other in zip(own, expected, strict=True):
        assert other.best is not None
        same(one, other, leave=SHARED)
        if other.gain.certified is not None:
            same(one.gain.certified, other.gain.certified)


def test_the_joint_bounds_of_values_are_shared_by_all_outcomes():
    log = columns()
    found = evaluated(log, "click", "counts", also=["cost", "delay"])
    for one, other in zip(found, evaluated(log, "click", "counts"), strict=True):
        same(one, other, leave=SHARED)
    alone = evaluated(log, "cost", "counts", delta=0.05 / 3)
    for one, other in zip(found.of_outcome("cost"), alone, strict=True):
        assert (one.joint_lower, one.joint_upper) == pytest.approx((other.joint_lower, other.joint_upper), abs=1e-12)
        assert one.joint_lower < one.lower or one.value == one.lower


def test_tau_is_chosen_once_for_all_outcomes():
    log = columns()
    events = read(log, time="at", also="delay")
    train, late = events.split(fraction=0.4)
    found = ws.evaluate(["uniform", "constant:a1"], late, train=train, live=False)
    for one, other in zip(found, found.of_outcome("delay"), strict=True):
        assert (one.tau, one.tau_choice, one.support) == (other.tau, other.tau_choice, other.support)


@pytest.mark.spark
@pytest.mark.parametrize(
    "case", ["counts", *(pytest.param(case, marks=pytest.mark.slow) for case in ("units in epochs", "training"))]
)
def test_spark_values_outcomes_as_duckdb_does(case, spark):
    log = columns()
    found, expected = (
        evaluated(log, "click", case, engine, POLICIES[1:], also=["cost"]) for engine in (spark, "duckdb")
    )
    for one, other in zip(found.others, expected.others, strict=True):
        same(one, other, close=1e-7)
