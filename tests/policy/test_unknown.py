"""Decisions for actions that the log never shows."""

import pytest
from tests.support.logs import decisions, moment, random_log, read

import warmstart as ws
from warmstart.policy import unknown


@pytest.fixture(scope="module")
def events(engine):
    return read(random_log(1), engine)


def evaluate(events, h, **options):
    return ws.evaluate({"mine": decisions(h)}, events, tau=0.1, estimators=["ips"], **options)


def test_an_action_that_the_log_never_shows_is_refused_with_the_nearest_names(events):
    with pytest.raises(ws.DecisionError, match=r"1 action that .*: 'a-1' \(did you mean 'a1'\?\)") as e:
        evaluate(events, {("x0", "a0"): 1.0, ("x1", "a-1"): 1.0})
    assert "allow_unknown_actions=True (--allow-unknown-actions)" in e.value.hint


@pytest.mark.slow_on_spark
def test_only_the_first_few_unknown_actions_are_named(events):
    with pytest.raises(ws.DecisionError, match=r"5 actions that .*: 'q0', 'q1', 'q2' and 2 more") as error:
        evaluate(events, {(f"x{i}", f"q{i}"): 1.0 for i in range(5)})
    assert "did you mean" not in str(error.value)


def test_names_are_looked_for_among_the_busiest_actions_only(duckdb, monkeypatch):
    monkeypatch.setattr(unknown, "COMPARED", 1)
    with pytest.raises(ws.DecisionError, match=r"'a00' \(did you mean 'a0'\?\)\."):
        evaluate(read(random_log(1), duckdb), {("x0", "a00"): 1.0})


def test_control_characters_of_an_unknown_action_are_escaped(duckdb):
    with pytest.raises(ws.DecisionError) as error:
        evaluate(read(random_log(1), duckdb), {("x0", "\x1b[31mred"): 1.0})
    assert "\x1b" not in str(error.value)
    assert r"\x1b[31mred" in str(error.value)


@pytest.mark.slow_on_spark
def test_allowed_they_are_unsupported_traffic_and_their_share_is_told(events):
    rows = random_log(1)
    found = evaluate(events, {("x0", "a0"): 0.5, ("x0", "new"): 0.5, ("x1", "new"): 1.0}, allow_unknown_actions=True)
    x0, x1 = (sum(x == name for x, *_ in rows) for name in ("x0", "x1"))
    support = found["mine"].support
    assert support.unsupported == pytest.approx((x0 / 2 + x1) / len(rows))
    (remark,) = [one for one in found.remarks if one.code == "WS202"]
    assert f"{100 * (x0 / 2 + x1) / (x0 + x1):.0f} % of the traffic of 'mine'" in remark.text
    assert str(remark) in found.notes
    assert {"code": "WS202", "level": "warning", "text": remark.text} in found.to_dict()["notes"]


def test_where_all_actions_are_known_nothing_is_said(duckdb):
    found = evaluate(read(random_log(1), duckdb), {("x0", "a0"): 1.0}, allow_unknown_actions=True)
    assert not any(remark.code == "WS202" for remark in found.remarks)


def test_a_probability_of_zero_chooses_nothing(duckdb):
    assert evaluate(read(random_log(1), duckdb), {("x0", "a0"): 1.0, ("x0", "new"): 0.0})["mine"].matched > 0


@pytest.mark.slow_on_spark
def test_an_action_of_the_training_window_is_known(engine):
    rows = [("x0", "old", 0.0, 0), ("x0", "a", 1.0, 5), ("x0", "b", 0.0, 5)]
    train, test = read(rows, engine).split(at=moment(3))
    assert evaluate(test, {("x0", "old"): 1.0}, train=train)["mine"].support.unsupported == 1
    with pytest.raises(ws.DecisionError, match="'old'"):
        evaluate(test, {("x0", "old"): 1.0})


@pytest.mark.slow_on_spark
def test_a_constant_that_never_occurs_is_refused_with_the_nearest_names_or_allowed(engine):
    events = read(random_log(1), engine)
    with pytest.raises(ws.DecisionError, match=r"'a00' \(did you mean 'a0'.*never occurs in 'action'"):
        ws.evaluate("constant:a00", events, tau=0.1)
    found = ws.evaluate("constant:a00", events, tau=0.1, estimators=["ips"], allow_unknown_actions=True)
    assert found["constant:a00"].support.unsupported == 1
    assert "100 % of the traffic of 'constant:a00'" in str(found)


def test_a_constant_must_be_of_the_type_of_the_logs_actions(duckdb):
    import pyarrow as pa

    log = pa.table({"x": ["p", "p"], "a": [1, 2], "r": [1.0, 0.0]})
    events = ws.read_events(log, context="x", action="a", reward="r", engine=duckdb)
    found = ws.evaluate("constant:7", events, tau=0.1, allow_unknown_actions=True)
    assert found["constant:7"].support.unsupported == 1
    with pytest.raises(ws.DecisionError, match="'seven' is no int64"):
        ws.evaluate("constant:seven", events, tau=0.1, allow_unknown_actions=True)


def test_what_a_table_would_choose_may_be_asked_of_actions_that_were_never_shown(duckdb):
    table = ws.policy_table({"mine": decisions({("x0", "new"): 1.0})}, read(random_log(1), duckdb))
    assert table["action"].to_pylist() == ["new"]
