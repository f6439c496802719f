"""Which source of propensities is chosen, with and without times and epochs, and what is said of it."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.support.epoch_logs import Blocks

import warmstart as ws


@pytest.fixture(scope="module")
def world():
    return Blocks(0)


def evaluate(world, engine, *, hours=24.0, source="auto", **options):
    names = {"context": world.names, "action": "a", "reward": "r", "event_id": "i", "engine": engine}
    events = ws.read_events(world.log(hours=hours), **names, **options)
    return ws.evaluate({"h": world.policy}, events, tau=0.01, propensities=source)


def test_a_log_of_several_days_whose_contexts_do_not_repeat_gets_a_mixture(duckdb, world):
    found = evaluate(world, duckdb, time="at")
    assert found.propensities.name == "mixture"
    text = found.propensities.notes[0]
    assert "only 0.0% of traffic" in text
    assert "Epochs: one day (6)" in text
    assert "one model" in text
    assert "contexts are alike in all" in text
    assert found["h"].value == pytest.approx(world.true_value, abs=0.05)
    assert found["h"].certified_lower is None


def test_one_model_overestimates_the_same_log(duckdb, world):
    """So far that its weights cannot be right: the value is withheld, and the best estimate is too high as well."""
    found = evaluate(world, duckdb, time="at", source="model")
    assert found["h"].value is None
    assert found["h"].withheld == "WS105"
    assert found["h"].mean_weight > 1.1
    assert [remark.code for remark in found.remarks if remark.code == "WS105"] == ["WS105"]


def test_a_log_of_one_day_or_without_times_gets_one_model(duckdb, world):
    assert evaluate(world, duckdb, hours=3.0, time="at").propensities.name == "model"
    assert evaluate(world, duckdb).propensities.name == "model"


def test_an_epoch_that_was_named_is_used(duckdb, world):
    by_column = evaluate(world, duckdb, hours=3.0, epoch="block")
    assert "Epochs: a value of 'block' (6)" in by_column.propensities.detail
    by_day = evaluate(world, duckdb, time="at", epoch="day")
    assert "Epochs: one day (6)" in by_day.propensities.detail
    assert by_column["h"].value == pytest.approx(by_day["h"].value, abs=1e-9)
    hourly = evaluate(world, duckdb, hours=1.0, time="at", epoch="auto")
    assert "Epochs: one hour (6)" in hourly.propensities.detail


def test_a_classifier_of_the_users_own_imitates_every_epoch(duckdb, world):
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    named, pooled = (evaluate(world, duckdb, source=tree, **options) for options in ({"epoch": "block"}, {}))
    assert (named.propensities.name, pooled.propensities.name) == ("mixture", "model")
    assert abs(named["h"].best.value - world.true_value) < abs(pooled["h"].best.value - world.true_value)


def test_one_epoch_is_one_model(duckdb, world):
    found = evaluate(world, duckdb, hours=1.0, time="at", epoch="day")
    assert "One model of the whole window" in found.propensities.detail


VERSIONS = pa.table({"x": [0, 1] * 200, "a": [0, 0, 1, 1] * 100, "r": [0.0, 1.0] * 200, "v": [1] * 200 + [2] * 200})


@pytest.mark.parametrize("source", ["all", "back-off"])
def test_other_counts_know_no_epochs(duckdb, source):
    events = ws.read_events(VERSIONS, context="x", action="a", reward="r", epoch="v", engine=duckdb)
    with pytest.raises(ws.UsageError, match="know no epochs") as refused:
        ws.evaluate("uniform", events, propensities=source)
    assert "mixture" in refused.value.hint


@pytest.mark.parametrize("source", ["auto", "counts"])
def test_epochs_of_a_column_need_an_order(duckdb, source):
    events = ws.read_events(VERSIONS, context="x", action="a", reward="r", epoch="v", engine=duckdb)
    with pytest.raises(ws.UsageError, match="which epoch came first"):
        ws.evaluate("uniform", events, propensities=source)


def test_a_mixture_needs_times_or_epochs(duckdb, world):
    with pytest.raises(ws.UsageError, match="needs epochs"):
        evaluate(world, duckdb, source="mixture")


@pytest.mark.spark
@pytest.mark.slow_on_spark
def test_spark_mixes_what_duckdb_mixes(duckdb, spark):
    world = Blocks(2, 1500)
    here, there = (evaluate(world, engine, epoch="block") for engine in (duckdb, spark))
    assert there["h"].value == pytest.approx(here["h"].value, abs=1e-9)


@pytest.mark.slow_on_spark
def test_contexts_repeat_though_units_that_count_the_same_make_events_count_little(engine):
    log = {"x": [i % 30 for i in range(600)], "a": [i // 30 % 3 for i in range(600)], "u": [i % 12 for i in range(600)]}
    log["r"] = [float(i % 7 == 0) for i in range(600)]
    events = ws.read_events(pa.table(log), context="x", action="a", reward="r", unit="u", engine=engine)
    found = ws.evaluate("uniform", events, tau=0.05, per="unit")
    assert found.propensities.name == "counts"
    assert found["uniform"].gain.certified is not None


@pytest.fixture(scope="module")
def changed(duckdb):
    """Two windows in which rewards come at .3; the second shows action 1 in a half of the events, the first seldom."""
    rng = np.random.default_rng(7)
    late = np.arange(4_000) >= 2_000
    log = {
        "x": rng.integers(0, 4, 4_000),
        "a": np.where(late, rng.integers(0, 2, 4_000), rng.random(4_000) < 0.1),
        "r": (rng.random(4_000) < 0.3) * 1.0,
        "t": np.arange(4_000) + 1_760_000_000,
    }
    return ws.read_events(pa.table(log), context="x", action="a", reward="r", time="t", engine=duckdb).split(
        fraction=0.5
    )


def of_action_1(windows, source, **options):
    train, test = windows
    decisions = pa.table({"x": range(4), "a": [1] * 4})
    asked = {"tau": 0.02, "trained_until": "never", "estimators": ["dr", "snips", "ips"], **options}
    return ws.evaluate({"h": decisions}, test, train=train, propensities=source, **asked)


@pytest.mark.parametrize("source", ["train", "all"])
def test_counts_of_a_window_with_another_logger_ring_and_withhold_what_they_bend(changed, source):
    found, own = of_action_1(changed, source), of_action_1(changed, "counts")["h"]
    one = found["h"]
    assert (one.withheld, one.value) == ("WS105", None)
    assert {one.lower, one.upper, one.joint_lower, one.joint_upper} == {None}
    assert one.guarantee == "approximate"
    [remark] = [remark for remark in found.remarks if remark.code == "WS105"]
    assert "'h' is withheld" in remark.text
    assert "propensities='counts'" in remark.text
    assert next(line for line in found.assumptions if line.code == "WS105").result == "suspicious"
    assert one.weight_ratio.value > 1.5 * one.weight_ratio.own_value
    assert one.weight_ratio.own_value == pytest.approx(own.value)
    assert "make of the clipped value" in str(found)


@pytest.mark.parametrize("source", ["train", "all"])
def test_all_but_plain_weighting_uses_the_windows_own_counts(changed, source):
    """Best estimates, gains and bounds are those of counts; an estimate's share on the model is one."""
    names = ["dr", "switch-dr", "shrunk-dr"]
    one, own = (of_action_1(changed, name, estimators=names)["h"] for name in (source, "counts"))
    assert len(one.estimates) == len(names)
    for mine, due in zip(one.estimates, own.estimates, strict=True):
        assert vars(mine) == pytest.approx(vars(due))
        assert 0 <= mine.on_model <= 1
    assert vars(one.gain.estimated) == pytest.approx(vars(own.gain.estimated))
    assert (one.certified_lower, one.certified_upper) == pytest.approx((own.certified_lower, own.certified_upper))


def test_counts_of_a_window_with_the_same_logger_have_a_value_and_no_interval(duckdb):
    """Quiet alarms are no proof: an interval would be of what these weights make of the value."""
    log = {"x": [i % 2 for i in range(800)], "a": [i // 2 % 2 for i in range(800)], "t": range(800)}
    log["r"] = [float(i % 3 == 0) for i in range(800)]
    windows = ws.read_events(pa.table(log), context="x", action="a", reward="r", time="t", engine=duckdb).split(
        fraction=0.5
    )
    train, test = windows
    found = ws.evaluate("constant:1", test, train=train, tau=0.05, propensities="train", estimators=["ips", "snips"])
    one = found["constant:1"]
    assert (one.withheld, one.mean_weight) == (None, pytest.approx(1))
    assert one.value == pytest.approx(one.weight_ratio.own_value)
    assert {one.lower, one.upper, *(end for point in one.estimates for end in (point.lower, point.upper))} == {None}
    assert one.certified_lower < one.value < one.certified_upper
