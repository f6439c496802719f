"""audit on real logs: a fair draw, a bandit, and a web cache that served one package for a while and then the next.

Open Bandit Dataset (Saito et al., arXiv:2008.07146); Upworthy Research Archive (Matias et al. 2021, CC BY 4.0).
"""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import binom

import warmstart as ws


@pytest.fixture(scope="module")
def bandits(data):
    """The audits of the random and of the Thompson sampling log."""
    return [
        ws.audit(
            ws.read_events(
                data / "obd" / f"{name}_all.csv.gz",
                context="position",
                action="item_id",
                reward="click",
                time="timestamp",
            )
        )
        for name in ("random", "bts")
    ]


def test_only_the_random_log_shows_its_actions_evenly(bandits):
    """Three contexts at 1 %: a fair log would be rejected in one of them in 3 % of such files."""
    random, bandit = (audit.exploration.even for audit in bandits)
    assert (random.contexts, random.rejected) == (3, 0)
    assert (bandit.contexts, bandit.rejected) == (3, 1)


def test_the_random_log_holds_the_choice_of_all_its_actions(bandits):
    """80 equally frequent actions; 3,333 events a position make the entropy 79 / 6,666 too small."""
    random, bandit = (audit.exploration.effective_actions for audit in bandits)
    assert 78 < random < 80
    assert bandit < 60


def test_uniform_is_supported_at_a_larger_tau_by_the_random_log(bandits):
    random, bandit = ({at.tau: at for at in audit.exploration.support} for audit in bandits)
    assert random[0.005].uniform > 0.99
    assert bandit[0.005].uniform < 0.7
    assert random[0.02].uniform < 0.05
    assert bandit[0.02].choice > 0.99


def test_neither_choice_is_the_calendars(bandits):
    for audit in bandits:
        assert audit.log.events == 10_000
        assert audit.origin.calendar < 0.1
        assert audit.origin.differ_within_day > 0.9
        assert audit.explore.contexts == 0
        assert audit.log.days >= 2


def test_no_check_is_certain_of_drift_or_reaction_in_the_random_log(bandits):
    """Some 40 clicks; a p-value falls below .001 in one such file of a thousand.

    Nothing reacts in this log, yet reaction has p = .0036: shuffling the clicks within cells gives nearly the same.
    """
    for check in bandits[0].checks:
        assert check.p_value > 0.001
        assert check.cells > 200


def impressions(data, cache_period, tests):
    """Every impression of some tests as an event, clicks first; there are only sums, so no times."""
    columns = ["test_id", "package", "impressions", "clicks", "cache_period"]
    packages = pq.read_table(data / "upworthy" / "packages.parquet", columns=columns)
    kept = {name: packages[name].to_numpy() for name in columns}
    chosen = kept["cache_period"] == cache_period
    ids = np.random.default_rng(0).permutation(np.unique(kept["test_id"][chosen].astype(str)))[:tests]
    chosen &= np.isin(kept["test_id"].astype(str), ids)
    shown, clicked = kept["impressions"][chosen], kept["clicks"][chosen]
    first = np.repeat(np.cumsum(shown) - shown, shown)
    return pa.table(
        {
            "test": np.repeat(kept["test_id"][chosen].astype(str), shown),
            "package": np.repeat(kept["package"][chosen], shown),
            "click": (np.arange(shown.sum()) - first < np.repeat(clicked, shown)).astype(float),
        }
    )


def audit_of(log):
    return ws.audit(ws.read_events(log, context="test", action="package", reward="click"))


@pytest.fixture(scope="module")
def drawn(data):
    return impressions(data, 0, 150)


@pytest.fixture(scope="module")
def cached(data):
    return impressions(data, 1, 150)


def test_a_test_that_draws_by_chance_shows_its_packages_evenly(drawn):
    """At 1 % a test, more than 8 of 150 are rejected in under one sample of 10,000."""
    audit = audit_of(drawn)
    assert audit.exploration.even.contexts > 140
    assert audit.exploration.even.rejected * audit.exploration.even.contexts <= binom.ppf(0.9999, 150, 0.01)
    assert audit.log.reward_rate == pytest.approx(0.015, abs=0.004)
    assert audit.power.contested > 0.95


def test_a_cache_shows_packages_unevenly_in_most_tests(cached):
    """69.5 % of all such tests."""
    even = audit_of(cached).exploration.even
    assert even.contexts > 140
    assert 0.5 < even.rejected < 0.9
