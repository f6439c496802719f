"""Guards: what is one, and whether ends that hold together prove that it is kept."""

import math

import pytest
from tests.support.outcome_logs import columns, read

import warmstart as ws
from warmstart import UsageError
from warmstart.results.guards import Guard

OUTCOMES = ["click", "cost", "a <= b", "n", "delay in s"]
OPTIONS = {"tau": 0.2, "estimators": []}


@pytest.mark.parametrize(
    ("text", "outcome", "sense", "limit", "relative"),
    [
        ("cost<=+2%", "cost", "<=", 0.02, True),
        ("cost<=+0.001", "cost", "<=", 0.001, False),
        (" cost  <=  + 1e-3 ", "cost", "<=", 0.001, False),
        ("click>=-1.5 %", "click", ">=", -0.015, True),
        ("cost<=-10%", "cost", "<=", -0.1, True),
        ("click>=+0", "click", ">=", 0.0, False),
        ("click>=0", "click", ">=", 0.0, False),
        ("click>=0%", "click", ">=", 0.0, True),
        ("a <= b<=+1", "a <= b", "<=", 1.0, False),
        ("n<=+.5", "n", "<=", 0.5, False),
        ("delay in s<=+3E-2", "delay in s", "<=", 0.03, False),
    ],
)
def test_a_guard_is_read(text, outcome, sense, limit, relative):
    guard = Guard.parse(text, OUTCOMES)
    assert (guard.outcome, guard.sense, guard.relative) == (outcome, sense, relative)
    assert guard.limit == pytest.approx(limit)


@pytest.mark.parametrize(
    "text",
    [
        *("", "cost", "cost<=", "<=+1", "cost<+1", "cost==+1", "cost<=+1%%", "cost<=+x", "cost<=+1e999", "cost<=nan"),
        *("cost<=+1+2", "cost<=++1", "cost<=+-1", "cost<=2%", "cost<=0.001", "price<=+2%", "COST<=+1"),
        *("cost<=+1 euro", "+2%>=cost", "cost<=+1.2.3", "cost<=+.", "cost<=+e", "cost=<+1"),
    ],
)
def test_nonsense_is_refused(text):
    with pytest.raises(UsageError) as refused:
        Guard.parse(text, OUTCOMES)
    assert refused.value.exit_code == 2


JUDGED = [
    # guard, ends of the change, ends of logging's mean -> status
    ("cost<=+0.1", (0.0, 0.1), None, "holds"),
    ("cost<=+0.1", (0.0, 0.11), None, "cannot-tell"),
    ("cost<=+0.1", (0.11, 0.2), None, "fails"),
    ("cost>=-0.1", (-0.1, 0.2), None, "holds"),
    ("cost>=-0.1", (-0.2, -0.11), None, "fails"),
    ("cost>=-0.1", (-0.2, 0.0), None, "cannot-tell"),
    # 10 % of a mean between 1 and 2 is .1 at the least: that must be kept, and .2 broken.
    ("cost<=+10%", (0.0, 0.1), (1.0, 2.0), "holds"),
    ("cost<=+10%", (0.0, 0.15), (1.0, 2.0), "cannot-tell"),
    ("cost<=+10%", (0.15, 0.3), (1.0, 2.0), "cannot-tell"),
    ("cost<=+10%", (0.21, 0.3), (1.0, 2.0), "fails"),
    ("cost<=-10%", (-0.9, -0.2), (1.0, 2.0), "holds"),
    ("cost<=-10%", (-0.9, -0.15), (1.0, 2.0), "cannot-tell"),
    ("cost>=-10%", (-0.1, 0.3), (1.0, 2.0), "holds"),
    ("cost>=-10%", (-0.15, 0.3), (1.0, 2.0), "cannot-tell"),
    ("cost>=-10%", (-0.3, -0.21), (1.0, 2.0), "fails"),
    ("cost>=+10%", (0.2, 0.3), (1.0, 2.0), "holds"),
    # 10 % of a mean below zero is below zero.
    ("cost<=+10%", (-0.5, -0.2), (-2.0, -1.0), "holds"),
    ("cost<=+10%", (-0.5, -0.15), (-2.0, -1.0), "cannot-tell"),
    ("cost<=+10%", (-0.05, 0.0), (-2.0, 1.0), "cannot-tell"),
    ("cost<=+10%", (0.11, 0.2), (-2.0, 1.0), "fails"),
    ("cost<=+10%", None, (1.0, 2.0), "cannot-tell"),
    ("cost<=+10%", (-9.0, -8.0), None, "cannot-tell"),
]


@pytest.mark.parametrize(("text", "change", "logging", "status"), JUDGED)
def test_a_guard_is_kept_if_the_strictest_limit_is(text, change, logging, status):
    found = Guard.parse(text, OUTCOMES).judge(change, logging)
    assert found.status == status
    if logging is not None and change is not None and logging[0] > 0:
        ratios = [c / m for c in change for m in logging]
        assert (found.lower, found.upper) == pytest.approx((min(ratios), max(ratios)))
    elif logging is not None or change is None:
        assert (found.lower, found.upper) == (None, None)


@pytest.mark.parametrize("change", [(-0.3, -0.1), (-0.2, 0.1), (0.05, 0.2), (0.0, 0.0)])
@pytest.mark.parametrize("mean", [(0.5, 0.8), (-0.8, -0.5), (-0.2, 0.3)])
@pytest.mark.parametrize("text", ["cost<=+20%", "cost<=-20%", "cost>=+20%", "cost>=-20%"])
def test_what_is_said_of_a_relative_guard_is_true_of_all_that_is_possible(text, change, mean):
    guard = Guard.parse(text, OUTCOMES)
    possible = [
        (c <= guard.limit * m + 1e-12 if guard.sense == "<=" else c >= guard.limit * m - 1e-12)
        for c in (change[0], sum(change) / 2, change[1])
        for m in (mean[0], sum(mean) / 2, mean[1])
    ]
    status = guard.judge(change, mean).status
    assert {"holds": all(possible), "fails": not any(possible), "cannot-tell": True}[status]
    if all(possible):
        assert status == "holds"


@pytest.fixture(scope="module")
def events(duckdb):
    return read(columns(), also=["cost", "delay"], minimize="cost", engine=duckdb)


def test_guards_are_told_by_the_ends_of_all_policies_at_once(events):
    """Of two looks, each has half of delta; of that, a relative guard leaves a tenth to logging's mean."""
    guards = ["cost<=+0.002", "click>=-0.3", "delay<=+40%"]
    policies = ["constant:a1", "constant:a2"]
    found = ws.evaluate(policies, events, guards=guards, delta=0.1, **OPTIONS)
    plain = ws.evaluate(policies, events, delta=0.05, **OPTIONS)
    left = ws.evaluate(policies, events, delta=0.05 * 0.9, **OPTIONS)
    logging = ws.evaluate("logging", events, delta=0.05 * 0.1, **OPTIONS).of_outcome("delay")["logging"]
    for policy in policies:
        cost, click, delay = found[policy].guards
        gain = plain.of_outcome("cost")[policy].gain.certified
        assert (cost.lower, cost.upper) == pytest.approx((gain.lower, gain.upper), abs=1e-12)
        gain = plain[policy].gain.certified
        assert (click.lower, click.upper) == pytest.approx((gain.lower, gain.upper), abs=1e-12)
        gain = left.of_outcome("delay")[policy].gain.certified
        ends = logging.lower, logging.upper
        assert ends[0] > 0
        ratios = [part / mean for part in (gain.lower, gain.upper) for mean in ends]
        assert (delay.lower, delay.upper) == pytest.approx((min(ratios), max(ratios)), abs=1e-12)
        own = found.of_outcome("delay")[policy].gain.certified
        assert own.joint_lower == pytest.approx(gain.lower, abs=1e-12)
    assert [one.guards for one in found.others] == [()] * 4


def test_logging_has_no_guards(events):
    assert ws.evaluate("logging", events, guards="cost<=+1%", **OPTIONS)["logging"].guards == ()


@pytest.mark.parametrize("guard", ["price<=+1%", "cost<=1%", "nonsense", "cost<=+nan"])
def test_bad_guards_stop_an_evaluation(guard, events):
    with pytest.raises(UsageError):
        ws.evaluate("uniform", events, guards=[guard], **OPTIONS)


def test_nothing_is_told_by_bounds_that_prove_nothing(events):
    for options in ({"interval": "gamma"}, {"interval": "bets"}):
        found = ws.evaluate("constant:a1", events, guards=["cost<=+500%", "cost<=+0.02"], **OPTIONS | options)
        relative, absolute = found.policies[0].guards
        assert relative.status == ("cannot-tell" if options["interval"] == "gamma" else "holds")
        # Gains are certified whatever the interval of the value.
        assert absolute.status == "holds"
        assert math.isfinite(absolute.upper)
