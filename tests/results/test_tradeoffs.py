"""Trade-offs: prices at which a policy is worth what it costs, against a grid of prices."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.outcome_logs import columns, read

import warmstart as ws
from warmstart.results.tradeoffs import tradeoffs

PRICES = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 4001)])


@pytest.fixture(scope="module")
def whole(duckdb):
    events = read(columns(), also=["cost", "delay"], minimize=["cost", "delay"], engine=duckdb)
    policies = ["logging", *(f"p{i}=constant:a{i % 3}" for i in range(3))]
    return ws.evaluate(policies, events, tau=0.2, estimators=["ips", "dr"])


def with_changes(evaluation, changes):
    """The same evaluation with other changes: (gain, rise, lower end of the gain, upper end of the rise) by policy."""

    def changed(one, kind):
        if one.is_logging or one.policy not in changes or (kind and one.outcome != "cost"):
            return one
        difference, end = changes[one.policy][kind], changes[one.policy][2 + kind]
        estimated = replace(one.gain.estimated, difference=difference)
        certified = replace(one.gain.certified, joint_lower=end, joint_upper=end)
        return replace(one, gain=replace(one.gain, estimated=estimated, certified=certified))

    policies = tuple(changed(one, 0) for one in evaluation.policies)
    return replace(evaluation, policies=policies, others=tuple(changed(one, 1) for one in evaluation.others))


@pytest.mark.parametrize("seed", range(8))
def test_prices_are_those_of_a_grid(seed, whole):
    rng = np.random.default_rng(seed)
    changes = {f"p{i}": rng.normal(size=4) for i in range(3)}
    found = [one for one in tradeoffs(with_changes(whole, changes)) if one.outcome == "cost"]
    worth = {name: gain - PRICES * rise for name, (gain, rise, *_) in changes.items()}
    best = np.maximum(0.0, np.max(list(worth.values()), axis=0))
    for one in found:
        gain, _, lower, upper = changes[one.policy]
        wins = PRICES[worth[one.policy] >= best - 1e-12]
        inside = np.zeros_like(PRICES, bool)
        if one.best_from is not None:
            inside = (one.best_from - 1e-9 <= PRICES) & (one.best_until + 1e-9 >= PRICES)
        assert np.array_equal(PRICES[inside], wins)
        positive = worth[one.policy] > 0
        if one.break_even is None:
            assert positive[1:].all() or not positive[1:].any()
        else:
            turned = one.break_even > PRICES if gain > 0 else one.break_even < PRICES
            assert np.array_equal(positive[1:], turned[1:])
        proven = (lower >= 0) & (lower - PRICES * upper >= 0) if upper > 0 else np.full(len(PRICES), lower >= 0)
        if one.certified_break_even is None:
            assert not proven[1:].any()
        else:
            assert np.array_equal(proven, one.certified_break_even >= PRICES)


def test_each_outcome_that_should_be_small_has_trade_offs(whole):
    assert {one.outcome for one in tradeoffs(whole)} == {"cost", "delay"}
    assert len(tradeoffs(whole)) == 6
    first = tradeoffs(whole)[0]
    assert first.gain == whole["p0"].gain.estimated.difference
    assert first.rise == whole.of_outcome("cost")["p0"].gain.estimated.difference
    bought = [replace(whole.outcomes[0], minimize=True), *whole.outcomes[1:]]
    assert tradeoffs(replace(whole, outcomes=tuple(bought))) == []


def test_without_point_estimates_certified_changes_are_weighed(duckdb):
    events = read(columns(), also="cost", minimize="cost", engine=duckdb)
    found = ws.evaluate("constant:a1", events, tau=0.2, estimators=[])
    [one] = tradeoffs(found)
    assert one.gain == found.policies[0].gain.certified.difference
    assert "cost" in str(found)


def test_the_break_even_that_is_proven_is_at_the_joint_ends(whole):
    one = tradeoffs(with_changes(whole, {"p0": (0.2, 0.1, 0.1, 0.2)}))[0]
    assert one.certified_break_even == pytest.approx(0.5)
    free = tradeoffs(with_changes(whole, {"p0": (0.2, -0.1, 0.1, -0.05)}))[0]
    assert free.certified_break_even == float("inf")
    assert "at any price" in str(with_changes(whole, {"p0": (0.2, -0.1, 0.1, -0.05)}))
    assert tradeoffs(with_changes(whole, {"p0": (0.2, 0.1, -0.1, 0.2)}))[0].certified_break_even is None
