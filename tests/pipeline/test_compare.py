"""Sources of propensities side by side: ranked by held-out log-loss, with their alarms beside it."""

import json

import numpy as np
import pyarrow as pa
import pytest
from tests.support.epoch_logs import Blocks

import warmstart as ws
from warmstart.results import Alarms, ComparedSource, Imbalance, PropensityComparison


def two_columns(seed, events=2000):
    rng = np.random.default_rng(seed)
    site = rng.integers(0, 3, events)
    user = rng.integers(0, 60, events)
    action = np.where(rng.random(events) < 0.7, site, rng.integers(0, 5, events))
    return pa.table(
        {"site": site, "user": user, "ad": action, "click": rng.random(events) < 0.2, "id": np.arange(events)}
    )


def test_borrowing_beats_counting_where_contexts_are_rare(duckdb):
    names = {"context": ["site", "user"], "action": "ad", "reward": "click", "event_id": "id"}
    events = ws.read_events(two_columns(2), **names, engine=duckdb)
    found = ws.compare_propensities(events, ["uniform", "shares", "counts", "back-off"], coarser=[["site"]])
    assert found.best == "back-off"
    by_name = {source.name: source for source in found.sources}
    assert by_name["counts"].without > 0.05
    assert by_name["back-off"].log_loss < by_name["shares"].log_loss - 0.2
    assert by_name["back-off"].calibration < 0.1
    assert by_name["uniform"].alarms is None
    assert "back-off" in str(found)


def test_back_off_does_not_win_by_counting_the_event_itself(duckdb):
    """Contexts that occur once, a logger that looks at a number: back-off can only know the action's share."""
    world = Blocks(0, 1500, blocks=1)
    events = read(world, duckdb)
    found = {one.name: one for one in ws.compare_propensities(events, ["shares", "back-off", "model"]).sources}
    assert found["back-off"].log_loss == pytest.approx(found["shares"].log_loss, abs=0.01)
    assert found["model"].log_loss < found["back-off"].log_loss - 0.5


def read(world, engine, **options):
    return ws.read_events(
        world.log(), context=world.names, action="a", reward="r", event_id="i", engine=engine, **options
    )


@pytest.fixture(scope="module")
def compared(duckdb):
    return ws.compare_propensities(read(Blocks(0), duckdb, time="at"))


def test_a_logger_that_changes_is_fitted_best_by_the_mixture(compared):
    assert compared.best == "mixture"
    found = {source.name: source for source in compared.sources}
    assert set(found) == {"uniform", "shares", "counts", "back-off", "model", "mixture"}
    assert found["mixture"].log_loss < found["model"].log_loss - 0.1
    assert found["mixture"].alarms.mean_weight == pytest.approx(1, abs=0.1)
    assert "one day (6)" in found["mixture"].detail


def test_what_is_compared_goes_to_text_json_and_frames(compared):
    text = str(compared)
    assert "Best by held-out log-loss: mixture" in text
    said = json.loads(compared.to_json())
    assert said["best"] == "mixture"
    assert said["sources"][0]["alarms"]["rings"] in (True, False)
    assert {"mean_weight", "alarm", "log_loss"} <= set(compared.to_arrow().column_names)


def test_alarms_have_no_say(duckdb):
    """Shares of actions reproduce their traffic however little they know, and rank behind."""
    world = Blocks(1, 2000)
    found = ws.compare_propensities(read(world, duckdb, epoch="block"), ["shares", "mixture"])
    assert [source.name for source in found.sources] == ["mixture", "shares"]
    assert found.sources[1].alarms.mean_weight == pytest.approx(1, abs=0.02)


def test_logged_propensities_are_judged_as_logged(duckdb):
    rng = np.random.default_rng(0)
    size = 3000
    x = rng.normal(size=size)
    p = 1 / (1 + np.exp(-x))
    shown = (rng.random(size) < p).astype(int)
    right = np.where(shown == 1, p, 1 - p)
    codes = []
    for factor in (1.0, 0.8):
        log = pa.table({"x": x, "a": shown, "r": np.zeros(size), "p": right * factor, "i": np.arange(size)})
        events = ws.read_events(log, context="x", action="a", reward="r", propensity="p", event_id="i", engine=duckdb)
        (found,) = ws.compare_propensities(events, ["logged"]).sources
        assert found.log_loss == pytest.approx(-np.log(right * factor).mean(), abs=1e-9)
        codes.append(found.alarms.code)
    assert codes == [None, "WS105"]


def test_one_action_is_certain_by_a_source_that_evaluations_take(duckdb):
    log = pa.table({"x": [f"x{i % 4}" for i in range(80)], "a": ["only"] * 80, "r": [0.0, 1.0] * 40, "i": range(80)})
    events = ws.read_events(log, context="x", action="a", reward="r", event_id="i", engine=duckdb)
    found = ws.compare_propensities(events, ["uniform", "shares", "back-off", "model"])
    assert found.best == "back-off"
    assert "All that was shown was certain in its context" in str(found)
    assert "-0.0000" not in str(found)


def test_what_beats_every_source_that_evaluations_take_is_named(duckdb):
    log = pa.table({"x": [f"x{i}" for i in range(90)], "a": ["a", "b", "c"] * 30, "r": [0.0] * 90, "i": range(90)})
    events = ws.read_events(log, context="x", action="a", reward="r", event_id="i", engine=duckdb)
    found = ws.compare_propensities(events, ["uniform", "back-off", "counts"])
    assert [one.name for one in found.sources] == ["uniform", "back-off", "counts"]
    assert found.best == "back-off"
    assert "uniform, which knows no context, fits better" in str(found)


def test_a_mean_weight_that_may_be_chance_stands_beside_its_error():
    weights = Alarms(1.449, 0.268), Alarms(1.03, 0.02), Alarms(1.2, 0.01, (Imbalance("x3", 0.17, 0.02),), True, "WS105")
    sources = [ComparedSource(f"s{i}", 1.0, 0.0, alarms=one) for i, one in enumerate(weights)]
    text = str(PropensityComparison(tuple(sources), 100))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert any(line.endswith("1.449 +- 0.268 none none") for line in lines)
    assert any(line.endswith("1.200 +- 0.010 x3 +0.17 +- 0.02 WS105") for line in lines)
    assert "No alarm for s0, though" in text


def test_sources_that_cannot_be_are_refused(duckdb):
    names = {"context": ["site", "user"], "action": "ad", "reward": "click"}
    events = ws.read_events(two_columns(1, 100), **names, engine=duckdb)
    for name in ("magic", "logged", "mixture"):
        with pytest.raises(ws.UsageError, match=f"cannot come from '{name}' here"):
            ws.compare_propensities(events, [name])
