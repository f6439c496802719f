"""Intervals by unit through the API against sums by unit made with NumPy."""

import importlib
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.support.unit_worlds import TAU, Users, binned, decisions, draw, unit_totals

import warmstart as ws

SMALL = Users(users=120, visits=12, contexts=6, actions=3, rate=0.2, sticky="action", heavy=2)

# Bounds alone, without point estimates and their reward model.
BOUNDS = {"tau": TAU, "estimators": ()}
EVEN = Users(users=1_500, visits=4, contexts=6, actions=3, rate=0.2, sticky="action")


def table(log, **more):
    time = 1_700_000_000 + 600 * np.arange(len(log.x))
    return pa.table({"x": log.x, "a": log.a, "r": log.r, "user": log.unit, "when": time, **more})


def read(log, **options):
    return ws.read_events(table(log), context="x", action="a", reward="r", **{"unit": "user", **options})


def policy(settings, seed=3):
    return pa.table({"x": np.arange(settings.contexts), "a": decisions(settings, seed)})


@pytest.fixture(scope="module")
def log():
    return draw(SMALL, 0)


class TestAgainstNumPy:
    @pytest.mark.parametrize("per", ["event", "unit"])
    def test_bounds_of_value_and_gain(self, log, per):
        found = unit_totals(log, decisions(SMALL), per=per)
        value, gains = binned(found.value), binned(found.gains)
        for delta in (0.05, 0.5):
            result = ws.evaluate({"p": policy(SMALL)}, read(log), delta=delta, per=per, **BOUNDS)["p"]
            ends = found.__class__(value, gains, found.events, found.traffic, {}, 0.0).ends(delta)
            assert result.value == pytest.approx(found.estimate, rel=1e-12)
            assert (result.lower, result.upper) == pytest.approx(ends["value"], abs=1e-9)
            share = found.traffic / found.events
            certified = result.gain.certified
            assert (certified.lower, certified.upper) == pytest.approx([share * end for end in ends["gain"]], abs=1e-9)

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(1, 20))
    def test_bounds_of_many_logs(self, seed):
        self.test_bounds_of_value_and_gain(draw(SMALL, seed), "unit" if seed % 2 else "event")

    def test_one_of_several_is_selected_as_the_joint_bounds_say(self):
        settings = replace(EVEN, users=200, null=True, shape=None)
        log, delta = draw(settings, 5), 0.5
        policies = {f"p{seed}": policy(settings, seed) for seed in range(6)}
        better = replace_rewards(log, decisions(settings, 2))
        for some, expected in ((log, None), (better, "p2")):
            result = ws.evaluate(policies, read(some), delta=delta, **BOUNDS)
            totals = {name: unit_totals(some, decisions(settings, int(name[1:]))) for name in policies}
            certified = {
                name
                for name, found in totals.items()
                if found.__class__(found.value, binned(found.gains), found.events, found.traffic, {}, 0.0).certified(
                    delta / len(policies)
                )
            }
            assert ws.select(result).policy == expected
            assert {e.policy for e in result if e.gain.certified.joint_lower > 0} == certified

    def test_bins_cost_next_to_nothing(self, log):
        found = unit_totals(log, decisions(SMALL))
        exact, coarse = found.ends(0.05), binned(found.value)
        ends = found.__class__(coarse, binned(found.gains), found.events, found.traffic, {}, 0.0).ends(0.05)
        for name, (lower, upper) in exact.items():
            width = upper - lower
            assert lower - 0.03 * width < ends[name][0] <= lower + 1e-9
            assert upper - 1e-9 <= ends[name][1] < upper + 0.03 * width

    def test_the_other_intervals(self):
        log, h = draw(EVEN, 0), decisions(SMALL)
        n = np.zeros((SMALL.contexts, SMALL.actions))
        np.add.at(n, (log.x, log.a), 1)
        p = n / n.sum(axis=1, keepdims=True)
        c = (np.eye(SMALL.actions)[h] / np.maximum(p, TAU))[log.x, log.a]
        could, did, events = np.bincount(log.unit, c), np.bincount(log.unit, c * log.r), len(log.x)
        value, units = did.sum() / events, len(could)

        def ends(interval):
            found = ws.evaluate({"p": policy(SMALL)}, read(log), interval=interval, **BOUNDS)["p"]
            return found.lower, found.upper

        reach = np.sqrt(np.log(2 / 0.05) * (could**2).sum() / 2) / events
        assert ends("hoeffding") == pytest.approx((max(value - reach, 0), value + reach), rel=1e-9)
        variance = did.var(ddof=1)
        reach = np.sqrt(2 * variance * np.log(80) / units) + 7 * could.max() * np.log(80) / (3 * (units - 1))
        reach *= units / events
        assert ends("bernstein") == pytest.approx((max(value - reach, 0), value + reach), rel=1e-9)
        lower, upper = ends("kl")
        mean, most = did.mean() / could.max(), could.max() * units / events
        for q in (lower / most, upper / most):
            entropy = mean * np.log(mean / q) + (1 - mean) * np.log((1 - mean) / (1 - q))
            assert units * entropy == pytest.approx(np.log(40), rel=1e-6)
        from scipy.stats import gamma

        total, square, heaviest = did.sum(), (did**2).sum(), did.max()
        low = gamma.ppf(0.025, total**2 / square) * square / total / events
        more, squares = total + heaviest, square + heaviest**2
        high = gamma.ppf(0.975, more**2 / squares) * squares / more / events
        assert ends("gamma") == pytest.approx((low, high), rel=1e-9)
        normal = 1.96 * np.sqrt(((did - value * np.bincount(log.unit)) ** 2).sum()) / events
        lower, upper = ends("bootstrap")
        assert value - lower == pytest.approx(normal, rel=0.3)
        assert upper - value == pytest.approx(normal, rel=0.5)


def replace_rewards(log, h):
    """The same log, with a reward for nearly all of a policy's actions."""
    chosen = log.a == h[log.x]
    return replace(log, r=np.where(chosen, np.random.default_rng(0).random(len(log.r)) < 0.9, log.r).astype(float))


class TestPointEstimates:
    def test_variances_are_by_unit(self, log):
        result = ws.evaluate({"p": policy(SMALL)}, read(log), tau=TAU, estimators=("ips", "snips", "dr"))["p"]
        points = {point.estimator: point for point in result.estimates}
        h = decisions(SMALL)
        n = np.zeros((SMALL.contexts, SMALL.actions))
        np.add.at(n, (log.x, log.a), 1)
        s = np.zeros_like(n)
        np.add.at(s, (log.x, log.a), log.r)
        p = n / n.sum(axis=1, keepdims=True)
        c, events = (np.eye(SMALL.actions)[h] / np.maximum(p, TAU))[log.x, log.a], len(log.x)
        value = (c * log.r).sum() / events
        matched = (np.bincount(log.unit, c) > 0).sum()
        factor = matched / (matched - 1)
        own = np.bincount(log.unit, c * log.r - value)
        assert half_variance(points["ips"]) == pytest.approx(factor * (own**2).sum() / events**2, rel=1e-6)
        ratio = (c * log.r).sum() / c.sum()
        own = np.bincount(log.unit, c * (log.r - ratio))
        assert half_variance(points["snips"]) == pytest.approx(factor * (own**2).sum() / c.sum() ** 2, rel=1e-6)
        cell = np.stack([log.unit, log.x, log.a])
        _, position, together = np.unique(cell, axis=1, return_inverse=True, return_counts=True)
        per_row = together[position.ravel()].mean()
        # Cells that a single unit may have filled are told by the other actions of their context.
        enough = n >= 2 * per_row
        assert enough.any()
        assert not enough.all()
        others = (s.sum(axis=1, keepdims=True) - s) / (n.sum(axis=1, keepdims=True) - n)
        mean, wider = np.where(enough, s / n, others), np.sqrt(np.where(enough, n / np.maximum(n - per_row, 1), 1.0))
        own = np.bincount(log.unit, c * wider[log.x, log.a] * (log.r - mean[log.x, log.a]))
        assert half_variance(points["dr"]) == pytest.approx(factor * (own**2).sum() / events**2, rel=1e-6)

    def test_events_that_are_units_of_their_own_change_nothing(self, log):
        whole = table(log, event=np.arange(len(log.x)))
        names = {"context": "x", "action": "a", "reward": "r"}
        plain, single = ws.read_events(whole, **names), ws.read_events(whole, unit="event", **names)
        options = {"tau": TAU, "estimators": ("ips", "snips", "dr"), "interval": "gamma"}
        one, other = (ws.evaluate({"p": policy(SMALL)}, events, **options)["p"] for events in (plain, single))
        assert (one.value, one.lower, one.upper) == pytest.approx((other.value, other.lower, other.upper), rel=1e-9)
        for own, by_unit in zip(one.estimates, other.estimates, strict=True):
            assert (own.lower, own.upper) == pytest.approx((by_unit.lower, by_unit.upper), rel=1e-3)

    @pytest.mark.parametrize("source", ["model", "back-off"])
    def test_propensities_that_are_no_counts(self, log, source):
        wide = ws.evaluate({"p": policy(SMALL)}, read(log), tau=TAU, propensities=source)["p"]
        narrow = ws.evaluate({"p": policy(SMALL)}, read(log, unit=()), tau=TAU, propensities=source)["p"]
        assert wide.certified_lower is None
        assert wide.best.value == pytest.approx(narrow.best.value, rel=0.1)
        assert wide.best.upper - wide.best.lower > 1.2 * (narrow.best.upper - narrow.best.lower)


def half_variance(point, delta=0.05):
    """The variance that a score interval was made with."""
    from statistics import NormalDist

    z, center = NormalDist().inv_cdf(1 - delta / 2), (point.lower + point.upper) / 2
    spread = point.value * (1 - point.value)
    # (2v + k) / (2 (1 + k)) is the centre, k = z^2 * variance / spread.
    k = (2 * center - 2 * point.value) / (1 - 2 * center)
    return k * spread / z**2


class TestBetsArePlannedWithoutRewards:
    def test_other_rewards_change_no_bet(self, log, monkeypatch):
        from warmstart.estimators.intervals import unit_bets

        planned = []
        affordable = unit_bets.affordable
        monkeypatch.setattr(unit_bets, "affordable", lambda *args: planned.append(affordable(*args)) or planned[-1])
        found = unit_totals(log, decisions(SMALL))
        bets = []
        for earned in (found.gains.earned, np.zeros_like(found.gains.earned)):
            planned.clear()
            unit_bets.gain_evidence([unit_bets.replace(found.gains, earned=earned)], found.traffic, 3.0)
            bets.append(np.concatenate(planned))
        assert np.array_equal(*bets)
        assert len(bets[0])


class TestReturningUnits:
    """What was learned from earlier rewards of the same units is not independent of their later ones."""

    def test_nothing_is_certified_of_decisions_fitted_on_them(self, log):
        events = read(log, time="when")
        train, test = events.split(at=int(1_700_000_000 + 600 * len(log.x) * 0.52))
        until = {"p": (1_700_000_000 + 60)}
        result = ws.evaluate({"p": policy(SMALL)}, test, train=train, trained_until=until, **BOUNDS)
        shared = len({*log.unit[: len(train)]} & {*log.unit[len(train) :]})
        assert shared == 1
        assert result["p"].certified_lower is None
        assert ws.select(result).left_out == ("p",)
        assert (result["p"].gain.certified.lower, result["p"].gain.certified.upper) == (None, None)
        assert "No end is certified." in str(result)
        remark = next(remark for remark in result.remarks if remark.code == "WS108")
        assert "'p'" in remark.text
        fixed = ws.evaluate({"p": policy(SMALL)}, test, train=train, trained_until="never", **BOUNDS)
        assert fixed["p"].certified_lower is not None
        assert all(remark.code != "WS108" for remark in fixed.remarks)

    def test_training_has_no_say_in_bets(self, log, monkeypatch):
        levels = []
        train, test = read(log, time="when").split(at=int(1_700_000_000 + 600 * len(log.x) * 0.52))
        hall = importlib.import_module("warmstart.pipeline.evaluate")
        known = hall.known_levels
        monkeypatch.setattr(hall, "known_levels", lambda *a, **k: levels.append(known(*a, **k)) or levels[-1])
        hall.evaluate({"p": policy(SMALL)}, test, train=train, **BOUNDS)
        assert (levels[0].rate, levels[0].icc) == (None, None)

    def test_new_units_are_no_reason_for_doubt(self, log):
        train, test = read(log).split(folds=2)[0]
        result = ws.evaluate({"p": policy(SMALL)}, test, train=train, **BOUNDS)
        assert result["p"].certified_lower is not None
        assert all(remark.code != "WS108" for remark in result.remarks)


class TestEdges:
    def test_of_few_units_no_variance_is_told(self, log):
        few = replace_units(log, log.unit % 5)
        result = ws.evaluate({"p": policy(SMALL)}, read(few), tau=TAU, estimators=("dr", "snips", "ips"))["p"]
        assert [(point.lower, point.upper) for point in result.estimates] == [(None, None)] * 3
        assert result.gain.estimated.lower is None
        assert result.lower < result.value < result.upper

    def test_without_any_reward_the_gamma_interval_is_not_empty(self, log):
        none = replace(log, r=np.zeros_like(log.r))
        result = ws.evaluate({"p": policy(SMALL)}, read(none), interval="gamma", **BOUNDS)["p"]
        assert result.lower == 0
        assert result.upper > 0.01

    @pytest.mark.parametrize("interval", ["bets", "kl", "hoeffding", "bernstein", "gamma", "bootstrap"])
    def test_a_policy_that_matches_nothing(self, interval):
        rows = pa.table({"x": [0, 0, 1, 1], "a": [0, 0, 1, 1], "r": [0.0, 1, 0, 1], "user": [1, 2, 3, 3]})
        events = ws.read_events(rows, context="x", action="a", reward="r", unit="user")
        never = pa.table({"x": [0, 1], "a": [1, 0]})
        result = ws.evaluate({"p": never}, events, interval=interval, **BOUNDS)["p"]
        assert (result.value, result.lower, result.upper) == (0, 0, 0)

    def test_a_policy_that_decides_half_of_each_context_is_bounded(self, log):
        half = pa.table({**policy(SMALL).to_pydict(), "probability": np.full(SMALL.contexts, 0.5)})
        whole, part = (
            ws.evaluate({"p": one}, read(log), **BOUNDS)["p"].gain.certified for one in (policy(SMALL), half)
        )
        assert part.upper - part.lower == pytest.approx((whole.upper - whole.lower) / 2, rel=0.05)

    def test_a_log_of_many_events_and_few_units(self, log, monkeypatch):
        from warmstart.events import visits

        monkeypatch.setattr(visits, "ENOUGH_EVENTS", 1)
        whole = ws.evaluate({"p": policy(SMALL)}, read(log), tau=TAU)["p"]
        monkeypatch.undo()
        same = ws.evaluate({"p": policy(SMALL)}, read(log), tau=TAU)["p"]
        assert (whole.best.lower, whole.best.upper) == pytest.approx((same.best.lower, same.best.upper), rel=1e-9)

    def test_windows_that_overlap_are_refused_per_unit_too(self, log):
        events = read(log, time="when")
        with pytest.raises(ws.UsageError, match="overlap"):
            ws.evaluate("logging", events, train=events, per="unit")


def replace_units(log, unit):
    return replace(log, unit=unit)


class TestOrigin:
    """The same log with rewards r, 1 - r and 2r - 1 leads to the same statements."""

    @pytest.mark.parametrize("split", [False, True])
    def test_bounds_do_not_depend_on_it(self, log, split):
        found = []
        for rewards, span in ((log.r, (0, 1)), (1 - log.r, (0, 1)), (2 * log.r - 1, (-1, 1))):
            rows = table(log).set_column(2, "r", [rewards])
            names = {"context": "x", "action": "a", "reward": "r", "time": "when", "unit": "user"}
            events = ws.read_events(rows, ranges={"r": span}, **names)
            train, test = events.split(fraction=0.5) if split else (None, events)
            found.append(ws.evaluate({"p": policy(SMALL)}, test, train=train, **BOUNDS)["p"])
        plain, flipped, wide = found
        gain, other, wider = (one.gain.certified for one in found)
        assert (flipped.certified_lower, flipped.certified_upper) == pytest.approx(
            (1 - plain.certified_upper, 1 - plain.certified_lower), abs=1e-7
        )
        assert (other.lower, other.upper) == pytest.approx((-gain.upper, -gain.lower), abs=1e-7)
        assert (wide.lower, wide.upper) == pytest.approx((2 * plain.lower - 1, 2 * plain.upper - 1), abs=1e-7)
        assert (wider.lower, wider.upper) == pytest.approx((2 * gain.lower, 2 * gain.upper), abs=1e-7)


class TestPerUnit:
    def test_it_is_the_mean_of_units(self, log):
        visits = np.bincount(log.unit)
        result = ws.evaluate("logging", read(log), per="unit", estimators=())["logging"]
        assert result.value == pytest.approx((np.bincount(log.unit, log.r) / visits).mean(), rel=1e-12)
        assert result.events == len(visits)

    def test_windows_count_for_themselves(self, log):
        train, test = read(log, time="when").split(fraction=0.4)
        rows = test.engine.fetch_arrow(test.table.select("unit_0", "reward")).to_pandas()
        expected = rows.groupby("unit_0")["reward"].mean().mean()
        assert ws.evaluate("logging", test, train=train, per="unit", estimators=())["logging"].value == pytest.approx(
            expected
        )

    def test_it_needs_a_unit(self, log):
        with pytest.raises(ws.UsageError, match="without a unit"):
            ws.evaluate("logging", read(log, unit=()), per="unit")
        with pytest.raises(ws.UsageError, match="training log was read without a unit"):
            ws.evaluate("logging", read(log), train=read(draw(SMALL, 1), unit=()), per="unit")
        with pytest.raises(ws.UsageError, match="'event' or 'unit'"):
            ws.evaluate("logging", read(log), per="user")


class TestWords:
    def test_the_result_says_whose_intervals_these_are(self, log):
        result = ws.evaluate("logging", read(log))
        assert result.log.unit == ("user",)
        assert result.first.units == SMALL.users
        text = str(result)
        assert "by unit (user)" in text
        assert "independent across units" in text
        assert result.to_dict()["per"] == "event"

    def test_without_a_unit_it_says_what_users_would_do(self, log):
        text = str(ws.evaluate("logging", read(log, unit=())))
        assert "unit=... (--unit)" in text
        assert "independent across events" in text


def test_several_columns_are_one_unit(log):
    pairs = table(log, half=log.unit % 2, rest=log.unit // 2)
    names = {"context": "x", "action": "a", "reward": "r"}
    single, both = (
        ws.evaluate({"p": policy(SMALL)}, ws.read_events(pairs, unit=unit, **names), **BOUNDS)["p"]
        for unit in ("user", ["half", "rest"])
    )
    assert (single.lower, single.upper) == pytest.approx((both.lower, both.upper), rel=1e-12)


def test_the_engine_sends_no_unit(log, monkeypatch):
    """Only sums and histograms leave the engine: no result has a row for every unit."""
    from warmstart.engine.duckdb_engine import DuckDBEngine

    largest = []
    fetch = DuckDBEngine.fetch_arrow
    many = draw(Users(users=4_000, visits=3, contexts=4, actions=2, rate=0.5, shape=None, sticky="none"), 1)
    events = read(many)

    def counting(self, expression):
        found = fetch(self, expression)
        largest.append(found.num_rows)
        return found

    monkeypatch.setattr(DuckDBEngine, "fetch_arrow", counting)
    ws.evaluate({"p": pa.table({"x": np.arange(4), "a": [0, 1, 0, 1]})}, events, tau=TAU)
    assert largest
    assert max(largest) < 2_000


def test_a_simulated_world_knows_the_value_per_unit():
    users = ws.UserSettings(visits=5, heavy_users=10, heavy_visits=60, heavy_rate=0.4, frailty=1.0)
    world = replace(ws.TableWorld.month(contexts=4, actions=4, events_per_day=40), users=users)
    names = {"context": "context", "action": "action", "reward": "reward", "time": "time", "unit": "user"}
    events = ws.read_events(world.draw(seed=1), **names)
    found = ws.evaluate("uniform", events, tau=0.01, per="unit", estimators=())["uniform"]
    by_unit, by_event = (ws.true_value("uniform", world, events=events, per=per) for per in ("unit", "event"))
    assert by_unit > 1.1 * by_event
    assert found.certified_lower < by_unit < found.certified_upper


@pytest.mark.spark
@pytest.mark.parametrize("per", [pytest.param("event", marks=pytest.mark.slow), "unit"])
def test_spark_says_the_same(log, spark, per):
    options = {"tau": TAU, "estimators": ("dr", "snips"), "per": per}
    local, cluster = (
        ws.evaluate({"p": policy(SMALL)}, read(log, engine=engine), **options)["p"] for engine in ("duckdb", spark)
    )
    assert np.array(numbers(cluster)) == pytest.approx(np.array(numbers(local)), abs=1e-9)


def numbers(estimate):
    certified, estimated = estimate.gain.certified, estimate.gain.estimated
    points = [end for point in estimate.estimates for end in (point.value, point.lower, point.upper)]
    ends = [estimate.value, estimate.lower, estimate.upper, certified.lower, certified.upper]
    return [*ends, estimated.lower, estimated.upper, *points]
