"""The certified gain: its level where outcomes are enumerated, mutations that are caught, and the reward's origin."""

import math
from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.support import betting
from tests.support.logs import decisions, moment, random_log, read, some_policy

import warmstart as ws
from warmstart.estimators.gain import LEVELS
from warmstart.estimators.intervals import Coefficients, GainSums, gain_ends, normal_ends

DELTAS = [0.05, 0.5]


def one_context(i, j, baseline, *, shown):
    """A context in which events showed a, then b, which the policy takes; i and j of them with a reward."""
    n = np.array(shown, dtype=float)
    u = np.array([-1.0, n.sum() / n[1] - 1])
    by_u = Coefficients(u, n, np.array([i, j], dtype=float))
    if baseline is None:
        return GainSums(by_u, None, n.sum(), (u * u * n).sum())
    return GainSums(by_u, np.full(2, baseline), n.sum(), (u * u * n).sum() * max(baseline * (1 - baseline), 0.01))


@pytest.mark.parametrize("shown", [(20, 6), pytest.param((40, 10), marks=pytest.mark.slow)])
@pytest.mark.parametrize("baseline", [None, 0.0, 0.25, 0.875])
@pytest.mark.parametrize("delta", DELTAS)
def test_the_gain_misses_at_most_half_of_delta(delta, baseline, shown):
    """Every outcome, whatever was expected."""
    outcomes = [(i, j) for i in range(shown[0] + 1) for j in range(shown[1] + 1)]
    ends = np.array([gain_ends(one_context(i, j, baseline, shown=shown), delta) for i, j in outcomes])
    for means in [(0.02, 0.02), (0.3, 0.05), (0.05, 0.3), (0.01, 0.6), (0.5, 0.5), (0.95, 0.9), (0.99, 0.5)]:
        truth = means[1] - means[0]
        first, second = (stats.binom.pmf(range(n + 1), n, mean) for n, mean in zip(shown, means, strict=True))
        probability = np.array([first[i] * second[j] for i, j in outcomes])
        assert probability[ends[:, 1] < truth].sum() <= delta / 2
        assert probability[ends[:, 0] > truth].sum() <= delta / 2


def pairs(plus, minus, ones, contexts, *, evaluated_means):
    """Contexts in which two actions were shown once each: a alone, b alone, both or none of them with a reward."""
    none = contexts - plus - minus - ones
    counts = np.array([plus, plus, minus, minus, ones, ones, none, none], dtype=float)
    u, rewards = np.tile([1.0, -1.0], 4), np.array([1, 0, 0, 1, 1, 1, 0, 0]) * counts
    baselines = np.repeat([0.5, 0.5, 1.0, 0.0], 2) if evaluated_means else np.full(8, 0.5)
    return GainSums(Coefficients(u, counts, rewards), baselines, 2.0 * contexts, 2 * contexts * 0.25)


@pytest.mark.parametrize("evaluated_means", [False, True])
def test_expected_rewards_must_not_come_from_the_evaluated_window(evaluated_means):
    """Sixty pairs, mean rewards of a half: with the means of the window itself, ends miss more than they may."""
    contexts, delta, missed = 60, 1e-3, 0.0
    for plus in range(contexts + 1):
        # No gain is certified of as many rewards lost as won.
        for minus in range(min(plus, contexts + 1 - plus)):
            ones = (contexts - plus - minus) // 2
            lower, _ = gain_ends(pairs(plus, minus, ones, contexts, evaluated_means=evaluated_means), delta)
            if lower > 0:
                rest = contexts - plus - minus
                missed += stats.multinomial.pmf([plus, minus, rest], contexts, [0.25, 0.25, 0.5])
    assert (missed > delta / 2) == evaluated_means


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rate", [0.02, 0.5, 0.97])
def test_the_ends_use_up_the_wealth_exactly(rate, delta, known):
    """What lies a millionth beyond an end has been ruled out, with 2 / delta, and nothing that lies inside it."""
    for seed in range(3):
        world = betting.window(seed, rate=rate)
        s = world.draw(np.random.default_rng(seed), 1)
        ends = gain_ends(betting.gain_sums(world, s[0], known=known), delta)
        for side, out in ((0, 1e-6), (1, -1e-6)):
            end = ends[1 - side]
            assert betting.gain_misses(world, s, delta, known=known, truth=end + out)[0, side]
            assert not betting.gain_misses(world, s, delta, known=known, truth=end - out)[0, side]


@pytest.mark.parametrize("known", [False, True])
def test_the_ends_of_one_minus_the_reward_are_these_negated(known):
    world = betting.window(0, rate=0.2)
    s = world.draw(np.random.default_rng(0), 1)[0]
    flipped = world._replace(expected=1 - world.expected)
    one, other = (
        gain_ends(betting.gain_sums(some, rewards, known=known), 0.05)
        for some, rewards in ((world, s), (flipped, world.n - s))
    )
    assert one == pytest.approx((-other[1], -other[0]), abs=1e-12)


def test_the_gain_never_exceeds_what_rewards_of_one_would_give():
    """Ten events, one of which showed the action that the policy takes: it can gain .9 at the most."""
    lower, upper = gain_ends(one_context(0, 1, None, shown=(9, 1)), 0.05)
    assert -0.9 <= lower < upper == pytest.approx(0.9)


@pytest.mark.parametrize(("rate", "most"), [(0.02, 1.9), (0.2, 1.55), (0.5, 1.5), (0.97, 1.9)])
def test_the_interval_is_not_much_wider_than_the_normal_one(rate, most):
    """About sqrt(2 ln 40) = 2.7 standard deviations to a side and some for the average of bets, against 1.96."""
    world = betting.window(0, rate=rate, events=20_000)
    s = world.draw(np.random.default_rng(0), 1)[0]
    variance = (world.u**2 * world.n * world.means * (1 - world.means)).sum() / world.n.sum() ** 2
    wide, normal = np.diff(gain_ends(betting.gain_sums(world, s), 0.05)), np.diff(normal_ends(0.0, variance, 0.05))
    assert normal < wide < most * normal


def through_evaluate(rows, policy, *, engine, trained, reward_range):
    events, options = read(rows, engine, ranges={"reward": reward_range}), {}
    if trained:
        options["train"], events = events.split(at=moment(5))
    return ws.evaluate(policy, events, tau=0.1, estimators=["ips"], allow_unknown_actions=True, **options).policies[0]


@pytest.mark.slow_on_spark
@pytest.mark.parametrize("trained", [True, False])
@pytest.mark.parametrize("policy", ["uniform", "mine"])
def test_the_rewards_r_and_1_minus_r_and_2r_minus_1_lead_to_the_same_statements(engine, policy, trained):
    rows = random_log(1)
    given = {"mine": decisions(some_policy(rows))} if policy == "mine" else policy
    plain, less, wide = (
        through_evaluate(
            [(x, a, low + (high - low) * r, day) for x, a, r, day in rows],
            given,
            engine=engine,
            trained=trained,
            reward_range=tuple(sorted((low, high))),
        )
        for low, high in ((0, 1), (1, 0), (-1, 1))
    )
    kept = plain.value + less.value
    assert (less.lower, less.upper) == pytest.approx((kept - plain.upper, kept - plain.lower), abs=1e-9)
    certified = less.certified_lower, less.certified_upper
    assert certified == pytest.approx((1 - plain.certified_upper, 1 - plain.certified_lower), abs=1e-9)
    assert less.gain.certified.difference == pytest.approx(-plain.gain.certified.difference, abs=1e-9)
    assert (less.gain.certified.lower, less.gain.certified.upper) == pytest.approx(
        (-plain.gain.certified.upper, -plain.gain.certified.lower), abs=1e-9
    )
    for name in ("lower", "upper", "certified_lower", "certified_upper"):
        assert getattr(wide, name) == pytest.approx(2 * getattr(plain, name) - 1, abs=1e-9), name
    for name in ("difference", "lower", "upper", "joint_lower"):
        assert getattr(wide.gain.certified, name) == pytest.approx(2 * getattr(plain.gain.certified, name), abs=1e-9), (
            name
        )


def test_levels_of_expected_rewards_are_symmetric_about_a_half():
    """Ties too: 1 / 64 is as far from 0 as from 1 / 32."""
    import ibis

    from warmstart.estimators.gain import level

    expected = [k / 64 for k in range(65)]
    found = ibis.memtable({"e": expected, "rest": [1 - e for e in expected]})
    found = found.select(one=level(found.e), other=level(found.rest)).to_pyarrow().to_pydict()
    assert [LEVELS - level for level in found["other"]] == found["one"]
    assert all(abs(level / LEVELS - e) <= 1 / 64 for level, e in zip(found["one"], expected, strict=True))


def test_the_number_of_bins_is_bounded():
    from warmstart.estimators.gain import RATIO, SMALLEST

    sizes = math.log(1 / SMALLEST) * 2 + math.log(1 / 0.0005)
    assert (LEVELS + 1) * sizes / math.log(RATIO) < 20_000


@pytest.mark.parametrize("divided", [{"unit": "u"}, {"unit": "u", "epoch": "day"}, {}])
def test_of_a_policy_that_does_as_logging_does_hidden_segments_leave_everything_possible(divided):
    """Nothing varies without doubt, so that no bet can be planned."""
    log = {"x": ["p"] * 40, "a": ["a", "b"] * 20, "r": [1, 0, 0, 1] * 10, "u": [f"u{i // 4}" for i in range(40)]}
    log["day"] = [date(2026, 10, 1 + i // 20) for i in range(40)]
    half = pa.table({"x": ["p", "p"], "a": ["a", "b"], "probability": [0.5, 0.5]})
    events = ws.read_events(pa.table(log), context="x", action="a", reward="r", time="day", **divided)
    options = {"propensities": "counts", "tau": 0.1, "doubt": 1.5}
    gain = ws.evaluate({"half": half}, events, **options)["half"].gain.certified
    assert gain.difference == pytest.approx(0)
    assert -0.5 <= gain.lower < 0 < gain.upper <= 0.5


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("divided", [{"unit": "u"}, {"unit": "u", "epoch": "day"}, {}])
def test_where_a_single_action_was_shown_a_guard_holds_under_every_doubt(divided, trained):
    """No unit's gain could vary, even under doubt."""
    log = {"x": ["p"] * 40, "a": ["a"] * 40, "r": [1, 0, 0, 1] * 10, "u": [f"u{i // 4}" for i in range(40)]}
    log["day"] = [date(2026, 10, 1 + i // 20) for i in range(40)]
    events = ws.read_events(pa.table(log), context="x", action="a", reward="r", time="day", **divided)
    train, events = events.split(fraction=0.5) if trained else (None, events)
    options = {"propensities": "counts", "tau": 0.1, "doubt": 1.5, "guards": ["r>=-0.1"]}
    [guard] = ws.evaluate("constant:a", events, train=train, **options)["constant:a"].guards
    assert (guard.status, guard.tipping) == ("holds", 20)
