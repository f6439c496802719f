"""Safe improvement on sums: what is proposed, what is proven, and how often that is wrong."""

import numpy as np
import pytest

from warmstart.estimators import (
    CAUTION,
    CellSums,
    improve,
    propose,
    proposed_sets,
    prove,
    worth,
)
from warmstart.estimators.improvement import gain_sums, nested, supported_in
from warmstart.estimators.intervals import proves_gain

TAU = 0.02
CONTEXTS, ACTIONS = 12, 3


def cells(n, rewards):
    """Cells of arrays by context and action."""
    x, a = np.nonzero(n)
    return CellSums(x, a, n[x, a].astype(float), rewards[x, a].astype(float))


def log(rng, shares, means, events):
    n = rng.multinomial(events, (shares / len(shares)).ravel()).reshape(shares.shape)
    return cells(n, rng.binomial(n, means))


def means_of(sums, prior=5.0):
    """Shrunk mean rewards: enough for proposals, which may be anything."""
    rate = sums.rewards.sum() / sums.n.sum()
    return (sums.rewards + prior * rate) / (sums.n + prior)


def test_the_action_whose_gain_stands_out_most_is_proposed_in_the_order_of_gain_over_noise():
    # Action 2 promises more, but is shown so rarely that action 1 is surer.
    n = np.array([[70.0, 28.0, 2.0], [50.0, 50.0, 0.0]])
    expected = np.array([0.1, 0.2, 0.25, 0.1, 0.11])
    sums = cells(n, n * 0)
    found = propose(sums, expected, tau=TAU, caution=CAUTION)
    logging = np.array([(70 * 0.1 + 28 * 0.2 + 2 * 0.25) / 100, 0.105])
    gains, noise = np.array([0.2, 0.11]) - logging, logging * (1 - logging) * np.array([100 / 28 - 1, 1.0])
    assert found.contexts.tolist() == [0, 1]
    assert found.actions.tolist() == [1, 1]
    np.testing.assert_allclose([found.gains, found.noise], [gains, noise])
    assert propose(sums, expected, tau=TAU, caution=0.0).actions.tolist() == [1, 2]
    assert propose(sums, expected, tau=0.05, caution=0.0).actions.tolist() == [1, 1]
    assert propose(sums, expected, tau=TAU, caution=0.0, least=3).actions.tolist() == [1, 1]


def test_nothing_is_proposed_where_logging_has_one_action_or_the_best_already():
    sums = cells(np.array([[10.0, 0.0], [5.0, 5.0]]), np.zeros((2, 2)))
    assert len(propose(sums, np.array([0.1, 0.2, 0.2]), tau=TAU).contexts) == 0
    assert nested(*[propose(sums, np.array([0.1, 0.2, 0.2]), tau=TAU)] * 2) == []


def test_the_first_set_stands_out_most_and_sets_grow_to_all_contexts():
    rng = np.random.default_rng(0)
    sums = log(rng, np.full((CONTEXTS, ACTIONS), 1 / ACTIONS), rng.uniform(0.1, 0.5, (CONTEXTS, ACTIONS)), 3_000)
    proposal = propose(sums, means_of(sums), tau=TAU)
    sets = nested(proposal, proposal)
    ratios = [
        (one.events @ one.gains) / np.sqrt(one.events @ one.noise)
        for one in (proposal.first(size) for size in range(1, len(proposal.contexts) + 1))
    ]
    assert len(sets[0].contexts) == int(np.argmax(ratios)) + 1
    sizes = [len(one.contexts) for one in sets]
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == len(proposal.contexts)


def test_what_other_events_do_not_support_is_left_out_before_it_is_tested():
    early = cells(np.array([[50.0, 50.0], [50.0, 50.0], [50.0, 50.0]]), np.array([[5, 40], [5, 40], [5, 40]]))
    proposal = propose(early, means_of(early), tau=0.1)
    later = cells(np.array([[500.0, 500.0], [990.0, 10.0], [0.0, 100.0]]), np.array([[50, 400], [99, 9], [0, 80]]))
    assert dict(zip(proposal.contexts, supported_in(later, proposal, tau=0.1), strict=True)) == {
        0: True,
        1: False,
        2: False,
    }
    proven = prove(early, later, proposal, tau=0.1, delta=0.05)
    assert proven.contexts.tolist() == [0]
    assert prove(early, cells(*[np.array([[0.0, 100.0]])] * 2), proposal, tau=0.1, delta=0.05) is None


def test_sums_of_bets_are_those_of_the_definition():
    later = cells(np.array([[30.0, 10.0], [20.0, 20.0]]), np.array([[3, 5], [2, 8]]))
    proposal = propose(later, np.array([0.1, 0.5, 0.1, 0.4]), tau=TAU)
    sums = gain_sums(later, proposal, np.array([0.2, 0.3]))
    u = {(0, 1): 40 / 10 - 1, (0, 0): -1.0, (1, 1): 40 / 20 - 1, (1, 0): -1.0}
    gain = sum(u[key] * r for key, r in {(0, 1): 5, (0, 0): 3, (1, 1): 8, (1, 0): 2}.items())
    assert (sums.by_u.values * sums.by_u.rewards).sum() == pytest.approx(gain)
    assert (sums.by_u.values * sums.by_u.events).sum() == pytest.approx(0)
    assert sums.traffic == 80
    assert sums.by_u.events.sum() == 80


def test_a_gain_that_is_plain_is_proven():
    rng = np.random.default_rng(1)
    means = np.tile([0.1, 0.3, 0.5], (CONTEXTS, 1))
    a, b = (log(rng, np.full((CONTEXTS, ACTIONS), 1 / ACTIONS), means, 4_000) for _ in range(2))
    found = improve(a, b, means_of(a), tau=TAU, delta=0.05)
    assert (found.actions == 2).all()
    assert len(found.contexts) == CONTEXTS
    assert worth(a, means_of(a), found) > 0.15


@pytest.mark.parametrize("delta", [0.05, 0.5])
def test_in_a_world_without_differences_something_is_called_proven_in_no_more_than_delta_of_logs(delta):
    # 200 logs: with the bets' slack the rate is far below delta. Proving on the part that proposed exceeds both limits.
    rng, wrong, logs = np.random.default_rng(round(100 * delta)), 0, 200
    shares, means = rng.dirichlet(np.ones(ACTIONS), CONTEXTS), np.full((CONTEXTS, ACTIONS), 0.3)
    for _ in range(logs):
        a, b = log(rng, shares, means, 400), log(rng, shares, means, 400)
        wrong += improve(a, b, means_of(a), tau=TAU, delta=delta) is not None
    assert wrong <= logs * delta
    assert wrong > 0 or delta < 0.5


def test_proven_on_the_part_that_proposed_a_null_gain_would_be_called_one_far_too_often():
    rng = np.random.default_rng(2)
    shares, means = rng.dirichlet(np.ones(ACTIONS), CONTEXTS), np.full((CONTEXTS, ACTIONS), 0.3)
    logs = [log(rng, shares, means, 400) for _ in range(100)]
    wrong = sum(improve(one, one, means_of(one), tau=TAU, delta=0.5) is not None for one in logs)
    assert wrong > 80


def test_proof_is_one_sided_and_has_all_of_delta():
    # One context, a fair coin: the normal test would prove a z of 1.65 at .05; bets need sqrt(2 * ln(1 / delta)).
    rng = np.random.default_rng(3)
    early = log(rng, np.full((1, 2), 0.5), np.array([[0.3, 0.6]]), 2_000)
    proposal = propose(early, means_of(early), tau=TAU)
    for delta in (0.05, 0.5):
        need = np.sqrt(2 * np.log(1 / delta))
        for z, proven in ((need - 0.1, False), (need + 0.1, True)):
            difference = z * np.sqrt(2 * 0.25 / 5_000)
            n, rewards = np.full((1, 2), 5_000.0), 5_000 * (0.5 + np.array([[-0.5, 0.5]]) * difference)
            sums = gain_sums(cells(n, rewards), proposal, np.array([0.5]))
            assert proves_gain(sums, delta) is proven
            found = prove(cells(n, n * 0.5), cells(n, rewards), proposal, tau=TAU, delta=delta)
            assert (found is not None) is proven


def test_the_first_set_that_is_not_proven_ends_the_sequence_and_each_has_all_of_delta(monkeypatch):
    rng = np.random.default_rng(4)
    means = 0.3 + 0.2 * rng.random((CONTEXTS, ACTIONS)) * (np.arange(CONTEXTS)[:, None] < 2)
    a, b = (log(rng, np.full((CONTEXTS, ACTIONS), 1 / ACTIONS), means, 40_000) for _ in range(2))
    assert len(proposed_sets(a, means_of(a), tau=TAU)) > 2
    asked = []

    def second_fails(first, later, proposal, *, tau, delta):
        asked.append((first is a, later is b, delta))
        return None if len(asked) == 2 else proposal

    monkeypatch.setattr("warmstart.estimators.improvement.prove", second_fails)
    found = improve(a, b, means_of(a), tau=TAU, delta=0.05)
    assert asked == [(True, True, 0.05)] * 2
    assert len(found.contexts) < CONTEXTS
