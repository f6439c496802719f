"""The weighted table: the same on every engine, and nothing that grows with the log is fetched; epochs are a key."""

import numpy as np
import pyarrow as pa
import pytest
from tests.support.logs import decisions, random_log, read, some_policy
from tests.support.parted_here import parted_here

import warmstart as ws
from warmstart.engine import connect
from warmstart.estimators import ESTIMATORS, Levels, estimate_policy, open_weighted_rows
from warmstart.events import open_cells, open_strata
from warmstart.policy import build_policy, parse_policies

CLOSE = 1e-9


def numbers_of(events, policy, **options):
    options["allow_unknown_actions"] = True
    found = ws.evaluate({"h": policy}, events, tau=[0.3, 1e-3], estimators=list(ESTIMATORS), **options)
    return [(p.tau, g.estimator, g.value, g.lower, g.upper) for p in found.policies for g in p.estimates]


def assert_alike(ours, theirs):
    assert [row[:2] for row in ours] == [row[:2] for row in theirs]
    assert len(ours) == 2 * len(ESTIMATORS)
    for one, other in zip(ours, theirs, strict=True):
        assert one[2:] == pytest.approx(other[2:], abs=CLOSE), one[:2]


def half_decided(rows):
    """A policy that is silent in some contexts, and chooses what was never shown in others."""
    h = some_policy(rows)
    contexts = sorted({x for x, _ in h})
    kept = {key: p / 2 for key, p in h.items() if key[0] not in contexts[:2]}
    return decisions(kept | {(x, "never shown"): 0.5 for x in contexts[2:4]})


def described(size=3_000):
    """Contexts that never repeat: two numbers that what is shown and what it earns depend on."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, size)).round(6)
    a = (x + rng.normal(size=size) > 0).astype(int)
    r = (rng.random(size) < 1 / (1 + np.exp(-y * (2 * a - 1)))).astype(float)
    log = pa.table({"x": x, "y": y, "a": a, "r": r, "i": range(size)})
    policy = pa.table({"x": x, "y": y, "a": (y > 0).astype(int)})
    return log, policy


def read_described(log, engine):
    return ws.read_events(log, context=["x", "y"], action="a", reward="r", event_id="i", engine=engine)


@pytest.mark.parametrize(
    ("engine", "propensities"),
    [
        (connect, "counts"),
        (parted_here, "model"),
        pytest.param(connect, "model", marks=pytest.mark.slow),
        pytest.param(parted_here, "counts", marks=pytest.mark.slow),
    ],
)
def test_minus_zero_is_zero(engine, propensities):
    """In some events and in the policy."""
    rng = np.random.default_rng(0)
    x, a, r = rng.integers(-2, 3, size=400) / 10, rng.integers(0, 2, size=400), rng.integers(0, 2, size=400)

    def found(zeros, chosen):
        x_log = np.where(x == 0, zeros, x)
        log = {"x": x_log, "y": x_log[::-1], "a": a, "r": r, "i": range(400)}
        places = np.unique(np.column_stack([x, x[::-1]]), axis=0)
        policy = {
            "x": np.where(places[:, 0] == 0, chosen, places[:, 0]),
            "y": places[:, 1] + 0.0,
            "a": [1] * len(places),
        }
        return numbers_of(read_described(pa.table(log), engine()), pa.table(policy), propensities=propensities)

    plain = found(0.0, 0.0)
    assert len(plain) == 2 * len(ESTIMATORS)
    assert_alike(found(np.where(rng.random(400) < 0.5, 0.0, -0.0), -0.0), plain)


def test_cells_borrow_alike_in_parts_and_in_one_piece():
    rows = random_log(5, events=900)
    policy = half_decided(rows)
    here, there = (numbers_of(read(rows, engine), policy) for engine in (connect("duckdb"), parted_here()))
    assert_alike(there, here)


def test_a_model_of_columns_says_the_same_in_parts():
    log, policy = described()
    here, there = (
        numbers_of(read_described(log, engine), policy, propensities="model")
        for engine in (connect("duckdb"), parted_here())
    )
    assert_alike(there, here)


def test_models_learn_from_a_bounded_number_of_strata(monkeypatch):
    log, policy = described()
    whole = numbers_of(read_described(log, connect("duckdb")), policy, propensities="model")
    monkeypatch.setattr("warmstart.events.strata.STRATA_TO_LEARN_FROM", 1_000)
    engine, fetched = parted_here(), []
    stream = engine.stream
    monkeypatch.setattr(
        engine, "stream", lambda rows, *more: (fetched.append(b.num_rows) or b for b in stream(rows, *more))
    )
    some = numbers_of(read_described(log, engine), policy, propensities="model")
    assert 800 < max(fetched) < 1_200
    for (tau, name, value, *_), (*_, wanted, _, _) in zip(some, whole, strict=True):
        assert value == pytest.approx(wanted, abs=0.1), (tau, name)


def test_strata_that_logged_propensities_take_apart_are_put_together_to_learn_from(monkeypatch):
    """They are all different here, so that every event is a stratum."""
    monkeypatch.setattr("warmstart.events.strata.STRATA_TO_LEARN_FROM", 500)
    rng = np.random.default_rng(0)
    size = 3_000
    shown, p = rng.integers(2, size=size), rng.uniform(0.4, 0.6, size)
    log = pa.table({"x": rng.integers(4, size=size), "a": shown, "r": shown * 1.0, "p": p, "i": range(size)})
    engine, fetched = parted_here(), []
    stream = engine.stream
    monkeypatch.setattr(
        engine, "stream", lambda rows, *more: (fetched.append(b.num_rows) or b for b in stream(rows, *more))
    )
    events = ws.read_events(log, context="x", action="a", reward="r", propensity="p", event_id="i", engine=engine)
    found = ws.evaluate("constant:1", events, propensities="model", tau=0.01)["constant:1"]
    assert fetched == [4 * 2 * 5]
    assert found.value == pytest.approx(1.0, abs=0.15)


@pytest.mark.spark
def test_spark_estimates_what_duckdb_estimates(spark):
    rows = random_log(5, events=900)
    policy = half_decided(rows)
    here, there = (numbers_of(read(rows, engine), policy) for engine in (connect("duckdb"), spark))
    assert_alike(there, here)


@pytest.mark.spark
@pytest.mark.slow_on_spark
def test_spark_models_what_duckdb_models(spark):
    log, policy = described(1_500)
    here, there = (
        numbers_of(read_described(log, engine), policy, propensities="model") for engine in (connect("duckdb"), spark)
    )
    assert_alike(there, here)


TAUS, LEVELS = [0.02, 0.3], Levels(0.05, 2, 0.3)


@pytest.fixture(scope="module")
def of_days(duckdb):
    """A log and a policy; their estimates where contexts carry the day, and where days are pooled."""
    rows = random_log(7, events=700)
    h = some_policy(rows)
    apart = [(f"{x} {day}", a, r, day) for x, a, r, day in rows]
    h_apart = {(f"{x} {day}", a): p for (x, a), p in h.items() for day in {day for *_, day in rows}}
    with open_cells(read(apart, duckdb)) as cells:
        policy = build_policy(
            parse_policies({"h": decisions(h_apart)})[0],
            cells,
            feasible_from="evaluated",
            live=False,
            allow_unknown=True,
        )
        with open_weighted_rows(policy, cells) as weighted:
            expected = estimate_policy(weighted, taus=TAUS, levels=LEVELS)
    options = {"tau": TAUS, "live": False, "estimators": ["ips"], "allow_unknown_actions": True}
    return rows, h, expected, ws.evaluate({"h": decisions(h)}, read(rows, duckdb), **options)


@pytest.mark.parametrize("folds", [pytest.param(None, marks=pytest.mark.slow_on_spark), 3])
def test_propensities_may_be_counted_within_epochs(engine, of_days, folds):
    """Counts per (context, day), the policy by context: every number equals a log whose contexts carry the day."""
    rows, h, expected, pooled = of_days
    with open_cells(read(rows, engine)) as cells, open_strata(cells, folds=folds, epoch="day") as strata:
        policy = build_policy(
            parse_policies({"h": decisions(h)})[0], cells, feasible_from="evaluated", live=False, allow_unknown=True
        )
        with open_weighted_rows(policy, cells, strata=strata) as weighted:
            found = estimate_policy(weighted, taus=TAUS, levels=LEVELS)
    for one, other, all_days in zip(found, expected, pooled, strict=True):
        assert one.value != pytest.approx(all_days.value, abs=1e-3)
        assert_same_numbers(one.to_dict(), other.to_dict())


def assert_same_numbers(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, dict):
            assert_same_numbers(value, other[name])
        elif isinstance(value, float):
            assert value == pytest.approx(other[name], abs=CLOSE), name
        elif not isinstance(value, list):
            assert value == other[name], name
