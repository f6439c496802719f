"""What ``evaluate`` must return for a small log, event by event in plain Python: no engine, no cells, no SQL.

Everything is said of events and of ``groups``: contexts, or contexts in an epoch where propensities are counted there.
Nothing is shared with the package but confidence intervals of numbers, which have tests of their own.
"""

from collections import defaultdict
from dataclasses import replace
from hashlib import md5
from math import log

STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
FOLDS = 5


def windows(question):
    """The evaluated events, those of training, and all; events of a window count 1 / (events of their unit) there."""
    every = list(question.events)
    epoch = question.read.get("epoch")
    early = [e for e in every if question.split is not None and e.day < question.split]
    late = [e for e in every if question.split is None or e.day >= question.split]
    if question.until is not None:
        late = [e for e in late if e.day < question.until]
        if epoch == "version":
            ended = {e.epoch for e in every} - {e.epoch for e in every if e.day >= question.until}
            late = [e for e in late if e.epoch in ended]
    if epoch == "day":
        # Days begin at midnight, six hours before the first event of each.
        early, late = ([replace(e, epoch=e.day) for e in part] for part in (early, late))
    if question.options.get("per") == "unit":
        early, late = counting_units(early), counting_units(late)
    return late, early, every


def counting_units(events):
    visits = defaultdict(int)
    for e in events:
        visits[e.unit] += 1
    return [replace(e, v=1 / visits[e.unit]) for e in events]


def sums(events, *keys):
    """What events count together, by functions of them."""
    found = defaultdict(float)
    for e in events:
        found[tuple(key(e) for key in keys)] += e.v
    return found


def x_of(event):
    return event.x


def a_of(event):
    return event.a


def fold_of(question, event):
    """The fold of an event: by its unit or its number."""
    text = event.unit if "unit" in question.read else str(event.id)
    return int(md5(f"strata 0|{text}".encode()).hexdigest()[:6], 16) % FOLDS


# Policies -----------------------------------------------------------------------------------------------------------


def choices(question, policy, evaluated, train, every, *, by_epoch):
    """The probability of every (group, action); a group is a context, or a context and epoch."""
    groups = {(e.x, e.epoch) if by_epoch else e.x for e in evaluated}

    def context(group):
        return group[0] if by_epoch else group

    if isinstance(policy, dict):
        return {(g, a): p for g in groups for (x, a), p in policy.items() if x == context(g)}
    if policy.startswith("constant:"):
        return {(g, policy.removeprefix("constant:")): 1.0 for g in groups}
    if policy == "column:choice":
        return {(g, context(g)[-1]): 1.0 for g in groups if context(g)[-1] is not None}
    if policy == "logging":
        of_group, of_cell = defaultdict(float), defaultdict(float)
        for e in evaluated:
            group = (e.x, e.epoch) if by_epoch else e.x
            of_group[group] += e.v
            of_cell[group, e.a] += e.v
        return {(g, a): n / of_group[g] for (g, a), n in of_cell.items()}
    pick = uniform_by_epoch if by_epoch else uniform_by_day
    return pick(question, policy, evaluated, train, every)


def feasible_sets(question, policy, evaluated, train):
    """The actions that may be chosen in each context; None for any."""
    if policy == "uniform-all":
        return None
    window = {"evaluated": evaluated, "train": train, "all": [*evaluated, *train]}[question.options["feasible_from"]]
    found = defaultdict(set)
    for e in window:
        found[e.x].add(e.a)
    return found


def uniform_by_day(question, policy, evaluated, train, every):
    feasible, live = feasible_sets(question, policy, evaluated, train), question.options["live"]
    shown, days = {e.a for e in evaluated}, {}
    for e in every:
        first, last = days.get(e.a, (e.day, e.day))
        days[e.a] = min(first, e.day), max(last, e.day)
    known = set(days) if live else shown
    total, found = sums(evaluated, x_of), defaultdict(float)
    for e in evaluated:
        among = known if feasible is None else feasible[e.x]
        among = [a for a in among if not live or days[a][0] <= e.day <= days[a][1]]
        for a in among:
            found[e.x, a] += e.v / len(among) / total[e.x,]
    return dict(found)


def uniform_by_epoch(question, policy, evaluated, train, every):
    """Uniform among what is live in the epoch and was feasible by then; what training showed is from the beginning."""
    live, source = question.options["live"], question.options["feasible_from"]
    found = {}
    shown = {(e.a, e.epoch) for e in evaluated}
    for x, epoch in {(e.x, e.epoch) for e in evaluated}:
        if policy == "uniform-all":
            among = {e.a for e in evaluated if (e.epoch == epoch if live else e.epoch <= epoch)}
        else:
            trained = {e.a for e in train if e.x == x} if source != "evaluated" else set()
            by_now = {e.a for e in evaluated if e.x == x and e.epoch <= epoch}
            among = trained if source == "train" else trained | by_now
            among = {a for a in among if not live or (a, epoch) in shown}
        found |= {((x, epoch), a): 1 / len(among) for a in among}
    return found


# Propensities -------------------------------------------------------------------------------------------------------


def shares(events, group):
    """The share of each action among the events of its group."""
    cells, groups = sums(events, group, a_of), sums(events, group)
    return {(g, a): n / groups[g,] for (g, a), n in cells.items()}


def borrowed(events, coarser):
    """Back-off: the leave-one-out propensity of every (context, action) shown, with the strengths of least loss."""
    levels = [x_of, *([lambda e: e.x[0]] if coarser else [])]
    kinds = len({e.a for e in events})
    counts = [(sums(events, level), sums(events, level, a_of)) for level in levels]
    of_action, everything = sums(events, a_of), sum(e.v for e in events)
    cell = counts[0][1]

    def propensity(e, strengths):
        own = min(cell[e.x, e.a], 1.0)
        p = (of_action[e.a,] - own + 0.5) / (everything - own + 0.5 * kinds)
        for level, k, (groups, cells) in reversed(list(zip(levels, strengths, counts, strict=True))):
            p = (max(cells[level(e), e.a] - own, 0) + k * p) / (max(groups[level(e),] - own, 0) + k)
        return p

    def best(candidates):
        losses = [-sum(e.v * log(propensity(e, ks)) for e in events) / everything for ks in candidates]
        last = max(i for i, loss in enumerate(losses) if loss <= min(losses) * (1 + 1e-9))
        return candidates[last]

    strengths = best([(k,) * len(levels) for k in STRENGTHS])
    for _ in range(2 if coarser else 0):
        for i in range(len(levels)):
            strengths = best([(*strengths[:i], k, *strengths[i + 1 :]) for k in STRENGTHS])
    return {(e.x, e.a): propensity(e, strengths) for e in events}


# Reward models ------------------------------------------------------------------------------------------------------


def model_of_cells(events):
    """f(x, a) beside counts: by all other cells, and by the cell's own rewards as far as cells differ."""
    nothing = 1e-9
    n, r, sq = (defaultdict(float) for _ in range(3))
    for e in events:
        n[e.x, e.a] += e.v
        r[e.x, e.a] += e.v * e.r
        sq[e.x, e.a] += e.v * e.r * e.r
    an, ar, xn, xr = (defaultdict(float) for _ in range(4))
    for x, a in n:
        an[a] += n[x, a]
        ar[a] += r[x, a]
        xn[x] += n[x, a]
        xr[x] += r[x, a]
    rate = (sum(r.values()) + nothing) / (sum(n.values()) + nothing)

    def left_out(x, a, strengths):
        ka, kx = strengths
        own_n, own_r = n.get((x, a), 0), r.get((x, a), 0)
        action = (max(ar.get(a, 0) - own_r, 0) + ka * rate) / (max(an.get(a, 0) - own_n, 0) + ka)
        context = (max(xr.get(x, 0) - own_r, 0) + kx * rate) / (max(xn.get(x, 0) - own_n, 0) + kx)
        return min(max(action * context / rate, 1e-6), 1 - 1e-6)

    grid = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
    pairs, cells, spread, noise = [(i, j) for i in grid for j in grid], list(n), 0.0, 1.0
    for _ in range(2):

        def loss(pair, spread=spread, noise=noise):
            total = 0.0
            for x, a in cells:
                m = left_out(x, a, pair)
                v = m * (1 - m)
                total += (r[x, a] - n[x, a] * m) ** 2 / (n[x, a] * v * (noise + spread * n[x, a])) + log(v)
            return total

        strengths = min(pairs, key=loss)
        m = {cell: left_out(*cell, strengths) for cell in cells}
        v = {cell: m[cell] * (1 - m[cell]) for cell in cells}
        inside = sum(sq[c] - r[c] ** 2 / n[c] for c in cells)
        all_inside = sum((n[c] - 1) * v[c] for c in cells)
        noise = min(max(inside / all_inside, 1e-6), 1.0) if all_inside > 0 else 1.0
        apart = sum((r[c] - n[c] * m[c]) ** 2 / n[c] for c in cells) - noise * sum(v.values())
        spread = max(apart / sum(n[c] * v[c] for c in cells), 0.0)

    def expected(x, a, _fold):
        own = n.get((x, a), 0), r.get((x, a), 0)
        return (spread * own[1] + noise * left_out(x, a, strengths)) / (spread * own[0] + noise)

    return expected


def model_of_folds(events, fold):
    """f(x, a) for a fold: shrunk cell means of all other folds."""
    grid, nothing = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0), 1e-9
    parts = defaultdict(lambda: [0.0, 0.0])
    for e in events:
        for key in (("cell", e.x, e.a), ("action", e.a), ("context", e.x), ("all",)):
            for where in (None, fold(e)):
                parts[where, *key][0] += e.v
                parts[where, *key][1] += e.v * e.r

    def others(f, *key):
        whole, own = parts.get((None, *key), (0, 0)), parts.get((f, *key), (0, 0))
        return whole[0] - own[0], whole[1] - own[1]

    def score(x, a, f, k):
        n, r = others(f, "all")
        rate = (r + nothing) / (n + nothing)

        def shrunk(*key):
            n, r = others(f, *key)
            return (max(r, 0) + k * rate) / (max(n, 0) + k)

        lent = min(shrunk("action", a) * shrunk("context", x) / rate, 1.0)
        n, r = others(f, "cell", x, a)
        return min(max((r + k * lent) / (n + k), 0.0), 1.0)

    def error(k):
        return sum(e.v * score(e.x, e.a, fold(e), k) * (score(e.x, e.a, fold(e), k) - 2 * e.r) for e in events)

    best = min(grid, key=error)
    return lambda x, a, f: score(x, a, f, best)
