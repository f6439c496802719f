"""Policies that choose anew in every epoch, against plain Python: later epochs have no say."""

from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.events import open_cells, open_epoch_strata
from warmstart.policy.by_epoch import ranked_by_epoch, uniform_all_by_epoch, uniform_by_epoch

DAYS, TRAINING = 7, 3


def log(seed=0, events=90):
    """Contexts and actions that come and go, at random."""
    rng = np.random.default_rng(seed)
    day = np.sort(rng.integers(DAYS, size=events))
    x, a = rng.integers(4, size=events), (rng.integers(3, size=events) + day) % 6
    return list(zip(day.tolist(), x.tolist(), a.tolist(), strict=True))


def table(rows):
    day, x, a = map(list, zip(*rows, strict=True))
    at = [f"2026-10-{1 + d:02}T{i % 24:02}:00:00" for i, d in enumerate(day)]
    names = [f"v{DAYS - d}" for d in day]
    return pa.table({"x": x, "a": a, "r": [0.0] * len(rows), "at": at, "version": names})


@contextmanager
def opened(rows, engine, epoch="day"):
    """The strata of the days after training, and how their epochs are numbered."""
    events = ws.read_events(table(rows), context="x", action="a", reward="r", time="at", epoch=epoch, engine=engine)
    train, test = events.split(at=f"2026-10-{1 + TRAINING:02}")
    with open_cells(test, train) as cells, open_epoch_strata(cells, None) as strata:
        yield (
            strata,
            dict(zip(sorted({d for d, *_ in rows if d >= TRAINING}), strata.epochs.numbers.tolist(), strict=True)),
        )


def chosen(strata, policy):
    rows = strata.cells.engine.fetch(policy.table)
    assert len(rows) == len({(row["context_0"], row["epoch"], row["action"]) for row in rows})
    return {(row["context_0"], row["epoch"], row["action"]): row["probability"] for row in rows}


def by_hand(rows, numbers, pick):
    """What ``pick(context, day, seen)`` chooses with equal probabilities; ``seen``: the rows until the day's end."""
    h = {}
    for day, x in sorted({(d, x) for d, x, _ in rows if d >= TRAINING}):
        actions = pick(x, day, [row for row in rows if row[0] <= day])
        h |= {(x, numbers[day], a): 1 / len(actions) for a in actions}
    return h


def live(seen, day):
    return {a for d, _, a in seen if d == day}


@pytest.mark.parametrize("epoch", ["day", "version"])
@pytest.mark.parametrize("feasible_from", ["train", "evaluated", "all"])
@pytest.mark.parametrize("only_live", [True, False])
def test_uniform(feasible_from, only_live, epoch):
    begin = {"train": lambda d: d < TRAINING, "evaluated": lambda d: d >= TRAINING, "all": lambda _: True}[
        feasible_from
    ]

    def pick(x, day, seen):
        feasible = {a for d, y, a in seen if y == x and begin(d)}
        return feasible & live(seen, day) if only_live else feasible

    rows = log()
    with opened(rows, "duckdb", epoch) as (strata, numbers):
        found = uniform_by_epoch(strata, feasible_from=feasible_from, live=only_live, name="u")
        assert chosen(strata, found) == pytest.approx(by_hand(rows, numbers, pick), abs=1e-12)


@pytest.mark.parametrize("only_live", [True, False])
def test_uniform_all(only_live):
    def pick(_, day, seen):
        return live(seen, day) if only_live else {a for d, _, a in seen if d >= TRAINING}

    rows = log()
    with opened(rows, "duckdb") as (strata, numbers):
        found = uniform_all_by_epoch(strata, live=only_live, name="u", most=1_000)
        expected = by_hand(rows, numbers, pick)
        assert chosen(strata, found) == pytest.approx(expected, abs=1e-12)
        assert uniform_all_by_epoch(strata, live=only_live, name="u", most=len(expected))
        with pytest.raises(ws.UsageError, match=f"a table of {len(expected):,} rows, which is too large") as refused:
            uniform_all_by_epoch(strata, live=only_live, name="u", most=len(expected) - 1)
        assert "shorter window" in refused.value.hint


def ranking():
    """Every context ranks five of six actions in an order of its own; one context is unknown."""
    rng = np.random.default_rng(1)
    rows = [(x, int(a), rank) for x in range(3) for rank, a in enumerate(rng.permutation(6)[:5], 1)]
    return rows, dict(zip(("context_0", "action", "rank"), map(list, zip(*rows, strict=True)), strict=True))


def test_the_best_of_a_ranking_that_is_live():
    ranked, columns = ranking()

    def pick(x, day, seen):
        there = [a for y, a, _ in sorted(ranked, key=lambda row: row[2]) if y == x and a in live(seen, day)]
        return there[:1]

    rows = log()
    with opened(rows, "duckdb") as (strata, numbers):
        found = ranked_by_epoch(strata, strata.cells.engine.open_arrow(pa.table(columns)), name="r")
        expected = by_hand(rows, numbers, pick)
        assert chosen(strata, found) == expected
        assert len(set(expected)) < len({(d, x) for d, x, _ in rows if d >= TRAINING})


@pytest.mark.spark
@pytest.mark.slow
def test_spark_chooses_the_same(spark):
    rows, (_, columns) = log(1), ranking()
    found = []
    for engine in ("duckdb", spark):
        with opened(rows, engine, "version") as (strata, _):
            policies = [
                *(uniform_by_epoch(strata, feasible_from="all", live=only, name="u") for only in (True, False)),
                *(uniform_all_by_epoch(strata, live=only, name="u", most=1_000) for only in (True, False)),
                ranked_by_epoch(strata, strata.cells.engine.open_arrow(pa.table(columns)), name="r"),
            ]
            found.append([chosen(strata, policy) for policy in policies])
    assert found[0] == found[1]
