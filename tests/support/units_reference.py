"""What audit must say of units, event by event and pair by pair in plain Python: slow, obvious, no shared code.

Events are (unit, context, action, reward), rewards between 0 and 1.
"""

from collections import Counter, defaultdict
from hashlib import md5
from math import log2, sqrt

from tests.support.audit_reference import Z_975, spread, two_sided


def events_per_unit(events):
    return spread(list(Counter(unit for unit, *_ in events).values()))


def totals(events, terms):
    """Sums of terms by unit."""
    found = defaultdict(float)
    for (unit, *_), term in zip(events, terms, strict=True):
        found[unit] += term
    return found


def design_effect(events):
    """The variance of the mean, estimated from units, over that estimated from events; both with n / (n - 1)."""
    mean = sum(r for *_, r in events) / len(events)
    terms = [r - mean for *_, r in events]
    units = totals(events, terms).values()
    by_unit = sum(total**2 for total in units) * len(units) / (len(units) - 1)
    return by_unit / (sum(term**2 for term in terms) * len(events) / (len(events) - 1))


def stickiness(events):
    """Every event against the others of its unit in its context, and all pairs of different units there."""
    of_context = defaultdict(list)
    for unit, x, a, _ in events:
        of_context[x].append((unit, a))
    returned, same, chance = 0, 0.0, 0.0
    for seen in of_context.values():
        apart = [a == b for unit, a in seen for other, b in seen if unit != other]
        if not apart:
            continue
        alike = sum(apart) / len(apart)
        for one in {unit for unit, _ in seen}:
            own = [a for unit, a in seen if unit == one]
            for i, a in enumerate(own):
                others = [a == b for j, b in enumerate(own) if i != j]
                if others:
                    returned, same, chance = returned + 1, same + sum(others) / len(others), chance + alike
    return {"events": returned, "same": same / returned, "chance": chance / returned}


def visits_test(events, scale=(0, 1)):
    """The slope of reward on log2(visits) within cells, with a variance by unit."""
    visits = Counter(unit for unit, *_ in events)
    cells = defaultdict(list)
    for unit, x, a, r in events:
        cells[x, a].append((unit, log2(visits[unit]), r))
    score, squares, of_unit = 0.0, 0.0, defaultdict(float)
    for seen in cells.values():
        n_of_unit = Counter(unit for unit, *_ in seen)
        zbar, rbar = (sum(part) / len(seen) for part in ([z for _, z, _ in seen], [r for *_, r in seen]))
        for unit, z, r in seen:
            score += (z - zbar) * (r - rbar)
            squares += (z - zbar) ** 2
            if n_of_unit[unit] < len(seen):
                of_unit[unit] += (z - zbar) * (r - rbar) / sqrt(1 - n_of_unit[unit] / len(seen))
    error = sqrt(sum(total**2 for total in of_unit.values()))
    width = scale[1] - scale[0]
    slope, margin = width * score / squares, width * Z_975 * error / squares
    return {
        "effect": slope,
        "lower": slope - margin,
        "upper": slope + margin,
        "z": score / error,
        "p_value": two_sided(score / error),
        "cells": sum(len({unit for unit, *_ in seen}) > 1 for seen in cells.values()),
    }


def typical_gain(events, tau):
    """The larger design effect of two kinds of policies, by the rewards there are and for equal rewards of a unit."""
    n_x, n = Counter(x for _, x, *_ in events), Counter((x, a) for _, x, a, _ in events)
    supported = defaultdict(list)
    for x, a in sorted(n):
        if n[x, a] / n_x[x] >= tau:
            supported[x].append(a)
    contested = [event for event in events if len(supported[event[1]]) > 1]
    mean = sum(r for *_, r in contested) / len(contested)
    found = []
    for hashed in (True, False):
        sums = [0.0] * 4
        for k in range(3):
            us = []
            for _, x, a, _ in contested:
                start = int(md5(f"typical policy|{x}".encode()).hexdigest()[:6], 16) if hashed else 0
                is_taken = a == supported[x][(start + k) % len(supported[x])]
                us.append(n_x[x] / n[x, a] - 1 if is_taken else -1)
            of_rewards = [u * (r - mean) for u, (*_, r) in zip(us, contested, strict=True)]
            for i, terms in enumerate((of_rewards, us)):
                sums[2 * i] += sum(total**2 for total in totals(contested, terms).values())
                sums[2 * i + 1] += sum(term**2 for term in terms)
        found.append((sums[0] / sums[1], sums[2] / sums[3]))
    return {"design_effect": max(one for one, _ in found), "largest": max(one for _, one in found)}
