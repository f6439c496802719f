"""Remarks about outcomes: ranges that cost precision, nulls, and names of costs."""

import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.core import Outcome
from warmstart.results.remarks import may_be_a_cost, rounded_out


@pytest.mark.parametrize(
    "name", ["cost", "total_cost", "Latency", "responseLatency", "errors", "complaints 2026", "page-losses", "price"]
)
def test_a_name_of_a_cost_is_pointed_out_unless_it_is_minimized(name):
    remark = may_be_a_cost(Outcome(name))
    assert (remark.code, remark.level) == ("WS205", "note")
    assert f"--minimize {name}" in remark.text
    assert may_be_a_cost(Outcome(name, minimize=True)) is None
    # Its negative is the better the higher it is.
    assert may_be_a_cost(Outcome(name, low=-1.0, high=0.0)) is None


@pytest.mark.parametrize("name", ["click", "quality", "costume", "terrorised", "revenue", "glossy"])
def test_other_names_are_left_alone(name):
    assert may_be_a_cost(Outcome(name)) is None


@pytest.mark.parametrize(
    ("seen", "proposed"),
    [((0.0005, 0.018), (0.0, 0.02)), ((0.3, 0.41), (0.3, 0.5)), ((0.0, 0.1), (0.0, 0.1)), ((0.93, 0.99), (0.93, 0.99))],
)
def test_a_proposed_range_is_round_and_holds_what_was_seen(seen, proposed):
    found = rounded_out(*seen, Outcome("cost"))
    assert found == proposed
    assert found[0] <= seen[0] < seen[1] <= found[1]


def test_an_evaluation_remarks_on_its_outcomes_but_not_on_a_utility():
    n = 200
    log = {"page": ["p"] * n, "ad": ["a", "b"] * (n // 2), "click": [0, 1] * (n // 2), "cost": [0.01, 0.02] * (n // 2)}
    log["late"] = [None, 1, 0, 0] * (n // 4)
    columns = {"context": "page", "action": "ad", "reward": "click", "also": ["cost", "late"]}
    plain = ws.evaluate("uniform", ws.read_events(pa.table(log), **columns), tau=0.1, estimators=["ips"])
    found = {remark.code: remark.text for remark in plain.remarks}
    assert found.keys() == {"WS203", "WS204", "WS205"}
    assert "0 to 1, and the log's values lie in 0.01 to 0.02" in found["WS203"]
    assert "--range cost=0:0.02" in found["WS203"]
    assert "'late' is known in 75 %" in found["WS204"]
    narrow = columns | {"ranges": {"cost": (0, 0.02)}, "minimize": "cost"}
    weighed = ws.read_events(pa.table(log), **narrow)
    judged = ws.evaluate("uniform", weighed, tau=0.1, estimators=["ips"], utility="click - 20*cost")
    assert {remark.code for remark in judged.remarks} == {"WS204"}
    assert {note["code"] for note in judged.to_dict()["notes"]} == {"WS204"}
