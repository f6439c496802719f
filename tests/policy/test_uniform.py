"""Uniform among feasible actions and among all: what each may choose, and where neither can."""

from collections import Counter

import pyarrow as pa
import pytest
from tests.support.logs import START, moment, random_log, read
from tests.support.unrepeated import RANDOMISED, read_unrepeated, unrepeated_log

import warmstart as ws
from warmstart.policy import uniform


def chosen(table):
    return {(row["context"], row["action"]): row["probability"] for row in table.to_pylist()}


def uniform_all_by_hand(rows, whole_log):
    """Every event's day gives each action live that day an equal share."""
    days = {}
    for _, action, _, day in whole_log:
        days.setdefault(action, set()).add(day)
    actions = {action for _, action, *_ in rows}
    h, traffic = Counter(), Counter(x for x, *_ in rows)
    for x, _, _, day in rows:
        live = [a for a in actions if min(days[a]) <= day <= max(days[a])]
        for a in live:
            h[x, a] += 1 / len(live) / traffic[x]
    return dict(h)


def test_uniform_all_chooses_among_the_actions_live_on_the_day(engine):
    """a4 ends on day 2 and a5 begins on day 5; contexts that never saw them get them all the same."""
    rows = [*random_log(3, actions=4), *[("x0", "a4", 0.0, d) for d in (0, 2)], *[("x1", "a5", 1.0, d) for d in (5, 7)]]
    found = chosen(ws.policy_table("uniform-all", read(rows, engine)))
    expected = uniform_all_by_hand(rows, rows)
    assert found == pytest.approx(expected, abs=1e-12)
    assert 0 < expected["x2", "a4"] < 1 / 6


def test_uniform_all_counts_live_days_over_the_whole_log(engine):
    """a0 is shown on days 0 and 9 only, so that it is live in a window between them that shows it nowhere."""
    rows = [("p", "a0", 0.0, 0), ("p", "a1", 0.0, 0), ("q", "a1", 1.0, 5), ("q", "a2", 1.0, 5), ("p", "a0", 0.0, 9)]
    first, rest = read(rows, engine).split(at=moment(4))
    middle, _ = rest.split(at=moment(8))
    found = chosen(ws.policy_table("uniform-all", middle, train=first))
    assert found == pytest.approx({("q", action): 1 / 3 for action in ("a0", "a1", "a2")}, abs=1e-12)


@pytest.mark.parametrize("options", [{"live": False}, {}])
def test_without_days_uniform_all_chooses_among_all_actions_of_the_window(engine, options):
    rows = random_log(3)
    events = read(rows, engine, time=bool(options))
    found = chosen(ws.policy_table("uniform-all", events, **options))
    actions, contexts = {a for _, a, *_ in rows}, {x for x, *_ in rows}
    assert found == pytest.approx({(x, a): 1 / len(actions) for x in contexts for a in actions}, abs=1e-12)


@pytest.mark.parametrize("source", ["counts", "back-off", "model"])
def test_uniform_means_the_feasible_actions_whatever_the_source_of_propensities(duckdb, source):
    """x0 shows a0 alone but for chance; nobody may choose there what it never showed."""
    rows = random_log(5, events=600)
    events = read(rows, duckdb)
    table = ws.policy_table("uniform", events)
    options = {"tau": 0.05, "propensities": source, "estimators": ["ips"]}
    found, same = (ws.evaluate(policy, events, **options).policies[0] for policy in ("uniform", {"h": table}))
    assert found.value == pytest.approx(same.value, abs=1e-12)
    assert found.support.unsupported == pytest.approx(same.support.unsupported, abs=1e-12)
    everything = ws.evaluate("uniform-all", events, **options).policies[0]
    assert everything.value != pytest.approx(found.value, abs=1e-6)


@pytest.mark.parametrize("options", [{}, {"propensities": "model"}, {"propensities": "counts"}])
def test_uniform_is_refused_where_contexts_do_not_repeat(options):
    log, _ = unrepeated_log(RANDOMISED, events=1200)
    with pytest.raises(ws.UsageError, match="'uniform-all'"):
        ws.evaluate("uniform", read_unrepeated(log), **options)
    with pytest.raises(ws.UsageError, match="'uniform-all'"):
        ws.policy_table("uniform", read_unrepeated(log))
    found = ws.evaluate("uniform-all", read_unrepeated(log), tau=0.01, **options)["uniform-all"]
    assert found.support.undecided == pytest.approx(0, abs=1e-12)


def test_logged_propensities_do_not_change_what_uniform_means():
    log, _ = unrepeated_log(RANDOMISED, events=1200)
    with pytest.raises(ws.UsageError, match="'uniform-all'"):
        ws.evaluate("uniform", read_unrepeated(log, propensity="p"))


def test_a_training_window_that_knows_the_contexts_supplies_the_feasible_sets(engine):
    """Every context occurs once in the evaluated window; before it, a and b were shown in each."""
    rows = [(f"x{i}", a, 0.0, 0) for i in range(8) for a in ("a", "b")] + [(f"x{i}", "a", 1.0, 1) for i in range(8)]
    train, test = read(rows, engine, time=True).split(at=moment(1))
    found = chosen(ws.policy_table("uniform", test, train=train, live=False))
    assert found == pytest.approx({(f"x{i}", a): 0.5 for i in range(8) for a in ("a", "b")})
    with pytest.raises(ws.UsageError, match="'uniform-all'"):
        ws.policy_table("uniform", test, train=train, feasible_from="evaluated")
    strangers = [("new", a, 0.0, 0) for a in ("a", "b")] + [(f"x{i}", "a", 1.0, 1) for i in range(8)]
    train, test = read(strangers, engine).split(at=moment(1))
    with pytest.raises(ws.UsageError, match="'uniform-all'"):
        ws.policy_table("uniform", test, train=train)


def test_a_table_of_all_actions_that_would_be_too_large_is_refused(duckdb, monkeypatch):
    monkeypatch.setattr(uniform, "MOST_ROWS", 29)
    with pytest.raises(ws.UsageError, match="5 actions in 6 contexts"):
        ws.evaluate("uniform-all", read(random_log(1), duckdb), tau=0.1)


def test_uniform_all_has_a_name_of_its_own_among_the_policies(duckdb):
    found = ws.evaluate(["uniform", "uniform-all"], read(random_log(1), duckdb), tau=0.1)
    assert [e.policy for e in found] == ["uniform", "uniform-all"]
    assert found.windows.live
    assert found["uniform-all"].support.unsupported > found["uniform"].support.unsupported
    log = pa.table({"x": ["p", "p"], "a": ["a", "b"], "r": [0.0, 1.0], "t": [START, START]})
    events = ws.read_events(log, context="x", action="a", reward="r", time="t", engine=duckdb)
    assert ws.evaluate("uniform-all", events, tau=0.1, estimators=["ips"])["uniform-all"].value == pytest.approx(0.5)
