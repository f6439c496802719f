"""Guards: what is one, and whether ends that hold together prove that it is kept."""

import math

import numpy as np
import pytest
from tests.support.outcome_logs import columns, read

import warmstart as ws
from warmstart import UsageError
from warmstart.estimators.intervals import Coefficients, GainSums, LoggingTotals, relative_ends
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
        ("`delay in s` <= +2%", "delay in s", "<=", 0.02, True),
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
    # 10 % of a mean between -2 and -1 is .1 at the least too: a loss that shrinks keeps every such guard on more.
    ("cost<=+10%", (0.0, 0.1), (-2.0, -1.0), "holds"),
    ("cost<=+10%", (0.0, 0.15), (-2.0, -1.0), "cannot-tell"),
    ("cost<=+10%", (0.21, 0.3), (-2.0, -1.0), "fails"),
    ("cost>=-10%", (0.0, 0.1), (-2.0, -1.0), "holds"),
    ("cost>=-10%", (-0.1, 0.1), (-2.0, -1.0), "holds"),
    ("cost>=-10%", (-0.3, -0.21), (-2.0, -1.0), "fails"),
    ("cost>=+10%", (-0.3, -0.1), (-2.0, -1.0), "fails"),
    # There is no share of what may be 0.
    ("cost<=+10%", (-0.05, 0.0), (-2.0, 1.0), "cannot-tell"),
    ("cost<=+10%", (0.21, 0.3), (-2.0, 1.0), "cannot-tell"),
    ("cost<=+10%", (-0.2, 0.0), (0.0, 1.0), "holds"),
    ("cost<=+10%", None, (1.0, 2.0), "cannot-tell"),
    ("cost<=+10%", (-9.0, -8.0), None, "cannot-tell"),
]


@pytest.mark.parametrize(("text", "change", "logging", "status"), JUDGED)
def test_a_guard_is_kept_if_the_strictest_limit_is(text, change, logging, status):
    found = Guard.parse(text, OUTCOMES).judge(change, logging)
    assert found.status == status
    if logging is not None and change is not None and not logging[0] <= 0 <= logging[1]:
        ratios = [c / abs(m) for c in change for m in logging]
        assert (found.lower, found.upper) == pytest.approx((min(ratios), max(ratios)))
    elif logging is not None or change is None:
        assert (found.lower, found.upper) == (None, None)


@pytest.mark.parametrize("change", [(-0.3, -0.1), (-0.2, 0.1), (0.05, 0.2), (0.0, 0.0)])
@pytest.mark.parametrize("mean", [(0.5, 0.8), (-0.8, -0.5), (-0.2, 0.3)])
@pytest.mark.parametrize("text", ["cost<=+20%", "cost<=-20%", "cost>=+20%", "cost>=-20%"])
def test_what_is_said_of_a_relative_guard_is_true_of_all_that_is_possible(text, change, mean):
    guard = Guard.parse(text, OUTCOMES)
    possible = [
        (c <= guard.limit * abs(m) + 1e-12 if guard.sense == "<=" else c >= guard.limit * abs(m) - 1e-12)
        for c in (change[0], sum(change) / 2, change[1])
        for m in (mean[0], sum(mean) / 2, mean[1])
    ]
    status = guard.judge(change, mean).status
    assert {"holds": all(possible), "fails": not any(possible), "cannot-tell": True}[status]
    if all(possible) and mean != (-0.2, 0.3):
        assert status == "holds"


def test_an_improvement_of_a_negative_mean_breaks_no_guard_on_a_loss(duckdb):
    """Profits of -.5 that become -.496 have not lost 1 %."""
    log = columns(events=4_000)
    log["profit"] = -0.5 + 0.4 * (np.array(log["ad"]) == "a1")
    events = read(log, also="profit", ranges={"profit": (-0.7, 0.1)}, engine=duckdb)
    [found] = ws.evaluate(
        "constant:a1", events, guards=["profit>=-1%", "profit>=+1%", "profit<=-1%"], **OPTIONS
    ).policies
    assert [one.status for one in found.guards] == ["holds", "holds", "fails"]
    assert found.guards[0].lower > 0


def shares(n, s, b, *, others, rate, limits):
    """The ends of the change as a share of logging's mean, two actions in each of two contexts, the first chosen.

    ``others``: events of contexts with one action, and their rewards.
    """
    n, s, b = np.reshape(n, (2, 2)).astype(float), np.array(s, float), np.repeat(b, 2)
    u, n = (n.sum(axis=1, keepdims=True) / n * [1, 0] - 1).ravel(), n.ravel()
    sums = GainSums(Coefficients(u, n, s), b, n.sum() + others[0], float((u * u * n * b * (1 - b)).sum()))
    return relative_ends(sums, LoggingTotals(n.sum() + others[0], s.sum() + others[1], 0.0, rate), 0.05, limits)


@pytest.mark.parametrize(
    ("limit", "log"),
    [
        (0.9, {"n": [4, 9, 4, 11], "s": [2, 0, 0, 10], "b": [24 / 32, 1 / 32], "others": (17, 7), "rate": 0.5}),
        (0.07, {"n": [3, 6, 11, 10], "s": [1, 3, 0, 9], "b": [24 / 32, 1 / 32], "others": (24, 24), "rate": 0.5}),
    ],
)
def test_a_limit_that_its_own_test_lets_stand_is_not_proven_by_smaller_ones_that_are_ruled_out(limit, log):
    """With expected rewards far from the truth, the shares that bets rule out are no interval."""
    assert shares(**log, limits=())[1] < limit
    ends = shares(**log, limits=(limit,))
    assert Guard.parse(f"cost<=+{limit:%}", OUTCOMES).judge(ends, None, ends).status == "cannot-tell"


def test_no_more_than_all_can_be_lost():
    ends = shares([2, 3, 2, 3], [0, 1, 0, 1], [0.25, 0.25], others=(0, 0), rate=0.3, limits=(-1.0, -1.5, -0.99))
    assert ends[0] == -1
    for text, status in [("cost>=-100%", "holds"), ("cost>=-150%", "holds"), ("cost>=-99%", "cannot-tell")]:
        assert Guard.parse(text, OUTCOMES).judge(ends, None, ends).status == status


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


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("low", [0.0, 0.01])
def test_a_relative_guard_is_the_bet_on_change_and_mean_of_all_events(low, trained, duckdb):
    """On a page with one ad policies and logging cannot differ, but it has its part in logging's mean."""
    log = columns(events=3_000)
    log["cost"] = log["cost"] + low
    options = {"also": "cost", "minimize": "cost", "ranges": {"cost": (low, low + 0.02)}, "time": "at"}
    train, events = read(log, engine=duckdb, **options).split(at=log["at"][1_000])
    guards = ["cost<=+3%", "cost>=-200%"]
    options = OPTIONS | {"delta": 0.1, "train": train if trained else None, "live": False}
    [found] = ws.evaluate("constant:a1", events, guards=guards, **options).policies
    cells, total, rate = guarded_cells(log, 1_000, low, trained=trained)
    u, n, s, e = cells
    variance = float((u * u * n * (e * (1 - e) if trained else 1)).sum())
    sums = GainSums(Coefficients(u, n, s), np.round(e * 32) / 32 if trained else None, n.sum(), variance)
    ends = relative_ends(sums, LoggingTotals(*total, low / 0.02, rate), 0.1, ())
    # u is summed in bins.
    assert (found.guards[0].lower, found.guards[0].upper) == pytest.approx(ends, rel=5e-3)
    assert found.guards[0].upper >= ends[1] - 1e-9
    assert found.guards[0].lower <= ends[0] + 1e-9


def guarded_cells(log, first, low, *, trained):
    """By cell of contested contexts: u of always taking a1, events, costs in [0, 1], expected ones; and all events'."""
    cost, contexts = (np.array(log["cost"]) - low) / 0.02, list(zip(log["page"], log["country"], strict=True))
    rate, cells = cost[:first].mean(), []
    for context in sorted(set(contexts)):
        here = np.array([one == context for one in contexts])
        before, own = cost[:first][here[:first]], here & (np.arange(len(cost)) >= first)
        ads = np.array(log["ad"])
        n = {ad: float((own & (ads == ad)).sum()) for ad in sorted(set(ads[own]))}
        # OPTIONS' tau.
        if len(n) > 1 and n.get("a1", 0.0) >= 0.2 * own.sum():
            e = (before.sum() + 20 * rate) / (len(before) + 20)
            cells += [(own.sum() / n[ad] * (ad == "a1") - 1, n[ad], cost[own & (ads == ad)].sum(), e) for ad in n]
    total = float(len(cost) - first), cost[first:].sum()
    return np.array(cells).T, total, rate if trained else None


def test_logging_has_no_guards(events):
    assert ws.evaluate("logging", events, guards="cost<=+1%", **OPTIONS)["logging"].guards == ()


@pytest.mark.parametrize("guard", ["price<=+1%", "cost<=1%", "nonsense", "cost<=+nan"])
def test_bad_guards_stop_an_evaluation(guard, events):
    with pytest.raises(UsageError):
        ws.evaluate("uniform", events, guards=[guard], **OPTIONS)


def test_changes_are_certified_whatever_the_interval_of_the_value(events):
    """But where logging's mean needs an interval of its own, as with nulls, that must be certified too."""
    guards = ["cost<=+500%", "cost<=+0.02", "delay<=+500%"]
    for interval in ("gamma", "bets"):
        found = ws.evaluate("constant:a1", events, guards=guards, **OPTIONS | {"interval": interval})
        relative, absolute, with_nulls = found.policies[0].guards
        assert relative.status == absolute.status == "holds"
        assert math.isfinite(absolute.upper)
        assert with_nulls.status == ("cannot-tell" if interval == "gamma" else "holds")
