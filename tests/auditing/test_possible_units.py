"""Columns that look like a unit, in logs that name none: when they are pointed out, and when not."""

import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.auditing import possible_units
from warmstart.auditing.possible_units import names_a_unit

NAMES = {"context": "page", "action": "ad", "reward": "click"}


def log(column="user_id", *, values=40, events=200, written=str):
    """Events of a few pages and ads, and a column of so many values."""
    order = range(events)
    columns = {"page": [f"p{i % 3}" for i in order], "ad": [f"a{i % 2}" for i in order]}
    columns |= {"click": [float(i % 5 == 0) for i in order], column: [written(i % values) for i in order]}
    return pa.table(columns)


def found_in(source, **options):
    return possible_units(ws.read_events(source, **{**NAMES, **options}))


@pytest.mark.parametrize(
    "name",
    [
        *("user", "user_id", "userId", "UserID", "USER_ID", "userid", "User ID", "user-id", "users", "hashed_user_id"),
        *(
            "visitor_id",
            "fullVisitorId",
            "customer",
            "CustomerNo",
            "member_id",
            "session",
            "SessionKey",
            "household_id",
        ),
        *("device_id", "cookie", "account number", "patient", "player_uuid", "client_id", "user_session_id"),
    ],
)
def test_names_of_those_who_come_back(name):
    assert names_a_unit(name)


@pytest.mark.parametrize(
    "name",
    [
        *("page", "id", "event_id", "item_id", "user_agent", "device_type", "session_length", "clicks_per_user"),
        *(
            "days_since_session",
            "is_member_since",
            "customer_segment",
            "abuser",
            "clientele",
            "",
            "account_balance",
            "42",
        ),
    ],
)
def test_names_of_other_things(name):
    assert not names_a_unit(name)


def test_a_column_that_repeats_is_pointed_out_with_what_to_do(engine):
    audit = ws.audit(ws.read_events(log(), **NAMES, engine=engine))
    (unit,) = audit.log.possible_units
    assert (unit.column, unit.values, unit.events_per_value) == ("user_id", 40, 5)
    (note,) = [note for note in audit.notes if "(WS107)" in note]
    assert "'user_id' has 40 values and 5.0 events for each" in note
    assert "unit='user_id' (--unit user_id)" in note
    assert audit.to_dict()["log"]["possible_units"][0]["values"] == 40


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (log(), {"unit": "user_id"}),
        (log("item_id"), {}),
        (log(values=10), {}),
        (log(values=150), {}),
        (log("user_id", written=float), {"reward": "user_id", "ranges": {"user_id": (0, 40)}}),
        (log(), {"action": "user_id"}),
        (log(), {"epoch": "user_id"}),
        (log("session", written=lambda i: 1_790_000_000 + i), {"time": "session"}),
    ],
    ids=["named", "other name", "a handful", "seldom repeats", "reward", "action", "epoch", "time"],
)
def test_nothing_is_said(source, options):
    if "unit" in options:
        assert ws.audit(ws.read_events(source, **NAMES, **options)).log.possible_units == ()
    else:
        assert found_in(source, **options) == ()


def test_a_context_may_be_one():
    (unit,) = found_in(log(), context=["page", "user_id"])
    assert unit.column == "user_id"


def test_the_finest_comes_first():
    source = log().append_column("session id", pa.array([i // 2 for i in range(200)]))
    assert [unit.column for unit in found_in(source)] == ["session id", "user_id"]


def test_missing_values_count_for_nothing():
    source = log().append_column("cookie", pa.array([None] * 180 + list(range(20))))
    assert [unit.column for unit in found_in(source)] == ["user_id"]


def sources(folder):
    import duckdb
    import ibis
    import pandas as pd
    import polars as pl
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    table = log()
    pq.write_table(table, folder / "log.parquet")
    pc.write_csv(table, folder / "log.csv")
    (folder / "log.jsonl").write_text(table.to_pandas().to_json(orient="records", lines=True))
    with duckdb.connect(str(folder / "log.duckdb")) as stored:
        stored.execute(f"CREATE TABLE log AS FROM '{folder / 'log.parquet'}'")
    frame = pd.DataFrame(table.to_pydict())
    yield from (folder / "log.parquet", str(folder / "*.csv"), folder / "log.jsonl", folder / "log.duckdb")
    yield from (table, frame, pl.from_arrow(table), ibis.duckdb.connect().create_table("log", table))


def test_every_source_that_can_be_opened_again_is_looked_at(tmp_path):
    for source in sources(tmp_path):
        assert [unit.values for unit in found_in(source)] == [40], type(source)


def test_what_cannot_be_opened_again_cheaply_is_left_alone():
    import duckdb
    import polars as pl

    table = log()
    for source in (pl.from_arrow(table).lazy(), duckdb.from_arrow(table)):
        assert found_in(source) == ()


def test_a_source_that_is_gone_does_not_fail_an_audit(tmp_path):
    import pyarrow.parquet as pq

    path = tmp_path / "log.parquet"
    pq.write_table(log(), path)
    events = ws.read_events(path, **NAMES)
    path.unlink()
    assert possible_units(events) == ()


def test_columns_that_nobody_can_count_do_not_fail_an_audit():
    source = log().append_column("device", pa.array([{"kind": i} for i in range(200)]))
    assert [unit.column for unit in found_in(source)] == ["user_id"]
    twice = log().append_column("user_id", pa.array(range(200)))
    assert ws.audit(ws.read_events(twice, **NAMES)).log.possible_units == ()
