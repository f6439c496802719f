"""Dicts from contexts to actions."""

import pyarrow as pa
import pytest
from tests.support.logs import decisions, random_log, read

import warmstart as ws

NAME_IT = r"name it: \{'mine': \{context: action\}\}"
CHOICES = {"x0": "a0", "x1": {"a0": 0.25, "a1": 0.5}, "x2": None, "x3": {}}


@pytest.fixture(scope="module")
def events():
    return read(random_log(1), "duckdb")


def test_a_dict_is_a_table_of_decisions(events):
    table = decisions({("x0", "a0"): 1.0, ("x1", "a0"): 0.25, ("x1", "a1"): 0.5})
    found = ws.evaluate({"dict": CHOICES, "table": table}, events, tau=0.1)
    assert found["dict"].to_dict() | {"policy": "table"} == found["table"].to_dict()
    assert ws.evaluate([CHOICES], events, tau=0.1).policies[0].policy == "policy_0"


@pytest.mark.parametrize(
    ("choices", "error", "message"),
    [
        ({("x0", 1): "a0"}, ws.DecisionError, r"'mine' decides .* and the log's contexts are \(context\)"),
        ({"x0": "a9"}, ws.DecisionError, "The policy 'mine' chooses 1 action that the log never shows"),
        ({"x0": {"a0": 0.7, "a1": 0.7}}, ws.DecisionError, "The policy 'mine'.*sum to more than 1"),
        ({"x0": {"a0": -0.7}}, ws.DecisionError, r"outside \[0, 1\]"),
        ({"x0": {"a0": "much"}}, ws.ColumnError, "mixed types"),
        ({"x0": "a0", 1: "a1"}, ws.ColumnError, "mixed types"),
        ({1: "a0"}, ws.ColumnError, "'context' has type int64, and string in the log"),
        ({}, ws.DecisionError, "has no decisions"),
        ({"nowhere": "a0"}, ws.DecisionError, "decides no context"),
    ],
)
def test_a_dict_that_is_no_policy_is_refused(events, choices, error, message):
    with pytest.raises(error, match=message):
        ws.evaluate({"mine": choices}, events, tau=0.1)


def test_a_dict_of_decisions_in_the_place_of_policies_is_told_apart(events):
    with pytest.raises(ws.UsageError, match=NAME_IT):
        ws.evaluate({("x0", 1): "a0"}, events)
    with pytest.raises(ws.UsageError, match=r"3 is no policy\..*name it"):
        ws.evaluate({"x0": 3}, events)
    with pytest.raises(ws.UsageError, match=NAME_IT):
        ws.evaluate({"x0": "a0", "x1": "a1"}, events)


def test_several_columns_are_keyed_by_tuples():
    log = pa.table({"page": ["p", "p"], "hour": [1, 2], "ad": ["a", "b"], "click": [1.0, 0.0]})
    events = ws.read_events(log, context=["page", "hour"], action="ad", reward="click")
    found = ws.evaluate({"mine": {("p", 1): "a", ("p", 2): "b"}}, events, tau=0.1, estimators=["ips"])
    assert found["mine"].value == 0.5
    with pytest.raises(ws.DecisionError, match=r"'mine' decides 'p', and the log's contexts are \(page, hour\)"):
        ws.evaluate({"mine": {"p": "a"}}, events)
