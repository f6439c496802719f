"""Point estimates: against events taken one by one, against each other, and against Vowpal Wabbit's estimators."""

import numpy as np
import pyarrow as pa
import pytest
from tests.support.logs import decisions, random_log, read, some_policy

import warmstart as ws
from warmstart.estimators import ESTIMATORS, Levels, estimate_policy, open_weighted_rows
from warmstart.estimators.point import point_estimates, point_sums
from warmstart.events import open_cells, open_strata
from warmstart.policy import build_policy, parse_policies
from warmstart.simulation import TableWorld

CLOSE = 1e-9


def weights_by_hand(name, w, p, h, tau):
    if name == "switch-dr":
        return np.where(p >= tau, w, 0.0)
    if name == "shrunk-dr":
        return w / (1 + (tau * w) ** 2)
    return h / np.maximum(p, tau)


class SomeModel:
    """A model that knows nothing, and says so with confidence."""

    def expect(self, rows):
        contexts, actions = (rows[name].right(1).cast("float64") for name in ("context_0", "action"))
        return rows.mutate(expected=((contexts * 7 + actions * 3) % 11) / 11)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_sums_over_the_weighted_table_equal_a_mean_over_events(duckdb, name):
    """Every event has its own line in the second form; value and variance must agree."""
    rng = np.random.default_rng(0)
    contexts, actions, tau = 8, 5, 0.2
    n = rng.integers(1, 9, (contexts, actions)).astype(float)
    s = rng.binomial(n.astype(int), 0.4).astype(float)
    p, f = rng.uniform(0.05, 1, (2, contexts, actions))
    h = rng.dirichlet(np.ones(actions), contexts)
    d = np.repeat((h * f).sum(axis=1, keepdims=True), actions, axis=1)
    traffic = np.repeat(n.sum(axis=1, keepdims=True), actions, axis=1)
    columns = {"n": n, "reward_sum": s, "reward_sq_sum": s, "propensity": p, "probability": h, "context_n": traffic}
    columns |= {"expected": f, "model_value": d}
    rows = duckdb.open_arrow(pa.table({column: values.ravel() for column, values in columns.items()}))
    totals = duckdb.fetch(rows.agg(**point_sums([name], rows, tau)))[0]
    [found] = point_estimates([name], totals, n.sum(), 0.05)
    repeat = np.repeat(np.arange(n.size), n.ravel().astype(int))
    rewards = np.concatenate([np.arange(k) < r for k, r in zip(n.ravel(), s.ravel(), strict=True)]).astype(float)
    e = weights_by_hand(name, h / p, p, h, tau).ravel()[repeat]
    if name == "snips":
        value = (e * rewards).sum() / e.sum()
        sd = np.sqrt(((e * (rewards - value)) ** 2).sum()) / e.sum()
    else:
        model = 0.0 if name == "ips" else d.ravel()[repeat]
        correction = {"ips": e * rewards, "dm": 0.0}.get(name, e * (rewards - f.ravel()[repeat]))
        terms = model + correction
        value, sd = terms.mean(), terms.std() / np.sqrt(len(terms))
    assert found.value == pytest.approx(value, abs=CLOSE)
    assert found.upper - found.value == pytest.approx(1.959963984540054 * sd, abs=1e-7)


def test_self_normalised_is_the_value_over_the_weight_behind_it(duckdb):
    rows = random_log(1)
    h = some_policy(rows)
    asked, default = (
        ws.evaluate(
            {"mine": decisions(h)}, read(rows, duckdb), tau=1e-6, estimators=some, allow_unknown_actions=True
        ).policies[0]
        for some in (["snips"], [])
    )
    supported = asked.support.supported
    assert asked.estimates[0].value == pytest.approx(asked.value / supported, rel=1e-9)
    assert default.estimates[0].value == pytest.approx(asked.estimates[0].value, rel=1e-9)
    assert default.estimates == asked.estimates


def test_doubly_robust_is_the_value_where_everything_is_supported(duckdb):
    """Counted propensities, nothing clipped: a model cancels, whatever it says, and nearly if it differs by fold."""
    rows = [row for row in random_log(2, events=900) if row[0] != "x0"]
    shown = {(x, a) for x, a, *_ in rows}
    h = {}
    for x in sorted({x for x, *_ in rows}):
        actions = sorted(a for y, a in shown if y == x)
        h |= {(x, a): 1 / len(actions) for a in actions}
    names = ["ips", "dr", "switch-dr"]
    events = read(rows, duckdb)
    found = ws.evaluate({"u": decisions(h)}, events, tau=1e-6, estimators=names)["u"]
    for point in found.estimates:
        assert point.value == pytest.approx(found.value, abs=5e-3)
    with open_cells(events) as cells, open_strata(cells) as strata:
        policy = build_policy(parse_policies({"u": decisions(h)})[0], cells, feasible_from="evaluated", live=False)
        with open_weighted_rows(policy, cells, strata=strata, model=SomeModel()) as weighted:
            [estimate] = estimate_policy(weighted, taus=[1e-6], levels=Levels(0.05), estimators=names)
    for point in estimate.estimates:
        assert point.value == pytest.approx(found.value, abs=CLOSE)


def test_doubly_robust_adds_the_model_where_nothing_was_shown(duckdb):
    """Half of the probability lies on an action that was never shown: the model's word for it, times its traffic."""
    rows = random_log(3, events=900)
    contexts = sorted({x for x, *_ in rows})
    h = {(x, "never-shown"): 1.0 for x in contexts}
    alone, mixed = (
        ws.evaluate(
            {"h": decisions(some)}, read(rows, duckdb), tau=1e-6, estimators=["dm", "dr"], allow_unknown_actions=True
        )["h"]
        for some in (h, dict.fromkeys(h, 0.5) | {(x, "a0"): 0.5 for x in contexts})
    )
    model = {point.estimator: point.value for point in alone.estimates}
    assert model["dr"] == pytest.approx(model["dm"], abs=CLOSE)
    assert 0.2 < model["dm"] < 0.8
    assert mixed.best.value > mixed.value + 0.4 * model["dm"]


def test_doubly_robust_is_closer_to_the_truth_than_the_bound_where_support_is_thin():
    """Twenty months; the action that is best in truth, where only some contexts ever showed it."""
    errors = {"ips": [], "snips": [], "dr": []}
    for seed in range(20):
        world = TableWorld.month(contexts=40, actions=10, events_per_day=300, seed=seed)
        events = ws.read_events(world.draw(seed=seed), context="context", action="action", reward="reward")
        policy = {"h": world.policy_from_array(np.full(world.reward_means.shape, 1 / 10))}
        found = ws.evaluate(policy, events, tau=0.01, estimators=list(errors), allow_unknown_actions=True)["h"]
        truth = ws.true_value(policy["h"], world, events=events)
        for point in found.estimates:
            errors[point.estimator].append(point.value - truth)
    mean_square = {name: np.mean(np.square(found)) for name, found in errors.items()}
    assert mean_square["dr"] < 0.1 * mean_square["ips"]
    assert mean_square["dr"] < 1.5 * mean_square["snips"]


@pytest.mark.slow_on_spark
def test_vowpal_wabbits_estimators_agree_on_logged_propensities(engine):
    from estimators.bandits import ips, snips

    rng = np.random.default_rng(0)
    size = 500
    p = rng.uniform(0.1, 1, size)
    h = rng.uniform(0, 1, size).round(3)
    rewards = (rng.random(size) < 0.3).astype(float)
    log = pa.table({"i": range(size), "a": ["shown"] * size, "r": rewards, "p": p})
    theirs = [ips.Estimator(), snips.Estimator()]
    for row in zip(p, rewards, h, strict=True):
        for estimator in theirs:
            estimator.add_example(*row)
    policy = pa.table({"i": range(size), "a": ["shown"] * size, "probability": h})
    events = ws.read_events(log, context="i", action="a", reward="r", propensity="p", engine=engine)
    ours = ws.evaluate({"h": policy}, events, tau=1e-6, estimators=["ips", "snips"])["h"]
    assert [point.value for point in ours.estimates] == pytest.approx([e.get() for e in theirs], abs=CLOSE)
    assert ours.value == pytest.approx(theirs[0].get(), abs=CLOSE)


def test_our_interval_contains_vowpal_wabbits_clopper_pearson_where_that_is_exact(duckdb):
    from estimators.bandits import clopper_pearson

    for clicks in (0, 1, 7, 60):
        log = pa.table({"x": ["p"] * 200, "a": ["a"] * 200, "r": [float(i < clicks) for i in range(200)]})
        theirs = clopper_pearson.Interval()
        for reward in log["r"].to_pylist():
            theirs.add_example(1.0, reward, 1.0)
        events = ws.read_events(log, context="x", action="a", reward="r", engine=duckdb)
        low, high = theirs.get(0.05)
        for method in ("kl", "bets"):
            ours = ws.evaluate("logging", events, interval=method)["logging"]
            assert ours.lower <= low + 1e-12
            assert ours.upper >= high - 1e-12


@pytest.mark.parametrize("source", ["logged", "model"])
def test_uniform_over_all_actions_has_point_estimates_too(duckdb, source):
    """Shown evenly, so that its weights are 1 (those of a model nearly), and what it earns is what was earned."""
    size = 3_000
    rng = np.random.default_rng(0)
    rewards = (rng.random(size) < 0.3).astype(float)
    log = pa.table({"x": rng.normal(size=size), "a": rng.integers(3, size=size), "r": rewards, "p": [1 / 3] * size})
    events = ws.read_events(log, context="x", action="a", reward="r", propensity="p", engine=duckdb)
    found = ws.evaluate("uniform-all", events, tau=0.01, propensities=source, estimators=["ips", "dr"])["uniform-all"]
    assert [point.estimator for point in found.estimates] == ["ips", "dr"]
    for point in found.estimates:
        exact = source == "logged" and point.estimator == "ips"
        assert point.value == pytest.approx(rewards.mean(), abs=1e-9 if exact else 0.01)


def test_an_unknown_estimator_is_refused(duckdb):
    with pytest.raises(ws.UsageError, match="switch-dr"):
        ws.evaluate("uniform", read(random_log(1), duckdb), estimators=["magic"])
