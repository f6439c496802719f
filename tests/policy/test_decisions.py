"""Decisions from tables and files, and tables that are none."""

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from tests.support.logs import decisions, random_log, read

import warmstart as ws


@pytest.fixture(scope="module")
def events(engine):
    return read(random_log(1), engine)


def evaluate(events, policy, **options):
    return ws.evaluate({"mine": policy}, events, tau=0.1, estimators=["ips"], **options)["mine"]


def rows(**columns):
    return pa.table(columns)


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
        (rows(context=["x0", "x0"], action=["a0", "a1"]), "twice, without.*'x0', action = 'a0', also = 'a1'"),
        (rows(context=["x0", "x0"], action=["a0", "a0"], probability=[0.1, 0.2]), "same context and action twice"),
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


@pytest.mark.slow_on_spark
def test_rows_per_event_are_understood_where_they_agree(events):
    """A table with a row for every event, as pandas makes it by assigning a column to the log."""
    once, often = (
        rows(context=["x0", "x1"], action=["a0", "a1"]),
        rows(context=["x0", "x1"] * 9, action=["a0", "a1"] * 9),
    )
    assert evaluate(events, often).to_dict() == evaluate(events, once).to_dict()
    shared = often.append_column("probability", pa.array([0.5, 0.25] * 9))
    assert evaluate(events, shared).value == pytest.approx(
        evaluate(events, decisions({("x0", "a0"): 0.5, ("x1", "a1"): 0.25})).value
    )
    differing = rows(context=["x0", "x0"], action=["a0", "a1"])
    with pytest.raises(ws.DecisionError, match=r"one row per context.*If rows are events.*'column:NAME'"):
        evaluate(events, differing)


@pytest.mark.slow_on_spark
def test_a_row_without_an_action_is_undecided(events, tmp_path):
    found = evaluate(events, rows(context=["x0", "x1"], action=pa.array(["a0", None])))
    assert found.to_dict() == evaluate(events, rows(context=["x0"], action=["a0"])).to_dict()
    (tmp_path / "mine.csv").write_text("context,action\nx0,a0\nx1,\n")
    assert evaluate(events, str(tmp_path / "mine.csv")).to_dict() == found.to_dict()


def test_keys_whose_types_cannot_match(events):
    with pytest.raises(ws.ColumnError, match="'action' has type int64, and string in the log"):
        evaluate(events, rows(context=["x0"], action=[0]))
    with pytest.raises(ws.ColumnError, match="of the policy 'mine' has no column 'action'"):
        evaluate(events, rows(context=["x0"], choice=["a0"]))
    with pytest.raises(ws.ColumnError, match="probability has type string"):
        evaluate(events, rows(context=["x0"], action=["a0"], probability=["all"]))


def test_integer_keys_of_different_widths_match(engine):
    log = pa.table({"x": pa.array([1, 1], pa.int64()), "a": pa.array([1, 2], pa.int8()), "r": [1.0, 0.0]})
    events = ws.read_events(log, context="x", action="a", reward="r", engine=engine)
    choice = pa.table({"x": pa.array([1], pa.int16()), "a": pa.array([1], pa.uint32())})
    assert evaluate(events, choice).value == pytest.approx(1)


@pytest.mark.slow_on_spark
def test_probabilities_may_sum_to_less_than_one(events):
    found = evaluate(events, decisions({("x0", "a0"): 0.25}))
    whole = evaluate(events, decisions({("x0", "a0"): 1.0}))
    assert found.value == pytest.approx(whole.value / 4)
    assert found.matched == whole.matched


@pytest.mark.slow_on_spark
def test_the_values_of_a_csv_file_are_read_as_the_logs_types(tmp_path, engine):
    """Ids that look like numbers but are text in the log, and numbers that are numbers."""
    log = pa.table({"x": ["007", "007"], "a": [1, 2], "r": [1.0, 0.0]})
    events = ws.read_events(log, context="x", action="a", reward="r", engine=engine)
    (tmp_path / "mine.csv").write_text("x,a,probability\n007,1,0.5\n")
    assert ws.evaluate(str(tmp_path / "mine.csv"), events, tau=0.1, estimators=["ips"])["mine"].value == pytest.approx(
        0.5
    )
    (tmp_path / "bad.csv").write_text("x,a\n007,one\n")
    with pytest.raises(ws.DecisionError, match=r"of the log's type .*The log has x string, a int64"):
        ws.evaluate(str(tmp_path / "bad.csv"), events, tau=0.1)


def test_decimal_commas_of_decisions_are_read_as_those_of_logs(tmp_path):
    (tmp_path / "log.csv").write_text("Rabatt;Kanal;Umsatz\n" + "0,25;Mail;0,5\n0,25;SMS;1,0\n" * 5)
    events = ws.read_events(tmp_path / "log.csv", context="Rabatt", action="Kanal", reward="Umsatz")
    (tmp_path / "mine.csv").write_text("Rabatt;Kanal;probability\n0,25;Mail;0,7\n0,25;SMS;0,3\n")
    assert evaluate(events, str(tmp_path / "mine.csv")).value == pytest.approx(0.7 * 0.5 + 0.3)
    (tmp_path / "mine.csv").write_text("Rabatt;Kanal;probability\n0,25;Mail;70 %\n")
    with pytest.raises(ws.DecisionError, match="outside") as refused:
        evaluate(events, str(tmp_path / "mine.csv"))
    assert "Write it like 0.25" in refused.value.hint


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
    assert ws.evaluate("uniform", events, tau=0.1, estimators=["ips"])["uniform"].value == pytest.approx(0.5)
    with pytest.raises(ws.UsageError, match="Rename"):
        evaluate(events, rows(probability=["p"], a=["a"]))
    with pytest.raises(ws.UsageError, match="Rename"):
        ws.policy_table("uniform", events)
