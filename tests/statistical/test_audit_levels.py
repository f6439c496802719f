"""How often an audit's checks fire where nothing is wrong, and where something is.

A check at a level of 5 % must fire in 5 % of the worlds without drift or reaction. Bounds are the .005 % and 99.995 %
points of the binomial distribution: a check of exactly that level fails a bound in 1 run of 10,000. Thousands of worlds
are checked by arrays of counts; that an audit gives the same p-values is seen on fewer.
"""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import gammaincc
from scipy.stats import binom, chi2, norm

import warmstart as ws
from warmstart.auditing import assumption_checks, context_drift
from warmstart.events import open_daily_cells

FIRST_DAY = 20_000 * 86_400_000_000
CONTEXTS, ACTIONS, DAYS = 15, 5, 20
LEVEL = 0.05


def draw(rng, shares_of_day, *, events_per_day, rate=None, days=DAYS, contexts=CONTEXTS, actions=ACTIONS, trend=None):
    """A log of daily choices: ``shares_of_day(day, clicks, shown)`` are pi[x, a], given all that happened before.

    ``clicks`` and ``shown`` are arrays [x, a] of the day before, None on the first day. Contexts are Zipf-like and
    independent; click rates are 2 to 5 %, or around ``rate``; ``trend(day)`` multiplies them.
    """
    traffic = 1 / np.arange(1, contexts + 1)
    means = rng.uniform(0.02, 0.05, size=(contexts, actions)) if rate is None else np.full((contexts, actions), rate)
    parts, clicks, shown = [], None, None
    for day in range(days):
        x = rng.choice(contexts, size=events_per_day, p=traffic / traffic.sum())
        until = shares_of_day(day, clicks, shown).cumsum(axis=1)[x]
        a = (rng.random((events_per_day, 1)) * until[:, -1:] >= until).sum(axis=1)
        click = (rng.random(events_per_day) < means[x, a] * (trend(day) if trend else 1)).astype(float)
        clicks, shown = np.zeros((2, contexts, actions))
        np.add.at(clicks, (x, a), click)
        np.add.at(shown, (x, a), 1)
        parts.append((x, a, click, np.full(events_per_day, day)))
    x, a, click, day = map(np.concatenate, zip(*parts, strict=True))
    second = np.tile(np.arange(events_per_day), days)
    time = pa.array(FIRST_DAY + day * 86_400_000_000 + second, pa.timestamp("us", "UTC"))
    return pa.table({"context": x, "action": a, "reward": click, "time": time})


def calendar(rng, *, random_share=0.0, contexts=CONTEXTS, actions=ACTIONS):
    """One action a context and day, changed every third night whatever it earned, and some chance."""
    chosen = rng.integers(actions, size=contexts)

    def shares(day, clicks, shown):
        switch = rng.random(contexts) < 1 / 3
        chosen[switch] = rng.integers(actions, size=switch.sum())
        return (1 - random_share) * np.eye(actions)[chosen] + random_share / actions

    return shares


def reacting(rng, sign, *, contexts=CONTEXTS, actions=ACTIONS):
    """Half of tomorrow's traffic goes to the action that did best (sign 1) or worst (-1) today, the rest to chance."""

    def shares(day, clicks, shown):
        if clicks is None:
            return np.full((contexts, actions), 1 / actions)
        score = sign * clicks / np.maximum(shown, 1) + 1e-6 * rng.random((contexts, actions))
        return 0.5 * np.eye(actions)[score.argmax(axis=1)] + 0.5 / actions

    return shares


def read(log, engine):
    return ws.read_events(log, context="context", action="action", reward="reward", time="time", engine=engine)


def p_values_of_audit(log, engine):
    """The p-values of drift, of reaction, of both with clusters, and of changing contexts."""
    with open_daily_cells(read(log, engine)) as daily:
        drift, reaction = assumption_checks(daily)
        contexts = context_drift(daily)
    return drift.p_value, reaction.p_value, drift.clustered_p, reaction.clustered_p, contexts.p_value


def p_values(log, *, contexts, actions=ACTIONS, days=DAYS):
    """The same by arrays of counts [day, x, a], for clicks and as many events every day."""
    x, a, click, time = (log[name].to_numpy() for name in ("context", "action", "reward", "time"))
    day = (time.astype("datetime64[us]").astype(np.int64) - FIRST_DAY) // 86_400_000_000
    n, s = np.zeros((2, days, contexts, actions))
    np.add.at(n, (day, x, a), 1)
    np.add.at(s, (day, x, a), click)
    traffic = n.sum(axis=2)
    next_share, following = np.full_like(n, np.nan), np.full((contexts, actions), np.nan)
    for d in reversed(range(days)):
        next_share[d] = following
        shown = traffic[d] > 0
        following[shown] = n[d, shown] / traffic[d, shown, None]
    ahead = ~np.isnan(next_share)
    drift = moments(n, s, np.arange(days)[:, None, None])
    reaction = moments(n * ahead, s * ahead, np.where(ahead, next_share, 0.0))
    (one, one_clustered), (other, other_clustered) = drift, reaction
    return one, other, one_clustered, other_clustered, halves_differ(traffic)


def moments(n, s, z):
    """U and its variance, cell by cell and with clusters, as p-values."""
    cell, clicks, nz, nzz, sz = (part.sum(axis=0) for part in (n, s, n * z, n * z * z, s * z))
    n1 = np.maximum(cell, 1)
    spread, variance = nzz - nz**2 / n1, (clicks - clicks**2 / n1) / np.maximum(cell - 1, 1)
    used = (cell >= 2) & (spread > 1e-12 * nzz) & (variance > 1e-12)
    moved = np.where(used, sz - nz / n1 * clicks, 0.0)
    variances = (variance * spread)[used].sum(), (moved.sum(axis=1) ** 2).sum()
    return [math.erfc(abs(moved.sum()) / math.sqrt(2 * v)) for v in variances]


def halves_differ(traffic):
    """Pearson's chi-square of contexts in two halves, as a gamma distribution with its mean and variance."""
    early, n = traffic[: len(traffic) // 2].sum(axis=0), traffic.sum(axis=0)
    early, n, total = early[n > 0], n[n > 0], traffic.sum()
    statistic = ((early - n / 2) ** 2 / (n / 4)).sum()
    mean = (len(n) - 1) * total / (total - 1)
    (v1, w1), (v2, w2) = (
        ((k - 1) * (total - k) / (total - 1), (total * (1 / sizes).sum() - k**2) / (total - 2))
        for k, sizes in ((len(n), n), (2, np.array([total / 2, total / 2])))
    )
    variance = 2 * total / (total - 3) * (v1 - w1) * (v2 - w2) + total**2 / (total - 1) * w1 * w2
    return gammaincc(mean**2 / variance, statistic * mean / variance)


def null_log(world, *, random_share=0.0, contexts=CONTEXTS):
    """A log without drift or reaction."""
    rng = np.random.default_rng([contexts, int(10 * random_share), world])
    logger = calendar(rng, random_share=random_share, contexts=contexts)
    return draw(rng, logger, events_per_day=150, contexts=contexts)


def null_p_values(worlds, *, random_share=0.0, contexts=CONTEXTS):
    """A row of p-values for every world without drift or reaction."""
    logs = (null_log(world, random_share=random_share, contexts=contexts) for world in range(worlds))
    return np.array([p_values(log, contexts=contexts) for log in logs])


NULLS = [{"random_share": 0.0}, {"random_share": 0.3}, {"contexts": 400}]


@pytest.mark.parametrize("worlds", [2, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("null", NULLS, ids=["deterministic", "random", "rare contexts"])
def test_an_audit_gives_the_p_values_of_the_arrays(duckdb, worlds, null):
    for world in range(worlds):
        log = null_log(world, **null)
        expected = p_values(log, contexts=null.get("contexts", CONTEXTS))
        assert p_values_of_audit(log, duckdb) == pytest.approx(expected, rel=1e-6)


def hold_to_level(found, level):
    """Hold the share of p-values below a level to the level; those with clusters may stay below it."""
    worlds = len(found)
    fired = (found < level).sum(axis=0)
    fewest, most = binom.ppf([0.00005, 0.99995], worlds, level)
    drift, reaction, clustered_drift, clustered_reaction, contexts = fired
    assert fewest <= drift <= most
    assert fewest <= reaction <= most
    assert clustered_drift <= most
    assert clustered_reaction <= most
    assert fewest <= contexts <= most


def test_checks_are_as_surprised_as_they_should_be_where_nothing_is_wrong():
    """All p-values tell more than the few alarms: squares of z follow chi-square.

    Bounds as above; a variance that is half of what it should be fails in nearly every run.
    """
    found = np.vstack([null_p_values(100, random_share=share) for share in (0.0, 0.3)])
    hold_to_level(found, LEVEL)
    hold_to_level(found, 0.5)
    squares = norm.isf(found[:, :2] / 2) ** 2
    fewest, most = chi2.ppf([0.00005, 0.99995], squares.size)
    assert fewest <= squares.sum() <= most


@pytest.mark.slow
@pytest.mark.parametrize("random_share", [0.0, 0.3])
def test_checks_fire_in_five_percent_of_two_thousand_worlds_where_nothing_is_wrong(random_share):
    """2,000 worlds must give 64 to 140 alarms at 5 %."""
    found = null_p_values(2000, random_share=random_share)
    hold_to_level(found, LEVEL)
    hold_to_level(found, 0.5)


@pytest.mark.slow
def test_checks_fire_in_five_percent_of_two_thousand_worlds_of_rare_contexts():
    """400 contexts and 3,000 events: most contexts have fewer than five."""
    hold_to_level(null_p_values(2000, contexts=400), LEVEL)


def found_in(engine, worlds, make):
    """The checks of some worlds: arrays of p-values and of effects, for drift and for reaction."""
    p, effects = [], []
    for world in range(worlds):
        with open_daily_cells(read(make(np.random.default_rng(world)), engine)) as daily:
            checks = assumption_checks(daily)
        p.append([check.p_value for check in checks])
        effects.append([check.effect for check in checks])
    return np.array(p), np.array(effects)


@pytest.mark.parametrize("change", [0.5, -0.5])
def test_rewards_that_change_by_half_over_a_month_are_found(duckdb, change):
    """The effect is the change itself: click rates of .04 that move by .02, within four standard errors."""

    def make(rng):
        trend = lambda day: 1 + change * day / 29  # noqa: E731
        logger = calendar(rng, random_share=0.2)
        return draw(rng, logger, events_per_day=1000, rate=0.04, days=30, trend=trend)

    worlds = 8
    p, effects = found_in(duckdb, worlds, make)
    assert (p[:, 0] < LEVEL).mean() >= 0.8
    assert (np.sign(effects[p[:, 0] < LEVEL, 0]) == np.sign(change)).all()
    error = effects[:, 0].std(ddof=1) / np.sqrt(worlds)
    assert effects[:, 0].mean() == pytest.approx(0.04 * change, abs=4 * error)
    assert error < 0.003


@pytest.mark.parametrize("sign", [1, -1])
def test_a_logger_that_follows_yesterdays_rewards_is_found_with_its_sign(duckdb, sign):
    """Winners shown more: a positive effect; winners dropped: a negative one."""
    p, effects = found_in(duckdb, 8, lambda rng: draw(rng, reacting(rng, sign), events_per_day=500))
    assert (p[:, 1] < LEVEL).mean() >= 0.8
    assert (np.sign(effects[p[:, 1] < LEVEL, 1]) == sign).all()


@pytest.mark.parametrize(("sign", "consequence"), [(1, "too low"), (-1, "too HIGH")])
def test_strong_reaction_is_called_drift_or_reaction(duckdb, sign, consequence):
    rng = np.random.default_rng(0)
    audit = ws.audit(read(draw(rng, reacting(rng, sign), events_per_day=1000), duckdb))
    assert audit.checks[1].fires
    assert any("read it as drift or reaction" in note for note in audit.notes)
    assert any(consequence in note for note in audit.notes)
    assert "signs of drift or reaction" in audit.verdict[1]


def test_changed_contexts_are_found(duckdb):
    """From the middle on, the rarest context becomes as frequent as the third."""
    for world in range(5):
        rng = np.random.default_rng(world)
        log = draw(rng, calendar(rng), events_per_day=150)
        x, late = log["context"].to_numpy().copy(), np.arange(log.num_rows) >= log.num_rows // 2
        x[late & (x == 2)] = CONTEXTS - 1
        assert p_values_of_audit(log.set_column(0, "context", pa.array(x)), duckdb)[-1] < 1e-6


def even_shares(rng, shares, *, contexts, events, engine):
    """A log in which every context draws its actions by the same shares."""
    x = np.repeat(np.arange(contexts), events)
    a = rng.choice(len(shares), size=len(x), p=shares)
    log = pa.table({"context": x, "action": a, "reward": np.zeros(len(x))})
    events = ws.read_events(log, context="context", action="action", reward="reward", engine=engine)
    return ws.audit(events).exploration.even


@pytest.mark.parametrize(("actions", "events"), [(2, 40), (4, 60), (30, 400)])
def test_a_fair_draw_is_called_uneven_in_one_percent_of_contexts(duckdb, actions, events):
    """5,000 contexts; the bounds of a test that rejects .6 to 1.2 % (counts are whole, so not 1 % exactly)."""
    even = even_shares(
        np.random.default_rng(actions), np.full(actions, 1 / actions), contexts=5000, events=events, engine=duckdb
    )
    assert even.contexts == 5000
    assert binom.ppf(0.00005, 5000, 0.006) <= 5000 * even.rejected <= binom.ppf(0.99995, 5000, 0.012)


def test_a_biased_draw_is_called_uneven_in_most_contexts(duckdb):
    even = even_shares(np.random.default_rng(0), [0.4, 0.2, 0.2, 0.2], contexts=500, events=200, engine=duckdb)
    assert even.rejected > 0.9
