"""The sweep over days, against adding up day by day."""

import numpy as np
import pytest

from warmstart.kernels import CellsInOrder, DailySweep, whole_contexts


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
    columns = [a.astype(kind) for a, kind in zip(of_cells, kinds, strict=True)]
    return CellsInOrder(np.arange(len(cells)), *columns), [day, events], np.array(expected)


@pytest.mark.parametrize("seed", range(5))
def test_shares_are_what_adding_up_day_by_day_gives(seed):
    rng = np.random.default_rng(seed)
    cells, traffic, expected = random_contexts(rng, 60)
    cuts = np.sort(rng.choice(len(expected), 7))
    batches = zip(*(np.split(column, cuts) for column in cells), strict=True)
    sweep, shares, rows = DailySweep(*traffic), [], []
    for block in whole_contexts(batches):
        shares.append(sweep.shares(block))
        rows.append(block.row)
    assert sweep.is_done
    np.testing.assert_array_equal(np.concatenate(rows), np.arange(len(expected)))
    np.testing.assert_allclose(np.concatenate(shares), expected, atol=1e-14)
    assert 0 < (expected > 0).sum() < len(expected)


def test_traffic_of_other_contexts_is_noticed():
    cells, (day, events), _ = random_contexts(np.random.default_rng(0), 10)
    more = events.copy()
    more[3] += 1
    assert DailySweep(day, more).shares(cells) is None
    assert DailySweep(day[:-1], events[:-1]).shares(cells) is None
    assert DailySweep(day[:0], events[:0]).shares(cells) is None
    longer = DailySweep(np.append(day, day[-1]), np.append(events, events[-1]))
    assert longer.shares(cells) is not None
    assert not longer.is_done
