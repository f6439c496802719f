"""A column of choices: what another model would have shown at each event."""

from collections import defaultdict
from datetime import timedelta

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from tests.support.logs import START

import warmstart as ws

NAMES = {"context": "page", "action": "ad", "reward": "click"}


def log(events=900, *, seed=5, kind=str):
    """A log whose shadow model sees a mood that the context lacks, and has no choice at every tenth event."""
    rng = np.random.default_rng(seed)
    page, mood = rng.integers(0, 3, events), rng.integers(0, 2, events)
    ad = np.where(rng.random(events) < 0.5, page, rng.integers(0, 3, events))
    click = rng.random(events) < np.where(ad == (page + mood) % 3, 0.6, 0.1)
    choice = [None if i % 10 == 9 else kind((page[i] + mood[i]) % 3) for i in range(events)]
    return pa.table(
        {
            "page": [f"p{one}" for one in page],
            "ad": [kind(one) for one in ad],
            "click": click.astype(float),
            "shadow": choice,
            "user": [f"u{one}" for one in rng.integers(0, 200, events)],
            "at": [START + timedelta(hours=i // 4) for i in range(events)],
        }
    )


def expected_value(table, tau):
    """The clipped value, event by event, with shares within (page, choice)."""
    rows = table.to_pylist()
    within, shown = defaultdict(int), defaultdict(int)
    for row in rows:
        within[row["page"], row["shadow"]] += 1
        shown[row["page"], row["shadow"], row["ad"]] += 1
    total = 0.0
    for row in rows:
        share = shown[row["page"], row["shadow"], row["ad"]] / within[row["page"], row["shadow"]]
        total += row["click"] * (row["ad"] == row["shadow"]) / max(share, tau)
    return total / len(rows)


@pytest.mark.parametrize("kind", [str, int])
@pytest.mark.slow_on_spark
def test_propensities_are_counted_within_context_and_choice(engine, kind):
    events = ws.read_events(log(kind=kind), **NAMES, engine=engine)
    result = ws.evaluate(["logging", "column:shadow", "constant:1"], events, tau=0.3, trained_until="never")
    assert [one.policy for one in result.policies] == ["logging", "column:shadow", "constant:1"]
    found = result["column:shadow"]
    assert found.value == pytest.approx(expected_value(log(kind=kind), 0.3), rel=1e-9)
    assert found.support.undecided == pytest.approx(0.1, abs=1e-9)
    alone = ws.evaluate(["logging", "constant:1"], events, tau=0.3)
    assert result["constant:1"].value == alone["constant:1"].value
    assert result.log == alone.log


def test_it_is_the_same_as_the_column_among_the_contexts():
    """Everything else follows from the key: bounds, gains and the doubly robust estimate too."""
    table = log().filter(pa.compute.is_valid(log()["shadow"]))
    keyed = ws.read_events(table, **NAMES | {"context": ["page", "shadow"]})
    choose = {(page, ad): ad for page in ("p0", "p1", "p2") for ad in "012"}
    options = {"tau": 0.1, "estimators": ["dr", "snips"], "trained_until": "never"}
    expected = ws.evaluate({"mine": choose}, keyed, **options)["mine"]
    found = ws.evaluate({"mine": "column:shadow"}, ws.read_events(table, **NAMES), **options)["mine"]
    assert (found.value, found.lower, found.upper) == pytest.approx((expected.value, expected.lower, expected.upper))
    assert found.gain.certified.lower == pytest.approx(expected.gain.certified.lower)
    assert [one.value for one in found.estimates] == pytest.approx([one.value for one in expected.estimates])


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_column_may_be_of_the_context_already(kind):
    """And one of segments a unit: frames of every library give it under both names."""
    table = log(90).filter(pa.compute.is_valid(log(90)["shadow"]))
    frame = {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table), "arrow": lambda: table}[kind]()
    keyed = NAMES | {"context": ["page", "shadow"]}
    expected = ws.evaluate({"s": "column:shadow"}, ws.read_events(table, **NAMES), tau=0.1)["s"]
    found = ws.evaluate({"s": "column:shadow"}, ws.read_events(frame, **keyed), tau=0.1)["s"]
    assert found.value == pytest.approx(expected.value)
    by_unit = ws.evaluate("constant:1", ws.read_events(frame, **NAMES, unit="shadow"), tau=0.1, by="shadow")
    assert {one.segment for one in by_unit.segments} == {("0",), ("1",), ("2",)}


def test_joint_bounds_share_delta_with_the_other_policies():
    events = ws.read_events(log(), **NAMES)
    alone = ws.evaluate("column:shadow", events, tau=0.1)["column:shadow"]
    three = ws.evaluate(["column:shadow", "logging", "constant:1"], events, tau=0.1)["column:shadow"]
    assert three.lower == alone.lower
    assert three.joint_lower < alone.joint_lower


@pytest.mark.parametrize(
    ("read", "evaluate"),
    [
        ({"unit": "user"}, {}),
        ({"unit": "user"}, {"per": "unit"}),
        ({"time": "at", "epoch": "day"}, {}),
        ({}, {"propensities": "model", "estimators": ["dr"]}),
        ({}, {"propensities": "back-off", "coarser": [["page"]]}),
    ],
)
def test_units_epochs_and_other_propensities_know_the_key(read, evaluate):
    table = log(1200).filter(pa.compute.is_valid(log(1200)["shadow"]))
    keyed = ws.read_events(table, **NAMES | {"context": ["page", "shadow"]}, **read)
    choose = {(page, ad): ad for page in ("p0", "p1", "p2") for ad in "012"}
    options = {"tau": 0.1, "trained_until": "never", **evaluate}
    expected = ws.evaluate({"mine": choose}, keyed, **options)["mine"]
    found = ws.evaluate({"mine": "column:shadow"}, ws.read_events(table, **NAMES, **read), **options)["mine"]
    assert found.best.value == pytest.approx(expected.best.value, rel=1e-6)
    if found.lower is not None:
        assert (found.value, found.lower) == pytest.approx((expected.value, expected.lower), rel=1e-6)


def test_windows_folds_and_first_epochs_are_those_of_the_log():
    events = ws.read_events(log(), **NAMES, time="at", unit="user", epoch="week")
    train, test = events.split(fraction=0.5)
    _, fold = ws.read_events(log(), **NAMES, time="at").split(folds=3)[0]
    for window, more in ((test, {"train": train}), (fold, {}), (events.first_epochs(), {})):
        found = ws.evaluate(["column:shadow", "logging"], window, tau=0.1, **more)
        assert found["column:shadow"].support.undecided < 0.3
        table = ws.policy_table("column:shadow", window)
        assert table.column_names[:3] == ["page", "shadow", "ad"]


def test_a_number_with_nulls_is_no_float():
    """Nulls make whole numbers floats in pandas, and the log's actions stay integers."""
    frame = log(kind=int).to_pandas()
    assert frame["shadow"].dtype == float
    found = ws.evaluate("column:shadow", ws.read_events(frame, **NAMES), tau=0.3)["column:shadow"]
    assert found.value == pytest.approx(expected_value(log(kind=int), 0.3), rel=1e-9)


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        ("shadw", ws.ColumnError, "no column 'shadw'. Did you mean 'shadow'"),
        ("user", ws.DecisionError, "The column 'user' chooses .* actions that the log never shows"),
        ("", ws.UsageError, "names no column"),
        ("ad", ws.UsageError, "'ad' is known after acting only"),
        ("click", ws.UsageError, "'click' is known after acting only"),
    ],
)
@pytest.mark.slow_on_spark
def test_a_column_that_is_none_is_refused(engine, column, error, message):
    with pytest.raises(error, match=message):
        ws.evaluate(f"column:{column}", ws.read_events(log(), **NAMES, engine=engine), tau=0.1)


def test_values_of_another_type_are_refused():
    table = log(kind=int).drop_columns(["shadow"]).append_column("shadow", pa.array([0.5] * 900))
    with pytest.raises(ws.DecisionError, match=r"'shadow' has values that are no int64.*shadow = '0\.5'"):
        ws.evaluate("column:shadow", ws.read_events(table, **NAMES), tau=0.1)
    empty = log().drop_columns(["shadow"]).append_column("shadow", pa.nulls(900, pa.string()))
    with pytest.raises(ws.DecisionError, match=r"decides no context.*All its choices are null"):
        ws.evaluate("column:shadow", ws.read_events(empty, **NAMES), tau=0.1)
    unknown = ws.read_events(log().rename_columns(["page", "ad", "click", "choice", "shadow", "at"]), **NAMES)
    found = ws.evaluate("column:shadow", unknown, tau=0.1, allow_unknown_actions=True)
    assert found["column:shadow"].support.unsupported == pytest.approx(1)


def test_an_action_called_no_choice_is_refused():
    table = pa.table({"page": ["p"] * 2, "ad": ["(no choice)", "b"], "click": [0, 1], "shadow": ["b", None]})
    with pytest.raises(ws.UsageError, match="Rename"):
        ws.evaluate("column:shadow", ws.read_events(table, **NAMES), tau=0.1)


def test_a_log_that_is_read_but_once_is_refused():
    reader = pa.RecordBatchReader.from_batches(log().schema, log().to_batches())
    with pytest.raises(ws.UsageError, match="read again"):
        ws.evaluate("column:shadow", ws.read_events(reader, **NAMES), tau=0.1)
