"""Trade-offs: prices at which a policy is worth what it costs, against a grid of prices."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.outcome_logs import columns, read

import warmstart as ws
from warmstart.report.outcome_pages import outcome_sections
from warmstart.results.outcome_tables import prices, tradeoffs_table
from warmstart.results.tradeoffs import tradeoffs

PRICES = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 4001)])


@pytest.fixture(scope="module")
def whole(duckdb):
    events = read(columns(), also=["cost", "delay"], minimize=["cost", "delay"], engine=duckdb)
    policies = ["logging", *(f"p{i}=constant:a{i % 3}" for i in range(3))]
    return ws.evaluate(policies, events, tau=0.2, estimators=["ips", "dr"])


def with_changes(evaluation, changes):
    """The same evaluation with other changes: (gain, rise, ends of the gain, ends of the rise) by policy."""

    def changed(one, kind):
        if one.is_logging or one.policy not in changes or (kind and one.outcome != "cost"):
            return one
        difference, ends = changes[one.policy][kind], changes[one.policy][2 + kind]
        estimated = replace(one.gain.estimated, difference=difference)
        certified = replace(one.gain.certified, joint_lower=ends[0], joint_upper=ends[1])
        return replace(one, gain=replace(one.gain, estimated=estimated, certified=certified))

    policies = tuple(changed(one, 0) for one in evaluation.policies)
    return replace(evaluation, policies=policies, others=tuple(changed(one, 1) for one in evaluation.others))


def judged(evaluation, *minimized):
    """The same evaluation with other outcomes of which less is better."""
    return replace(
        evaluation, outcomes=tuple(replace(one, minimize=one.name in minimized) for one in evaluation.outcomes)
    )


def between(low, high):
    """The prices of the grid above zero at which something is so."""
    return np.zeros(len(PRICES) - 1, bool) if low is None else (low < PRICES[1:]) & (high > PRICES[1:])


@pytest.mark.parametrize("minimized", [("cost",), ("click", "cost"), ("click",), ()])
@pytest.mark.parametrize("seed", range(8))
def test_prices_are_those_of_a_grid(seed, minimized, whole):
    rng = np.random.default_rng(seed)
    changes = {f"p{i}": (*rng.normal(size=2), *np.sort(rng.normal(size=(2, 2)), axis=1)) for i in range(3)}
    found = [one for one in tradeoffs(judged(with_changes(whole, changes), *minimized)) if one.outcome == "cost"]
    signs = [-1.0 if name in minimized else 1.0 for name in ("click", "cost")]

    def worth(gain, rise):
        return signs[0] * gain + PRICES * signs[1] * rise

    best = np.maximum(0.0, np.max([worth(*change[:2]) for change in changes.values()], axis=0))
    for one in found:
        gain, rise, gains, rises = changes[one.policy]
        assert (one.gain, one.rise) == (gain, rise)
        wins = PRICES[worth(gain, rise) >= best - 1e-12]
        inside = np.zeros_like(PRICES, bool)
        if one.best_from is not None:
            inside = (one.best_from - 1e-9 <= PRICES) & (one.best_until + 1e-9 >= PRICES)
        assert np.array_equal(PRICES[inside], wins)
        assert np.array_equal(between(one.worth_from, one.worth_until), worth(gain, rise)[1:] > 0)
        # Proven is what holds wherever the two changes lie between their ends.
        least = np.min([worth(g, c) for g in gains for c in rises], axis=0)
        assert np.array_equal(between(one.proven_from, one.proven_until), least[1:] > 0)


def test_each_other_outcome_has_trade_offs_but_those_that_a_utility_weighs(whole):
    assert {one.outcome for one in tradeoffs(whole)} == {"cost", "delay"}
    assert len(tradeoffs(whole)) == 6
    first = tradeoffs(whole)[0]
    assert first.gain == whole["p0"].gain.estimated.difference
    assert first.rise == whole.of_outcome("cost")["p0"].gain.estimated.difference
    weighed = replace(whole.outcomes[0], parts=("click", "cost"))
    assert {one.outcome for one in tradeoffs(replace(whole, outcomes=(weighed, *whole.outcomes[1:])))} == {"delay"}


def test_without_point_estimates_certified_changes_are_weighed(duckdb):
    events = read(columns(), also="cost", minimize="cost", engine=duckdb)
    found = ws.evaluate("constant:a1", events, tau=0.2, estimators=[])
    [one] = tradeoffs(found)
    assert one.gain == found.policies[0].gain.certified.difference
    assert "cost" in str(found)


@pytest.mark.parametrize(
    ("gains", "rises", "words"),
    [
        ((0.1, 0.3), (0.05, 0.2), "below 0.5"),
        ((-0.3, -0.1), (-0.2, -0.05), "above 6"),  # cheaper, but worse: the usual case of a router
        ((-0.1, 0.3), (-0.3, -0.06), "above 1.67"),
        ((0.1, 0.3), (-0.2, -0.05), "at any price"),
        ((0.0, 0.3), (-0.2, 0.0), "-"),
        ((-0.1, 0.3), (0.05, 0.2), "-"),
        ((-0.1, 0.3), (-0.2, 0.1), "-"),
        ((None, None), (-0.2, -0.1), "-"),
    ],
)
def test_the_prices_that_are_proven_come_from_the_joint_ends_of_both(gains, rises, words, whole):
    found = with_changes(whole, {"p0": (0.2, 0.1, gains, rises)})
    table = tradeoffs_table(found, "cost")
    [row] = [row for row in table.rows if row[0] == "p0"]
    assert row[table.header.index("proven")] == words
    told = [section.title for section in outcome_sections(found) if section.title.startswith("click against cost")]
    assert (f"p0 {words}" in told[0]) == (words != "-")


def test_proven_prices_are_rounded_to_prices_that_are_proven():
    assert prices(0.0, 1.2399, inside=True) == "below 1.23"
    assert prices(1.2301, float("inf"), inside=True) == "above 1.24"
    assert prices(0.0, 1.2399) == "below 1.24"
    assert prices(0.0, 23.4, inside=True) == "below 23.4"
