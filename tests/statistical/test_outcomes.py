"""Guards, segments, unknown outcomes and selection, against exact truths over 300 logs and more.

Rates are of wrong statements; what delta allows is stated with each. Every test also breaks its rule once, and sees
that the truth is missed too often then: a test that could not tell would prove nothing.
"""

import numpy as np
import pyarrow as pa
import pytest
from tests.support import outcome_worlds as worlds

import warmstart as ws

LOGS = 300
DELTAS = (0.05, 0.5)
slow = pytest.mark.slow


def test_bets_are_the_librarys():
    cells = worlds.world(1, events=500)
    draws = cells.draw(np.random.default_rng(0), 5)
    ends = np.array([worlds.segment_ends(cells, s, 0.05) for s in draws])
    assert worlds.lower_ends(cells, 0, draws, 0.05) == pytest.approx(ends[:, 0], abs=1e-9)
    for side, end in ((1, ends[:, 0]), (-1, ends[:, 1])):
        assert worlds.ruled_out(cells, 0, draws, end - side * 1e-7, 0.05, side).all()
        assert not worlds.ruled_out(cells, 0, draws, end + side * 1e-7, 0.05, side).any()


@pytest.mark.parametrize("known", [True, False], ids=["after training", "without"])
@pytest.mark.parametrize("origin", [0.0, 0.7])
@pytest.mark.parametrize("traffic", [lambda cells: cells, worlds.half_contested], ids=["all", "half contested"])
def test_the_bet_on_a_share_of_loggings_mean_is_the_librarys(traffic, origin, known):
    cells = traffic(worlds.world(1, events=500))
    draws = cells.draw(np.random.default_rng(0), 5)
    options = {"origin": origin, "known": known}
    for s in draws:
        ends = worlds.share_ends(cells, s, 0.05, **options)
        for side, end in zip((1, -1), ends, strict=True):
            assert worlds.share_ruled_out(cells, 0, s[None], end - side * 1e-7, 0.05, side, **options).all()
            assert not worlds.share_ruled_out(cells, 0, s[None], end + side * 1e-7, 0.05, side, **options).any()
        assert ends[0] < (cells.u[0] * s).sum() / (s.sum() + origin * cells.n.sum()) < ends[1]


@pytest.mark.parametrize("delta", DELTAS)
def test_ends_of_a_share_of_a_mean_with_another_origin_hold_the_truth(delta):
    """Rewards of 2 to 5, say: both ends, in worlds of few and of many events; without the origin they would miss."""
    for seed, events in enumerate([150, 3_000]):
        cells = worlds.world(seed, events=events, rate=0.2)
        draws = cells.draw(np.random.default_rng(seed), 1_000)
        truth = cells.changes[0] / (cells.mean + 2 / 3)
        missed = [worlds.share_ruled_out(cells, 0, draws, truth, delta, side, origin=2 / 3).mean() for side in (1, -1)]
        assert max(missed) <= delta / 2
    cells = worlds.world(4, events=30_000, rate=0.2)
    draws = cells.draw(np.random.default_rng(1), 200)
    truth = cells.changes[0] / (cells.mean + 2 / 3)
    forgotten = [worlds.share_ruled_out(cells, 0, draws, truth, delta, side).mean() for side in (1, -1)]
    assert max(forgotten) > delta


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rate", [0.5, pytest.param(0.02, marks=slow), pytest.param(0.97, marks=slow)])
@pytest.mark.parametrize("relative", [False, True])
def test_a_guard_at_its_boundary_is_proven_in_at_most_delta(rate, relative, delta):
    """Of eighty policies, each exactly at its limit, in logs of 2,000 events and of 150."""
    proven, unshared = [], []
    for seed, events in enumerate([2_000, 150]):
        cells = worlds.world(seed, rate=rate, events=events, policies=80)
        draws = cells.draw(np.random.default_rng(seed), LOGS)
        limits = cells.changes / cells.mean if relative else cells.changes
        options = {"relative": relative}
        for found, level in ((proven, delta / 80), (unshared, delta)):
            each = [worlds.guard_proven(cells, k, draws, limits[k], level, **options) for k in range(80)]
            found.append(np.any(each, axis=0).mean())
    assert max(proven) <= delta
    if rate == 0.5:
        assert max(unshared) > delta


@pytest.mark.parametrize("delta", DELTAS)
def test_a_relative_guard_knows_that_loggings_mean_is_estimated(delta):
    cells = worlds.settled()
    limit = cells.changes[0] / cells.mean
    draws = cells.draw(np.random.default_rng(0), 2_000)
    assert worlds.guard_proven(cells, 0, draws, limit, delta, relative=True).mean() <= delta / 2
    exact = worlds.guard_proven(cells, 0, draws, limit, delta, relative=True, exact_mean=True)
    # More than twice what delta allows an end.
    assert delta == 0.5 or exact.mean() > 0.06


def smallest_gain(cells, engine):
    """What the audit of a log with these cells says, rewards being as frequent as they are expected to be."""
    from warmstart.auditing import power
    from warmstart.events import open_cells

    n = cells.n.astype(int)
    s = np.round(n * cells.means).astype(int)
    x, a = np.indices(n.shape)
    repeats = np.stack([s, n - s], axis=-1).ravel()
    log = {name: np.repeat(np.repeat(part.ravel(), 2), repeats) for name, part in {"x": x, "a": a}.items()}
    log["r"] = np.repeat(np.tile([1.0, 0.0], n.size), repeats)
    events = ws.read_events(pa.table(log), context="x", action="a", reward="r", engine=engine)
    with open_cells(events, None) as opened:
        return power(opened, tau=0.05).smallest_gain


@pytest.mark.parametrize("rate", [0.02, pytest.param(0.2, marks=slow), pytest.param(0.5, marks=slow)])
def test_room_of_five_percent_is_proven_where_audit_says_so(rate, duckdb):
    """In logs as large as audit says suffice for 80 %; policies change nothing, and may raise the mean by 5 %."""
    options, proven = {"rate": rate, "contexts": 30, "policies": 20, "spread": 0.0, "even": 8.0}, {False: [], True: []}
    for seed in range(3):
        cells = worlds.world(seed, events=20_000, **options)
        for _ in range(3):
            gain = smallest_gain(cells, duckdb)
            cells = cells.sized((gain**2 / (1 + gain)) / (0.05**2 / 1.05))
        assert smallest_gain(cells, duckdb) == pytest.approx(0.05, abs=0.0005)
        assert cells.changes == pytest.approx(np.zeros(20), abs=1e-12)
        draws = cells.draw(np.random.default_rng(seed), LOGS)
        for relative, shares in proven.items():
            limit = 0.05 if relative else 0.05 * cells.mean
            how = {"relative": relative, "known": False}
            shares += [worlds.guard_proven(cells, k, draws, limit, 0.05, **how).mean() for k in range(20)]
    # 900 logs, each with twenty policies; audit states what is proven without a training window.
    for shares in proven.values():
        assert 0.77 <= np.mean(shares) <= 0.93


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("events", [8_000, pytest.param(600, marks=slow)])
def test_bounds_of_segments_miss_together_at_most_delta(events, delta):
    """Two policies in forty segments, of half of delta; the other half is for all traffic."""
    cells = worlds.world(3, rate=0.3, events=events, contexts=40, policies=2)
    parts = [cells.only([x]) for x in range(40)]
    rng = np.random.default_rng(0)
    draws = [part.draw(rng, LOGS) for part in parts]

    def missed(level):
        ends = [
            worlds.ruled_out(part, k, drawn, part.changes[k], level, side)
            for part, drawn in zip(parts, draws, strict=True)
            for k in (0, 1)
            for side in (-1, 1)
        ]
        return np.any(ends, axis=0).mean()

    assert missed(delta / (2 * 2 * 40)) <= delta / 2
    assert missed(delta) > delta


@pytest.mark.parametrize("delta", DELTAS)
def test_the_bound_of_new_where_proven_better_holds(delta):
    """Forty segments whose gains are about as large as can be proven: whichever are, their lower ends add up.

    An interval of its own for what was chosen would miss: what was chosen is what did better than expected.
    """
    rng, level = np.random.default_rng(0), delta / (2 * 40)
    parts, draws = [], []
    for seed in range(40):
        part = worlds.world(seed, rate=0.3, events=300, contexts=2, actions=2, even=50.0)
        u, n, limit = part.u[0], part.n, np.sqrt(2 * np.log(2 / level))
        close = limit * np.sqrt((u * u * n * 0.21).sum()) / n.sum()
        parts.append(part._replace(means=0.3 + close * np.where(u > 0, 1, -1)))
        draws.append(parts[-1].draw(rng, LOGS))
    lower = np.array([worlds.lower_ends(part, 0, drawn, level) for part, drawn in zip(parts, draws, strict=True)])
    sizes, truth = (np.array(some)[:, None] for some in zip(*((p.n.sum(), p.changes[0]) for p in parts), strict=True))
    chosen = lower > 0
    assert 0.2 < chosen.mean() < 0.8
    missed = (sizes * chosen * (lower - truth)).sum(axis=0) > 0
    assert missed.mean() <= delta / 2
    fresh = []
    for i in range(40):
        better = np.flatnonzero(chosen[:, i])
        some = [np.concatenate([getattr(parts[g], name) for g in better]) for name in ("n", "means")]
        together = worlds.Cells(*some, np.concatenate([parts[g].u for g in better], axis=1))
        end = worlds.segment_ends(together, np.concatenate([draws[g][i] for g in better]), delta)[0]
        fresh.append(end > together.changes[0])
    assert np.mean(fresh) > delta


def unknown(cells, drawn, rng, *, of_rewarded, of_others):
    """How many events with a reward and without one are unknown; mostly rewarded ones of what the policy takes."""
    taken = cells.u[0] > 0
    share = np.where(taken, of_rewarded, of_others)
    return rng.binomial(drawn, share), rng.binomial((cells.n - drawn).astype(int), of_others)


@pytest.mark.parametrize("delta", DELTAS)
def test_bounds_hold_where_large_outcomes_are_unknown(delta):
    """A policy that changes nothing seems to save, because its costs are mostly unknown: bounds know better."""
    cells = worlds.world(5, rate=0.3, events=4_000)
    rng = np.random.default_rng(0)
    drawn = cells.draw(rng, LOGS)
    rewarded, others = unknown(cells, drawn, rng, of_rewarded=0.5, of_others=0.02)
    known, positive, truth = drawn - rewarded, cells.u[0] > 0, cells.changes[0]
    missing = rewarded + others
    lower = worlds.ruled_out(cells, 0, known + np.where(positive, 0, missing), truth, delta, 1)
    upper = worlds.ruled_out(cells, 0, known + np.where(positive, missing, 0), truth, delta, -1)
    assert max(lower.mean(), upper.mean()) <= delta / 2
    # The events in which it is known, alone.
    alone = [worlds.Cells(cells.n - gone, cells.means, cells.u) for gone in missing[:40]]
    again = []
    for one, s in zip(alone, known, strict=False):
        p = one.n / one.n.sum(axis=1, keepdims=True)
        own = one._replace(u=np.where(cells.u[:1] > 0, 1 / p, 0.0) - 1)
        again.append(worlds.ruled_out(own, 0, s[None], truth, delta, -1)[0])
    assert np.mean(again) > 0.9


@pytest.mark.parametrize("delta", DELTAS)
def test_nothing_is_selected_among_policies_that_gain_nothing_or_break_a_guard(delta):
    """Eighty policies: half gain nothing and keep the guard, half gain much and are exactly at its limit."""
    gains = worlds.world(7, rate=0.3, events=2_000, policies=80, spread=0.0)
    costs = worlds.world(8, rate=0.3, events=2_000)._replace(n=gains.n, u=gains.u)
    limits = costs.changes + np.repeat([0.5, 0.0], 40)
    rng = np.random.default_rng(0)
    # What the second half gains is certain here; that of the first half is drawn.
    rewards, drawn = gains.draw(rng, LOGS), costs.draw(rng, LOGS)

    def selected(level):
        gaining = [worlds.ruled_out(gains, k, rewards, 0.0, level, 1) for k in range(40)]
        cheap = [worlds.guard_proven(costs, k, drawn, limits[k], level) for k in range(80)]
        assert np.mean(cheap[:40]) > 0.9
        return np.any([*(a & b for a, b in zip(gaining, cheap, strict=False)), *cheap[40:]], axis=0).mean()

    assert selected(delta / 80) <= delta
    assert selected(delta) > delta
