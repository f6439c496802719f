"""Counts within epochs through the API against a reference by event; and later epochs have no say in earlier ones."""

import importlib
from dataclasses import astuple, replace

import ibis
import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import brentq
from tests.support.epoch_worlds import NAMES, World, as_table, day, decisions, draw, reference, version

import warmstart as ws
from warmstart.estimators.intervals import EpochTotals, Points
from warmstart.estimators.intervals.epoch_bets import MANY_DOUBLINGS, MANY_WEIGHTS, UNKNOWN
from warmstart.estimators.tau import CANDIDATES, RATES
from warmstart.estimators.weights import TauByEpoch

TAU = 0.05
SO_FAR = [f"{name}_so_far" for name in ("value", "lower", "upper", "gain", "gain_lower", "gain_upper")]
USERS = World("thompson", epochs=5, events=150, visits=5)


def read(log, **options):
    table = log if isinstance(log, pa.Table) else log.table
    return ws.read_events(table, **{**NAMES, "epoch": "day", **options})


def value(policies, events, **options):
    settings = {"propensities": "counts", "tau": TAU, "estimators": ()}
    if isinstance(policies, pa.Table):
        return ws.evaluate({"p": policies}, events, trained_until="never", **settings | options)["p"]
    return ws.evaluate(policies, events, **settings | options)


def at_epoch_ends(estimate):
    return np.array([[getattr(epoch, name) for name in SO_FAR] for epoch in estimate.by_epoch])


class TestAgainstNumPy:
    @pytest.mark.parametrize(
        ("world", "epoch", "start"),
        [
            (World("thompson", epochs=5, events=200), "day", 0),
            (World("epsilon-greedy", epochs=12, events=60), "version", 0),
            (World("greedy", epochs=5, events=200, turnover=True), "day", 2),
            (World("epsilon-greedy", epochs=5, events=200, drift=3.0), "version", 1),
        ],
        ids=["thompson", "epsilon-greedy", "greedy", "drift"],
    )
    def test_value_and_gain_at_every_epoch_end(self, world, epoch, start):
        log, h, delta = draw(world, 0), decisions(world), 0.2
        events, train = read(log, epoch=epoch), None
        if start:
            train, events = events.split(at=day(start))
        found, exact = value(as_table(h), events, train=train, delta=delta), reference(log, h, tau=TAU, start=start)
        expected = exact.binned.at_epoch_ends(delta)
        assert at_epoch_ends(found) == pytest.approx(expected, abs=1e-8)
        assert at_epoch_ends(found)[:, [0, 3]] == pytest.approx(expected[:, [0, 3]], abs=1e-12)
        # Bins cost next to nothing.
        wide = np.array([0, 0.05, 0.05] * 2) * np.repeat(np.ptp(expected.reshape(-1, 2, 3), axis=2), 3, axis=1)
        assert (np.abs(expected - exact.at_epoch_ends(delta)) <= wide + 1e-12).all()
        labels = [day(e)[:10] if epoch == "day" else version(e) for e in range(start, world.epochs)]
        assert [one.epoch for one in found.by_epoch] == labels
        assert [one.events for one in found.by_epoch] == [world.events] * len(labels)
        assert {one.tau for one in found.by_epoch} == {TAU}
        supported = np.cumsum([one.supported * one.events for one in found.by_epoch])
        assert supported == pytest.approx(exact.supported, abs=1e-9)
        for one, points in zip(found.by_epoch, exact.binned.value.epochs, strict=True):
            alone = EpochTotals.of([points])
            ends = np.array([alone.earned(), *alone.ends(delta)]) / one.events
            assert (one.value, one.lower, one.upper) == pytest.approx(ends, abs=1e-8)

    def test_the_window_is_what_is_known_at_its_end(self):
        world = World(epochs=4, events=150)
        found = value(as_table(decisions(world)), read(draw(world, 1)), tau="auto")
        last, gain = found.by_epoch[-1], found.gain.certified
        assert (found.value, found.lower, found.upper) == pytest.approx(so_far(last, "value lower upper"), abs=1e-9)
        assert (gain.difference, gain.lower, gain.upper) == pytest.approx(
            so_far(last, "gain gain_lower gain_upper"), abs=1e-9
        )
        lost = (
            1 - sum(one.value for one in value(as_table(decisions(world)), read(rewarded(draw(world, 1)))).by_epoch) / 4
        )
        fixed = value(as_table(decisions(world)), read(draw(world, 1)))
        assert (fixed.certified_lower, fixed.certified_upper) == pytest.approx((fixed.lower, fixed.upper + lost))
        assert (found.tau, found.guarantee) == (last.tau, "finite-sample")

    @pytest.mark.parametrize("start", [0, 2])
    def test_units_inside_epochs(self, start):
        log, h = draw(USERS, 0), decisions(USERS)
        events, train = read(log, unit="user"), None
        if start:
            train, events = events.split(at=day(start))
        found = value(as_table(h), events, train=train)
        expected = reference(log, h, tau=TAU, start=start, unit=log.user).binned.at_epoch_ends(0.05)
        assert at_epoch_ends(found) == pytest.approx(expected, abs=1e-9)
        assert found.units == 30 * (5 - start)
        assert found.certified_lower == pytest.approx(expected[-1, 1], abs=1e-9)
        by_event = value(as_table(h), read(log)) if not start else None
        assert by_event is None or by_event.upper - by_event.lower < 0.8 * (found.upper - found.lower)

    def test_joint_ends_share_delta(self):
        world = World(epochs=4, events=150)
        log, policies = draw(world, 0), {f"p{seed}": as_table(decisions(world, seed)) for seed in (1, 2)}
        found = value(policies, read(log), delta=0.2, trained_until="never")
        for seed in (1, 2):
            ends = reference(log, decisions(world, seed), tau=TAU).binned.at_epoch_ends(0.1)[-1]
            one = found[f"p{seed}"]
            assert (one.joint_lower, one.joint_upper) == pytest.approx(ends[1:3], abs=1e-8)
            assert one.gain.certified.joint_lower == pytest.approx(ends[4], abs=1e-8)


def rewarded(log):
    return replace(log, r=np.ones_like(log.r))


class TestByHand:
    """The formula of the module, written out: two epochs of a coin, and one policy."""

    X = np.repeat([0, 1], 40)
    A = np.tile([0, 0, 1, 1, 1], 16)
    R = (np.arange(80) % 7 < 2).astype(float)

    @staticmethod
    def ends(epochs, delta):
        """Epochs of (c, reward, expected reward or None); by event, with a root finder."""

        def lower(flip):
            c, r, _ = epochs[0]
            bets = np.sqrt(2 * np.log(40) / (c**2).sum() * 4) * 2.0**MANY_DOUBLINGS
            bets, weights = np.append(bets, 0.9 / c.max()), np.append(MANY_WEIGHTS, 2.0)
            logs = np.zeros(len(bets))
            for c, r, e in epochs:
                won = 1 - r if flip else r
                for j, bet in enumerate(bets):
                    kinds = UNKNOWN if e is None else [1 - e if flip else e]
                    chances = [
                        np.prod([factor(bet * size, g, b) for size, g in zip(c, won, strict=True)]) for b in kinds
                    ]
                    logs[j] += np.log(np.mean(chances))
            most = sum(c.sum() for c, _, _ in epochs)

            def over(q):
                return np.log(weights @ np.exp(logs - bets * q) / weights.sum()) - np.log(2 / delta)

            return (brentq(over, 0, most, xtol=1e-13) if over(0) > 0 else 0.0), most

        (below, most), (above, _) = lower(flip=False), lower(flip=True)
        return below, most - above

    def test_the_library_says_the_same(self):
        halves = self.X == 0, self.X == 1
        epochs = []
        for half, e in zip(halves, (None, 0.25), strict=True):
            share = np.mean(self.A[half] == 1)
            c = np.where(self.A[half] == 1, 1 / share, 0.0)
            epochs.append((c[c > 0], self.R[half][c > 0], e))
        points = [
            Points(
                c, r, np.full(len(c), 1.0 if e is None else e), np.ones(len(c)), (c**2).sum() / 4, known=e is not None
            )
            for c, r, e in epochs
        ]
        for delta in (0.05, 0.5):
            for k in (1, 2):
                expected = self.ends(epochs[:k], delta)
                assert EpochTotals.of(points[:k]).ends(delta) == pytest.approx(expected, abs=1e-9)
                assert expected[0] < sum((c * r).sum() for c, r, _ in epochs[:k]) < expected[1]

    def test_the_api_says_the_same(self):
        """Expected rewards of the second epoch: those of the first, half an event of either kind added, and rounded."""
        times = [f"2026-10-0{1 + x}T00:00:{i % 40:02}" for i, x in enumerate(self.X)]
        log = pa.table({"context": np.zeros(80, dtype=int), "action": self.A, "reward": self.R, "time": times})
        epochs = []
        n, rewards = 40, self.R[:40].sum()
        rate = (rewards + 0.5) / (n + 1)
        e = round((rewards + 20 * rate) / (n + 20) * 32) / 32
        for half, expected in ((slice(40), None), (slice(40, 80), e)):
            c = np.where(self.A[half] == 1, 1 / np.mean(self.A[half] == 1), 0.0)
            epochs.append((c[c > 0], self.R[half][c > 0], expected))
        policy = pa.table({"context": [0], "action": [1]})
        found = value(policy, read(log), delta=0.3)
        for k, one in enumerate(found.by_epoch, 1):
            ends = np.array(self.ends(epochs[:k], 0.3)) / (40 * k)
            assert (one.lower_so_far, one.upper_so_far) == pytest.approx(ends, rel=1e-3)


def factor(risk, g, b):
    return (1 + risk * (g - b)) * np.exp(risk * b) if risk * b <= 0.95 else 1 + risk * g


class TestTau:
    @pytest.mark.parametrize("start", [0, 2])
    def test_each_epochs_is_the_best_for_what_was_shown_until_its_end(self, start):
        world = World("thompson", epochs=7, events=150)
        log, h = draw(world, 0), decisions(world)
        events, train = read(log), None
        if start:
            train, events = events.split(at=day(start))
        found = value(as_table(h), events, train=train, tau="auto")
        taus, expected, lost, squares, shown = np.array(CANDIDATES), [], 0.0, 0.0, 0.0
        for epoch in range(start, world.epochs):
            of, before = log.epoch == epoch, log.r[log.epoch < epoch]
            counts = np.zeros((world.contexts, world.actions))
            np.add.at(counts, (log.x[of], log.a[of]), 1.0)
            n_x = counts.sum(axis=1, keepdims=True)
            c = h[:, :, None] / np.maximum(counts / np.maximum(n_x, 1), 1e-300)[:, :, None].clip(taus)
            lost = lost + (n_x * h * (counts > 0)).sum() - (c * counts[:, :, None]).sum(axis=(0, 1))
            squares = squares + (c * c * counts[:, :, None]).sum(axis=(0, 1))
            shown += of.sum()
            rate = (before.sum() + 0.5) / (len(before) + 1) if len(before) else None
            rates = np.array(RATES if rate is None else [rate])[:, None]
            errors = np.sqrt((rates * lost / shown) ** 2 + rates * squares / shown**2)
            regret = (errors / errors.min(axis=1, keepdims=True)).max(axis=0)
            expected.append(
                max(tau for tau, r in zip(CANDIDATES, regret, strict=True) if r <= regret.min() * (1 + 1e-9))
            )
        assert [one.tau for one in found.by_epoch] == expected
        assert len(set(expected)) > 1
        assert found.tau_choice.tau == expected[-1]
        exact = reference(log, h, tau=expected, start=start).binned.at_epoch_ends(0.05)
        assert at_epoch_ends(found) == pytest.approx(exact, abs=1e-8)

    def test_contributions_are_those_of_the_value(self):
        world = World("thompson", epochs=7, events=150)
        log, h = draw(world, 0), decisions(world)
        found = ws.evaluate({"p": as_table(h)}, read(log), propensities="counts", contributions=10, estimators=())
        taus = np.array([one.tau for one in found["p"].by_epoch])
        counts = np.zeros((world.epochs, world.contexts, world.actions))
        np.add.at(counts, (log.epoch, log.x, log.a), 1.0)
        share = (counts / np.maximum(counts.sum(axis=2, keepdims=True), 1))[log.epoch, log.x, log.a]
        part = np.bincount(log.x, h[log.x, log.a] / np.maximum(share, taus[log.epoch]) * log.r)
        expected = {x: amount / part.sum() for x, amount in enumerate(part) if amount}
        assert {one.name[0]: one.share for one in found.contributions if one.kind == "context"} == pytest.approx(
            expected
        )


TURNOVER = World("thompson", epochs=7, events=120, actions=6, turnover=True)
POLICIES = ("logging", "uniform", "uniform-all", "decided", "fitted")


@pytest.fixture(scope="module")
def turnover():
    """A log whose actions and contexts come and go: training and evaluated window, and a policy learned in training."""
    train, events = read(draw(TURNOVER, 0)).split(at=day(2))
    return train, events, ws.fit(train)


def named(policies, fitted):
    some = {"decided": as_table(decisions(TURNOVER)), "fitted": fitted}
    return {name: some.get(name, name) for name in policies}


def compared(turnover, policies=POLICIES, *, epochs, **options):
    """By policy: by_epoch of a window that ends with an epoch, and that of the whole one, cut there."""
    train, events, fitted = turnover
    options = {"train": train, "tau": "auto", **options}
    whole = value(named(policies, fitted), events, **options)
    for k in epochs:
        early = value(named(policies, fitted), events.until(day(2 + k)), **options)
        for name in policies:
            yield name, k, early[name], whole[name]


def so_far(one, names):
    """Some of what is known at the end of an epoch."""
    return tuple(getattr(one, f"{name}_so_far") for name in names.split())


def same(early, whole, k):
    """Whether the epochs of a shorter window say the same as the first ones of a longer."""
    assert len(early.by_epoch) == k
    told = [[astuple(one) for one in found.by_epoch[:k]] for found in (early, whole)]
    exact = [[(label, events, tau) for label, events, tau, *_ in some] for some in told]
    numbers = [np.array([one[3:] for one in some]) for some in told]
    return exact[0] == exact[1] and bool(np.allclose(*numbers, rtol=1e-11, atol=1e-12))


class TestPrefix:
    """Later epochs, which may react to rewards, have no say in earlier ones."""

    @pytest.mark.parametrize("live", [True, False])
    def test_a_shorter_log_says_what_the_longer_one_says_of_its_epochs(self, turnover, live):
        for name, k, early, whole in compared(turnover, epochs=(2,), live=live):
            assert same(early, whole, k), (name, k)
            ends = early.value, early.lower, early.upper
            assert ends == pytest.approx(so_far(whole.by_epoch[k - 1], "value lower upper"), abs=1e-9)

    @pytest.mark.parametrize(("feasible_from", "live"), [("evaluated", False), ("all", True)])
    def test_feasible_actions_of_the_window(self, turnover, feasible_from, live):
        options = {"feasible_from": feasible_from, "live": live}
        for _, k, early, whole in compared(turnover, ["uniform"], epochs=(2,), **options):
            assert same(early, whole, k)

    def test_without_training_by_a_column(self):
        log = draw(TURNOVER, 1)
        events = read(log, epoch="version")
        options = {"tau": "auto", "live": True}
        whole = value(["logging", "uniform", "uniform-all"], events, **options)
        early = value(["logging", "uniform", "uniform-all"], events.until(day(3)), **options)
        assert all(same(early[name], whole[name], 3) for name in ("logging", "uniform", "uniform-all"))

    @pytest.mark.parametrize("per", ["event", "unit"])
    def test_units(self, per):
        """Also where the heaviest unit comes late."""
        log = draw(USERS, 0)
        log = replace(log, user=np.where(log.epoch == 4, 10_000, log.user))
        policy, events = as_table(decisions(USERS)), read(log, unit="user")
        whole, early = (value(policy, some, tau="auto", per=per) for some in (events, events.until(day(3))))
        assert same(early, whole, 3)


class TestPrefixMutations:
    """What the prefix property is there to catch."""

    def test_a_tau_of_the_whole_window(self, turnover, monkeypatch):
        module = importlib.import_module("warmstart.estimators.estimate")
        choose = module.choose_tau_by_epoch

        def last(engine, rows, epochs):
            clip, choice, cost = choose(engine, rows, epochs)
            return TauByEpoch(((clip.steps[0][0], clip.last),)), choice, cost

        monkeypatch.setattr(module, "choose_tau_by_epoch", last)
        self.caught(turnover, "decided")

    @pytest.mark.parametrize("policy", ["uniform", "uniform-all", "fitted"])
    def test_live_actions_of_the_whole_window(self, turnover, monkeypatch, policy):
        def always(strata):
            shown = strata.table.select("action").distinct()
            return shown.cross_join(strata.table.select("epoch").distinct())

        monkeypatch.setattr(importlib.import_module("warmstart.policy.by_epoch"), "_live", always)
        self.caught(turnover, policy, live=True)

    def test_feasible_actions_of_later_epochs(self, turnover, monkeypatch):
        module = importlib.import_module("warmstart.policy.by_epoch")
        feasible = module._feasible
        always = {"since": ibis.null("int64")}
        monkeypatch.setattr(module, "_feasible", lambda *args: feasible(*args).mutate(**always))
        self.caught(turnover, "uniform", live=False, feasible_from="evaluated")

    def test_expected_rewards_of_the_whole_window(self, turnover, monkeypatch):
        module = importlib.import_module("warmstart.events.epoch_strata")
        rates = module._rates

        def later(strata, trained, rewards):
            table = rates(strata, trained, rewards)
            return table.mutate(rate_before=table.rate_before.mean().over(ibis.window()))

        monkeypatch.setattr(module, "_rates", later)
        self.caught(turnover, "decided")

    @staticmethod
    def caught(turnover, policy, **options):
        ((_, k, early, whole),) = compared(turnover, [policy], epochs=(2,), **options)
        assert not same(early, whole, k)


class TestOrigin:
    """Statements do not depend on where a reward has its origin, or which way it counts."""

    @pytest.mark.parametrize("start", [0, 1])
    def test_rewards_their_lack_and_another_scale(self, start):
        world = World("epsilon-greedy", epochs=4, events=120, rate=0.1)
        log, h = draw(world, 0), decisions(world)
        lack, scaled = replace(log, r=1 - log.r), replace(log, r=2 * log.r - 1)
        found = []
        for some, options in ((log, {}), (lack, {}), (scaled, {"ranges": {"reward": (-1, 1)}})):
            events, train = read(some, **options), None
            if start:
                train, events = events.split(at=day(start))
            found.append(value(as_table(h), events, train=train, tau="auto"))
        plain, lacking, scaled = (at_epoch_ends(one) for one in found)
        taus = [[epoch.tau for epoch in one.by_epoch] for one in found]
        assert taus[0] == taus[1] == taus[2]
        totals = reference(log, h, tau=taus[0], start=start)
        most = np.array([now.most for now in totals.value.standings]) / totals.events
        assert lacking[:, 0] == pytest.approx(most - plain[:, 0], abs=1e-12)
        assert lacking[:, [2, 1]] == pytest.approx(most[:, None] - plain[:, [1, 2]], abs=1e-9)
        assert lacking[:, [3, 5, 4]] == pytest.approx(-plain[:, 3:], abs=1e-9)
        assert scaled[:, :3] == pytest.approx(2 * plain[:, :3] - 1, abs=1e-9)
        assert scaled[:, 3:] == pytest.approx(2 * plain[:, 3:], abs=1e-9)
        own = [[(one.value, one.lower, one.upper) for one in each.by_epoch] for each in found]
        assert np.array(own[2]) == pytest.approx(2 * np.array(own[0]) - 1, abs=1e-9)

    def test_training_without_a_reward_or_without_its_lack(self):
        log = draw(World("epsilon-greedy", epochs=3, events=120), 0)
        h, found = decisions(log.world), []
        for never in (0.0, 1.0):
            r = np.where(log.epoch == 0, 0.0, log.r)
            train, events = read(replace(log, r=np.abs(r - never))).split(at=day(1))
            found.append(value(as_table(h), events, train=train, tau="auto"))
        (plain, lacking), taus = map(at_epoch_ends, found), [[epoch.tau for epoch in one.by_epoch] for one in found]
        assert taus[0] == taus[1]
        assert lacking[:, [3, 5, 4]] == pytest.approx(-plain[:, 3:], abs=1e-9)


class TestOneEpoch:
    def test_it_is_counted_as_without_epochs(self):
        log = draw(World("epsilon-greedy", epochs=3, events=150), 0)
        table = log.table.append_column("same", [["one"] * len(log.x)])
        policies = {
            "p": as_table(decisions(log.world)),
            "uniform": "uniform",
            "all": "uniform-all",
            "logging": "logging",
        }
        options = {"tau": "auto", "live": False, "estimators": ("dr", "snips", "dm", "ips"), "trained_until": "never"}
        with_it, without = (value(policies, read(table, epoch=epoch), **options) for epoch in ("same", None))
        for one, other in zip(with_it, without, strict=True):
            assert (one.tau, one.value, one.matched) == (
                other.tau,
                pytest.approx(other.value, abs=1e-12),
                other.matched,
            )
            assert astuple(one.support) == pytest.approx(astuple(other.support), abs=1e-12)
            assert one.gain.certified.difference == pytest.approx(other.gain.certified.difference, abs=1e-12)
            assert one.effective_sample_size == pytest.approx(other.effective_sample_size)
            for own, others in zip(one.estimates, other.estimates, strict=True):
                assert astuple(own)[1:] == pytest.approx(astuple(others)[1:], abs=1e-9), own.estimator
            assert len(one.by_epoch) == 1
            assert other.by_epoch == ()


class TestPointEstimates:
    def test_of_a_long_log_they_are_near_the_truth(self):
        world = World("epsilon-greedy", epochs=10, events=3_000)
        log, h = draw(world, 0), decisions(world)
        estimators = ("dr", "snips", "dm", "ips", "switch-dr", "shrunk-dr")
        found = value(as_table(h), read(log), tau=0.01, estimators=estimators)
        truth = (h * world.means).sum(axis=1)[log.x].mean()
        points = {point.estimator: point for point in found.estimates}
        assert points["ips"].value == pytest.approx(found.value, abs=1e-12)
        for name in ("dr", "snips", "switch-dr", "shrunk-dr"):
            assert points[name].value == pytest.approx(truth, rel=0.1), name
            assert points[name].lower < truth < points[name].upper, name
        assert points["dm"].value == pytest.approx(truth, rel=0.1)
        totals = reference(log, h, tau=0.01)
        weight = sum(points.total for points in totals.value.epochs)
        assert points["snips"].value == pytest.approx(totals.value.earned() / weight, abs=1e-12)
        assert found.gain.estimated.difference == pytest.approx(points["dr"].value - log.r.mean(), abs=1e-12)

    def test_what_was_never_shown_is_left_to_the_model(self):
        world = World("greedy", epochs=6, events=600)
        found = value(as_table(decisions(world)), read(draw(world, 0)), estimators=("dr",))
        assert found.best.on_model > 0.1
        assert 0 < found.best.value < 1


class TestUnitsThatComeBack:
    @pytest.fixture(scope="class")
    def log(self):
        return draw(replace(USERS, sticky="all"), 0)

    def test_nothing_is_certified(self, log):
        result = ws.evaluate(
            {"p": as_table(decisions(USERS))}, read(log, unit="user"), propensities="counts", trained_until="never"
        )
        found = result["p"]
        assert (found.certified_lower, found.certified_upper, found.guarantee) == (None, None, "approximate")
        certified = found.gain.certified
        assert (certified.lower, certified.upper, certified.joint_lower) == (None, None, None)
        assert found.by_epoch == ()
        assert found.lower < found.value < found.upper
        assert [remark.code for remark in result.remarks] == ["WS109"]
        assert ws.select(result).policy is None

    def test_first_epochs_alone_certify(self, log):
        first = read(log, unit="user").first_epochs()
        result = ws.evaluate({"p": as_table(decisions(USERS))}, first, propensities="counts", trained_until="never")
        assert result["p"].certified_lower is not None
        assert not result.remarks
        _, place = np.unique(log.user, return_index=True)
        kept = log.epoch == log.epoch[place][log.user]
        expected = replace(log, **{name: getattr(log, name)[kept] for name in ("x", "a", "r", "epoch", "mean", "user")})
        taus = [one.tau for one in result["p"].by_epoch]
        ends = reference(expected, decisions(USERS), tau=taus, unit=expected.user).binned.at_epoch_ends(0.05)
        assert at_epoch_ends(result["p"]) == pytest.approx(ends, abs=1e-9)

    def test_one_that_comes_back_once_is_enough(self):
        log = draw(USERS, 0)
        table = replace(log, user=np.where(np.arange(len(log.x)) == len(log.x) - 1, 0, log.user))
        found = value(as_table(decisions(USERS)), read(table, unit="user"))
        assert found.certified_lower is None

    def test_a_policy_that_saw_these_rewards_has_no_bounds_by_epoch(self):
        events = read(draw(World(epochs=3, events=120), 0))
        found = value({"p": ws.fit(events)}, events)["p"]
        assert found.certified_lower is None
        ends = {
            getattr(one, name) for one in found.by_epoch for name in vars(one) if "lower" in name or "upper" in name
        }
        assert ends == {None}


def test_units_of_as_many_events_count_the_same():
    log = draw(USERS, 0)
    per_event, per_unit = (
        value(as_table(decisions(USERS)), read(log, unit="user"), per=per) for per in ("event", "unit")
    )
    assert at_epoch_ends(per_unit) == pytest.approx(at_epoch_ends(per_event), abs=0.005)
    assert [one.events for one in per_unit.by_epoch] == [30] * 5
    assert per_unit.certified_lower == pytest.approx(per_event.certified_lower, abs=0.005)


def numbers(found):
    """All numbers of an evaluation, in order."""
    if isinstance(found, dict):
        return [number for name in found if name != "elapsed" for number in numbers(found[name])]
    if isinstance(found, list | tuple):
        return [number for part in found for number in numbers(part)]
    return [float(found)] if isinstance(found, int | float) else []


@pytest.mark.spark
@pytest.mark.parametrize(
    ("unit", "policies"),
    [
        ("user", ["uniform"]),
        pytest.param("user", ["uniform-all", "logging", "p"], marks=pytest.mark.slow),
        pytest.param((), ["uniform", "uniform-all", "logging", "p"], marks=pytest.mark.slow),
    ],
)
def test_spark_says_the_same(spark, unit, policies):
    log, found = draw(USERS, 0), []
    table = as_table(decisions(USERS))
    for engine in ("duckdb", spark):
        events = read(log, epoch="version", unit=unit, engine=engine)
        options = {"propensities": "counts", "estimators": ("dr", "snips") if "p" in policies else ()}
        result = ws.evaluate({name: table if name == "p" else name for name in policies}, events, **options)
        found.append(numbers([one.to_dict() for one in result]))
    assert len(found[0]) > 80 * len(policies)
    assert found[1] == pytest.approx(found[0], abs=1e-9)


class TestBeforeAndBetween:
    """Units that were there before the window, and epochs that had not ended when the next began."""

    @pytest.mark.parametrize("trained", [True, False])
    def test_units_known_from_before_certify_nothing(self, trained):
        log = draw(USERS, 0)
        known = replace(log, user=np.where(log.epoch == 1, log.user % 30, log.user))
        for one, certified in ((log, True), (known, False)):
            train, events = read(one, unit="user").split(at=day(1))
            found = value({"p": as_table(decisions(USERS))}, events, train=train if trained else None)
            assert (found["p"].certified_lower is not None) == certified
            assert ("WS109" in [remark.code for remark in found.remarks]) != certified

    def test_epochs_of_a_column_that_overlap_certify_nothing(self):
        log = draw(World(epochs=3, events=120), 0)
        swapped = log.epoch.copy()
        swapped[[119, 120]] = swapped[[120, 119]]
        for epoch, certified in ((log.epoch, True), (swapped, False)):
            table = log.table.set_column(5, "version", pa.array([f"v{e}" for e in epoch]))
            names = {"context": "context", "action": "action", "reward": "reward", "time": "time", "epoch": "version"}
            found = value({"p": as_table(decisions(log.world))}, ws.read_events(table, **names))
            assert (found["p"].certified_lower is not None) == certified
            assert ("WS110" in [remark.code for remark in found.remarks]) != certified
            assert all((one.gain_lower_so_far is not None) == certified for one in found["p"].by_epoch)

    def test_training_without_times_is_refused(self):
        log = draw(World(epochs=3, events=60), 0)
        names = {"context": "context", "action": "action", "reward": "reward"}
        with pytest.raises(ws.UsageError, match="training comes before"):
            value(as_table(decisions(log.world)), read(log), train=ws.read_events(log.table, **names))
