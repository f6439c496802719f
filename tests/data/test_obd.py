"""Open Bandit Dataset (Saito et al., arXiv:2008.07146): a real log whose true propensities we hide."""

import csv
import gzip

import pytest

import warmstart as ws


@pytest.fixture(scope="module")
def log(data):
    return data / "obd" / "random_all.csv.gz"


def test_a_real_log_is_read_as_it_is(log):
    events = ws.read_events(log, context="position", action="item_id", reward="click", time="timestamp")
    with gzip.open(log, "rt") as file:
        rows = list(csv.DictReader(file))
    clicks = sum(int(row["click"]) for row in rows)
    found = ws.evaluate(["logging", "uniform"], events, tau=0.001)
    assert found.log.events == len(rows) == 10_000
    assert (found.log.contexts, found.log.actions) == (3, 80)
    assert found["logging"].value == pytest.approx(clicks / len(rows))


def test_under_uniform_logging_uniform_earns_what_was_logged_and_propensities_are_near_the_true_ones(log):
    """True propensity 1/80. Counts in cells of about 42 events stray by a sixth, and so do 38 clicks."""
    events = ws.read_events(log, context="position", action="item_id", reward="click")
    counted = ws.policy_table("logging", events)["probability"].to_pylist()
    assert sum(counted) / len(counted) == pytest.approx(1 / 80, rel=0.01)
    assert max(abs(share * 80 - 1) for share in counted) < 0.75
    found = ws.evaluate(["uniform", "logging"], events, tau=0.001)
    assert found["uniform"].value == pytest.approx(found["logging"].value, rel=0.15)
    assert found["uniform"].support.supported == pytest.approx(1)
    assert found["uniform"].gain.certified.lower < 0 < found["uniform"].gain.certified.upper
