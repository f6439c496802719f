"""The sweep over days, against adding up day by day."""

from collections import Counter

import numpy as np
import pytest

from warmstart.kernels import CellsInOrder, DailySweep, Traffic, whole_contexts


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
    sweep, shares, rows = DailySweep(Traffic(*traffic)), [], []
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
    assert DailySweep(Traffic(day, more)).shares(cells) is None
    assert DailySweep(Traffic(day[:-1], events[:-1])).shares(cells) is None
    assert DailySweep(Traffic(day[:0], events[:0])).shares(cells) is None
    longer = DailySweep(Traffic(np.append(day, day[-1]), np.append(events, events[-1])))
    assert longer.shares(cells) is not None
    assert not longer.is_done


def test_traffic_counts_the_events_of_every_context_and_day_in_their_order():
    rng = np.random.default_rng(3)
    bits, contexts, days = 5, np.sort(rng.choice(1 << 40, 30, replace=False)), np.arange(20)
    keys = [(int(rng.choice(contexts)), int(rng.choice(days))) for _ in range(500)]
    parts = [
        Traffic.of_keys(
            np.array([(c << bits) | d for c, d in keys if (c > contexts[9]) == later], dtype=np.uint64), bits
        )
        for later in (False, True)
    ]
    found, counted = Traffic.together(parts), sorted(Counter(keys).items())
    assert found.contexts == len({context for context, _ in keys})
    assert found.day.tolist() == [day for (_, day), _ in counted]
    assert found.events.tolist() == [n for _, n in counted]
    nothing = Traffic.of_keys(np.empty(0, dtype=np.uint64), bits)
    assert (len(nothing.day), len(nothing.events), nothing.contexts) == (0, 0, 0)


def test_two_contexts_in_the_place_of_one_are_noticed_although_their_events_agree():
    """Days 5 and 7 of two contexts with one key: the first would get the day of the second."""
    cells = CellsInOrder(*(np.array(column) for column in ([0, 1], [1, 1], [1, 1], [1, 1], [0, 0], [9, 9])))
    merged = Traffic.of_keys(np.array([(3 << 4) | 7, (3 << 4) | 5], dtype=np.uint64), 4)
    sweep = DailySweep(merged)
    assert sweep.shares(cells) is None or not sweep.is_done
    apart = DailySweep(Traffic.of_keys(np.array([(4 << 4) | 7, (3 << 4) | 5], dtype=np.uint64), 4))
    assert apart.shares(cells).tolist() == [1.0, 1.0]
    assert apart.is_done
