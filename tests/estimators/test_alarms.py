"""The alarms of importance weights: against NumPy, quiet under true propensities, and ringing where these are wrong."""

import numpy as np
import pyarrow as pa
import pytest
from tests.support.alarms_reference import epochs_log, judged, mixed, rings_given_epochs, softmax_log
from tests.support.epoch_logs import Blocks

import warmstart as ws
from warmstart.estimators import alarms as own
from warmstart.estimators import check_weights, open_weighted_rows
from warmstart.estimators.alarms import joint
from warmstart.events import open_cells, open_strata
from warmstart.pipeline.sources import with_propensities
from warmstart.policy import build_policy, parse_policies


def alarms(log, policy, engine, *, context, source="logged", epoch=None):
    events = ws.read_events(
        log,
        context=context,
        action="a",
        reward="r",
        propensity="p" if source == "logged" else None,
        event_id="i",
        epoch=epoch,
        engine=engine,
    )
    with open_cells(events) as cells, open_strata(cells, by_propensity=source == "logged") as strata:
        weighed, _ = with_propensities(strata, source, "")
        built = build_policy(parse_policies({"h": policy})[0], cells, feasible_from="evaluated", live=False)
        with open_weighted_rows(built, cells, strata=weighed) as weighted:
            return check_weights(weighted)


def logged(x, city, shown, p):
    size = len(shown)
    names = np.array([f"c{c}" for c in city])
    log = {"x": x[:, 0], "y": x[:, 1], "z": x[:, 2], "city": names, "a": shown, "p": p, "i": np.arange(size)}
    return pa.table({**log, "r": np.zeros(size)})


def test_the_engine_finds_what_numpy_finds_event_by_event(engine):
    """A policy that decides most contexts, half-heartedly some; propensities off by a factor that goes with x."""
    rng = np.random.default_rng(0)
    x, city, p, shown, features = softmax_log(rng, 600)
    size = np.arange(600)
    wrong = np.clip(p[size, shown] * np.exp(0.4 * x[:, 0]), 0.01, 1)
    log = logged(x, city, shown, wrong)
    best = p.argmax(axis=1)
    decided = np.where(np.arange(600) % 7 == 0, 0.0, np.where(np.arange(600) % 3 == 0, 0.5, 1.0))
    policy = log.select(["x", "y", "z", "city"]).append_column("a", pa.array(best))
    policy = policy.append_column("probability", pa.array(decided)).filter(pa.array(decided > 0))
    found = alarms(log, policy, engine, context=["x", "y", "z", "city"])
    mean, error, rings, which = judged(decided * (shown == best), wrong, decided, features, far=mixed(3))
    assert (found.mean_weight, found.standard_error) == pytest.approx((mean, error), abs=1e-9)
    assert (found.code == "WS105") == rings
    assert len(found.imbalances) == which.sum()
    assert {one.feature.split(" = ")[0] for one in found.imbalances} <= {"x", "y", "z", "city"}


@pytest.mark.parametrize("logs", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_true_propensities_ring_in_less_than_one_log_of_a_hundred(logs):
    """Seeded logs of 400 to 3,000 events, two policies: at most 1 in 100 may ring; of 1,000, 1 does."""
    rng, rung = np.random.default_rng(1), 0
    for number in range(logs):
        events = (400, 1000, 3000)[number % 3]
        _, _, p, shown, features = softmax_log(rng, events, strength=(0.5, 1.5)[number % 2])
        h = [np.full(events, 0.2), (shown == p.argmax(axis=1)) * 1.0][number // 3 % 2]
        right = p[np.arange(events), shown]
        *_, weight_rings, which = judged(h, right, np.ones(events), features, far=mixed(3))
        rung += bool(weight_rings or which.any())
    assert rung <= logs // 100


def given_epochs(h, p, epoch, shown, engine):
    """The mean weight given the epochs and its error, by the engine, and whether it rings."""
    events, actions = p.shape
    row, action = np.divmod(np.arange(events * actions), actions)
    columns = {"row": row, "events": np.ones(len(row)), "shown": (action == shown[row]).astype(float)}
    arrays = {"propensity": p, "own_epoch": epoch, "probability": h}
    table = engine.open_arrow(pa.table({**columns, **{name: array.ravel() for name, array in arrays.items()}}))
    means = own._given_epochs(engine, table.filter(table.probability > 0))
    return (*means[0], own._rings_given_epochs(means))


@pytest.mark.parametrize("sharper", [1.0, 0.7])
def test_given_epochs_the_engine_finds_what_numpy_finds(engine, sharper):
    """A policy that divides itself among two actions; imitators that are right, and ones that are too flat."""
    rng = np.random.default_rng(9)
    _, p, epoch, shown = epochs_log(rng, 800, epochs=4, actions=4, strength=3, explore=0.1)
    flat = epoch**sharper / (epoch**sharper).sum(axis=1, keepdims=True)
    order = np.argsort(-p, axis=1)
    h = np.zeros_like(p)
    h[np.arange(800), order[:, 0]], h[np.arange(800), order[:, 1]] = 0.75, 0.25
    found, expected = given_epochs(h, p, flat, shown, engine), rings_given_epochs(h, p, flat, shown)
    assert found[:2] == pytest.approx(expected[:2], abs=1e-9)
    assert found[2] == expected[2] == (sharper < 1)


@pytest.mark.parametrize("logs", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_given_epochs_true_propensities_ring_in_less_than_one_log_of_a_hundred(logs):
    """Seeded logs of 400 to 3,000 events, 3 to 20 epochs, three policies: at most 1 in 100 may ring, and none does."""
    rng, rung = np.random.default_rng(10), 0
    for number in range(logs):
        events, epochs = (400, 1000, 1800, 3000)[number % 4], (3, 8, 20)[number // 4 % 3]
        how = {"strength": (1, 3, 8)[number // 12 % 3], "explore": (0, 0.05)[number // 36 % 2]}
        x, p, epoch, shown = epochs_log(rng, events, epochs=epochs, actions=6, **how)
        chosen = [(x @ rng.normal(size=(4, 6))).argmax(axis=1), p.argmax(axis=1), rng.integers(0, 6, events)]
        h = np.eye(6)[chosen[number // 72 % 3]]
        rung += bool(rings_given_epochs(h, p, epoch, shown)[2])
    assert rung <= logs // 100


def test_a_mixture_of_few_events_rings_given_the_epochs_alone(duckdb):
    """Digits in 8 blocks: 225 events of 64 numbers do not teach an imitator; the mean weight alone cannot tell."""
    from benchmarks.blocks import load
    from benchmarks.uci import block_votes, columns

    x, y = load("digits")
    rng = np.random.default_rng(5)
    order = rng.permutation(len(x))
    x, y = x[order], y[order]
    size = np.arange(len(x))
    votes = block_votes(x, y, rng, 8)
    log = pa.table({**columns(x), "a": votes[size * 8 // len(x), size], "r": np.zeros(len(x)), "i": size})
    log = log.append_column("block", pa.array(size * 8 // len(x)))
    policy = pa.table({**columns(x), "a": y}).group_by([*columns(x), "a"]).aggregate([])
    found = alarms(log, policy, duckdb, context=[*columns(x)], source="mixture", epoch="block")
    assert found.mean_weight - 1 < 3 * found.standard_error
    assert found.code == "WS105"
    assert "given the epoch of every event" in found.text


def test_propensities_that_are_too_small_ring(duckdb):
    rng = np.random.default_rng(2)
    x, city, p, shown, _ = softmax_log(rng, 3000)
    right = p[np.arange(3000), shown]
    policy = pa.table({"x": x[:, 0], "y": x[:, 1], "z": x[:, 2], "a": p.argmax(axis=1)})
    context = ["x", "y", "z"]
    quiet = alarms(logged(x, city, shown, right), policy, duckdb, context=context)
    assert (quiet.rings, quiet.code, quiet.text) == (False, None, "")
    loud = alarms(logged(x, city, shown, right / 1.15), policy, duckdb, context=context)
    assert loud.code == "WS105"
    assert loud.mean_weight == pytest.approx(1.15 * quiet.mean_weight, rel=0.02)
    assert "too small" in loud.text
    assert "mixture" in loud.text


def test_one_weight_of_thousands_does_not_hide_the_others(duckdb):
    """Propensities a sixth too small, and one event with next to none: its error alone is larger than all excess."""
    rng = np.random.default_rng(8)
    x, city, p, shown, _ = softmax_log(rng, 3000)
    small = p[np.arange(3000), shown] / 1.2
    best = p.argmax(axis=1)
    small[np.flatnonzero(shown == best)[0]] = 1e-4
    policy = pa.table({"x": x[:, 0], "y": x[:, 1], "z": x[:, 2], "a": best})
    found = alarms(logged(x, city, shown, small), policy, duckdb, context=["x", "y", "z"])
    assert found.mean_weight - 1 < 3 * found.standard_error
    assert found.code == "WS105"
    assert "after clipping" in found.text


def test_one_model_of_a_logger_that_changes_rings_and_the_mixture_does_not(duckdb):
    """A logger that is deterministic in each of 6 blocks: the pooled model is not sharp, one model a block is."""
    world = Blocks(0)
    log, policy, context = world.log(), world.policy, world.names
    loud = alarms(log, policy, duckdb, context=context, source="model")
    assert loud.code == "WS105"
    assert loud.mean_weight > 1.3
    quiet = alarms(log, policy, duckdb, context=context, source="mixture", epoch="block")
    assert quiet.mean_weight == pytest.approx(1, abs=0.04)
    assert not quiet.rings


@pytest.mark.parametrize("as_text", [False, True])
def test_balance_rings_where_the_mean_weight_is_right(duckdb, as_text):
    """Two epochs with P(x = 0) = .8 and .2; action 1 always, then never; n_e / T says propensity 1/2 everywhere."""
    rng = np.random.default_rng(4)
    size = 4000
    late = np.arange(size) >= size // 2
    x = rng.random(size) < np.where(late, 0.8, 0.2)
    kind = np.array(["home", "away"])[x.astype(int)] if as_text else x.astype(int)
    log = pa.table({"x": kind, "u": rng.normal(size=size), "a": (~late).astype(int), "i": np.arange(size)})
    log = log.append_column("p", pa.array(np.full(size, 0.5))).append_column("r", pa.array(np.zeros(size)))
    policy = log.select(["x", "u"]).append_column("a", pa.array(np.ones(size, dtype=np.int64)))
    found = alarms(log, policy, duckdb, context=["x", "u"])
    assert found.mean_weight == pytest.approx(1, abs=0.01)
    assert found.code == "WS106"
    assert all(one.feature.startswith("x") for one in found.imbalances)
    assert abs(found.imbalances[0].difference) == pytest.approx(0.6, abs=0.05)


def test_a_hundred_features_ring_no_more_often_than_one():
    assert joint(1) == pytest.approx(3)
    rng = np.random.default_rng(5)
    largest = np.abs(rng.standard_normal((20_000, 100))).max(axis=1)
    assert (largest > joint(100)).mean() < 0.005 < (largest > joint(1)).mean()


def test_counts_of_the_evaluated_window_and_logging_never_ring(duckdb):
    rng = np.random.default_rng(6)
    log = pa.table({"x": rng.integers(0, 5, 500), "a": rng.integers(0, 3, 500), "r": np.zeros(500), "i": range(500)})
    events = ws.read_events(log, context="x", action="a", reward="r", event_id="i", engine=duckdb)
    unsupported = pa.table({"x": range(5), "a": [9] * 5})
    with open_cells(events) as cells:
        for policy in ("logging", {"h": unsupported}):
            named = parse_policies(policy)[0]
            built = build_policy(named, cells, feasible_from="evaluated", live=False, allow_unknown=True)
            with open_weighted_rows(built, cells) as weighted:
                assert not check_weights(weighted).rings


def test_counts_of_another_window_ring_where_the_logger_changed(duckdb):
    """Trained on a logger that never shows action 1, evaluated on one that does: its weights are lost."""
    rng = np.random.default_rng(7)
    size = 2000
    late = np.arange(size) >= size // 2
    shown = np.where(late, rng.integers(0, 2, size), (rng.random(size) < 0.1) * 1)
    log = pa.table(
        {"x": rng.integers(0, 4, size), "a": shown, "r": np.zeros(size), "t": np.arange(size) + 1_760_000_000}
    )
    events = ws.read_events(log, context="x", action="a", reward="r", time="t", engine=duckdb)
    train, test = events.split(fraction=0.5)
    policy = {"h": pa.table({"x": range(4), "a": [1] * 4})}
    with open_cells(test, train) as cells:
        built = build_policy(parse_policies(policy)[0], cells, feasible_from="evaluated", live=False)
        with open_weighted_rows(built, cells, window="train") as weighted:
            found = check_weights(weighted)
    assert found.code == "WS105"
    assert found.mean_weight == pytest.approx(5, rel=0.2)
