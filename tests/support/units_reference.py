"""What audit must say of units, event by event and pair by pair in plain Python: slow, obvious, no shared code.

Events are (unit, context, action, reward), rewards between 0 and 1.
"""

from collections import Counter, defaultdict
from hashlib import md5
from math import log, log2, sqrt

import numpy as np
from scipy.special import logsumexp
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


def typical_policies(events, tau):
    """The contested events, their mean reward, and u of three policies of each of two kinds."""
    n_x, n = Counter(x for _, x, *_ in events), Counter((x, a) for _, x, a, _ in events)
    supported = defaultdict(list)
    for x, a in sorted(n):
        if n[x, a] / n_x[x] >= tau:
            supported[x].append(a)
    contested = [event for event in events if len(supported[event[1]]) > 1]
    kinds = {"hashed": [], "same": []}
    for kind, policies in kinds.items():
        for k in range(3):
            us = []
            for _, x, a, _ in contested:
                start = int(md5(f"typical policy|{x}".encode()).hexdigest()[:6], 16) if kind == "hashed" else 0
                is_taken = a == supported[x][(start + k) % len(supported[x])]
                us.append(n_x[x] / n[x, a] - 1 if is_taken else -1)
            policies.append(us)
    return contested, sum(r for *_, r in contested) / len(contested), kinds


def square_sums(contested, terms):
    """Over units the squares of their sums, over events their squares."""
    return sum(total**2 for total in totals(contested, terms).values()), sum(term**2 for term in terms)


def design_effects(events, tau):
    """Of the gains of each kind of policies."""
    contested, mean, kinds = typical_policies(events, tau)
    effects = {}
    for kind, policies in kinds.items():
        terms = [[u * (r - mean) for u, (*_, r) in zip(us, contested, strict=True)] for us in policies]
        by_unit, by_event = zip(*(square_sums(contested, one) for one in terms), strict=True)
        effects[kind] = sum(by_unit) / sum(by_event)
    return effects


def deviations(events, tau):
    """How many standard deviations bets by unit need: the most of two policies, relative to the larger variance."""
    contested, mean, kinds = typical_policies(events, tau)
    effects, needed = design_effects(events, tau), []
    for kind, (us, *_) in kinds.items():
        variance = max(square_sums(contested, [u * (r - mean) for u, (*_, r) in zip(us, contested, strict=True)]))
        expected = totals(contested, [mean * u if u > 0 else (mean - 1) * u for u in us])
        size = totals(contested, [abs(u) for u in us])
        parts = (np.array([part[unit] for unit in size]) for part in (size, expected))
        total = bets_need(*parts, variance, *square_sums(contested, us), mean)
        needed.append(total / sqrt(variance) * sqrt(max(effects[kind], 1)))
    return max(needed) / sqrt(max(*effects.values(), 1))


def bets_need(size, expected, variance, dependent, independent, mean):
    """The total gain at which bets win ln(40), by bisection; every bet is planned on its own."""
    most_of_it = expected + np.minimum(expected, size - expected).sum() / size.sum() * size
    variances = [independent]
    steps = 1
    while independent * 4 ** (steps - 1) < dependent * (1 - 1e-9):
        steps += 1
    if steps > 1:
        variances = [independent * (dependent / independent) ** (i / (steps - 1)) for i in range(steps)]
    bets = []
    for planned in variances:
        for b in (0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975, 0.995, 0.999):
            best, chosen = -np.inf, 0.0
            for y in 2.0 ** -np.arange(0, 8, 0.5):
                a = y * sqrt(2 * log(40) / (planned * b * (1 - b))) * most_of_it
                promise = 5 * (2 * y - y * y) - (a - np.log1p(a))[a > 0.95].sum()
                if promise > best:
                    best, chosen = promise, y * sqrt(2 * log(40) / (planned * b * (1 - b)))
            a = (chosen * expected)[chosen * most_of_it > 0.95]
            noise = variance + (mean - b) ** 2 * max(dependent, independent)
            bets.append((chosen, chosen**2 * noise / 2 + (a - np.log1p(a)).sum()))
    few, enough = 0.0, 1e6 * sqrt(variance)
    for _ in range(100):
        middle = (few + enough) / 2
        won = logsumexp([bet * middle - cost for bet, cost in bets]) - log(len(bets))
        few, enough = (few, middle) if won >= log(40) else (middle, enough)
    return enough
