"""Intervals where they are tight: all reward outcomes enumerated, at delta .05 and .5; mutations are caught."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, special, stats

from warmstart.core.errors import UsageError
from warmstart.estimators.intervals import (
    METHODS,
    RATIO,
    SMALLEST,
    Coefficients,
    TermSums,
    bets_ends,
    bin_ends,
    interval,
    relative_entropy,
)

FINITE = [name for name, (_, guarantee) in METHODS.items() if guarantee == "finite-sample"]
DELTAS = [0.05, 0.5]


def at(coefficients, events, rewards):
    """Events and rewards that lie at coefficients."""
    return Coefficients(*(np.array(part, dtype=float) for part in (coefficients, events, rewards)))


def all_at_the_bound(successes, *, matched, events, tau):
    """Sums of a window with ``matched`` events of weight 1/tau, the others not matched."""
    c = 1 / tau
    sums = (c * successes, c * c * successes, c * matched, c * c * matched, c, c)
    return TermSums(events, *sums, coefficients=at([c], [matched], [successes]))


def misses(ends, *, matched, events, tau, mean):
    """Exact probabilities that an end (one for each number of successes) is on the wrong side of the expected value."""
    truth = matched / events * mean / tau
    lower, upper = np.array(ends).T
    probability = stats.binom.pmf(np.arange(matched + 1), matched, mean)
    return probability[upper < truth].sum(), probability[lower > truth].sum()


def worst_misses(compute, delta, *, matched=60, events=60, tau=0.05):
    """The worst miss of each side over means, including those where the ends themselves lie."""
    ends = [compute(all_at_the_bound(s, matched=matched, events=events, tau=tau), delta) for s in range(matched + 1)]
    scale = events / matched * tau
    means = {i / 40 for i in range(1, 40)}
    for lower, upper in ends:
        means |= {min(max(end * scale + nudge, 0.0), 1.0) for end in (lower, upper) for nudge in (-1e-7, 1e-7)}
    found = [misses(ends, matched=matched, events=events, tau=tau, mean=mean) for mean in sorted(means)]
    return max(below for below, _ in found), max(above for _, above in found)


def by_name(method):
    def compute(terms, delta):
        found = interval(terms, delta=delta, method=method)
        return found.lower, found.upper

    return compute


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("method", FINITE)
@pytest.mark.parametrize(("matched", "events"), [(60, 60), (40, 90)])
def test_a_finite_sample_end_misses_at_most_half_of_delta(method, delta, matched, events):
    below, above = worst_misses(by_name(method), delta, matched=matched, events=events)
    assert below <= delta / 2 + 1e-9
    assert above <= delta / 2 + 1e-9


@pytest.mark.parametrize("delta", DELTAS)
def test_kl_is_tight_where_every_reward_is_zero(delta):
    """With no reward the upper end solves (1 - q)^T = delta / 2, so the worst miss of that side is delta / 2."""
    below, _ = worst_misses(by_name("kl"), delta)
    assert below == pytest.approx(delta / 2, rel=1e-3)


def with_one_log(terms, delta):
    """The mutation ln(1 / delta) for ln(2 / delta)."""
    return by_name("kl")(terms, min(2 * delta, 0.999))


def without_rescaling(terms, delta):
    """The mutation of forgetting tau: the mean is taken as if terms lay in [0, 1]."""
    mean = min(terms.mean, 1.0)
    return by_name("kl")(TermSums(terms.events, mean * terms.events, 0, terms.events, 0, 1, 1.0), delta)


def over_matched_events(terms, delta):
    """The mutation of T replaced by matched events."""
    matched = terms.range_square_total / terms.bound**2
    return by_name("kl")(replace(terms, events=matched), delta)


@pytest.mark.parametrize("mutation", [with_one_log, without_rescaling, over_matched_events])
@pytest.mark.parametrize("delta", DELTAS)
def test_the_enumeration_catches_a_wrong_interval(mutation, delta):
    worst = max(worst_misses(mutation, delta, matched=40, events=90))
    assert worst > delta / 2 + 1e-6


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("events", [20, 500])
@pytest.mark.parametrize("method", ["kl", "bets"])
def test_kl_and_bets_contain_clopper_pearson(method, delta, events):
    tau = 0.05
    for successes in range(0, events + 1, max(1, events // 20)):
        terms = all_at_the_bound(successes, matched=events, events=events, tau=tau)
        found = interval(terms, delta=delta, method=method)
        exact = stats.binomtest(successes, events).proportion_ci(1 - delta, method="exact")
        assert found.lower * tau <= exact.low + 1e-12
        assert found.upper * tau >= exact.high - 1e-12


def test_kl_ends_use_up_the_entropy_exactly():
    terms = TermSums(1000, 300.0, 0, 20_000, 0, 20, 20)
    found = interval(terms, delta=0.1, method="kl")
    for end in (found.lower, found.upper):
        assert 1000 * relative_entropy(0.3 / 20, end / 20) == pytest.approx(math.log(2 / 0.1), rel=1e-9)


def test_relative_entropy_agrees_with_scipy():
    for p, q in [(0.2, 0.7), (0.0, 0.3), (1.0, 0.3), (0.5, 0.5), (1e-6, 1e-5)]:
        assert relative_entropy(p, q) == pytest.approx(float(stats.entropy([p, 1 - p], [q, 1 - q])), abs=1e-12)
    assert relative_entropy(0.5, 0.0) == relative_entropy(0.5, 1.0) == math.inf


@pytest.mark.parametrize("rewards", [0, 1, 7, 90])
def test_gamma_with_equal_weights_is_the_exact_poisson_interval(rewards):
    """Garwood: chi-squared quantiles, from scipy."""
    weight, events, delta = 3.0, 1000, 0.05
    found = interval(
        TermSums(events, weight * rewards, weight**2 * rewards, weight * events, 0, weight, 10),
        delta=delta,
        method="gamma",
    )
    low = stats.chi2.ppf(delta / 2, 2 * rewards) / 2 if rewards else 0.0
    high = stats.chi2.ppf(1 - delta / 2, 2 * rewards + 2) / 2
    assert found.lower == pytest.approx(weight * low / events)
    assert found.upper == pytest.approx(weight * high / events)


def test_bernstein_is_maurer_and_pontils_bound():
    """Their Theorem 4 at delta/4 a statement, for n = 100 terms in [0, 4] with mean 1 and sample variance 2."""
    n, mean, variance, reach = 100, 1.0, 2.0, 4.0
    square_total = variance * (n - 1) + n * mean**2
    found = interval(TermSums(n, n * mean, square_total, 50 * n, 0, reach, 50), delta=0.06, method="bernstein")
    log = math.log(4 / 0.06)
    half = math.sqrt(2 * variance * log / n) + 7 * reach * log / (3 * (n - 1))
    assert found.upper == pytest.approx(mean + half)
    assert found.lower == max(mean - half, 0)


def test_hoeffding_uses_each_terms_own_range():
    """Two ranges: 50 terms in [0, 1] and 50 in [0, 3]; scipy-free closed form of Hoeffding's Theorem 2."""
    found = interval(TermSums(100, 60.0, 0, 50 + 50 * 3, 50 + 50 * 9, 3, 3), delta=0.05, method="hoeffding")
    half = math.sqrt(math.log(40) * (50 + 450) / 2) / 100
    assert found.upper == pytest.approx(0.6 + half)


@pytest.mark.parametrize("method", METHODS)
def test_ends_are_ordered_and_stay_in_the_range(method):
    for total in (0.0, 0.5, 100.0, 1999.0, 2000.0):
        terms = TermSums(100, total, total * 20, 100 * 20, 100 * 400, 20, 20, at([20], [100], [total / 20]))
        found = interval(terms, method=method)
        assert 0 <= found.lower <= total / 100 + 1e-9
        assert total / 100 - 1e-9 <= found.upper <= 20


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2])
def test_delta_outside_zero_to_one_is_refused(delta):
    with pytest.raises(UsageError, match="delta"):
        interval(TermSums(10, 1, 1, 10, 10, 1, 1), delta=delta)


def test_no_end_exceeds_what_rewards_of_one_would_give():
    """Ten events, one of them matched with weight 20: the expectation is at most 2, whatever the bound says."""
    found = interval(TermSums(10, 0.0, 0.0, 20.0, 400.0, 20, 20), delta=0.05, method="kl")
    assert found.upper == 2
    assert interval(TermSums(10, 0.0, 0.0, 0.0, 0.0, 0, 20), delta=0.05, method="kl").upper == 0


def test_a_tiny_delta_is_no_trouble():
    for method in METHODS:
        terms = TermSums(100, 5.0, 10.0, 200.0, 400.0, 2, 20, at([2], [100], [2.5]))
        found = interval(terms, delta=1e-300, method=method)
        assert 0 <= found.lower <= 0.05 <= found.upper <= 2


@pytest.mark.parametrize("method", METHODS)
def test_four_times_the_events_give_a_narrower_interval(method):
    few, many = (
        interval(
            TermSums(100 * k, 60.0 * k, 120.0 * k, 200.0 * k, 400.0 * k, 2, 20, at([2], [100 * k], [30 * k])),
            method=method,
        )
        for k in (1, 4)
    )
    assert few.lower < many.lower or few.lower == many.lower == 0
    assert many.upper < few.upper


@pytest.mark.parametrize("sizes", [(20, 10), pytest.param((30, 20), marks=pytest.mark.slow)])
@pytest.mark.parametrize("delta", DELTAS)
def test_bets_hold_for_unequal_weights_and_means(delta, sizes):
    """Every outcome of 20 events of weight 2 and 10 of weight 20, with means that differ."""
    weights, events = (2.0, 20.0), sum(sizes)
    total, square = (sum(n * c**power for n, c in zip(sizes, weights, strict=True)) for power in (1, 2))
    outcomes = [(i, j) for i in range(sizes[0] + 1) for j in range(sizes[1] + 1)]
    ends = {}
    for i, j in outcomes:
        value, squares = 2 * i + 20 * j, 4 * i + 400 * j
        terms = TermSums(events, value, squares, total, square, 20, 20, at(weights, sizes, (i, j)))
        ends[i, j] = by_name("bets")(terms, delta)
    for means in [(0.02, 0.02), (0.3, 0.05), (0.05, 0.3), (0.6, 0.01), (0.5, 0.5), (0.9, 0.95)]:
        truth = sum(n * c * mean for n, c, mean in zip(sizes, weights, means, strict=True)) / events
        first, second = (stats.binom.pmf(range(n + 1), n, mean) for n, mean in zip(sizes, means, strict=True))
        below = sum(first[i] * second[j] for i, j in outcomes if ends[i, j][1] < truth)
        above = sum(first[i] * second[j] for i, j in outcomes if ends[i, j][0] > truth)
        assert below <= delta / 2
        assert above <= delta / 2


def test_bets_use_up_the_wealth_exactly():
    """100 of 1,000 events have the coefficient 20, 15 of them a reward; the bets are Chernoff's, found with scipy."""
    terms = TermSums(1000, 300.0, 6000.0, 2_000.0, 40_000.0, 20, 20, at([20], [100], [15]))
    spans = special.expit(math.log(1.2) * np.arange(-120, 121))
    lower, upper = (end / 2 for end in bets_ends(terms, 0.1))
    for end, rewards in ((lower, 15), (1 - upper, 85)):
        p = spans[spans >= end].min()

        def left(x, p=p):
            return 100 * relative_entropy(x, p) - math.log(20)

        x = optimize.brentq(left, p, 1 - 1e-12)
        bets = np.minimum(np.array([0.25, 1, 4]) * (x - p) / (p * (1 - p)), 0.99 / p)
        wealth = (1 + bets * (1 - end)) ** rewards * (1 - bets * end) ** (100 - rewards)
        assert wealth @ [0.1, 0.8, 0.1] == pytest.approx(20, rel=1e-6)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("mutation", [1, 2])
def test_bets_on_few_events_would_show_that_half_of_delta_is_exceeded(mutation, delta):
    """One event: the worst miss is just below delta / 2, and with ln(1 / delta) for ln(2 / delta) well above it."""

    def compute(terms, delta):
        return by_name("bets")(terms, min(mutation * delta, 0.999))

    worst = max(worst_misses(compute, delta, matched=1, events=1))
    assert 0.8 * mutation < worst / (delta / 2) <= mutation


def test_bets_are_hardly_wider_than_kl_where_all_weights_are_alike():
    for events, rewards in itertools.product((100, 3_000, 1_000_000), (0, 1, 10, 40)):
        total = 100.0 * rewards
        terms = TermSums(
            *(events, total, 100 * total, 100.0 * events, 1e4 * events, 100, 100), at([100], [events], [rewards])
        )
        bets, kl = (interval(terms, method=method) for method in ("bets", "kl"))
        assert bets.upper - bets.lower < 1.1 * (kl.upper - kl.lower)


@pytest.mark.parametrize("delta", DELTAS)
def test_bets_say_of_one_minus_the_reward_what_they_say_of_the_reward(delta):
    rng = np.random.default_rng(0)
    for rate in (0.01, 0.3, 0.97):
        c, n = np.exp(rng.normal(size=30)), rng.integers(1, 200, size=30)
        s = rng.binomial(n, rate)
        lower, upper = bets_ends(spread_terms(c, n, s), delta)
        other = bets_ends(spread_terms(c, n, n - s), delta)
        assert other == pytest.approx(((c * n).sum() / n.sum() - upper, (c * n).sum() / n.sum() - lower), abs=1e-12)


def spread_terms(c, n, s, coefficients=None):
    sums = ((c * s).sum(), (c * c * s).sum(), (c * n).sum(), (c * c * n).sum(), c.max(), c.max())
    return TermSums(n.sum(), *sums, at(c, n, s) if coefficients is None else coefficients)


def binned(c, n, s):
    """Coefficients as evaluate tells them apart, all of them in bins."""
    bins = np.floor(np.log(c) / math.log(RATIO)).astype(int)
    return bin_ends(bins, RATIO, SMALLEST), (n, c * n), (s, c * s)


@pytest.mark.parametrize("events", [300, 30_000_000])
def test_bins_cost_next_to_nothing_and_never_make_bets_bolder(events):
    """Events are divided between the ends of a bin, so that their coefficients' sum stays."""
    rng = np.random.default_rng(events)
    c = np.exp(rng.normal(size=200))
    n = rng.multinomial(events, np.full(200, 1 / 200)).astype(float)
    s = rng.binomial(n.astype(int), 0.3).astype(float)
    divided = Coefficients.of_bins(*binned(c, n, s))
    for part, all_of_it in ((divided.events, n), (divided.rewards, s)):
        assert part.sum() == pytest.approx(all_of_it.sum())
        assert divided.values @ part == pytest.approx(c @ all_of_it)
    for p, bet in itertools.product((0.01, 0.3, 0.9), (0.001, 0.1, 0.9)):
        won, exact = (
            np.log1p(bet * values * (1 - p)) @ rewards + np.log1p(-bet * values * p / c.max() / 1.02) @ (all_ - rewards)
            for values, all_, rewards in ((divided.values, divided.events, divided.rewards), (c, n, s))
        )
        assert won < exact
    exact, rounded = (bets_ends(spread_terms(c, n, s, some), 0.05) for some in (None, divided))
    assert rounded == pytest.approx(exact, abs=1e-2 * (exact[1] - exact[0]))


def test_bins_that_are_rounded_the_wrong_way_miss():
    """The mutation: rewards at the upper end of their bin, other events at the lower."""
    rng = np.random.default_rng(0)
    n = np.full(40, 100_000.0)
    c = RATIO ** (np.arange(40) + 0.5)
    s = rng.binomial(n.astype(int), 0.3).astype(float)
    (low, high), *_ = binned(c, n, s)
    wrong = Coefficients(np.concatenate([high, low]), np.concatenate([s, n - s]), np.concatenate([s, 0 * s]))
    truth = 0.3 * (c * n).sum() / n.sum()
    lower, upper = bets_ends(spread_terms(c, n, s, Coefficients.of_bins(*binned(c, n, s))), 0.05)
    assert lower < truth < upper
    assert bets_ends(spread_terms(c, n, s, wrong), 0.05)[0] > truth


def test_bets_without_a_spread_of_coefficients_are_refused():
    with pytest.raises(ValueError, match="spread over coefficients"):
        bets_ends(TermSums(10, 1, 1, 10, 10, 1, 1), 0.05)
