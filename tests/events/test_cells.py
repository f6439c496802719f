"""Cells that are added up from epochs are those of the events."""

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.events import open_cells, open_strata

CLOSE = 1e-9


def events_of(seed, engine, epoch, days):
    rng, number = np.random.default_rng(seed), 400
    day = np.sort(rng.integers(*days, size=number))
    columns = {
        "x": rng.integers(5, size=number),
        "a": rng.integers(4, size=number),
        "r": rng.random(number),
        "at": [f"2026-10-{1 + d:02}T{rng.integers(24):02}:00:00" for d in day],
        "version": [f"v{d // 2}" for d in day],
    }
    return ws.read_events(pa.table(columns), context="x", action="a", reward="r", time="at", epoch=epoch, engine=engine)


def windows(kind, engine, epoch):
    """Nothing before the window, a window of the same log, or another log."""
    events = events_of(0, engine, epoch, (4, 9))
    if kind == "alone":
        return events, None
    if kind == "split":
        train, evaluated = events.split(at="2026-10-07")
        return evaluated, train
    return events, events_of(1, engine, epoch, (0, 4))


def rows_of(engine, table, keys):
    rows = {tuple(row.pop(key) for key in keys): row for row in engine.fetch(table)}
    assert None not in {part for key in rows for part in key}
    return rows


@pytest.mark.parametrize(
    ("kind", "epoch"),
    [
        *(("split", "day"), ("another log", "version")),
        *(pytest.param("alone", epoch, marks=pytest.mark.slow_on_spark) for epoch in ("day", "version")),
        pytest.param("split", "version", marks=pytest.mark.slow_on_spark),
        pytest.param("another log", "day", marks=pytest.mark.slow_on_spark),
    ],
)
def test_cells_from_epochs_are_those_of_the_events(engine, kind, epoch):
    evaluated, train = windows(kind, engine, epoch)
    keys, found = ["context_0", "action"], []
    for by_epoch in (True, False):
        with (
            open_cells(evaluated, train, live=True, by_epoch=by_epoch) as cells,
            open_strata(cells, folds=None, epoch=evaluated.log.epochs.kind) as strata,
        ):
            assert (cells.by_epoch is not None) == by_epoch
            tables = (cells.table, keys), (strata.table, [*keys, "epoch"]), (strata.traffic, ["context_0", "epoch"])
            found.append([rows_of(cells.engine, *table) for table in tables])
    for one, other in zip(*found, strict=True):
        assert one == {key: pytest.approx(row, abs=CLOSE) for key, row in other.items()}
