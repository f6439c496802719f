"""Selecting a policy, or none."""

import pytest
from tests.support.logs import read

import warmstart as ws


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
    assert chosen.to_dict() == {**nothing, "reward": "reward", "unguarded": [], "segments": []}


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
