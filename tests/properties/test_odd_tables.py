"""Whatever a small table holds, the library answers or raises an error of its own."""

import datetime as dt
import uuid

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import warmstart as ws

VALUES = {
    "integer": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(),
    "text": st.text(max_size=5),
    "boolean": st.booleans(),
    "date": st.dates(),
    "datetime": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)),
    "zoned": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1), timezones=st.just(dt.UTC)),
    "decimal": st.decimals(-10, 10, places=3),
    "bytes": st.binary(max_size=3),
    "list": st.lists(st.integers(0, 3), max_size=2),
    "struct": st.fixed_dictionaries({"a": st.integers(0, 3)}),
    "null": st.none(),
    "duration": st.timedeltas(dt.timedelta(0), dt.timedelta(9)),
    "time of day": st.times(),
    "reward": st.sampled_from([0.0, 0.5, 1.0]),
    "epoch": st.integers(1_600_000_000, 1_700_000_000),
    "iso": st.dates(dt.date(2020, 1, 1), dt.date(2026, 1, 1)).map(str),
    "uuid": st.uuids(version=4).map(uuid.UUID.__str__),
}


@st.composite
def columns(draw, rows, kinds):
    kind = draw(st.sampled_from(kinds))
    values = draw(
        st.lists(
            st.one_of(VALUES[kind], st.none()) if draw(st.booleans()) else VALUES[kind], min_size=rows, max_size=rows
        )
    )
    return pa.array(values, type=pa.decimal128(8, 3)) if kind == "decimal" else pa.array(values)


@st.composite
def tables(draw):
    rows = draw(st.integers(0, 8))
    everything = list(VALUES)
    return pa.table(
        {
            draw(st.text(max_size=3)) + "x": draw(columns(rows, everything)),
            "A": draw(columns(rows, everything)),
            "a": draw(columns(rows, ["reward", "reward", *everything])),
            "t'": draw(columns(rows, ["epoch", "iso", "datetime", *everything])),
        }
    )


def odd(examples):
    """Settings and the tables themselves."""
    few = settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    drawn = given(table=tables(), tau=st.sampled_from([0.01, 0.5, 1.0]), timed=st.booleans(), drop=st.booleans())
    return lambda test: few(drawn(test))


@odd(60)
def test_an_odd_table_gives_an_answer_or_a_typed_error(duckdb, table, tau, timed, drop):
    answer_or_typed_error(duckdb, table, tau, timed=timed, drop=drop)


@pytest.mark.slow
@pytest.mark.spark
@odd(50)
def test_an_odd_table_gives_an_answer_or_a_typed_error_on_spark(spark, table, tau, timed, drop):
    answer_or_typed_error(spark, table, tau, timed=timed, drop=drop)


def answer_or_typed_error(engine, table, tau, *, timed, drop):
    context, action, reward, time = table.column_names
    names = {"context": context, "action": action, "reward": reward, "time": time if timed else None}
    try:
        events = ws.read_events(table, **names, drop_nulls=drop, engine=engine)
        found = ws.evaluate(["uniform", "logging"], events, tau=tau)
    except ws.WarmstartError:
        return
    assert len(events) + events.dropped == table.num_rows
    for estimate in found:
        assert 0 <= estimate.value <= 1 + 1e-12
        assert estimate.events == len(events)
        assert abs(sum(vars(estimate.support).values()) - 1) < 1e-9
    assert found["logging"].matched == len(events)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(table=tables(), timed=st.booleans(), drop=st.booleans())
def test_an_odd_table_is_audited_or_refused_with_a_typed_error(duckdb, table, timed, drop):
    context, action, reward, time = table.column_names
    names = {"context": context, "action": action, "reward": reward, "time": time if timed else None}
    try:
        events = ws.read_events(table, **names, drop_nulls=drop, engine=duckdb)
        found = ws.audit(events)
    except ws.WarmstartError:
        return
    assert abs(sum(row.traffic for row in found.exploration.by_actions) - 1) < 1e-9
    assert len(found.verdict) == 3
    assert "NaN" not in found.to_json()
