"""Utilities: a weighted sum of outcomes is valued as a column of that sum would be."""

import numpy as np
import pytest
from tests.support.outcome_logs import columns, read, same, without

import warmstart as ws
from warmstart import UsageError
from warmstart.events import Utility

OPTIONS = {"tau": 0.2, "live": False, "estimators": ["dr"]}
SHARED = ("outcome", "joint_lower", "joint_upper")


@pytest.mark.parametrize(
    ("text", "weights", "constant"),
    [
        ("quality - 50*cost", {"quality": 1, "cost": -50}, 0),
        ("2*(quality - cost/4) + 1e-3", {"quality": 2, "cost": -0.5}, 0.001),
        ("-cost", {"cost": -1}, 0),
        ("cost*-3 - 2", {"cost": -3}, -2),
        ("quality + quality - cost", {"quality": 2, "cost": -1}, 0),
        ("`delay in s` - .5*`cost`", {"delay in s": 1, "cost": -0.5}, 0),
        ("1e2*n + e1 - E", {"n": 100, "e1": 1, "E": -1}, 0),
        ("name_1 - 2*name_0", {"name_1": 1, "name_0": -2}, 0),
        ("co\u00fbt", {"co\u00fbt": 1}, 0),
    ],
)
def test_a_weighted_sum_is_read(text, weights, constant):
    found = Utility.parse(text)
    assert found.weights == pytest.approx(weights)
    assert found.constant == pytest.approx(constant)


@pytest.mark.parametrize(
    "text",
    [
        *("", "1", "quality*cost", "quality**2", "quality/cost", "1/cost", "quality/0", "quality - quality", "0*cost"),
        *("quality,cost", "quality cost", "quality[0]", "max(quality, cost)", "__import__('os')", "quality = 1", "'a'"),
        *("quality`a b`", "`a``b`", "1e999*cost", "cost + 1e999", "(1e999 - 1e999)*cost", "cost/1e-320", "1j*cost"),
        *("9" * 400 + "*cost", "`cost", "lambda: cost", "cost if 1 else 2", "x.y"),
    ],
)
def test_what_is_no_weighted_sum_is_refused(text):
    with pytest.raises(UsageError) as refused:
        Utility.parse(text)
    assert refused.value.exit_code == 2


def utility_of(log):
    return [2 * click - 50 * cost + delay / 10 - 1 for click, cost, delay in zip(*outcomes(log), strict=True)]


def outcomes(log):
    return [np.asarray(log[name]).tolist() for name in ("click", "cost", "delay")]


@pytest.mark.parametrize(
    "case",
    [
        {"time": "at"},
        *(pytest.param(c, marks=pytest.mark.slow) for c in ({}, {"unit": "visitor"}, {"time": "at", "epoch": "day"})),
    ],
)
def test_a_utility_is_valued_as_a_column_of_it(case, duckdb):
    log = columns()
    log["utility"] = utility_of(log)
    text = "2*click - 50*cost + delay/10 - 1"
    ranges = {"utility": (-2.5, 3.0)}

    def evaluated(*names, **options):
        reading = {**case, **{name: options.pop(name) for name in ("also", "ranges") if name in options}}
        events = read(log, *names, engine=duckdb, **reading)
        train, events = events.split(fraction=0.4) if case == {"time": "at"} else (None, events)
        return ws.evaluate(["logging", "constant:a1"], events, train=train, **options, **OPTIONS)

    found = evaluated(also=["cost", "delay"], utility=text)
    expected = evaluated("utility", ranges=ranges)
    assert found.reward.range == pytest.approx(ranges["utility"])
    assert [outcome.name for outcome in found.outcomes] == [text, "click", "cost", "delay"]
    for one, other in zip(found, expected, strict=True):
        same(one, other, leave=SHARED)
        if other.gain.certified is not None:
            same(one.gain.certified, other.gain.certified)
    [_, click] = evaluated().policies
    same(found.of_outcome("click")["constant:a1"], click, leave=SHARED)


def test_the_best_by_utility_is_selected(duckdb):
    rng = np.random.default_rng(0)
    ad = rng.integers(0, 2, 4000)
    log = {"page": ["p"] * 4000, "country": ["c"] * 4000, "ad": [f"a{i}" for i in ad]}
    log |= {"click": (rng.random(4000) < 0.3 + 0.2 * ad).astype(float), "cost": 0.004 + 0.014 * ad}
    events = read(log, also="cost", engine=duckdb)
    policies = ["constant:a0", "constant:a1"]
    assert ws.select(ws.evaluate(policies, events, tau=0.1)).policy == "constant:a1"
    found = ws.evaluate(policies, events, tau=0.1, utility="click - 50*cost")
    chosen = ws.select(found)
    assert chosen.policy == "constant:a0"
    assert chosen.reward.name == "click - 50*cost"
    assert "click - 50*cost" in str(chosen)
    with pytest.raises(UsageError, match="no outcome"):
        ws.evaluate(policies, events, tau=0.1, utility="click - 50*price")
    with pytest.raises(UsageError, match="as an outcome is"):
        ws.evaluate(policies, events, tau=0.1, utility=" click ")
    with pytest.raises(UsageError, match="no range"):
        ws.evaluate(policies, events, tau=0.1, utility="1.7e308*click + 1.7e308")


def test_an_unknown_outcome_has_no_utility(duckdb):
    log, _ = without(columns(), "delay")
    events = read(log, also="delay", engine=duckdb)
    with pytest.raises(UsageError, match="unknown in"):
        ws.evaluate("uniform", events, utility="click - delay")
    assert ws.evaluate("logging", events, utility="2*click", tau=0.1)["logging"].value == pytest.approx(
        2 * np.mean(log["click"])
    )
