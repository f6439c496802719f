"""Policies as tables, and decisions that are not one."""

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from tests.support.logs import decisions, moment, random_log, read, table

import warmstart as ws
from warmstart.engine import connect
from warmstart.policy import parse_policies


@pytest.fixture(scope="module")
def events(engine):
    return read(random_log(1), engine)


def evaluate(events, policy, **options):
    return ws.evaluate({"mine": policy}, events, tau=0.1, **options)["mine"]


def rows(**columns):
    return pa.table(columns)


def test_a_policy_table_sums_to_one_in_every_decided_context(events):
    early, late = events.split(at=moment(4))
    for policy, train in (("logging", None), ("uniform", early), ("constant:a1", None)):
        table = ws.policy_table(policy, late, train=train).to_pylist()
        sums = {}
        for row in table:
            sums[row["context"]] = sums.get(row["context"], 0) + row["probability"]
        assert set(sums) == {"x0", "x1", "x2", "x3", "x4", "x5"}
        assert max(sums.values()) == pytest.approx(1)


def test_choices_are_computed_once_for_all_questions_and_are_gone_after_an_error(duckdb, monkeypatch):
    events, kept, left = read(random_log(1), duckdb), [], set(duckdb.backend.list_tables())
    chosen = decisions({(f"x{i}", "a1"): 1.0 for i in range(6)})
    materialise = type(duckdb).materialise

    def counted(engine, expression):
        kept.append("probability" in expression.columns)
        return materialise(engine, expression)

    monkeypatch.setattr(type(duckdb), "materialise", counted)
    ws.evaluate({"mine": chosen}, events, tau=0.1, estimators=["dr"], contributions=3)
    assert sum(kept) == 1
    assert set(duckdb.backend.list_tables()) == left

    class Refuses:
        def fit(self, x, y, sample_weight=None):
            return self

        def predict(self, x):
            raise ArithmeticError("no")

        def get_params(self, deep=True):
            return {}

    with pytest.raises(ArithmeticError):
        ws.evaluate({"mine": chosen}, events, tau=0.1, estimators=["dr"], reward_model=Refuses())
    assert set(duckdb.backend.list_tables()) == left


def test_uniform_chooses_each_day_among_live_actions_and_is_undecided_where_there_is_none(engine):
    """Feasible for p are a and b, from training; a is last shown on day 3, and b, shown on day 5, lives on."""
    log = [("p", "a", 0.0, 0), ("p", "b", 0.0, 1), ("q", "d", 0.0, 1)]
    log += [("p", "b", 0.0, 2), ("q", "a", 0.0, 3), ("p", "c", 1.0, 3), ("p", "b", 1.0, 5), ("q", "c", 1.0, 5)]
    early, late = read(log, engine).split(at=moment(2))
    found = ws.policy_table("uniform", late, train=early).to_pylist()
    h = {(row["context"], row["action"]): row["probability"] for row in found}
    # p has traffic on days 2 and 3 (a and b live) and on day 5 (b alone); q's only feasible action died on day 1.
    assert h == pytest.approx({("p", "a"): 1 / 3, ("p", "b"): 2 / 3})
    support = ws.evaluate("uniform", late, train=early, tau=0.1)["uniform"].support
    assert support.undecided == pytest.approx(2 / 5)
    assert support.unsupported == pytest.approx(3 / 5 * 1 / 3)


@pytest.mark.parametrize("feasible_from", ["train", "evaluated", "all"])
def test_the_sweep_here_and_the_sweep_in_the_engine_agree(feasible_from, monkeypatch):
    engine = connect()
    early, late = read(random_log(3, events=900, contexts=9, actions=7, days=20), engine).split(at=moment(9))
    tables = []
    for in_process in (True, False):
        monkeypatch.setattr(engine, "in_process", in_process)
        table = ws.policy_table("uniform", late, train=early, feasible_from=feasible_from)
        tables.append({(row["context"], row["action"]): row["probability"] for row in table.to_pylist()})
    assert tables[0] == pytest.approx(tables[1], abs=1e-12)
    assert len(tables[0]) > 20


@pytest.mark.parametrize("in_process", [True, False])
def test_contexts_may_be_times_and_several(in_process, monkeypatch):
    engine = connect()
    monkeypatch.setattr(engine, "in_process", in_process)
    log = table(random_log(4))
    log = log.append_column("hour", log["time"].cast(pa.timestamp("us")))
    options = {"action": "action", "reward": "reward", "time": "time", "engine": engine}
    alone = ws.read_events(log, context="hour", **options)
    assert ws.evaluate("uniform", alone, tau=0.001)["uniform"].support.supported == pytest.approx(1)
    both = ws.read_events(log, context=["context", "hour"], **options)
    assert ws.evaluate("uniform", both, tau=0.1)["uniform"].events == 300


@pytest.mark.slow_on_spark
def test_without_times_actions_are_assumed_to_be_showable_all_window(engine):
    found = ws.evaluate("uniform", read(random_log(1), engine, time=False), tau=0.1)
    assert not found.windows.live
    assert "assuming that they could be shown all window" in str(found)


@pytest.mark.slow_on_spark
def test_decisions_may_come_from_a_file(events, tmp_path):
    path = tmp_path / "mine.csv"
    pa_csv.write_csv(rows(context=["x0", "x1"], action=["a0", "a1"]), path)
    from_file = ws.evaluate([str(path), f"named={path}"], events, tau=0.1)
    direct = evaluate(events, rows(context=["x0", "x1"], action=["a0", "a1"]))
    assert from_file["mine"].value == from_file["named"].value == direct.value
    assert direct.support.undecided > 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (rows(context=["x0", "x0"], action=["a0", "a1"]), "decides a context twice, without probabilities"),
        (rows(context=["x0", "x0"], action=["a0", "a0"], probability=[0.1, 0.1]), "same context and action twice"),
        (rows(context=["x0"], action=["a0"], probability=[-0.5]), r"outside \[0, 1\]"),
        (rows(context=["x0"], action=["a0"], probability=[float("nan")]), r"outside \[0, 1\]"),
        (rows(context=["x0"], action=["a0"], probability=[1.5]), r"outside \[0, 1\]"),
        (rows(context=["x0", "x0"], action=["a0", "a1"], probability=[0.7, 0.7]), "sum to more than 1.*x0"),
        (rows(context=pa.array(["x0", None]), action=["a0", "a1"]), "without a context or an action of the log's type"),
        (rows(context=pa.array([], pa.string()), action=pa.array([], pa.string())), "no decisions"),
        (rows(context=["elsewhere"], action=["a0"]), "decides no context"),
    ],
)
@pytest.mark.slow_on_spark
def test_bad_decisions(events, table, message):
    with pytest.raises(ws.DecisionError, match=message):
        evaluate(events, table)


def test_keys_whose_types_cannot_match(events):
    with pytest.raises(ws.ColumnError, match="'action' has type int64, and string in the log"):
        evaluate(events, rows(context=["x0"], action=[0]))
    with pytest.raises(ws.ColumnError, match="has no column 'action'"):
        evaluate(events, rows(context=["x0"], choice=["a0"]))
    with pytest.raises(ws.ColumnError, match="probability has type string"):
        evaluate(events, rows(context=["x0"], action=["a0"], probability=["all"]))


def test_integer_keys_of_different_widths_match(engine):
    log = pa.table({"x": pa.array([1, 1], pa.int64()), "a": pa.array([1, 2], pa.int8()), "r": [1.0, 0.0]})
    events = ws.read_events(log, context="x", action="a", reward="r", engine=engine)
    choice = pa.table({"x": pa.array([1], pa.int16()), "a": pa.array([1], pa.uint32())})
    assert evaluate(events, choice).value == pytest.approx(1)


@pytest.mark.slow_on_spark
def test_an_action_that_never_occurs_is_no_constant(events):
    with pytest.raises(ws.DecisionError, match="'a77' never occurs in 'action'"):
        ws.evaluate("constant:a77", events, tau=0.1)


@pytest.mark.slow_on_spark
def test_probabilities_may_sum_to_less_than_one(events):
    found = evaluate(events, decisions({("x0", "a0"): 0.25}))
    whole = evaluate(events, decisions({("x0", "a0"): 1.0}))
    assert found.value == pytest.approx(whole.value / 4)
    assert found.matched == whole.matched


def test_names_are_split_at_the_first_equals_sign_unless_the_whole_is_a_path(tmp_path):
    odd = tmp_path / "a=b.csv"
    odd.write_text("context,action\n")
    named = parse_policies(["mine=x=y.csv", str(odd), "logging", "constant:a=b"])
    assert [(policy.name, policy.source) for policy in named] == [
        ("mine", "x=y.csv"),
        ("a=b", str(odd)),
        ("logging", "logging"),
        ("constant:a=b", "constant:a=b"),
    ]


def test_keywords_win_over_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logging").write_text("")
    assert parse_policies("logging")[0].keyword == "logging"
    assert parse_policies("./logging")[0].keyword is None


def test_two_policies_of_one_name_are_refused():
    with pytest.raises(ws.UsageError, match="2 policies are called 'uniform'"):
        parse_policies(["uniform", "uniform"])


@pytest.mark.slow_on_spark
def test_a_misspelt_keyword_is_told(events):
    with pytest.raises(ws.UsageError, match="Did you mean 'uniform'"):
        ws.evaluate("unifrom", events, tau=0.1)
    with pytest.raises(ws.UsageError, match="empty"):
        ws.evaluate("", events, tau=0.1)


@pytest.mark.slow_on_spark
def test_the_values_of_a_csv_file_are_read_as_the_logs_types(tmp_path, engine):
    """Ids that look like numbers but are text in the log, and numbers that are numbers."""
    log = pa.table({"x": ["007", "007"], "a": [1, 2], "r": [1.0, 0.0]})
    events = ws.read_events(log, context="x", action="a", reward="r", engine=engine)
    (tmp_path / "mine.csv").write_text("x,a,probability\n007,1,0.5\n")
    assert ws.evaluate(str(tmp_path / "mine.csv"), events, tau=0.1)["mine"].value == pytest.approx(0.5)
    (tmp_path / "bad.csv").write_text("x,a\n007,one\n")
    with pytest.raises(ws.DecisionError, match=r"of the log's type .*The log has x string, a int64"):
        ws.evaluate(str(tmp_path / "bad.csv"), events, tau=0.1)


@pytest.mark.slow_on_spark
def test_a_key_is_never_rounded_to_match(engine):
    log = pa.table({"x": ["p", "p"], "a": [1, 2], "r": [1.0, 0.0]})
    events = ws.read_events(log, context="x", action="a", reward="r", engine=engine)
    assert evaluate(events, rows(x=["p"], a=[1.0])).value == pytest.approx(1)
    with pytest.raises(ws.DecisionError, match="of the log's type"):
        evaluate(events, rows(x=["p"], a=[1.5]))


def test_decisions_of_another_connection_are_refused(events):
    import ibis

    elsewhere = ibis.duckdb.connect()
    elsewhere.create_table("d", rows(context=["x0"], action=["a0"]))
    with pytest.raises(ws.SourceError, match="another connection"):
        evaluate(events, elsewhere.table("d"))
    assert evaluate(events, ibis.memtable(rows(context=["x0"], action=["a0"]))).matched > 0


@pytest.mark.slow_on_spark
def test_a_column_called_probability_cannot_be_a_key(engine):
    log = pa.table({"probability": ["p", "p"], "a": ["a", "b"], "r": [1.0, 0.0]})
    events = ws.read_events(log, context="probability", action="a", reward="r", engine=engine)
    assert ws.evaluate("uniform", events, tau=0.1)["uniform"].value == pytest.approx(0.5)
    with pytest.raises(ws.UsageError, match="Rename"):
        evaluate(events, rows(probability=["p"], a=["a"]))
    with pytest.raises(ws.UsageError, match="Rename"):
        ws.policy_table("uniform", events)


def test_an_action_is_live_between_its_days_anywhere_in_the_log(engine):
    """Evaluated in the middle: a, shown on days 0 and 9 only, is live on day 5."""
    log = [("p", "a", 0.0, 0), ("p", "b", 0.0, 0), ("p", "b", 1.0, 5), ("p", "a", 0.0, 9)]
    first, rest = read(log, engine).split(at=moment(4))
    middle, _ = rest.split(at=moment(8))
    table = {row["action"]: row["probability"] for row in ws.policy_table("uniform", middle, train=first).to_pylist()}
    assert table == {"a": 0.5, "b": 0.5}


def test_uniform_without_a_feasible_action_anywhere_is_undecided_and_no_error(engine):
    first, second = read([("p", "a", 0.0, 0), ("q", "a", 1.0, 1)], engine).split(at=moment(1))
    found = ws.evaluate(["uniform", "logging"], second, train=first, tau=0.1)
    assert found["uniform"].support.undecided == 1
    assert found["uniform"].gain.difference is None
    assert found["logging"].value == 1


@pytest.mark.slow_on_spark
def test_policy_table_is_for_one_policy_and_a_known_window(events):
    with pytest.raises(ws.UsageError, match="one policy"):
        ws.policy_table(["uniform", "logging"], events)
    with pytest.raises(ws.UsageError, match="feasible_from"):
        ws.policy_table("uniform", events, feasible_from="nonsense")


def test_a_day_begins_at_midnight_utc(engine):
    """a at hours 1 and 19, b at 19 and 40: on the first day both are live, on the second b alone."""
    from datetime import UTC, datetime, timedelta

    times = [datetime(2026, 10, 1, tzinfo=UTC) + timedelta(hours=h) for h in (1, 19, 19, 40)]
    log = pa.table({"x": ["p"] * 4, "a": ["a", "a", "b", "b"], "r": [0.0] * 4, "t": times})
    events = ws.read_events(log, context="x", action="a", reward="r", time="t", engine=engine)
    for live, expected in ((True, {"a": 0.375, "b": 0.625}), (False, {"a": 0.5, "b": 0.5})):
        table = ws.policy_table("uniform", events, live=live).to_pylist()
        assert {row["a"]: row["probability"] for row in table} == pytest.approx(expected)
