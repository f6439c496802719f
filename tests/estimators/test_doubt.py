"""Doubt: what certified bounds and gains are if the context lacks something that the logger used."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.support.doubt_worlds import gain_bins, hidden_world
from tests.support.logs import decisions, random_log, read, some_policy

import warmstart as ws
from warmstart.estimators.intervals import doubted_gain_ends, gain_ends, tipping_point
from warmstart.estimators.intervals.doubt import DOUBTS
from warmstart.estimators.units import UnitSums

BOUNDS = {"tau": 0.05, "estimators": ()}
MORE_ORIGINS = [((1.0, 0.0), False), ((-1.0, 1.0), True)]


def by_hand(cells, doubt):
    """The worst expected earnings of a deterministic policy per context: shown ones as they are, others divided."""
    total = 0.0
    for n, rewards, context_n in cells:
        mean = rewards / n
        total += n * mean + (context_n - n) * max(mean / doubt, 1 - doubt * (1 - mean))
    return total


@pytest.fixture(scope="module")
def confounded():
    """Two context columns; a third, g, decides what is shown and what it earns, and is left out of the second log."""
    rng = np.random.default_rng(0)
    x, z, g = rng.integers(0, 8, 20_000), rng.integers(0, 2, 20_000), rng.random(20_000) < 0.5
    a = (rng.random(20_000) < np.where(g, 0.7, 0.3)).astype(int)
    r = rng.random(20_000) < np.where(a == 1, 0.3, 0.2) * np.where(g, 1.5, 1.0)
    log = pa.table({"x": x, "z": z, "g": g.astype(str), "a": a.astype(str), "r": r.astype(float)})
    full, hidden = (
        ws.read_events(log, context=context, action="a", reward="r") for context in (["x", "z", "g"], ["x", "z"])
    )
    truth = (0.3 * np.where(g, 1.5, 1.0)).mean()
    logging = (np.where(a == 1, 0.3, 0.2) * np.where(g, 1.5, 1.0)).mean()
    return full, hidden, truth, truth - logging


def test_a_hidden_segment_makes_bounds_wrong_and_its_own_doubt_makes_them_right(confounded):
    _, hidden, truth, gain = confounded
    plain = ws.evaluate("constant:1", hidden, **BOUNDS)["constant:1"]
    assert plain.certified_lower > truth
    assert plain.gain.certified.joint_lower > gain
    # Shown events earn (.7 * 1.5 + .3) / (.3 * 1.5 + .7) = 1.174 times what the others would.
    doubted = ws.evaluate("constant:1", hidden, tau=0.05, doubt=1.18)["constant:1"]
    assert doubted.certified_lower < truth < doubted.certified_upper
    assert doubted.gain.certified.joint_lower < gain < doubted.gain.certified.joint_upper
    assert doubted.gain.estimated.lower < gain < doubted.gain.estimated.upper
    # Sums of several threads differ in their last digits.
    ends = (plain.value, plain.lower, plain.upper)
    assert (doubted.value, doubted.lower, doubted.upper) == pytest.approx(ends, rel=1e-12)


def test_leaving_out_a_column_tells_what_a_doubt_is_like(confounded):
    full, *_ = confounded
    found = ws.evaluate("constant:1", full, tau=0.05, doubt=1.5)["constant:1"].doubt
    factors = {one.column: one.factor for one in found.columns}
    assert factors["g"] == pytest.approx(1.174, abs=0.03)
    assert max(factors["x"], factors["z"]) < 1.02


def test_by_epoch_leaving_out_a_column_compares_the_events_of_an_epoch():
    """On the second day the hidden column does the contrary, to what is shown and to rewards."""
    rng = np.random.default_rng(0)
    n = 12_000
    x, day, g = rng.integers(0, 3, n), np.repeat([0, 1], n // 2), rng.random(n) < 0.5
    a = rng.random(n) < np.where(g == (day == 0), 0.7, 0.3)
    r = rng.random(n) < 0.3 * np.where(g, np.where(day == 0, 1.5, 1 / 1.5), 1.0)
    log = {"x": x, "g": g.astype(str), "a": a.astype(int).astype(str), "r": r.astype(float)}
    log = pa.table(log | {"day": 1_700_000_000 + 86_400 * day})

    def factors(**more):
        events = ws.read_events(log, context=["x", "g"], action="a", reward="r", time="day", **more)
        found = ws.evaluate("constant:1", events, tau=0.05, live=False, doubt=1.5, estimators=())["constant:1"]
        return {one.column: one.factor for one in found.doubt.columns}

    assert factors()["g"] < 1.05
    by_epoch = factors(epoch="day")
    # (.7 * 1.5 + .3) / (.3 * 1.5 + .7) on the first day, as much on the second; chance makes some hundredths.
    assert by_epoch["g"] == pytest.approx(1.174, abs=0.08)
    assert by_epoch["x"] < 1.02


def test_no_doubt_changes_nothing(confounded):
    _, hidden, *_ = confounded
    plain, one = (ws.evaluate("constant:1", hidden, doubt=doubt, **BOUNDS)["constant:1"] for doubt in (None, 1))
    for name in ("lower", "upper", "joint_lower", "joint_upper"):
        assert getattr(one.gain.certified, name) == pytest.approx(getattr(plain.gain.certified, name), abs=1e-12)
    assert (one.certified_lower, one.certified_upper) == pytest.approx(
        (plain.certified_lower, plain.certified_upper), abs=1e-12
    )
    assert one.doubt.tipping == plain.doubt.tipping
    assert plain.doubt.factor == 1
    assert (plain.doubt.lower, plain.doubt.upper) == (
        plain.gain.certified.joint_lower,
        plain.gain.certified.joint_upper,
    )


def test_the_tipping_point_is_where_the_conclusion_falls(confounded):
    _, hidden, *_ = confounded
    tipping = ws.evaluate("constant:1", hidden, **BOUNDS)["constant:1"].doubt.tipping
    before, after = (
        ws.evaluate("constant:1", hidden, doubt=tipping + step, **BOUNDS)["constant:1"].gain.certified.joint_lower
        for step in (0.0, 0.02)
    )
    assert before > 0 > after


@pytest.mark.parametrize(
    ("reward_range", "trained"),
    [((1.0, 0.0), True), ((-1.0, 1.0), False), *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE_ORIGINS)],
)
def test_doubt_does_not_depend_on_the_rewards_origin(duckdb, reward_range, trained):
    low, high = reward_range
    rows = random_log(1)
    changed = [(x, a, low + (high - low) * r, day) for x, a, r, day in rows]

    def doubted(rows, ends):
        events, options = read(rows, duckdb, ranges={"reward": ends}), {}
        if trained:
            options["train"], events = events.split(fraction=0.5)
        policy = {"mine": decisions(some_policy(random_log(1)))}
        return ws.evaluate(policy, events, tau=0.1, doubt=1.4, estimators=(), allow_unknown_actions=True, **options)[
            "mine"
        ]

    plain, other = doubted(rows, (0.0, 1.0)), doubted(changed, tuple(sorted(reward_range)))
    scale = high - low
    ends = sorted(scale * end for end in (plain.doubt.lower, plain.doubt.upper))
    assert [other.doubt.lower, other.doubt.upper] == pytest.approx(ends, abs=1e-9)
    certified = sorted(low + scale * end for end in (plain.certified_lower, plain.certified_upper))
    assert [other.certified_lower, other.certified_upper] == pytest.approx(certified, abs=1e-9)
    assert other.doubt.tipping == plain.doubt.tipping
    assert plain.doubt.guarantee == "finite-sample"


def test_in_expectation_the_lower_end_is_the_worst_that_a_doubt_allows():
    """Many events: what is left between the end and the worst by hand is the width of the interval alone."""
    world = hidden_world(0, 2.0)
    n, s = 1e4 * world.shown, 1e4 * (world.n * world.means).sum(axis=1)
    large = type(world)(1e4 * world.n, world.means, world.h)
    lower, _ = doubted_gain_ends(gain_bins(large, s, known=True), 2.0, 0.05)
    chosen = [(n[x, 0], s[x, 0], n[x].sum()) for x in range(len(n))]
    worst = (by_hand(chosen, 2.0) - s.sum()) / n.sum()
    assert lower == pytest.approx(worst, abs=2e-4)
    assert lower < worst
    assert by_hand(chosen, 2.0) / n.sum() == pytest.approx(world.value, abs=1e-9)


@pytest.mark.parametrize("known", [False, True])
def test_ends_widen_with_doubt_and_begin_at_those_without(known):
    world = hidden_world(2, 1.5)
    bins = gain_bins(world, world.draw(np.random.default_rng(0)), known=known)
    ends = [doubted_gain_ends(bins, doubt, 0.05) for doubt in (1.0, 1.1, 1.5, 3.0, 20.0)]
    assert ends[0] == pytest.approx(gain_ends(bins.plain, 0.05), abs=1e-12)
    assert all(later[0] < earlier[0] and later[1] > earlier[1] for earlier, later in itertools.pairwise(ends))


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("above", [False, True])
def test_the_tipping_point_leaves_no_smaller_doubt_out(known, above):
    """At every doubt up to it the sign is certain, whatever the next ones say; beyond the next one it is not."""
    world = hidden_world(3, 1.3, rate=0.3)
    world = world if above else world.flipped()
    bins = gain_bins(world, world.draw(np.random.default_rng(1)), known=known)
    tipping = tipping_point(bins, 0.05, above=above)
    if tipping is None:
        lower, upper = gain_ends(bins.plain, 0.05)
        assert lower <= 0 if above else upper >= 0
        return
    sure = [doubt for doubt in DOUBTS.tolist() if doubt <= tipping]
    ends = [doubted_gain_ends(bins, doubt, 0.05) for doubt in sure]
    assert all(lower > 0 if above else upper < 0 for lower, upper in ends)
    after = doubted_gain_ends(bins, DOUBTS[len(sure)], 0.05)
    assert after[0] <= 0 if above else after[1] >= 0


def test_estimates_without_counts_have_an_approximate_tipping_point(confounded):
    _, hidden, _truth, gain = confounded
    options = {"tau": 0.05, "propensities": "back-off", "coarser": [["x"]]}
    plain = ws.evaluate("constant:1", hidden, **options)["constant:1"]
    assert plain.gain.certified is None
    assert plain.doubt.guarantee == "approximate"
    doubted = ws.evaluate("constant:1", hidden, doubt=1.18, **options)["constant:1"]
    assert doubted.gain.estimated.lower < gain < doubted.gain.estimated.upper
    assert plain.gain.estimated.lower > gain
    for step, sign in ((-1e-6, 1), (1e-6, -1)):
        at = ws.evaluate("constant:1", hidden, doubt=plain.doubt.tipping + step, **options)["constant:1"]
        assert sign * at.gain.estimated.lower > 0


@pytest.mark.parametrize(("policy", "doubt"), [("constant:1", 1.18), ("uniform", 6.0)])
def test_values_without_counts_allow_for_a_doubt_of_what_was_not_shown(confounded, policy, doubt):
    _, hidden, truth, _ = confounded
    options = {"tau": 0.05, "propensities": "back-off", "coarser": [["x"]], "estimators": ["dr", "snips"]}
    plain, doubted = (ws.evaluate(policy, hidden, doubt=rho, **options)[policy] for rho in (None, doubt))
    log = hidden.engine.fetch_arrow(hidden.table).to_pydict()
    h = np.array([0.5 if policy == "uniform" else float(a == "1") for a in log["action"]])
    # What the policy's choices earned where they were shown, and how often they were: neither is in doubt.
    earned, shown = (h * np.array(log["reward"])).mean(), h.mean()

    def worst(value, weight):
        others, most = value - earned, max(weight - shown, value - earned)
        return max(others / doubt, doubt * others - (doubt - 1) * most) - others, (
            min(doubt * others, most - (most - others) / doubt) - others
        )

    weight = plain.mean_weight
    pairs = [(plain, doubted, weight), *((a, b, 1.0) for a, b in zip(plain.estimates, doubted.estimates, strict=True))]
    for one, other, heavy in pairs:
        below, above = worst(one.value, heavy)
        assert other.value == pytest.approx(one.value, abs=1e-12)
        assert other.lower == pytest.approx(max(one.lower + below, 0), abs=1e-9)
        assert other.upper == pytest.approx(min(one.upper + above, 1), abs=1e-9)
        assert other.lower < one.lower < one.upper < other.upper
    if policy == "constant:1":
        assert plain.best.lower > truth
        assert doubted.best.lower < truth < doubted.best.upper
        assert doubted.lower < truth


def test_with_counts_best_estimates_allow_for_a_doubt_too(confounded):
    _, hidden, truth, _ = confounded
    plain, doubted = (ws.evaluate("constant:1", hidden, tau=0.05, doubt=rho)["constant:1"] for rho in (None, 1.18))
    assert plain.best.lower > truth
    assert doubted.best.lower < truth < doubted.best.upper
    logging = ws.evaluate("logging", hidden, tau=0.05, doubt=1.18)["logging"].best
    assert logging == ws.evaluate("logging", hidden, tau=0.05)["logging"].best


@pytest.mark.parametrize("trained", [False, True])
def test_sums_by_unit_under_doubt_are_those_of_every_event(monkeypatch, trained):
    """A policy of several actions, one of them not supported, on users who come back."""
    rng = np.random.default_rng(3)
    n, tau, doubt = 4000, 0.05, 1.6
    x, user, day = rng.integers(0, 5, n), rng.integers(0, 500, n), np.repeat([0, 5], n // 2)
    a = (rng.random(n)[:, None] > np.array([0.6, 0.98])).sum(axis=1)
    r = (rng.random(n) < 0.2 + 0.2 * (a == 1)).astype(float)
    h = rng.dirichlet(np.ones(3), 5)
    log = pa.table({"x": x, "a": a.astype(str), "r": r, "u": user + n * day, "day": 1_700_000_000 + 86_400 * day})
    policy = {"x": np.repeat(np.arange(5), 3), "a": np.tile(["0", "1", "2"], 5), "probability": h.ravel()}
    events, options = ws.read_events(log, context="x", action="a", reward="r", time="day", unit="u"), {}
    if trained:
        options["train"], events = events.split(fraction=0.5)
        x, a, r, user = x[day > 0], a[day > 0], r[day > 0], user[day > 0]
    found, gains = [], UnitSums.gains
    monkeypatch.setattr(UnitSums, "gains", lambda *args: found.append((args[1:], gains(*args))) or found[-1][1])
    ws.evaluate({"mine": pa.table(policy)}, events, tau=tau, doubt=doubt, live=False, trained_until="never", **options)
    p = np.array([np.bincount(a[x == i], minlength=3) / (x == i).sum() for i in range(5)])
    own = h * (p >= tau)
    assert (own == 0).any()
    d, e = (own * (1 - p) / p)[x, a], (own.sum(axis=1, keepdims=True) - own)[x, a]
    used = [(*line, units) for line, units in found if line and line[0].slope in (1 / doubt, doubt)]
    # Without training both lines are bet on, each for some mean rewards; with it each side has its own.
    assert {line.slope for line, _ in used} == {1 / doubt, doubt}
    for line, units in used:
        u = line.slope * d - e
        won = (units.size * units.earned * units.units).sum() - units.offset
        assert won == pytest.approx((u * r).sum() + line.start * d.sum(), abs=1e-6)
        # No unit could earn less than its events could; a little more, where an event has both parts.
        assert np.abs(u).sum() <= units.total <= (line.slope * d + e).sum()


def test_by_unit_and_by_epoch_a_doubt_does_the_same_as_by_event():
    """Where every event is a unit of its own, and epochs are alike, bounds differ by what bets pay for them."""
    rng = np.random.default_rng(0)
    n = 4000
    x, day, u = rng.integers(0, 4, n), np.repeat(np.arange(4), n // 4), np.arange(n)
    a = rng.random(n) < 0.4
    r = (rng.random(n) < np.where(a, 0.4, 0.2)).astype(float)
    log = pa.table({"x": x, "a": a.astype(int).astype(str), "r": r, "u": u, "day": 1_700_000_000 + 86_400 * day})

    def doubted(**more):
        events = ws.read_events(log, context="x", action="a", reward="r", time="day", **more)
        found = ws.evaluate("constant:1", events, live=False, doubt=1.3, **BOUNDS)["constant:1"]
        assert found.doubt.guarantee == "finite-sample"
        assert len(found.doubt.curve) > 5
        return found

    plain = doubted()
    for divided in ({"unit": "u"}, {"epoch": "day"}, {"unit": "u", "epoch": "day"}):
        other = doubted(**divided)
        for name in ("certified_lower", "certified_upper"):
            assert getattr(other, name) == pytest.approx(getattr(plain, name), abs=0.02)
        for name in ("joint_lower", "joint_upper"):
            assert getattr(other.gain.certified, name) == pytest.approx(getattr(plain.gain.certified, name), abs=0.02)
        assert plain.doubt.tipping - 0.25 <= other.doubt.tipping <= plain.doubt.tipping + 0.05


@pytest.mark.parametrize("doubt", [0.9, math.inf, math.nan, -2, "1.5"])
def test_a_doubt_below_one_is_none(confounded, doubt):
    _, hidden, *_ = confounded
    with pytest.raises(ws.UsageError, match="doubt"):
        ws.evaluate("uniform", hidden, doubt=doubt)


def test_of_a_column_that_alone_decides_what_is_shown_nothing_can_be_told():
    """Without it shown and other events differ as much as can be; but nobody saw what the others would earn."""
    rng = np.random.default_rng(0)
    x, g = rng.integers(0, 4, 4000), rng.random(4000) < 0.5
    a = np.where(g, "1", "0")
    r = (rng.random(4000) < np.where(g, 0.6, 0.2)).astype(float)
    log = pa.table({"x": x, "g": g.astype(str), "a": a, "r": r})
    events = ws.read_events(log, context=["x", "g"], action="a", reward="r")
    found = ws.evaluate("constant:1", events, tau=0.05, doubt=2)
    assert {one.column: one.factor for one in found["constant:1"].doubt.columns}["g"] is None
    assert "cannot tell" in str(found.tables)


def test_where_one_action_was_shown_no_doubt_makes_a_gain():
    log = pa.table({"x": ["p", "q"] * 50, "a": ["1"] * 100, "r": [1.0, 0.0] * 50})
    events = ws.read_events(log, context="x", action="a", reward="r")
    for doubt in (1.0001, 5):
        gain = ws.evaluate("constant:1", events, doubt=doubt, **BOUNDS)["constant:1"].gain.certified
        assert (gain.joint_lower, gain.joint_upper) == (0, 0)


def test_what_is_not_sure_at_a_doubt_is_not_sure_at_a_larger_one():
    """Training means far off make other lines better at larger doubts."""
    rng = np.random.default_rng(0)

    def part(rates, day):
        a = rng.integers(0, 2, 3000)
        r = (rng.random(3000) < np.array(rates)[a]).astype(float)
        return {
            "x": np.zeros(3000, int),
            "a": a.astype(str),
            "r": r,
            "day": np.full(3000, 1_700_000_000 + 86_400 * day),
        }

    early, late = part((0.7, 0.7), 0), part((0.1, 0.4), 100)
    log = pa.table({name: np.concatenate([early[name], late[name]]) for name in early})
    train, test = ws.read_events(log, context="x", action="a", reward="r", time="day").split(fraction=0.5)
    results = [ws.evaluate("constant:1", test, train=train, doubt=doubt, **BOUNDS) for doubt in (1.2, 2, 3, 5)]
    ends = [found["constant:1"].gain.certified.joint_lower for found in results]
    assert ends == sorted(ends, reverse=True)
    tipping = results[0]["constant:1"].doubt.tipping
    assert all((end > 0) == (doubt <= tipping) for end, doubt in zip(ends, (1.2, 2, 3, 5), strict=True))


def test_the_sentence_names_both_ratios_and_where_rewards_are_counted_from(confounded):
    full, *_ = confounded
    line = next(text for text in ws.evaluate("constant:1", full, tau=0.05).headline if text.startswith("Doubt"))
    assert "times as large in events that got its choices as in the other events of their contexts" in line
    assert "(and at most as many times nearer to 1); beyond that, it might not be." in line


def test_of_rewards_that_do_not_begin_at_zero_the_factor_is_one_of_distances(confounded):
    full, *_ = confounded
    found = ws.evaluate("constant:1", full, tau=0.05)
    below = replace(found, reward_range=(-2.0, 1.0))
    line = next(text for text in below.headline if text.startswith("Doubt"))
    assert "times as far above -2 in events that got its choices as in the other events" in line
    assert "(and at most as many times nearer to 1); beyond that" in line
    assert "counted from -2, the lowest reward" in str(below)


def test_a_verdict_about_segments_stands_as_long_as_each_of_them_does():
    rng = np.random.default_rng(1)
    x, a = rng.integers(0, 6, 9000), rng.integers(0, 2, 9000)
    lift = np.array([0.3, 0.2, -0.2])[x % 3]
    r = (rng.random(9000) < 0.3 + lift * a).astype(float)
    log = pa.table({"x": x, "part": np.array(["p", "q", "s"])[x % 3], "a": a.astype(str), "r": r})
    events = ws.read_events(log, context=["x", "part"], action="a", reward="r")
    found = ws.evaluate("constant:1", events, tau=0.05, by="part")
    tips = {one.segment[0]: one.doubt.tipping for one in found.segments if one.policy == "constant:1"}
    assert found.verdict.segments == (("p",), ("q",))
    [line] = [text for text in found.headline if text.startswith("Doubt")]
    assert "better in each of these segments" in line
    assert f"up to {min(tips['p'], tips['q']):.2f} times" in line


def test_where_nothing_is_certified_the_estimate_still_has_a_tipping_point():
    """Users come back in later epochs."""
    rng = np.random.default_rng(2)
    day, a = np.repeat([0, 1], 1500), rng.integers(0, 2, 3000)
    r = (rng.random(3000) < 0.2 + 0.3 * a).astype(float)
    log = {"x": rng.integers(0, 3, 3000), "a": a.astype(str), "r": r, "u": rng.integers(0, 500, 3000)}
    log = pa.table(log | {"day": 1_700_000_000 + 86_400 * day})
    events = ws.read_events(log, context="x", action="a", reward="r", time="day", unit="u", epoch="day")
    found = ws.evaluate("constant:1", events, tau=0.05, live=False)
    doubt = found["constant:1"].doubt
    assert doubt.guarantee == "approximate"
    assert doubt.tipping == doubt.estimated_tipping > 1.5
    assert any("up to about" in line for line in found.headline)
