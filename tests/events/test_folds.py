"""Folds of events, the same on every engine."""

import hashlib
from collections import Counter
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from tests.support.logs import START, random_log, read, table

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
    wanted, seen = [[] for _ in range(4)], Counter()
    for x, a, _, day in sorted(rows, key=lambda row: row[2]):
        time = start + day * 86_400_000_000
        wanted[fold_by_hand(f"7|{x}|{a}|{time}|{seen[x, a, time]}", 4)].append((x, a, time))
        seen[x, a, time] += 1
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
            "f": [0.1, 1e-7, 12345678.25, 2e15] * 20,
            "b": [True, False] * 40,
            "d": pa.array([datetime(2026, 10, 1 + i % 20, i % 24) for i in range(80)], pa.timestamp("us")),
            "a": list(range(80)),
            "r": [0.0, 1.0] * 40,
        }
    )
    events = ws.read_events(log, context=["f", "b", "d"], action="a", reward="r", engine=engine)
    by_hand = []
    for row in log.to_pylist():
        f = f"{round(row['f'] * 1e6)}0" if abs(row["f"]) < 1e12 else f"0{int(row['f'])}"
        moment = int((row["d"] - datetime(1970, 1, 1)).total_seconds()) * 1_000_000
        by_hand.append(fold_by_hand(f"0|{f}|{int(row['b'])}|{moment}|{row['a']}|0", 5))
    assert [len(test) for _, test in events.split(folds=5)] == [by_hand.count(k) for k in range(5)]


@pytest.mark.slow_on_spark
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
    assert ws.evaluate(policy, test, train=train, tau=0.1, estimators=["ips"]).policies[0].certified_lower is not None
    assert ws.evaluate(policy, train, tau=0.1, estimators=["ips"]).policies[0].certified_lower is None


@pytest.mark.parametrize("folds", [1, 0, 101, 2.5])
def test_a_strange_number_of_folds_is_refused(duckdb, folds):
    with pytest.raises(ws.UsageError, match="folds"):
        read(random_log(5), duckdb).split(folds=folds)


def test_more_folds_than_events_are_refused(duckdb):
    with pytest.raises(ws.EmptyWindowError, match="no events"):
        read(random_log(6, events=4), duckdb).split(folds=50)


@pytest.mark.slow_on_spark
def test_events_of_a_cell_fall_into_all_folds_though_nothing_tells_them_apart(engine):
    rows = [(x, a, float(i % 7 == 0), 0) for i in range(400) for x in ("p", "q") for a in ("a", "b")][:1200]
    for train, test in read(rows, engine, time=False).split(folds=3):
        found = ws.evaluate("uniform", test, train=train, tau=0.01)["uniform"]
        assert found.support.supported == pytest.approx(1)


def test_a_fold_has_folds_of_its_own_to_learn_from(duckdb):
    log = table(random_log(7, events=2000)).append_column("id", pa.array(range(2000)))
    for train, test in read(log, duckdb, event_id="id").split(folds=5)[:2]:
        for window in (train, test):
            found = ws.evaluate("uniform", window, tau=0.05, estimators=["dm", "dr"], propensities="back-off")
            assert 0.2 < found["uniform"].estimates[0].value < 0.8
            assert "counts as 1000 events" not in str(found)


def test_folds_of_other_columns_may_overlap(duckdb):
    log = table(random_log(8, events=600)).append_column("id", pa.array(range(600)))
    with_id, without = read(log, duckdb, event_id="id"), read(log, duckdb)
    policy = ws.fit(with_id.split(folds=5)[0][0], fit_tau=1.0, weight_bits=8)
    found = ws.evaluate({"p": policy}, without.split(folds=5)[0][1], tau=0.1)
    assert found.learned_here == ("p",)
    assert found["p"].gain.certified.guarantee == found["p"].guarantee == "approximate"


def test_a_saved_policy_remembers_its_folds(duckdb, tmp_path):
    train, test = read(random_log(9, events=600), duckdb).split(folds=3)[0]
    ws.save_policy(ws.fit(train, fit_tau=1.0, weight_bits=8), tmp_path / "policy")
    found = ws.evaluate({"p": tmp_path / "policy"}, test, train=train, tau=0.1)
    assert found.learned_here == ()
    assert found["p"].certified_lower is not None
    assert "No split was asked" not in str(found)


def test_large_float_ids_are_told_apart(duckdb):
    log = table(random_log(10)).append_column("id", pa.array([1.7e12 + i for i in range(300)]))
    assert len(read(log, duckdb, event_id="id").split(folds=5)) == 5


def test_no_unit_straddles_folds():
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, size, 2_000) for name, size in (("x", 5), ("a", 3), ("r", 2), ("user", 60))}
    events = ws.read_events(pa.table(columns), context="x", action="a", reward="r", unit="user")
    users = [
        {row["unit_0"] for row in events.engine.fetch(test.table.select("unit_0").distinct())}
        for _, test in events.split(folds=4)
    ]
    assert sum(map(len, users)) == len(set.union(*users)) == 60
    assert min(map(len, users)) > 5
