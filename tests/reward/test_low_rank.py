"""The low-rank model: it finds the factors of pairs of groups, also for rows that training never saw."""

import numpy as np
import pytest
from tests.support.reward_cells import BITS, cells, features, topics

from warmstart.features import FeatureRows, feature_rows
from warmstart.reward.low_rank import learn_low_rank
from warmstart.scoring import LowRankModel

FACTORS = np.exp(np.random.default_rng(3).normal(0, 0.8, size=(4, 4)))
RATES = 0.05 * FACTORS


@pytest.fixture(scope="module")
def world():
    of_page, of_ad, page_words, ad_words = topics(0, pages=120, ads=40)
    x, x_settings = features(BITS[0], words=page_words)
    a, a_settings = features(BITS[1], words=ad_words)
    pages, ads = np.repeat(np.arange(80), 30), np.tile(np.arange(30), 80)
    learned = learn_low_rank(cells(pages, ads, RATES[of_page[pages], of_ad[ads]], 400), 1.0, x, a, bits=BITS)
    return learned, x, a, of_page, of_ad, (x_settings, a_settings)


def test_factors_of_pairs_of_groups_are_found_also_for_rows_that_training_never_saw(world):
    learned, x, a, of_page, of_ad, _ = world
    pages, ads = np.repeat(np.arange(80, 120), 10), np.tile(np.arange(30, 40), 40)
    expected = learned.predict(pages, ads, x, a)
    truth = RATES[of_page[pages], of_ad[ads]]
    assert np.abs(np.log(expected / truth)).mean() < 0.15
    assert np.corrcoef(np.log(expected), np.log(truth))[0, 1] > 0.97


def test_the_same_seed_learns_the_same_model(world):
    _, x, a, of_page, of_ad, _ = world
    pages, ads = np.repeat(np.arange(80), 30), np.tile(np.arange(30), 80)
    seen = cells(pages, ads, RATES[of_page[pages], of_ad[ads]], 20)
    one, other, third = (learn_low_rank(seen, 1.0, x, a, bits=BITS, seed=seed) for seed in (5, 5, 6))
    assert np.array_equal(one.factors, other.factors)
    assert not np.array_equal(one.factors, third.factors)


def test_a_row_without_known_features_earns_the_mean(world):
    learned, x, _, _, _, (_, a_settings) = world
    nobody = feature_rows(None, 1, a_settings)
    assert learned.predict(np.zeros(3, int), np.zeros(3, int), x, nobody) == pytest.approx(learned.mean)


def test_it_asks_each_row_once_whatever_the_order_of_pairs(world):
    learned, x, a, *_ = world
    rng = np.random.default_rng(1)
    pages, ads = rng.integers(120, size=500), rng.integers(40, size=500)
    together = learned.predict(pages, ads, x, a)
    alone = [learned.predict(pages[i : i + 1], ads[i : i + 1], x, a)[0] for i in range(0, 500, 50)]
    assert together[::50] == pytest.approx(alone, rel=1e-5)


def test_without_features_all_pairs_earn_the_mean():
    rows = FeatureRows.of(np.arange(6), np.zeros(6, int), np.ones(6), 6)
    pages, ads = np.repeat(np.arange(6), 6), np.tile(np.arange(6), 6)
    learned = learn_low_rank(cells(pages, ads, 0.2, 1000), 1.0, rows, rows, bits=BITS)
    assert learned.predict(pages, ads, rows, rows) == pytest.approx(0.2, abs=0.01)


def test_weights_count_events_that_were_shown_seldom_more():
    """One context, whose two actions differ; shown 9 to 1, weighted they count the same."""
    x, a = (features(bits, words=[["one"], ["two"]])[0] for bits in BITS)
    seen = cells([0, 0], [0, 1], [0.1, 0.5], [9_000, 1_000])
    plain, weighted = (learn_low_rank(seen, tau, x, a, bits=BITS).mean for tau in (1.0, 0.01))
    assert plain == pytest.approx(0.14, abs=0.02)
    assert weighted == pytest.approx(0.3, abs=0.02)


def test_predictions_are_rewards():
    learned = learn_low_rank(
        cells([0, 1], [0, 1], 0.9, 100),
        1.0,
        *(features(bits, words=[["one"], ["two"]])[0] for bits in BITS),
        bits=BITS,
    )
    high = LowRankModel(learned.contexts, learned.actions, learned.factors * 100, learned.mean)
    x, a = (features(bits, words=[["one"], ["two"]])[0] for bits in BITS)
    assert high.predict(np.array([0]), np.array([0]), x, a) == pytest.approx(1.0)
