"""Propensities by back-off, by a model, as logged: against plain Python, and through evaluate."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from tests.support.logs import random_log, read, table

import warmstart as ws
from warmstart.events import open_cells, open_strata
from warmstart.pipeline.sources import with_propensities


def unrepeated(seed, events, *, actions=4):
    """Contexts of two numbers that never repeat; a softmax logger; what is best depends on the context."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(events, 2))
    angles = np.arange(actions) * 2 * np.pi / actions
    scores = x @ np.stack([np.cos(angles), np.sin(angles)])
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    a = (p.cumsum(axis=1) > rng.random((events, 1))).argmax(axis=1)
    means = 0.1 + 0.3 / (1 + np.exp(2 * scores))
    r = rng.random(events) < means[np.arange(events), a]
    log = pa.table({"x": x[:, 0], "y": x[:, 1], "a": a, "r": r, "p": p[np.arange(events), a], "i": np.arange(events)})
    best = means.argmax(axis=1)
    return log, best, means[np.arange(events), best].mean(), p


@pytest.fixture(scope="module")
def modelled():
    log, best, truth, p = unrepeated(0, 6000)
    events = ws.read_events(log, context=["x", "y"], action="a", reward="r", event_id="i")
    policy = pa.table({"x": log["x"], "y": log["y"], "a": best})
    return events, policy, truth, p


def test_contexts_that_do_not_repeat_get_a_model_and_that_is_said(modelled):
    events, policy, truth, p = modelled
    found = ws.evaluate({"best": policy}, events, tau=0.01, estimators=["snips", "dm", "dr"])
    assert found.propensities.name == "model"
    assert "only 0.0% of traffic is in contexts seen more than once" in str(found)
    assert found["best"].certified_lower is None
    assert found["best"].lower < truth < found["best"].upper
    # The regressions are linear and the world is not: the model alone is off, and what it lacks the log supplies.
    for point in found["best"].estimates:
        assert point.value == pytest.approx(truth, abs=0.06 if point.estimator == "dm" else 0.03), point.estimator
    by_truth = -np.log(p[np.arange(len(p)), events.engine.fetch_arrow(events.table)["action"].to_numpy()]).mean()
    assert found.propensities.log_loss == pytest.approx(by_truth, abs=0.02)


def test_counting_is_still_there_and_sees_only_what_matched(modelled):
    events, policy, truth, _ = modelled
    found = ws.evaluate({"best": policy}, events, tau=0.01, propensities="counts")["best"]
    assert found.certified_lower is not None
    assert found.value < 0.5 * truth
    assert found.support.unsupported > 0.5


def test_a_classifier_of_the_users_own(modelled):
    from sklearn.ensemble import RandomForestClassifier

    events, policy, truth, _ = modelled
    forest = RandomForestClassifier(30, min_samples_leaf=50, random_state=0)
    found = ws.evaluate({"best": policy}, events, tau=0.02, propensities=forest)
    assert found.propensities.reason == "a classifier was given"
    assert found["best"].estimates[0].value == pytest.approx(truth, abs=0.05)


def with_logged(log, best, engine):
    """Value the best choices of a log by its own propensities."""
    names = {"context": ["x", "y"], "action": "a", "reward": "r", "event_id": "i", "engine": engine}
    policy = {"best": pa.table({"x": log["x"], "y": log["y"], "a": best})}
    return ws.evaluate(policy, ws.read_events(log, **names, propensity="p"), tau=1e-6, estimators=["ips"])


def test_logged_propensities_are_used(engine):
    log, best, truth, _ = unrepeated(1, 3000)
    found = with_logged(log, best, engine)
    rows = log.to_pylist()
    by_hand = sum(row["r"] / row["p"] for row, b in zip(rows, best, strict=True) if row["a"] == b) / len(rows)
    assert found.propensities.name == "logged"
    assert found.propensities.too_heavy == 0
    assert found["best"].value == pytest.approx(by_hand, abs=1e-9)
    assert found["best"].lower < truth < found["best"].upper


@pytest.mark.slow_on_spark
def test_logged_propensities_are_checked(engine):
    log, best, *_ = unrepeated(1, 3000)
    wrong = log.set_column(log.column_names.index("p"), "p", pa.array(np.maximum(log["p"].to_numpy() / 3, 1e-3)))
    suspicious = with_logged(wrong, best, engine)
    assert suspicious.propensities.too_heavy == 4
    assert "too small" in str(suspicious)


@pytest.mark.parametrize("value", [0.0, -0.1, 1.5, None, float("nan")])
def test_a_logged_propensity_that_is_none_is_refused(duckdb, value):
    log = table(random_log(1)).append_column("p", pa.array([value if i == 17 else 0.5 for i in range(300)]))
    with pytest.raises(ws.DataError, match="'p'"):
        read(log, duckdb, propensity="p")


def test_logged_propensities_may_differ_inside_a_cell(duckdb):
    rows = [("p", "a", 1.0, 0.5), ("p", "a", 0.0, 0.25), ("p", "b", 1.0, 0.5), ("p", "a", 1.0, 0.25)]
    log = pa.table(dict(zip(("context", "action", "reward", "pi"), zip(*rows, strict=True), strict=True)))
    events = read(log, duckdb, time=False, propensity="pi", ranges={"reward": (0, 9)})
    found = ws.evaluate("constant:a", events, tau=0.01)["constant:a"]
    assert found.value == pytest.approx((1 / 0.5 + 1 / 0.25) / 4)
    assert found.matched == 3


def test_logged_propensities_that_divide_a_cell_leave_its_traffic_whole(duckdb):
    """What a context's traffic and the reward model add up to does not depend on how propensities divide its cells."""
    rng = np.random.default_rng(0)
    size = 400
    shown = rng.integers(2, size=size)
    log = {"x": rng.integers(3, size=size), "a": shown, "r": (rng.random(size) < 0.2 + 0.4 * shown) * 1.0}
    policy = {"h": pa.table({"x": range(3), "a": [1] * 3, "probability": [0.4] * 3})}
    found = []
    for p in (np.full(size, 0.5), rng.choice([0.4, 0.5, 0.6], size)):
        table = pa.table({**log, "p": p, "i": range(size)})
        events = ws.read_events(table, context="x", action="a", reward="r", propensity="p", event_id="i", engine=duckdb)
        found.append(ws.evaluate(policy, events, tau=0.01, estimators=["dm"])["h"])
    alike, divided = found
    assert divided.support.undecided == pytest.approx(0.6, abs=1e-12)
    assert divided.lower != pytest.approx(alike.lower, abs=1e-6)
    one, other = (estimate.best.value for estimate in found)
    assert other == pytest.approx(one, abs=1e-12)


def test_sources_that_make_no_sense_are_refused(duckdb):
    events = read(random_log(1), duckdb)
    late = events.split(fraction=0.5)[1]
    for options, message in [
        ({"propensities": "magic"}, "cannot come from 'magic'"),
        ({"propensities": "logged"}, "without a column of propensities"),
        ({"coarser": [["nothing"]]}, "no column 'nothing'"),
        ({"propensities": "train"}, "no training window"),
    ]:
        with pytest.raises((ws.UsageError, ws.ColumnError), match=message):
            ws.evaluate("uniform", late, **options)


def test_counts_from_back_off_of_no_strength_are_counts(duckdb):
    """With much data in every context hardly anything is borrowed."""
    rows = random_log(2, events=3000, fractional=False)
    counted, borrowed = (
        ws.evaluate("constant:a0", read(rows, duckdb), tau=0.05, propensities=source).policies[0]
        for source in ("counts", "back-off")
    )
    assert borrowed.value == pytest.approx(counted.value, rel=0.05)
    assert borrowed.guarantee == "approximate"


def test_the_models_strata_know_which_fold_they_must_not_see(duckdb):
    log, *_ = unrepeated(2, 1500)
    events = ws.read_events(log, context=["x", "y"], action="a", reward="r", event_id="i", engine=duckdb)
    with open_cells(events) as cells, open_strata(cells) as strata:
        weighed, source = with_propensities(strata, "model", "", model=Remembers())
        found = cells.engine.fetch(weighed.table)
    assert source.without == 0
    folds = defaultdict(set)
    for row in found:
        folds[row["fold"]].add(row["propensity"])
    assert all(max(seen) < 0.9 for seen in folds.values())


def test_without_ids_or_times_a_model_still_finds_the_shares(duckdb):
    """20,000 events that nothing tells apart: all sources agree, as they do with ids."""
    rng = np.random.default_rng(0)
    x, a = rng.integers(0, 10, 20_000), rng.integers(0, 3, 20_000)
    log = pa.table({"x": [f"x{i}" for i in x], "a": [f"a{i}" for i in a], "r": rng.random(20_000) < 0.1 + 0.05 * a})
    events = ws.read_events(log, context="x", action="a", reward="r", engine=duckdb)
    values = {
        source: ws.evaluate("constant:a1", events, tau=0.01, propensities=source, estimators=["ips"])[
            "constant:a1"
        ].value
        for source in ("counts", "back-off", "model")
    }
    assert values["back-off"] == pytest.approx(values["counts"], rel=0.02)
    assert values["model"] == pytest.approx(values["counts"], rel=0.03)


@pytest.mark.parametrize("events", [2, 4, 8, 15])
def test_tiny_logs_get_an_answer_or_a_clear_refusal(duckdb, events):
    log = table(random_log(3, events=events))
    refused = None
    try:
        found = ws.evaluate("uniform", read(log, duckdb), tau=0.1, propensities="model", estimators=["dr"])
    except ws.WarmstartError as error:
        refused = error
    assert refused.hint if refused else found["uniform"].certified_lower is None


def test_what_is_said_of_a_table_is_not_what_is_true_of_logging_alone(modelled):
    events, policy, *_ = modelled
    found = ws.evaluate({"logging": "logging", "best": policy}, events, tau=0.01, contributions=3)
    text = str(found)
    values = next(table for table in found.tables if table.title.startswith("Value: "))
    assert "clipped value: bets, approximate" in values.title
    assert found["best"].gain.certified is None
    assert found["best"].gain.estimated.lower is not None
    assert "'at least' and 'at most' bound" not in text
    assert found.contributions == ()


def test_with_logged_propensities_tau_is_chosen_for_what_the_policy_earns(duckdb):
    """Shown in a fiftieth of the events: what clipping loses is worth the policy's own rate, not the logger's."""
    log, best, *_ = unrepeated(3, 3000)
    matched = np.arange(3000) % 50 == 0
    shown, p = np.where(matched, best, (best + 1) % 4), np.where(matched, 0.02, 0.98)
    place = np.cumsum(matched) - 1
    for every, larger in ((2, False), (20, True)):
        clicks = np.where(matched, place % every == 0, True).astype(float)
        changed = pa.table({"x": log["x"], "y": log["y"], "a": shown, "r": clicks, "p": p, "i": log["i"]})
        events = ws.read_events(
            changed, context=["x", "y"], action="a", reward="r", propensity="p", event_id="i", engine=duckdb
        )
        found = ws.evaluate({"h": pa.table({"x": log["x"], "y": log["y"], "a": best})}, events)["h"]
        rate = clicks[matched].mean()
        assert found.tau_choice.rate == pytest.approx(min(rate, 1 - rate), rel=1e-9)
        assert (found.tau > 0.02) == larger


class Remembers:
    """A classifier that is certain of every context that it saw, and knows nothing of others."""

    def get_params(self, deep=True):
        return {}

    def set_params(self, **_):
        return self

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.seen = {tuple(x): label for x, label in zip(np.asarray(X), y, strict=True)}
        return self

    def predict_proba(self, X):
        p = np.full((len(X), len(self.classes_)), 1 / len(self.classes_))
        for i, x in enumerate(np.asarray(X)):
            if tuple(x) in self.seen:
                p[i] = self.classes_ == self.seen[tuple(x)]
        return p
