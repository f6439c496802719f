"""Folds of events, the same on every engine."""

import hashlib
from datetime import datetime

import pyarrow as pa
import pytest
from tests.logs import START, random_log, read, table

import warmstart as ws


def fold_by_hand(text, folds):
    return int(hashlib.md5(text.encode()).hexdigest()[:6], 16) % folds


def of_test(events, pair):
    test = pair[1]
    keys = ["context_0", "action", "time"]
    found = events.engine.fetch(test.table.select(*keys))
    return sorted(tuple(row.values()) for row in found)


def test_every_event_is_in_the_fold_that_its_md5_says(engine):
    rows = random_log(1)
    events = read(rows, engine)
    start = int(START.timestamp() * 1_000_000)
    wanted = [[] for _ in range(4)]
    for x, a, _, day in rows:
        time = start + day * 86_400_000_000
        wanted[fold_by_hand(f"7|{x}|{a}|{time}", 4)].append((x, a, time))
    pairs = events.split(folds=4, seed=7)
    assert [of_test(events, pair) for pair in pairs] == [sorted(fold) for fold in wanted]
    assert all(len(train) + len(test) == len(rows) for train, test in pairs)


def test_an_id_decides_alone(engine):
    log = table(random_log(2, events=60)).append_column("id", pa.array([f"e{i}" for i in range(60)]))
    events = read(log, engine, event_id="id")
    sizes = [len(test) for _, test in events.split(folds=3, seed=0)]
    by_hand = [fold_by_hand(f"0|e{i}", 3) for i in range(60)]
    assert sizes == [by_hand.count(k) for k in range(3)]


def test_numbers_dates_and_booleans_are_written_alike_everywhere(engine):
    log = pa.table(
        {
            "f": [0.1, 1e-7, 12345678.25, 2.0] * 20,
            "b": [True, False] * 40,
            "d": pa.array([datetime(2026, 10, 1 + i % 20, i % 24) for i in range(80)], pa.timestamp("us")),
            "a": list(range(80)),
            "r": [0.0, 1.0] * 40,
        }
    )
    events = ws.read_events(log, context=["f", "b", "d"], action="a", reward="r", engine=engine)
    by_hand = []
    for row in log.to_pylist():
        f = round(row["f"] * 1e6) if abs(row["f"]) < 1e12 else 0
        moment = int((row["d"] - datetime(1970, 1, 1)).total_seconds()) * 1_000_000
        by_hand.append(fold_by_hand(f"0|{f}|{int(row['b'])}|{moment}|{row['a']}", 5))
    assert [len(test) for _, test in events.split(folds=5)] == [by_hand.count(k) for k in range(5)]


def test_folds_can_train_and_test_but_not_overlap(engine):
    events = read(random_log(3), engine)
    (train, test), (_, other) = events.split(folds=2)
    assert ws.evaluate("uniform", test, train=train, tau=0.1).windows.train.events == len(train)
    with pytest.raises(ws.UsageError, match="overlap"):
        ws.evaluate("uniform", test, train=test, tau=0.1)
    with pytest.raises(ws.UsageError, match="folds already"):
        other.split(folds=2)


def test_a_policy_learned_on_the_other_folds_did_not_learn_here(duckdb):
    train, test = read(random_log(4, events=600), duckdb).split(folds=3)[0]
    policy = ws.fit(train, fit_tau=1.0, weight_bits=8)
    assert ws.evaluate(policy, test, train=train, tau=0.1).policies[0].certified_lower is not None
    assert ws.evaluate(policy, train, tau=0.1).policies[0].certified_lower is None


@pytest.mark.parametrize("folds", [1, 0, 101, 2.5])
def test_a_strange_number_of_folds_is_refused(duckdb, folds):
    with pytest.raises(ws.UsageError, match="folds"):
        read(random_log(5), duckdb).split(folds=folds)


def test_more_folds_than_events_are_refused(duckdb):
    with pytest.raises(ws.EmptyWindowError, match="no events"):
        read(random_log(6, events=4), duckdb).split(folds=50)
