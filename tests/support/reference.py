"""What evaluate must return, computed event by event in plain Python: slow, obvious, no shared arithmetic."""

from collections import defaultdict
from math import sqrt

import numpy as np

from warmstart.estimators.intervals import Coefficients, GainSums


def shares(events):
    """pi_hat(a|x) by counting; events are (x, a, r, day)."""
    cell, context = defaultdict(int), defaultdict(int)
    for x, a, *_ in events:
        cell[x, a] += 1
        context[x] += 1
    return {(x, a): n / context[x] for (x, a), n in cell.items()}


def seen(events):
    feasible = defaultdict(set)
    for x, a, *_ in events:
        feasible[x].add(a)
    return feasible


def uniform(feasible_events, evaluated, everything=None):
    """The uniform policy; with ``everything``, among actions live that day, averaged over the context's traffic."""
    feasible = seen(feasible_events)
    total, h = defaultdict(int), defaultdict(float)
    for x, *_ in evaluated:
        total[x] += 1
    days = {}
    if everything is not None:
        for _, a, _, day in everything:
            first, last = days.get(a, (day, day))
            days[a] = (min(first, day), max(last, day))
    for x, _, _, day in evaluated:
        choices = [a for a in feasible[x] if everything is None or days[a][0] <= day <= days[a][1]]
        for a in choices:
            h[x, a] += 1 / len(choices) / total[x]
    return dict(h)


def evaluate(evaluated, h, tau, *, weights=None):
    """Value and everything beside it; ``weights`` are the events whose counts give the propensities."""
    T = len(evaluated)
    own = shares(evaluated)
    pi_hat = own if weights is None else shares(weights)
    known = {x for x, _ in pi_hat}
    cs = [h.get((x, a), 0) / max(pi_hat.get((x, a), 0), tau) if x in known else 0.0 for x, a, *_ in evaluated]
    terms = [c * r for c, (_, _, r, _) in zip(cs, evaluated, strict=True)]
    actions = seen(evaluated)
    chosen = defaultdict(dict)
    for (x, a), p in h.items():
        if x in actions and p > 0:
            chosen[x][a] = p
    parts = {"supported": 0.0, "clipped": 0.0, "unsupported": 0.0, "undecided": 0.0}
    supported_share, kept, contested, rho_sum, over, tight, paper = defaultdict(float), 0, 0, 0, 0, 0, 0
    regret = defaultdict(float)
    for x, a in {*own, *(key for key in pi_hat if key[0] in actions)}:
        regret[x] = max(regret[x], (own.get((x, a), 0) - pi_hat.get((x, a), 0)) ** 2)
    for x, *_ in evaluated:
        parts["undecided"] += (1 - sum(chosen[x].values())) / T
        for a, p in chosen[x].items():
            share = own.get((x, a), 0)
            kind = "unsupported" if share == 0 else "supported" if share >= tau else "clipped"
            parts[kind] += p / T
            kept += p * min(1, share / tau) / T
            rho = share / max(pi_hat.get((x, a), 0), tau) if x in known else 0.0
            rho_sum += p * rho / T
            over += p * (share > 0 and rho > 1) / T
            if kind == "supported":
                supported_share[x] += p / sum(1 for y, *_ in evaluated if y == x)
                contested += p * (len(actions[x]) > 1) / T
                tight += p * abs(rho - 1) / T
                paper += p * sqrt(regret[x]) / tau / T
    T_B = sum(supported_share[x] for x, *_ in evaluated)
    us = [(h.get((x, a), 0) / own[x, a] if own[x, a] >= tau else 0) - supported_share[x] for x, a, *_ in evaluated]
    policy_terms = [(u + supported_share[x]) * r for u, (x, _, r, _) in zip(us, evaluated, strict=True)]
    shown = parts["supported"] + parts["clipped"]
    return {
        "value": sum(terms) / T,
        "terms": terms,
        "coefficients": cs,
        "matched": sum(h.get((x, a), 0) > 0 for x, a, *_ in evaluated),
        "effective_sample_size": sum(cs) ** 2 / sum(c * c for c in cs) if any(cs) else 0.0,
        "support": parts,
        "kept": kept,
        "share": T_B / T,
        "contested": contested,
        "policy": sum(policy_terms) / T_B if T_B else None,
        "logging": sum(supported_share[x] * r for x, _, r, _ in evaluated) / T_B if T_B else None,
        "difference": sum(u * r for u, (_, _, r, _) in zip(us, evaluated, strict=True)) / T_B if T_B else None,
        "traffic": T_B,
        "gains": [
            (x, u, r)
            for u, (x, _, r, _) in zip(us, evaluated, strict=True)
            if len(actions[x]) > 1 and supported_share[x] > 0
        ],
        "rho_mean": rho_sum / shown if shown else 0.0,
        "rho_above_one": over,
        "tight": tight,
        "paper": paper,
    }


def gain_sums(gains, traffic, train=None):
    """What the interval of the gain needs, with every event's own u, expected reward and reward."""
    contexts, u = [x for x, _, _ in gains], [u for _, u, _ in gains]
    by_u = Coefficients(np.array(u), np.ones(len(u)), np.array([r for _, _, r in gains], dtype=float))
    if train is None:
        return GainSums(by_u, None, traffic, sum(one * one for one in u))
    mean, rewards = sum(r for _, _, r, _ in train) / len(train), defaultdict(list)
    for x, _, r, _ in train:
        rewards[x].append(r)
    expected = {x: (sum(rewards[x]) + 20 * mean) / (len(rewards[x]) + 20) for x in set(contexts)}
    rounded = {x: min(range(33), key=lambda k, e=e: (abs(k / 32 - e), -abs(k - 16))) / 32 for x, e in expected.items()}
    variance = sum(one * one * expected[x] * (1 - expected[x]) for x, one in zip(contexts, u, strict=True))
    return GainSums(by_u, np.array([rounded[x] for x in contexts]), traffic, variance)
