"""Epochs: by hour, day, week or column, the same on every engine; and what is refused."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.events import Epochs, open_cells, open_strata

START = datetime(2026, 10, 4, 22, 30, tzinfo=UTC)  # a Sunday


def log(*, version=True):
    times = [START + timedelta(minutes=37 * i) for i in range(300)]
    columns = {"x": [i % 3 for i in range(300)], "a": [i % 2 for i in range(300)], "r": [0.0] * 300, "at": times}
    return pa.table({**columns, **({"day": [f"v{i // 100}" for i in range(300)]} if version else {})})


def read(rows, **options):
    return ws.read_events(rows, context="x", action="a", reward="r", **{"time": "at", **options})


def test_every_event_is_counted_in_its_epoch(any_engine):
    times = log()["at"].to_pylist()
    by_hand = {
        "hour": [int(time.timestamp()) // 3600 for time in times],
        "day": [int(time.timestamp()) // 86400 for time in times],
        "week": [(int(time.timestamp()) // 86400 + 3) // 7 for time in times],
        "column:day": [f"v{i // 100}" for i in range(300)],
    }
    assert len(set(by_hand["week"])) == 3
    for name, expected in by_hand.items():
        events = read(log(), epoch=name, engine=any_engine)
        with open_cells(events) as cells, open_strata(cells) as strata:
            rows = strata.by_epoch(events.log.epochs.kind).to_pylist()
        counts = {}
        for row in rows:
            key = row["context_0"], row["action"], row["epoch"]
            counts[key] = counts.get(key, 0) + row["n"]
        direct = {}
        for i, epoch in enumerate(expected):
            direct[i % 3, i % 2, epoch] = direct.get((i % 3, i % 2, epoch), 0) + 1
        assert counts == direct, name


@pytest.mark.parametrize("seed", [0, 5])
def test_an_event_has_the_fold_that_it_has_without_epochs(seed):
    """Else a model of other folds would have seen it."""
    rows = log().append_column("i", pa.array(range(300))).append_column("j", pa.array(range(300)))
    events = ws.read_events(rows, context=["x", "j"], action="a", reward="r", time="at", event_id="i")
    with open_cells(events) as cells, open_strata(cells, seed=seed) as strata:
        plain = {row["context_1"]: row["fold"] for row in cells.engine.fetch(strata.table)}
        divided = {row["context_1"]: row["fold"] for row in strata.by_epoch("day").to_pylist()}
    assert len(set(plain.values())) == 5
    assert divided == plain


def test_words_are_times_and_other_words_are_columns():
    assert Epochs.parse("day") == Epochs("day")
    assert Epochs.parse("column:day") == Epochs("column", "day")
    assert Epochs.parse("version") == Epochs("column", "version")
    assert Epochs.parse(None) is None
    assert read(log(), epoch="day").columns.epoch is None
    assert read(log(), epoch="column:day").columns.epoch == "day"


def test_epochs_stay_with_the_windows_of_a_log():
    early, late = read(log(), epoch="column:day").split(fraction=0.5)
    assert early.log.epochs == late.log.epochs == Epochs("column", "day")


def test_what_cannot_be_an_epoch_is_refused():
    with pytest.raises(ws.UsageError, match="Epochs by week need a time column"):
        read(log(), time=None, epoch="week")
    with pytest.raises(ws.UsageError, match="names no column"):
        read(log(), epoch="column:")
    with pytest.raises(ws.UsageError, match="'x' is given 2 times"):
        read(log(), epoch="x")
    with pytest.raises(ws.ColumnError, match="no column 'version'"):
        read(log(), epoch="version")
    nulls = log(version=False).append_column("version", pa.array([None, *["v"] * 299]))
    with pytest.raises(ws.MissingValueError, match="'version' in 1 row"):
        read(nulls, epoch="version")
    assert len(read(nulls, epoch="version", drop_nulls=True)) == 299
