"""What audit must return, computed event by event in plain Python: slow, obvious, no shared code.

Events are (context, action, reward, day, second of the day), rewards between 0 and 1.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, pairwise
from math import erfc, exp, isclose, log, sqrt

from tests.support import reference

TAUS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
# Points that a chi-square of so many degrees of freedom passes in 1 % of cases (printed tables).
ONE_PERCENT = {1: 6.635, 2: 9.210, 3: 11.345, 4: 13.277, 5: 15.086, 6: 16.812, 7: 18.475}
# 97.5 % and 80 % points of the standard normal distribution.
Z_975, Z_80 = 1.959963984540054, 0.8416212335729143
# The mean rewards that bets without a training window reckon with.
RATES = (0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975, 0.995, 0.999)


def bets(mean):
    """What the bets of a gain need, in standard deviations, to win 40 times the stake on average."""
    few, many = 0.0, 1e3
    for _ in range(100):
        d, won = (few + many) / 2, 0.0
        for b in RATES:
            bet = sqrt(2 * log(40) / (b * (1 - b)))
            square = mean * (1 - b) ** 2 + (1 - mean) * b**2
            won += exp(min(bet * sqrt(mean * (1 - mean)) * d - bet**2 * square / 2, 700)) / len(RATES)
        few, many = (few, d) if won >= 40 else (d, many)
    return many


def by_context(events):
    found = defaultdict(list)
    for event in events:
        found[event[0]].append(event)
    return found


def by_cell(events):
    found = defaultdict(list)
    for event in events:
        found[event[:2]].append(event)
    return found


def quantile(numbers, share):
    """Between the two nearest of the sorted numbers, in proportion."""
    ordered = sorted(numbers)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def spread(numbers):
    return {
        "least": min(numbers),
        "quarter": quantile(numbers, 0.25),
        "median": quantile(numbers, 0.5),
        "three_quarters": quantile(numbers, 0.75),
        "ninety": quantile(numbers, 0.9),
        "ninety_nine": quantile(numbers, 0.99),
        "most": max(numbers),
    }


def log_facts(events, scale=(0, 1)):
    low, high = scale
    days = [day for *_, day, _ in events]
    return {
        "events": len(events),
        "contexts": len(by_context(events)),
        "actions": len({a for _, a, *_ in events}),
        "cells": len(by_cell(events)),
        "reward_rate": sum(low + (high - low) * r for _, _, r, *_ in events) / len(events),
        "days": max(days) - min(days) + 1,
        "events_per_context": spread(list(Counter(x for x, *_ in events).values())),
        "events_per_action": spread(list(Counter(a for _, a, *_ in events).values())),
        "duplicates": sum(times - 1 for times in Counter(events).values()),
    }


def by_actions(events):
    found = {label: [0, 0.0] for label in ("1", "2", "3 to 5", "6 to 10", "11 or more")}
    for seen in by_context(events).values():
        k = len({a for _, a, *_ in seen})
        label = "1" if k == 1 else "2" if k == 2 else "3 to 5" if k <= 5 else "6 to 10" if k <= 10 else "11 or more"
        found[label][0] += 1
        found[label][1] += len(seen) / len(events)
    return [(label, contexts, traffic) for label, (contexts, traffic) in found.items()]


def effective_actions(events):
    p = reference.shares(events)
    return exp(sum(-log(p[x, a]) for x, a, *_ in events) / len(events))


def uniform(events, everything, *, live):
    """The daily uniform policy among actions shown in the window and live that day, or the plain one."""
    short = [event[:4] for event in events]
    return reference.uniform(short, short, [event[:4] for event in everything] if live else None)


def support(events, h, taus):
    """For every tau: supported traffic of uniform, traffic with a choice, squared clipping loss plus variance."""
    p, total = reference.shares(events), len(events)
    rate = sum(r for _, _, r, *_ in events) / total
    chosen = defaultdict(dict)
    for (x, a), share in h.items():
        chosen[x][a] = share
    of_context = defaultdict(list)
    for (x, _), share in p.items():
        of_context[x].append(share)
    rows = []
    for tau in taus:
        supported = choice = lost = squares = 0.0
        for x, a, *_ in events:
            choice += sum(share >= tau for share in of_context[x]) >= 2
            squares += (h.get((x, a), 0) / max(p[x, a], tau)) ** 2
            for b, share in chosen[x].items():
                supported += share * (p[x, b] >= tau)
                lost += share * (1 - min(1, p[x, b] / tau))
        error = (rate * lost / total) ** 2 + rate * squares / total**2
        rows.append((tau, supported / total, choice / total, error))
    return rows


def even_shares(events):
    tested = rejected = 0
    for seen in by_context(events).values():
        counts = Counter(a for _, a, *_ in seen)
        k, n = len(counts), len(seen)
        if k > 1 and n >= 5 * k:
            statistic = sum((count - n / k) ** 2 / (n / k) for count in counts.values())
            assert not isclose(statistic, ONE_PERCENT[k - 1], rel_tol=0.02), "too near the point to tell by a table"
            tested += 1
            rejected += statistic > ONE_PERCENT[k - 1]
    return tested, rejected / tested if tested else 0.0


def plug_in_entropy(groups):
    """The entropy of the action within groups of events, in nats, with Miller and Madow's (k - 1) / 2n."""
    total = sum(len(group) for group in groups)
    nats = 0.0
    for group in groups:
        counts = Counter(a for _, a, *_ in group)
        nats += sum(-n * log(n / len(group)) for n in counts.values()) + (len(counts) - 1) / 2
    return nats / total


def days_of(events):
    """The events of every context by day, in order."""
    found = defaultdict(lambda: defaultdict(list))
    for event in events:
        found[event[0]][event[3]].append(event)
    return {x: dict(sorted(days.items())) for x, days in found.items()}


def origin(events):
    traffic = within = across = 0.0
    for seen in by_context(events).values():
        same_day, other_day = [], []
        for first, second in combinations(seen, 2):
            (same_day if first[3] == second[3] else other_day).append(first[1] != second[1])
        if same_day and other_day:
            traffic += len(seen)
            within += len(seen) * sum(same_day) / len(same_day)
            across += len(seen) * sum(other_day) / len(other_day)
    context_days = [group for days in days_of(events).values() for group in days.values()]
    several = [group for group in context_days if len(group) > 1]
    compared, switched = Counter(), Counter()
    for days in days_of(events).values():
        for (_, before), (day, after) in pairwise(days.items()):
            then, now = (Counter(a for _, a, *_ in group) for group in (before, after))
            kept = sum(min(Fraction(then[a], len(before)), Fraction(now[a], len(after))) for a in then)
            compared[day] += 1
            switched[day] += kept < Fraction(1, 2)
    return {
        "context_days": len(context_days),
        "one_action_days": sum(len({e[1] for e in group}) == 1 for group in several) / len(several)
        if several
        else None,
        "differ_within_day": within / traffic if traffic else None,
        "differ_across_days": across / traffic if traffic else None,
        "calendar": min(max(1 - within / across, 0), 1) if across else None,
        "entropy": plug_in_entropy(by_context(events).values()),
        "entropy_within_day": plug_in_entropy(context_days),
        "switches_per_context": sum(switched.values()) / len(days_of(events)),
        "switch_days": [(day, compared[day], switched[day] / compared[day]) for day in sorted(compared)],
    }


def check(pairs, scale, *, typical=False):
    """U and what follows from it; ``pairs`` are (event, z). ``typical``: per standard deviation of z within cells."""
    cells = defaultdict(list)
    for event, z in pairs:
        cells[event[:2]].append((event[2], z))
    moved, of_context, variance, total, taking_part, events = 0.0, defaultdict(float), 0.0, 0.0, 0, 0
    for (x, _), seen in cells.items():
        if len(seen) < 2 or len({z for _, z in seen}) < 2:
            continue
        zbar, rbar = (sum(values) / len(seen) for values in ([z for _, z in seen], [r for r, _ in seen]))
        u = sum((z - zbar) * r for r, z in seen)
        squares = sum((z - zbar) ** 2 for _, z in seen)
        moved, total, taking_part, events = moved + u, total + squares, taking_part + 1, events + len(seen)
        of_context[x] += u
        variance += sum((r - rbar) ** 2 for r, _ in seen) / (len(seen) - 1) * squares
    found = {"cells": taking_part, "effect": None, "lower": None, "upper": None, "z": None}
    found |= {"p_value": None, "clustered_p": None}
    if variance > 1e-12:
        scale *= sqrt(total / events) if typical else 1
        reach = Z_975 * sqrt(variance) / total * scale
        clustered = sum(u * u for u in of_context.values())
        found |= {
            "effect": moved / total * scale,
            "lower": moved / total * scale - reach,
            "upper": moved / total * scale + reach,
            "z": moved / sqrt(variance),
            "p_value": two_sided(moved / sqrt(variance)),
            "clustered_p": two_sided(moved / sqrt(clustered)),
        }
    return found


def two_sided(z):
    return erfc(abs(z) / sqrt(2))


def drift_check(events, scale=(0, 1)):
    days = [day for *_, day, _ in events]
    return check([(event, event[3]) for event in events], (max(days) - min(days)) * (scale[1] - scale[0]))


def reaction_check(events, scale=(0, 1)):
    pairs = []
    for days in days_of(events).values():
        for (_, today), (_, tomorrow) in pairwise(days.items()):
            pairs += [(event, sum(e[1] == event[1] for e in tomorrow) / len(tomorrow)) for event in today]
    return check(pairs, scale[1] - scale[0], typical=True)


def day_at(events, fraction):
    """The day before which the share of the events is nearest to a fraction."""
    days = sorted({event[3] for event in events})
    if len(days) < 2:
        return None
    return min(days[1:], key=lambda day: abs(sum(event[3] < day for event in events) / len(events) - fraction))


def context_drift(events):
    """The first against the second half: cut, unseen traffic, Cramer's V less chance, and its p-value."""
    from scipy.stats import gamma

    cut = day_at(events, 0.5)
    if cut is None:
        return None
    late = [event for event in events if event[3] >= cut]
    known = {event[0] for event in events if event[3] < cut}
    total, share = len(events), 1 - len(late) / len(events)
    contexts = by_context(events)
    statistic = 0.0
    for seen in contexts.values():
        for half in (True, False):
            expected = len(seen) * (share if half else 1 - share)
            statistic += (sum((event[3] < cut) == half for event in seen) - expected) ** 2 / expected
    k = len(contexts)
    found = {"cut": cut, "unseen_before": sum(event[0] not in known for event in late) / len(late)}
    if k == 1:
        return {**found, "distance": 0.0, "p_value": None}
    mean, variance = (
        (k - 1) * total / (total - 1),
        dawson([list(map(len, contexts.values())), [len(late), total - len(late)]]),
    )
    found["distance"] = sqrt(max(statistic - mean, 0) / total)
    return {**found, "p_value": gamma.sf(statistic, mean**2 / variance, scale=variance / mean)}


def dawson(margins):
    """The variance of Pearson's chi-square given both margins (Dawson 1954)."""
    total = sum(margins[0])
    v = [(len(m) - 1) * (total - len(m)) / (total - 1) for m in margins]
    w = [(total * sum(1 / n for n in m) - len(m) ** 2) / (total - 2) for m in margins]
    return 2 * total / (total - 3) * (v[0] - w[0]) * (v[1] - w[1]) + total**2 / (total - 1) * w[0] * w[1]


def churn(events, everything):
    days = [event[3] for event in events]
    spans = defaultdict(list)
    for _, a, _, day, _ in everything:
        spans[a].append(day)
    actions = {event[1] for event in events}
    whole = {a for a in actions if min(spans[a]) <= min(days) and max(spans[a]) >= max(days)}
    found = {
        "actions_all_window": len(whole) / len(actions),
        "traffic_all_window": sum(event[1] in whole for event in events) / len(events),
        **dict.fromkeys(("weight_ratio_all", "weight_ratio_train", "overweighted_all", "overweighted_train")),
    }
    cut = day_at(events, 0.65)
    if cut is None:
        return found
    early, late = ([event for event in events if (event[3] >= cut) == side] for side in (False, True))
    own, before, both = (reference.shares(part) for part in (late, early, events))
    feasible, traffic = reference.seen(early), 0.0
    sums = Counter()
    for x, *_ in late:
        for a in feasible[x]:
            if (x, a) not in own:
                continue
            weight = 1 / len(feasible[x])
            traffic += weight
            for name, shares in (("all", both), ("train", before)):
                ratio = own[x, a] / max(shares[x, a], 0.01)
                sums[f"weight_ratio_{name}"] += weight * ratio
                sums[f"overweighted_{name}"] += weight * (ratio > 1)
    names = ("weight_ratio_all", "weight_ratio_train", "overweighted_all", "overweighted_train")
    return found | {name: sums[name] / traffic for name in names} if traffic else found


def provable(error, mean, scale, needed):
    """The smallest g for which g * mean, with an error that grows as the root of 1 + g, is proven with 80 % chance."""
    low, high = scale
    mean = low + (high - low) * mean
    if mean <= 0:
        return None
    few, many = 0.0, 1e9
    for _ in range(200):
        middle = (few + many) / 2
        proven = middle * mean >= (needed + Z_80) * error * (high - low) * sqrt(1 + middle)
        few, many = (few, middle) if proven else (middle, many)
    return many


def power(events, tau, scale=(0, 1)):
    """The contested share; the mean over supported actions of the variance of 'always this action here' - logging."""
    p = reference.shares(events)
    contested, parts = [], []
    for x, seen in by_context(events).items():
        supported = [a for a in {event[1] for event in seen} if p[x, a] >= tau]
        if len(supported) < 2:
            continue
        contested += seen
        for a in supported:
            us = [(1 / p[x, a] if b == a else 0) - 1 for _, b, *_ in seen]
            in_context = sum(r for _, _, r, *_ in seen) / len(seen)
            parts.append((sum(u * u for u in us) / len(supported), in_context))
    over_all = sum(r for _, _, r, *_ in contested) / max(len(contested), 1)
    # The mean square of 0 or 1 less the mean of all, if 1 comes as often as the context's mean says.
    variance = sum(uu * (m * (1 - over_all) ** 2 + (1 - m) * over_all**2) for uu, m in parts)
    gain, needed_deviations = None, bets(over_all)
    if sum(r for _, _, r, *_ in contested) > 0:
        mean = sum(r for _, _, r, *_ in contested) / len(contested)
        gain = provable(sqrt(variance) / len(contested), mean, scale, needed_deviations)
    times = []
    for target in (0.05, 0.1):
        # With m times the log, the error is that of this one over the root of m.
        needed = None
        if gain is not None:
            raw = scale[0] + (scale[1] - scale[0]) * mean
            error = (needed_deviations + Z_80) * sqrt(variance) / len(contested) * (scale[1] - scale[0])
            needed = (error * sqrt(1 + target) / (target * raw)) ** 2
        times.append((target, needed))
    width = scale[1] - scale[0]
    return {
        "contested": len(contested) / len(events),
        "smallest_gain": gain,
        "more_log": times,
        "sampling": 2 * needed_deviations * sqrt(variance) / len(events) * width,
        "blind": (1 - len(contested) / len(events)) * width,
    }


def explore(events, scale=(0, 1)):
    low, high = scale
    alone = {x: seen for x, seen in by_context(events).items() if len({event[1] for event in seen}) == 1}
    rows = []
    for x, seen in alone.items():
        names = x if isinstance(x, tuple) else (x,)
        reward = low + (high - low) * sum(r for _, _, r, *_ in seen) / len(seen)
        rows.append((*names, seen[0][1], len(seen), len(seen) / len(events), reward))
    rows.sort(key=lambda row: (-row[-3], row[:-3]))
    shown = [event for seen in alone.values() for event in seen]
    rewards = sum(e[2] for e in shown)
    variance = rewards * (1 - rewards / len(shown)) if shown else 0.0
    experiments = []
    for share in (0.01, 0.05, 0.1):
        gain = None
        if rewards > 0:
            error = sqrt(variance * (1 / share - 1)) / len(shown)
            gain = provable(error, rewards / len(shown), scale, bets(rewards / len(shown)))
        experiments.append((share, round(share * len(shown)), gain))
    return {"contexts": len(alone), "traffic": len(shown) / len(events), "rows": rows, "experiments": experiments}
