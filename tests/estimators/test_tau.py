"""tau is chosen from contexts, actions and a rate from before."""

import numpy as np
import pyarrow as pa
import pytest
from tests.support import reference
from tests.support.logs import cut, decisions, moment, random_log, read, some_policy

import warmstart as ws
from warmstart.estimators.tau import CANDIDATES, RATES


def curve_by_hand(test, h, rate):
    rate = min(rate, 1 - rate)
    own, total = reference.shares(test), len(test)
    errors = {}
    for tau in CANDIDATES:
        lost = sum((h.get((x, a), 0) / own[x, a] - h.get((x, a), 0) / max(own[x, a], tau)) for x, a, *_ in test) / total
        spread = sum((h.get((x, a), 0) / max(own[x, a], tau)) ** 2 for x, a, *_ in test)
        errors[tau] = np.sqrt((rate * lost) ** 2 + rate * spread / total**2)
    return errors


def test_the_curve_and_its_least_point_equal_the_reference(engine):
    rows = random_log(1)
    train, test = cut(rows, 5)
    h = some_policy(rows)
    early, late = read(rows, engine).split(at=moment(5))
    options = {"estimators": ["ips"], "allow_unknown_actions": True}
    found = ws.evaluate({"mine": decisions(h)}, late, train=early, **options)["mine"]
    rate = sum(r for _, _, r, _ in train) / len(train)
    wanted = curve_by_hand(test, h, rate)
    assert found.tau_choice.rate_is_known
    assert {point.tau: point.error for point in found.tau_choice.curve} == pytest.approx(wanted, abs=1e-9)
    least = min(wanted.values())
    assert found.tau == max(tau for tau, error in wanted.items() if error <= least * (1 + 1e-9))
    assert found.value == pytest.approx(reference.evaluate(test, h, found.tau)["value"], abs=1e-9)


def test_the_evaluated_rewards_have_no_say(duckdb):
    rows = random_log(2)
    other = [(x, a, 1 - r if day >= 5 else r, day) for x, a, r, day in rows]
    h = {"mine": decisions(some_policy(rows))}
    pairs = [read(some, duckdb).split(at=moment(5)) for some in (rows, other)]
    first, second = (ws.evaluate(h, late, train=early, allow_unknown_actions=True)["mine"] for early, late in pairs)
    assert first.tau == second.tau
    errors = ([point.error for point in e.tau_choice.curve] for e in (first, second))
    assert next(errors) == pytest.approx(next(errors), rel=1e-12)
    assert first.value != second.value


def test_without_training_the_tau_is_never_far_from_the_best_whatever_the_rate(duckdb):
    rows = random_log(3)
    found = ws.evaluate({"mine": decisions(some_policy(rows))}, read(rows, duckdb), allow_unknown_actions=True)
    assert not found["mine"].tau_choice.rate_is_known
    assert "for want of a training window" in str(found)
    regrets = []
    for tau in CANDIDATES:
        curves = [curve_by_hand(rows, some_policy(rows), rate) for rate in RATES]
        regrets.append(max(curve[tau] / min(curve.values()) for curve in curves))
    assert regrets[CANDIDATES.index(found["mine"].tau)] == pytest.approx(min(regrets))
    assert 1 < min(regrets) < max(regrets)
    assert found.to_dict()["policies"][0]["tau_choice"]["curve"][0]["tau"] == CANDIDATES[0]


@pytest.mark.parametrize("shown", [199, 201, 150, 104])
def test_an_action_that_hardly_misses_a_tau_keeps_its_support(duckdb, shown):
    """Round shares are common: 199 events of 1,000 would be clipped at .2, for an error that is smaller by .5 %."""
    rows = [("x", "b" if i < shown else "a", float(i % 5 == 0), 0) for i in range(1_000)]
    found = ws.evaluate(["constant:b", "constant:a"], read(rows, duckdb))
    assert [one.support.supported for one in found] == pytest.approx([1, 1])
    errors = [[point.error for point in one.tau_choice.curve] for one in found]
    assert all(curve[CANDIDATES.index(one.tau)] <= 1.1 * min(curve) for one, curve in zip(found, errors, strict=True))


def tau_of_logged(engine, shown, reward):
    """The tau of a policy that always chooses b, whose logged propensity is .199, shown in so many of 1,000 events."""
    b = np.arange(1_000) < shown
    columns = {"context": np.arange(1_000), "action": np.where(b, "b", "a"), "p": np.where(b, 0.199, 0.801)}
    log = pa.table({**columns, "id": np.arange(1_000), "reward": reward})
    events = read(log, engine, time=False, propensity="p", event_id="id")
    return ws.evaluate("constant:b", events, propensities="logged")["constant:b"].tau


@pytest.mark.parametrize("shown", [220, 300])
def test_an_action_keeps_its_support_though_weights_do_not_add_up_to_the_traffic(duckdb, shown):
    """Unless they add up to so much more that it is no chance: then clipping mends weights that are too large."""
    some = (np.arange(1_000) % 5 == 0).astype(float)
    first, second = (tau_of_logged(duckdb, shown, reward) for reward in (some, 1 - some))
    assert first == second
    assert (first <= 0.199) == (shown < 300)


def test_rewards_that_are_all_0_or_all_1_choose_the_same_tau(duckdb):
    assert tau_of_logged(duckdb, 300, np.zeros(1_000)) == tau_of_logged(duckdb, 300, np.ones(1_000))


def test_auto_stands_beside_fixed_taus(duckdb):
    found = ws.evaluate(["uniform", "logging"], read(random_log(3), duckdb), tau=["auto", 0.3])
    assert [e.tau_choice is None for e in found] == [False, True, True, True]
    with pytest.raises(ws.UsageError, match="'auto', a number"):
        ws.evaluate("uniform", read(random_log(3), duckdb), tau="cautious")
