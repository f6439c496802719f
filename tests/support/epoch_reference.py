"""The test for reaction inside epochs, by arrays: no shared code.

``epoch, slice``: of every event. Terms follow the module's formula: z of a slice, centred within the epoch of a cell
and between its epochs.
"""

from math import erfc, sqrt

import numpy as np

SIZES = {"week": (7, 1), "day": (1, 1 / 6), "hour": (1 / 24, 1 / 144)}


def slices(time, length, *, days_before=0):
    """The epoch and the slice of every event, by its time in days from a Monday."""
    if length == "all":
        return np.zeros(len(time), int), np.floor(time).astype(int)
    epoch, part = SIZES[length]
    return np.floor((time + days_before) / epoch).astype(int), np.floor((time + days_before) / part + 1e-9).astype(int)


def numbered(*columns):
    """The number of each row's group, in order, and the first row of every group."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, place = np.unique(column, return_inverse=True)
        code = code * (place.max() + 1) + place
    _, first, group = np.unique(code, return_index=True, return_inverse=True)
    return group, first


def epoch_test(x, a, r, epoch, part):
    """z, its clustered version, the response, the smallest visible one, and the effective number of stretches."""
    group, first = numbered(x, a, epoch, part)
    n, s = np.bincount(group).astype(float), np.bincount(group, r)
    x_, a_, e_, k_ = x[first], a[first], epoch[first], part[first]
    cell, _ = numbered(x_, a_)
    count, won = np.bincount(cell, n), np.bincount(cell, s)
    squares = np.bincount(cell, np.bincount(group, r * r)) - won**2 / count
    v = np.where((count > 1) & (squares > 1e-12 * count), squares / np.maximum(count - 1, 1), 0)[cell]
    in_slice, _ = numbered(x_, e_, k_)
    slice_n = np.bincount(in_slice, n)[in_slice]
    later, own_later = (after(keys, k_, n) for keys in (numbered(x_, e_)[0], numbered(x_, a_, e_)[0]))
    used = (later > 0) & (slice_n > 1)
    z = np.where(used, own_later / np.where(later, later, 1) - (n - 1) / np.where(slice_n > 1, slice_n - 1, 1), 0)
    n, s = n * used, s * used
    stretch, stretch_first = numbered(x_, a_, e_)
    within = standardised(n, s, z, v, stretch, x_)
    total = np.bincount(stretch, n)
    z_mean = np.bincount(stretch, n * z) / np.where(total, total, 1)
    own = v[stretch_first], cell[stretch_first], x_[stretch_first]
    between = standardised(total, np.bincount(stretch, s), z_mean, *own)
    both = [found for found in (within, between) if found is not None and found[3] >= 5]
    used = [found for found in both if found is not between or found[0] > 0]
    if not used:
        return None
    z, clustered, reach = (sum(found[i] for found in used) / sqrt(len(used)) for i in range(3))
    visible = 3.4174 * sqrt(len(both)) / sum(found[2] for found in both)
    return z, clustered, z / reach, visible, sum(sqrt(found[3]) for found in both) ** 2 / len(both)


def after(keys, place, n):
    """The events of a row's group at a later place."""
    order = np.lexsort((place, keys))
    k, p, cumulative = keys[order], place[order], n[order].cumsum()
    last_of_place = np.r_[(np.diff(k) != 0) | (np.diff(p) != 0), True]
    last_of_key = np.r_[np.diff(k) != 0, True]
    upto, end = (
        np.minimum.accumulate(np.where(last, cumulative, np.inf)[::-1])[::-1] for last in (last_of_place, last_of_key)
    )
    found = np.empty(len(n))
    found[order] = end - upto
    return found


def standardised(n, s, z, v, group, context):
    total = np.bincount(group, n)[group]
    safe = np.where(total, total, 1)
    away = z - np.bincount(group, n * z)[group] / safe
    moved = (n > 0) & (v > 0) & (abs(away) > 1e-9)
    if moved.sum() <= len(np.unique(group[moved])):
        return None
    score = (away * (s - n * np.bincount(group, s)[group] / safe))[moved]
    variance = (v * n * away**2)[moved]
    left = 1 - len(np.unique(group[moved])) / moved.sum()
    deviation = sqrt(variance.sum() * max((score**2).sum() / variance.sum() / left, 1))
    by_context = np.bincount(numbered(context)[0][moved], score)
    clustered = sqrt((by_context**2).sum())
    effective = variance.sum() ** 2 / (variance**2).sum() * left
    reach = (v * n)[moved].sum() / deviation
    return score.sum() / deviation, score.sum() / clustered if clustered else 0.0, reach, effective


def p_value(z):
    return erfc(abs(z) / sqrt(2))


def support(x, a, epoch, tau):
    """The shares of traffic in a (context, epoch) with several actions, and with two that reach tau."""
    group, first = numbered(x, a, epoch)
    n = np.bincount(group).astype(float)
    place, _ = numbered(x[first], epoch[first])
    total = np.bincount(place, n)
    actions, reach = np.bincount(place), np.bincount(place, n >= tau * total[place])
    return total[actions > 1].sum() / len(x), total[reach > 1].sum() / len(x)
