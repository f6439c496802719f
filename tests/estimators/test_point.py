"""Point estimates: against events taken one by one, against each other, and against Vowpal Wabbit's estimators."""

import numpy as np
import pyarrow as pa
import pytest
from tests.support.logs import decisions, random_log, read, some_policy

import warmstart as ws
from warmstart.estimators import ESTIMATORS, Levels, estimate_policy, open_weighted_rows
from warmstart.estimators.dr import SMALLEST_TAU
from warmstart.estimators.estimate import summed
from warmstart.estimators.point import declared, left_to_model
from warmstart.events import open_cells
from warmstart.policy import build_policy, parse_policies
from warmstart.simulation import TableWorld

CLOSE = 1e-9
CONTEXTS, ACTIONS = 8, 5


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
        said = ((contexts * 7 + actions * 3) % 11) / 11
        none = said * 0.0
        return rows.mutate(expected=said, left_out=said, spread=none, noise=none, action_error=none, context_error=none)

    def sample(self, rows):
        return rows.filter(rows.n > 0)


def a_table(seed, counted):
    """Cells of a few contexts with made-up rewards and expectations; counted propensities, or any."""
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 9, (CONTEXTS, ACTIONS)).astype(float)
    n[rng.random(n.shape) < 0.2] = 0 if counted else 1
    n[:, -1] = 1
    s = rng.binomial(n.astype(int), 0.4).astype(float)
    p, f, g = rng.uniform(0.05, 1, (3, CONTEXTS, ACTIONS))
    h = rng.dirichlet(np.ones(ACTIONS), CONTEXTS) * np.array([[0.8], *[[1.0]] * (CONTEXTS - 1)])
    wide = {
        name: np.repeat(x.sum(axis=1, keepdims=True), ACTIONS, axis=1) for name, x in (("n", n), ("s", s), ("h", h))
    }
    columns = {"n": n, "reward_sum": s, "reward_sq_sum": s, "probability": h, "expected": f, "decided": wide["h"]}
    columns |= {"context_n": wide["n"], "context_reward_sum": wide["s"], "context_reward_sq_sum": wide["s"]}
    if counted:
        x, a = np.indices(n.shape)
        columns |= {"context_0": x, "action": a, "propensity": n / wide["n"], "left_out": g}
        errors = {"spread": 0.1, "noise": 0.9, "action_error": 0.02 * (a + 1), "context_error": 0.03 * (x + 1)}
        return columns | {name: np.broadcast_to(error, n.shape) for name, error in errors.items()}
    value = np.repeat((h * f).sum(axis=1, keepdims=True), ACTIONS, axis=1)
    return columns | {"propensity": p, "model_value": value, "part": np.ones_like(n)}


def one_by_one(columns, *names):
    """The cell's numbers for every event, and its reward."""
    n, s = columns["n"].ravel(), columns["reward_sum"].ravel()
    cell = np.repeat(np.arange(n.size), n.astype(int))
    rewards = np.concatenate([np.arange(k) < r for k, r in zip(n, s, strict=True)]).astype(float)
    return (*(columns[name].ravel()[cell] for name in names), rewards)


def moments_of(duckdb, name, columns, tau):
    rows = duckdb.open_arrow(pa.table({column: values.ravel() for column, values in columns.items()}))
    asked = {"sums": rows, "model_terms": rows}
    if "left_out" in columns:
        shown = rows.filter(rows.n > 0)
        asked = {"sums": rows, "model_terms": left_to_model([name], rows, [tau]), "judging_terms": shown}
    totals = {}
    for kind, some in asked.items():
        wanted = declared([name], kind, some, tau)
        if wanted:
            totals |= duckdb.fetch(some.agg(**wanted) if kind == "sums" else summed(some, **wanted))[0]
    return ESTIMATORS[name].finish(totals, columns["n"].sum())


@pytest.mark.parametrize("name", ESTIMATORS)
def test_sums_over_the_weighted_table_equal_a_mean_over_events(duckdb, name, monkeypatch):
    """Every event has its own line in the second form; value, gain and their variances must agree."""
    monkeypatch.setattr("warmstart.estimators.dr.LEAST_SHARE", 0.0)
    columns, tau = a_table(0, counted=False), 0.2
    found = moments_of(duckdb, name, columns, tau)
    names = ("probability", "propensity", "expected", "model_value", "decided")
    h, p, f, d, decided, rewards = one_by_one(columns, *names)
    e = weights_by_hand(name, h / p, p, h, tau)
    if name == "snips":
        value = (e * rewards).sum() / e.sum()
        assert found.value == pytest.approx(value, abs=CLOSE)
        assert found.variance == pytest.approx(((e * (rewards - value)) ** 2).sum() / e.sum() ** 2, abs=CLOSE)
        return
    terms = (0.0 if name == "ips" else d) + {"ips": e * rewards, "dm": 0.0}.get(name, e * (rewards - f))
    assert found.value == pytest.approx(terms.mean(), abs=CLOSE)
    if name == "dm":
        assert found.variance is None
        return
    missing = max((columns["context_n"] * columns["probability"]).sum() - e.sum(), 0.0) / len(e)
    model = 0.0
    if name != "ips":
        lost = (weights_by_hand(name, h / p, p, h, SMALLEST_TAU) - e) * (rewards - f)
        model = missing**2 * bias_by_hand(e, rewards, f) * mean_root(columns) ** 2
        model += max(lost.sum() ** 2 - (lost**2).sum(), 0.0) / len(e) ** 2
    assert found.variance == pytest.approx(terms.var() / len(terms) + model, abs=CLOSE)
    if name != "ips":
        gains = terms - decided * rewards
        assert found.gain == pytest.approx(gains.mean(), abs=CLOSE)
        assert found.gain_variance == pytest.approx(gains.var() / len(gains) + model, abs=CLOSE)


def bias_by_hand(e, rewards, f):
    residual = e * (rewards - f)
    return max(residual.sum() ** 2 - (residual**2).sum(), 0.0) / (e * np.sqrt(f * (1 - f))).sum() ** 2


def mean_root(columns):
    chosen, f = columns["context_n"] * columns["probability"], columns["expected"]
    return (chosen * np.sqrt(f * (1 - f))).sum() / chosen.sum()


@pytest.mark.parametrize("name", ["dr", "switch-dr", "shrunk-dr"])
def test_given_actions_only_rewards_vary_and_the_model_where_it_stands_alone(duckdb, name):
    columns, tau = a_table(1, counted=True), 0.15
    found = moments_of(duckdb, name, columns, tau)
    n, s, h, p, f, g, x = (
        columns[key] for key in ("n", "reward_sum", "probability", "propensity", "expected", "left_out", "context_n")
    )
    w = np.divide(h, p, out=np.zeros_like(h), where=p > 0)
    e = np.where(n > 0, weights_by_hand(name, w, p, h, tau), 0.0)
    total = n.sum()
    assert found.value == pytest.approx(((x * h * f).sum() + (e * (s - n * f)).sum()) / total, abs=CLOSE)
    logging = (h.sum(axis=1) * s.sum(axis=1)).sum() / total
    assert found.gain == pytest.approx(found.value - logging, abs=CLOSE)
    v = g * (1 - g)
    others = (s.sum(axis=1, keepdims=True) - s) / np.maximum(x - n, 1)
    inside = np.where(n > 1, s * (n - s) / np.maximum(n - 1, 1), s - 2 * others * s + n * others**2)
    part = np.maximum(x * h - e * n, 0) * np.sqrt(v)
    spread, noise = 0.1, 0.9
    off, root = (e * (s - n * g)).sum(), (e * n * np.sqrt(v)).sum()
    bias = max(off**2 - (e**2 * n * v * (noise + n * spread)).sum(), 0) / root**2
    alone = spread * (part**2).sum() + bias * part.sum() ** 2
    alone += (columns["action_error"][0] * part.sum(axis=0) ** 2).sum()
    alone += (columns["context_error"][:, 0] * part.sum(axis=1) ** 2).sum()
    left = np.maximum(x * h - e * n, 0)
    assert found.on_model == pytest.approx(left.sum() / total, abs=CLOSE)
    assert found.variance == pytest.approx(((e**2 * inside).sum() + alone) / total**2, abs=CLOSE)
    decided, rewards = h.sum(axis=1, keepdims=True), s.sum(axis=1, keepdims=True)
    whole = rewards - rewards**2 / n.sum(axis=1, keepdims=True)
    squares = s - s * s / np.maximum(n, 1)
    of_gain = ((e - decided) ** 2 * inside).sum() + (decided**2 * (whole - squares.sum(axis=1, keepdims=True))).sum()
    assert found.gain_variance == pytest.approx((of_gain + alone) / total**2, abs=CLOSE)


def test_without_overlap_there_is_an_estimate_and_no_interval(duckdb):
    """Another action than the one shown, everywhere: the model's word, and nothing to judge it by."""
    rows = [(x, "a", r, day) for x, _, r, day in random_log(2)]
    rows += [(f"not {x}", "b", r, day) for x, _, r, day in rows]
    policy = decisions({(x, "a" if x.startswith("not") else "b"): 1.0 for x, *_ in rows})
    found = ws.evaluate({"other": policy}, read(rows, duckdb), tau=0.05)
    best, gain = found["other"].best, found["other"].gain.estimated
    assert 0 < best.value < 1
    assert (best.lower, best.upper, best.on_model) == (None, None, pytest.approx(1.0))
    assert (gain.lower, gain.upper) == (None, None)
    assert "no overlap" in str(found)


def test_rewards_that_never_differ_tell_nothing_of_an_error(duckdb):
    """No click in 300 events is no proof that there never is one: the certified end says how far that goes."""
    rows = [(x, a, 0.0, day) for x, a, _, day in random_log(2)]
    found = ws.evaluate("uniform", read(rows, duckdb), tau=0.05)
    best, gain = found["uniform"].best, found["uniform"].gain.estimated
    assert (best.value, best.lower, best.upper) == (pytest.approx(0.0, abs=1e-6), None, None)
    assert (gain.lower, gain.upper) == (None, None)
    assert 0 < found["uniform"].upper < 0.1
    assert "no overlap" not in str(found)


def test_dm_and_one_event_have_no_interval(duckdb):
    rows = [("x", "a", 1.0, 0), ("x", "b", 0.0, 0), ("y", "b", 1.0, 0)]
    found = ws.evaluate("constant:a", read(rows, duckdb), tau=0.1, estimators=["dm", "snips"]).policies[0]
    assert [(point.estimator, point.lower, point.upper) for point in found.estimates] == [
        ("dm", None, None),
        ("snips", None, None),
    ]


def test_self_normalised_is_the_value_over_the_weight_behind_it(duckdb):
    rows = random_log(1)
    h = some_policy(rows)
    asked, default = (
        ws.evaluate({"mine": decisions(h)}, read(rows, duckdb), tau=1e-6, allow_unknown_actions=True, **some).policies[
            0
        ]
        for some in ({"estimators": ["snips"]}, {})
    )
    supported = asked.support.supported
    assert asked.estimates[0].value == pytest.approx(asked.value / supported, rel=1e-9)
    assert [point.estimator for point in default.estimates] == ["dr"]
    assert default.best.value != pytest.approx(asked.best.value, abs=1e-4)


def test_doubly_robust_is_the_value_where_everything_is_supported(duckdb):
    """Counted propensities, nothing clipped: a model cancels, whatever it says."""
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
        assert point.value == pytest.approx(found.value, abs=CLOSE)
    with open_cells(events) as cells:
        policy = build_policy(parse_policies({"u": decisions(h)})[0], cells, feasible_from="evaluated", live=False)
        with open_weighted_rows(policy, cells, model=SomeModel()) as weighted:
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


@pytest.mark.parametrize("months", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_doubly_robust_is_closer_to_the_truth_than_the_bound_where_support_is_thin(months):
    """Some months; the action that is best in truth, where only some contexts ever showed it."""
    errors = {"ips": [], "snips": [], "dr": []}
    for seed in range(months):
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
    size = 2_000
    p, shown = rng.uniform(0.3, 1, size), rng.random(size)
    shown = shown < p
    h = rng.uniform(0, 1, size).round(3)
    rewards = (rng.random(size) < 0.3).astype(float)
    actions, logged = np.where(shown, "shown", "other"), np.where(shown, p, 1 - p)
    log = pa.table({"i": range(size), "a": actions, "r": rewards, "p": logged})
    theirs = [ips.Estimator(), snips.Estimator()]
    for row in zip(logged, rewards, np.where(shown, h, 0.0), strict=True):
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


@pytest.mark.parametrize(
    ("logs", "rate"), [(5, 0.05), *(pytest.param(60, rate, marks=pytest.mark.slow) for rate in (0.05, 0.5))]
)
def test_the_gain_of_a_policy_that_does_what_logging_did_on_average_covers_nothing(duckdb, rate, logs):
    """Uniform against logging at random: rewards hardly count, and yet their error is not zero."""
    rng = np.random.default_rng(0)
    scores = []
    for _ in range(logs):
        log = {"x": rng.integers(30, size=2_000), "a": rng.integers(3, size=2_000), "r": rng.random(2_000) < rate}
        events = ws.read_events(pa.table(log), context="x", action="a", reward="r", engine=duckdb)
        gain = ws.evaluate("uniform", events, tau=0.01, interval="kl").policies[0].gain.estimated
        scores.append(2 * 1.96 * gain.difference / (gain.upper - gain.lower))
    assert np.mean(np.abs(scores) > 1.96) <= 0.1
    assert np.mean(np.abs(scores) > 0.674) <= 0.6
    assert np.std(scores) > 0.3
