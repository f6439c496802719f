"""The sweep over days, against adding up day by day."""

import numpy as np
import pytest

from warmstart.kernels.sweep import daily_shares, first_since


def random_contexts(rng, contexts):
    """Return the kernel's arguments, and what it should write, for contexts with gaps, long spans and empty ones."""
    cells, days, expected = [], [], []
    for _ in range(contexts):
        when = np.sort(rng.choice(40, size=rng.integers(1, 12), replace=False)) - 20
        events = rng.integers(1, 9, size=len(when))
        spans = [(rng.integers(-25, 25), rng.integers(-25, 25), rng.random() < 0.8) for _ in range(rng.integers(1, 7))]
        for begin, end, feasible in spans:
            share = 0.0
            for day, n in zip(when, events, strict=True):
                live = sum(f and b <= day < e for b, e, f in spans)
                if feasible and begin <= day < end:
                    share += n / live
            expected.append(share / events.sum())
            cells.append((len(spans), events.sum(), feasible, begin, end))
        days += list(zip(when, events, strict=True))
    context_cells, context_events, feasible, live_from, live_until = map(np.array, zip(*cells, strict=True))
    day, events = (np.array(column, kind) for column, kind in zip(zip(*days, strict=True), ("i4", "u4"), strict=True))
    kinds = ("i4", "u4", "i1", "i4", "i4")
    of_cells = (context_cells, context_events, feasible, live_from, live_until)
    return [a.astype(kind) for a, kind in zip(of_cells, kinds, strict=True)], [day, events], np.array(expected)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("way", [daily_shares, daily_shares.py_func], ids=["compiled", "plain"])
def test_shares_are_what_adding_up_day_by_day_gives(seed, way):
    cells, traffic, expected = random_contexts(np.random.default_rng(seed), 60)
    shares = np.empty(len(expected))
    assert way(*cells, *traffic, shares)
    np.testing.assert_allclose(shares, expected, atol=1e-14)
    assert 0 < (expected > 0).sum() < len(expected)


def test_traffic_of_other_contexts_is_noticed():
    cells, (day, events), expected = random_contexts(np.random.default_rng(0), 10)
    shares = np.empty(len(expected))
    more = events.copy()
    more[3] += 1
    assert not daily_shares(*cells, day, more, shares)
    assert not daily_shares(*cells, day[:-1], events[:-1], shares)
    assert not daily_shares(*cells, np.append(day, day[-1]), np.append(events, events[-1]), shares)


def test_the_first_day_since_another():
    day = np.array([7, 2, 4, 4, 9, 1])
    for wanted in range(11):
        assert first_since(wanted, day, 1, 5) == 1 + np.searchsorted(day[1:5], wanted)
    assert first_since(3, day, 2, 2) == 2
