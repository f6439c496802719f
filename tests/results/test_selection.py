"""Selecting a policy, or none."""

from dataclasses import replace

import pytest
from tests.support import outcome_logs
from tests.support.logs import read

import warmstart as ws
from warmstart.results import Gain
from warmstart.results.guards import GuardResult


def log(good, events=4000):
    """Two ads, shown evenly; b earns more by a certain amount."""
    rows = []
    for i in range(events):
        a = "b" if i % 2 else "a"
        rows.append(("p", a, float(i // 2 % 10 < (3 + good if a == "b" else 3)), i * 8 // events))
    return rows


def test_the_policy_with_the_largest_certified_gain_is_selected(duckdb):
    found = ws.evaluate(["constant:a", "constant:b", "uniform", "logging"], read(log(3), duckdb), tau=[0.1, 0.3])
    chosen = ws.select(found)
    assert chosen.policy == "constant:b"
    assert chosen.gain_lower == pytest.approx(max(e.gain.certified.joint_lower for e in found))
    assert 0 < chosen.gain_lower < 0.15
    assert chosen.looks == 7
    assert "constant:b" in str(chosen)


def test_none_is_selected_where_none_is_certifiably_better(duckdb):
    chosen = ws.select(ws.evaluate(["constant:a", "constant:b"], read(log(0), duckdb)))
    assert (chosen.policy, chosen.gain_lower) == (None, None)
    assert "none" in str(chosen)
    nothing = {"policy": None, "tau": None, "gain_lower": None, "looks": 2}
    nothing |= {
        "reward": "reward",
        "unguarded": [],
        "held_back": [],
        "segments": [],
        "estimate": None,
        "delta": 0.05,
        "left_out": [],
    }
    assert nothing.items() <= chosen.to_dict().items()


def test_more_looks_ask_for_more_proof(duckdb):
    events = read(log(1, events=1200), duckdb)
    options = {"tau": 0.1, "estimators": ["ips"]}
    alone = ws.evaluate("constant:b", events, **options).policies[0].gain.certified
    many = ws.evaluate(["constant:b", *(f"p{i}=constant:a" for i in range(10))], events, **options)
    among = many["constant:b"].gain.certified
    assert among.lower == pytest.approx(alone.lower)
    assert among.joint_lower < alone.joint_lower == alone.lower


def test_what_learned_here_is_never_selected(duckdb):
    events = read(log(3), duckdb)
    policy = ws.fit(events, fit_tau=1.0, weight_bits=8)
    chosen = ws.select(ws.evaluate({"learned": policy}, events, tau=0.1))
    assert chosen.policy is None
    assert "Nothing can be proven of 'learned'" in str(chosen)


def test_the_interval_of_the_value_does_not_matter(duckdb):
    found = ws.evaluate("constant:b", read(log(3), duckdb), tau=0.1, interval="gamma")
    assert ws.select(found).policy == "constant:b"


@pytest.fixture(scope="module")
def whole(duckdb):
    """Five policies at one tau, in three segments; what is known of each is put in its place by ``told``."""
    events = outcome_logs.read(outcome_logs.columns(), also="cost", minimize="cost", engine=duckdb)
    policies = {f"p{i}": f"constant:a{i % 3}" for i in range(5)}
    return ws.evaluate({"logging": "logging", **policies}, events, tau=0.2, estimators=[], by="country")


def told(evaluation, ends, guards=None, *, minimize=False):
    """The evaluation with other joint ends, by policy or by policy and segment, and with some guards."""

    def changed(one):
        key = one.policy if one.segment is None else (one.policy, one.segment[0])
        lower, upper = ends.get(key, (-1.0, 1.0))
        certified = replace(one.gain.certified, joint_lower=lower, joint_upper=upper)
        results = [] if one.segment else [GuardResult(f"cost<=+{i}", s, None, None) for i, s in enumerate(said(one))]
        return one if one.is_logging else replace(one, gain=Gain(certified, None), guards=tuple(results))

    def said(one):
        return (guards or {}).get(one.policy, ())

    reward = replace(evaluation.outcomes[0], minimize=minimize)
    return replace(
        evaluation,
        outcomes=(reward, *evaluation.outcomes[1:]),
        policies=tuple(map(changed, evaluation.policies)),
        segments=tuple(map(changed, evaluation.segments)),
    )


def test_only_policies_that_keep_all_guards_are_selected(whole):
    ends = {"p0": (0.4, 1), "p1": (0.3, 1), "p2": (0.2, 1), "p3": (0.1, 1), "p4": (-0.1, 1)}
    guards = {"p0": ["holds", "fails"], "p1": ["cannot-tell", "holds"], "p4": ["holds"]}
    guards |= {"p2": ["holds", "holds"], "p3": ["holds", "holds"]}
    chosen = ws.select(told(whole, ends, guards))
    assert (chosen.policy, chosen.gain_lower, chosen.unguarded) == ("p2", 0.2, ("p0", "p1"))
    assert "keeps its guards" in str(chosen)
    assert "not proven to hold for 'p0', 'p1'" in str(chosen)
    none = ws.select(told(whole, ends, {policy: ["cannot-tell"] for policy in ends}))
    assert (none.policy, none.unguarded) == (None, tuple(ends))
    assert none.held_back == ("p0", "p1", "p2", "p3")
    start = "SELECTED: none. 'p0' and 'p1' and 'p2' and 'p3' are certifiably better (confidence 95 %, for all 6 rows"
    assert str(none).startswith(start)
    assert "but their guards are not proven to hold. Guards are not proven to hold for 'p4'." in str(none)
    assert none.to_dict()["unguarded"] == list(ends)


def test_a_policy_that_only_a_guard_holds_back_is_never_said_to_be_no_better(whole):
    open_guard = told(whole, {"p0": (0.4, 0.5)}, {"p0": ["cannot-tell"], "p1": ["cannot-tell"]})
    none = ws.select(open_guard)
    assert none.held_back == ("p0",)
    assert "'p0' is certifiably better" in str(none)
    assert "but its guards are not proven to hold" in str(none)
    assert "No policy" not in str(none)
    assert open_guard.verdict.kind == "better"
    within = ws.select(replace(open_guard, margin=0.6))
    assert within.held_back == ()
    assert "No policy is certifiably better than logging" in str(within)


def test_less_of_a_reward_that_should_be_small_is_selected(whole):
    ends = {"p0": (-0.5, 0.1), "p1": (-0.4, -0.1), "p2": (-0.3, -0.2), "p3": (0.1, 0.2), "p4": (-0.9, 0.0)}
    chosen = ws.select(told(whole, ends, minimize=True))
    assert (chosen.policy, chosen.gain_lower) == ("p2", 0.2)
    assert "it lowers 'click' by at least 200 per 1,000 events of all traffic" in str(chosen)
    assert ws.select(told(whole, ends)).policy == "p3"
    none = ws.select(told(whole, {"p0": (-0.5, 0.0), "p1": (0.1, 0.2)}, minimize=True))
    assert none.policy is None
    assert "upper end of a change is below 0" in str(none)


@pytest.mark.parametrize("minimize", [False, True])
def test_what_stays_within_the_margin_is_not_selected(whole, minimize):
    def ends(found):
        return {name: tuple(sorted((-b, -a))) if minimize else (a, b) for name, (a, b) in found.items()}

    every = {"p0": (0.06, 0.1), "p1": (0.05, 0.11), "p2": (-0.2, 0.1), ("p0", "at"): (0.07, 0.09)}
    close = replace(told(whole, ends(every), minimize=minimize), margin=0.1)
    chosen = ws.select(close)
    assert (chosen.policy, chosen.same, chosen.margin) == ("p1", ("p0",), 0.1)
    assert close.verdict.policy == "p1"
    assert "Certified to stay within the margin: 'p0'." in str(chosen)
    none = ws.select(replace(close, margin=0.11))
    assert (none.policy, none.same) == (None, ("p0", "p1"))
    assert "and outside the margin" in str(none)
    assert ws.select(replace(close, margin=None)).policy == "p0"


@pytest.mark.parametrize("minimize", [False, True])
def test_a_policy_may_be_used_only_where_it_is_proven_better(whole, minimize):
    sign = -1 if minimize else 1
    shares = {one.segment[0]: one.share for one in whole.segments}

    def at_least(ends):
        return {key: tuple(sorted((sign * end, 1.0 * sign))) for key, end in ends.items()}

    ends = {"p0": -0.1, "p1": 0.1, ("p0", "at"): 0.4, ("p0", "be"): -0.3, ("p0", "ch"): 0.2, ("p1", "at"): 0.1}
    chosen = ws.select(told(whole, at_least(ends), minimize=minimize))
    # The sum of what is proven, by traffic: no interval of its own.
    least = shares["at"] * 0.4 + shares["ch"] * 0.2
    assert (chosen.policy, chosen.segments) == ("p0", (("at",), ("ch",)))
    assert chosen.gain_lower == pytest.approx(least)
    assert "(in 'at', 'ch')" in str(chosen)
    assert chosen.to_dict()["segments"] == [["at"], ["ch"]]
    better = ws.select(told(whole, at_least(ends | {"p1": 0.35}), minimize=minimize))
    assert (better.policy, better.segments, better.gain_lower) == ("p1", (), 0.35)


def test_guards_of_all_traffic_say_nothing_of_segments(whole):
    ends = {("p0", "at"): (0.4, 1.0), "p1": (0.01, 1.0)}
    chosen = ws.select(told(whole, ends, {f"p{i}": ["holds"] for i in range(5)}))
    assert (chosen.policy, chosen.segments) == ("p1", ())


def test_equal_taus_count_once_in_segments(whole):
    twice = replace(whole, policies=whole.policies * 2, segments=whole.segments * 2)
    ends = {("p0", "at"): (0.4, 1.0)}
    chosen, again = (ws.select(told(one, ends)) for one in (whole, twice))
    assert (again.gain_lower, again.segments) == (chosen.gain_lower, chosen.segments)
