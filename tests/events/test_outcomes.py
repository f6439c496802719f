"""Outcomes with nulls: estimates of the events in which they are known, bounds with the worst that others could be."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from tests.support.outcome_logs import columns, kept, read, same, table, without

import warmstart as ws
from warmstart import UsageError
from warmstart.events import outcome_view

TAU = 0.2
OPTIONS = {"tau": TAU, "live": False, "estimators": ["dr", "snips"]}
BOUNDS = ("lower", "upper", "joint_lower", "joint_upper", "certified_lower", "certified_upper")
# Of all events, though the outcome is known in some.
OF_ALL = ("events", "known", "support")


def coefficients(log, action):
    """u of every event: what a policy that always takes an action gains by its reward."""
    where = list(zip(log["page"], log["country"], strict=True))
    shown = np.array(log["ad"]) == action
    share = {x: np.mean([s for s, other in zip(shown, where, strict=True) if other == x]) for x in set(where)}
    p = np.array([share[x] for x in where])
    supported = p >= TAU
    return np.where(supported, np.where(shown, 1 / np.where(p > 0, p, 1), 0.0) - 1, 0.0)


def filled(log, name, value):
    """A log whose unknown values of an outcome are some others, event by event."""
    return {**log, name: [v if one is None else one for one, v in zip(log[name], value, strict=True)]}


@pytest.fixture(scope="module", params=["alone", "after training"])
def case(request, duckdb):
    """A log with unknown delays, which ones are known, and how to evaluate it; training knows all of them."""
    log = columns(2)
    full = request.param == "after training"
    missing, known = without(log, "delay")
    start = 240 if full else 0
    missing["delay"] = [*np.asarray(log["delay"])[:start].tolist(), *missing["delay"][start:]]
    known[:start] = True

    def evaluated(log, reward="click", **also):
        events = read(log, reward, time="at", engine=duckdb, **also)
        late = events if not full else None
        train = None
        if full:
            train, late = events.split(at=columns(2)["at"][start])
        return ws.evaluate(["logging", "constant:a1"], late, train=train, **OPTIONS)

    @cache
    def with_unknown():
        """The delay, some of it unknown."""
        return evaluated(missing, also="delay").of_outcome("delay")

    @cache
    def with_ends(end):
        """The delay, all that is unknown being one end of its range."""
        return evaluated(filled(missing, "delay", [end] * 600), "delay")

    return SimpleNamespace(
        log=missing, known=known, start=start, evaluated=evaluated, with_unknown=with_unknown, with_ends=with_ends
    )


def test_estimates_are_of_the_events_in_which_an_outcome_is_known(case):
    expected = case.evaluated(kept(case.log, case.known), "delay")
    for one, other in zip(case.with_unknown(), expected, strict=True):
        assert one.known == pytest.approx(case.known[case.start :].mean())
        assert one.events == len(case.known) - case.start
        # What nulls and a hidden segment could do together is not told.
        assert one.doubt is None
        same(one, other, leave=(*BOUNDS, *OF_ALL, "doubt"))


def test_bounds_of_values_take_the_worst_end_of_the_range(case):
    for one, below, above in zip(case.with_unknown(), case.with_ends(-5.0), case.with_ends(20.0), strict=True):
        ends = below.lower, above.upper, below.certified_lower, above.certified_upper
        assert (one.lower, one.upper, one.certified_lower, one.certified_upper) == pytest.approx(ends, abs=1e-9)
        assert one.support == below.support


def test_bounds_of_gains_take_the_worst_end_by_the_sign_of_the_coefficient(case):
    log, start = case.log, case.start
    u = np.concatenate([np.zeros(start), coefficients(kept(log, np.arange(600) >= start), "a1")])
    found = case.with_unknown()["constant:a1"].gain.certified
    worst, best = (
        case.evaluated(filled(log, "delay", np.where(sign * u > 0, -5.0, 20.0)), "delay")["constant:a1"].gain.certified
        for sign in (1, -1)
    )
    assert (found.lower, found.upper) == pytest.approx((worst.lower, best.upper), abs=1e-9)
    assert (found.joint_lower, found.joint_upper) == pytest.approx((worst.joint_lower, best.joint_upper), abs=1e-9)
    same_end = case.with_ends(-5.0)["constant:a1"].gain.certified
    assert found.lower < same_end.lower - 0.1


def test_a_policy_of_chances_has_coefficients_of_both_signs_in_a_cell_of_its_own(duckdb):
    """Chosen with less than its share, an action has a negative coefficient: its nulls are at the other end."""
    log, _ = without(columns(3), "delay")
    h = {"a0": 0.8, "a1": 0.15, "a2": 0.05}
    keys = sorted(set(zip(log["page"], log["country"], strict=True)))
    decisions = {
        "page": [p for p, _ in keys for _ in h],
        "country": [c for _, c in keys for _ in h],
        "ad": [a for _ in keys for a in h],
        "probability": [q for _ in keys for q in h.values()],
    }
    where = list(zip(log["page"], log["country"], strict=True))
    cells = {}
    for x, a in zip(where, log["ad"], strict=True):
        cells[x, a] = cells.get((x, a), 0) + 1
    total = {x: sum(n for (y, _), n in cells.items() if y == x) for x in set(where)}
    share = {x: sum(q for a, q in h.items() if cells.get((x, a), 0) / total[x] >= TAU) for x in total}
    u = []
    for x, a in zip(where, log["ad"], strict=True):
        p = cells[x, a] / total[x]
        u.append((h[a] / p if p >= TAU else 0.0) - share[x])
    u = np.array(u)
    assert {(h[a], s > 0) for a, s in zip(log["ad"], u, strict=True)} >= {(0.15, False), (0.8, True)}
    options = OPTIONS | {"estimators": [], "trained_until": "never"}

    def gain(log, reward="click", **also):
        found = ws.evaluate({"h": table(decisions)}, read(log, reward, engine=duckdb, **also), **options)
        return found.of_outcome("delay")["h"].gain.certified

    found = gain(log, also="delay")
    worst, best = (gain(filled(log, "delay", np.where(s * u > 0, -5.0, 20.0)), "delay") for s in (1, -1))
    assert (found.lower, found.upper) == pytest.approx((worst.lower, best.upper), abs=1e-9)


@pytest.mark.parametrize("case", [{"unit": "visitor"}, {"time": "at", "epoch": "day"}])
def test_no_gain_is_certified_of_unknown_outcomes_of_units_and_epochs(case, duckdb):
    log, _ = without(columns(), "delay")
    found = ws.evaluate("constant:a1", read(log, engine=duckdb, also="delay", **case), guards="delay<=+90%", **OPTIONS)
    [one] = found.others
    assert one.gain.certified is None
    assert [guard.status for guard in found.policies[0].guards] == ["cannot-tell"]
    low, high = (
        ws.evaluate("constant:a1", read(filled(log, "delay", [end] * 600), "delay", engine=duckdb, **case), **OPTIONS)
        for end in (-5.0, 20.0)
    )
    ends = low.policies[0].lower, high.policies[0].upper
    assert (one.lower, one.upper) == pytest.approx(ends, abs=1e-9)


def test_per_unit_the_known_events_count_what_they_count(duckdb):
    log, known = without(columns(), "delay")
    events = read(log, engine=duckdb, also="delay", unit="visitor")
    [one] = ws.evaluate("logging", events, per="unit", **OPTIONS).others
    visits = np.bincount(log["visitor"])[np.asarray(log["visitor"])]
    weights = np.where(known, 1 / visits, 0.0)
    values = np.array([0.0 if v is None else v for v in log["delay"]])
    assert one.known == pytest.approx(weights.sum() / len(set(log["visitor"])))
    assert one.value == pytest.approx((weights * values).sum() / weights.sum())
    assert one.lower < one.value < one.upper


def test_an_outcome_unknown_in_all_of_a_window_is_refused(duckdb):
    log = columns()
    log["delay"] = [*np.asarray(log["delay"])[:300].tolist(), *[None] * 300]
    train, late = read(log, time="at", also="delay", engine=duckdb).split(at=log["at"][300])
    with pytest.raises(ws.EmptyWindowError, match="never known in the evaluated window"):
        ws.evaluate("logging", late, train=train, **OPTIONS)
    log["delay"] = [None] * 600
    with pytest.raises(ws.EmptyWindowError, match="'delay' is never known"):
        read(log, also="delay", engine=duckdb)


def test_nulls_of_a_training_log_alone_are_left_out_of_what_was_known_before(duckdb):
    log = columns()
    early, late = (kept(log, [(i < 300) is first for i in range(600)]) for first in (True, False))
    missing, known = without(early, "delay", share=0.6)
    options = {"time": "at", "engine": duckdb}
    found = ws.evaluate(
        "constant:a1", read(late, also="delay", **options), train=read(missing, also="delay", **options), **OPTIONS
    )
    expected = ws.evaluate(
        "constant:a1", read(late, "delay", **options), train=read(kept(early, known), "delay", **options), **OPTIONS
    )
    same(found.others[0].gain, expected.policies[0].gain)


def test_windows_of_logs_with_other_outcomes_are_refused(duckdb):
    log = columns()
    read_as = {
        "none": {},
        "cost": {"also": "cost"},
        "both": {"also": ["cost", "delay"]},
        "turned": {"also": ["delay", "cost"]},
    }
    logs = {name: read(log, engine=duckdb, **options) for name, options in read_as.items()}
    for name, other in [("none", "cost"), ("cost", "none"), ("both", "turned"), ("cost", "both")]:
        with pytest.raises(UsageError, match=r"outcomes .*Read both|The training log has the outcomes"):
            ws.evaluate("logging", logs[name], train=logs[other], tau=0.1)
    wider = ws.read_events(
        table(log), context=["page", "country"], action="ad", reward="click", also="cost", engine=duckdb
    )
    with pytest.raises(UsageError, match="training log"):
        ws.evaluate("logging", wider, train=logs["cost"], tau=0.1)


def test_a_view_of_the_first_outcome_is_the_table_itself():
    import ibis

    sums = ibis.memtable({"n": [3.0], "n_of_1": [2.0], "reward_sum": [1.0], "reward_sum_of_1": [0.5]})
    assert outcome_view(sums, 0) is sums
    for fill, n, total, shift in [("known", 2.0, 0.5, None), ("low", 3.0, 0.5, 1.0), ("high", 3.0, 1.5, -1.0)]:
        row = outcome_view(sums, 1, fill).to_pyarrow().to_pylist()[0]
        assert (row["n"], row["reward_sum"], row.get("if_negative")) == (n, total, shift)
        assert not [name for name in row if "_of_" in name]


@pytest.mark.spark
def test_spark_fills_unknown_outcomes_alike(spark):
    log, _ = without(columns(), "delay")
    found, expected = (
        ws.evaluate("constant:a1", read(log, also="delay", engine=engine), tau=TAU, estimators=["snips"])
        for engine in (spark, "duckdb")
    )
    same(found.others[0], expected.others[0], close=1e-7)
