"""``python -m studies.safe_dependent``: safe policies where users come back, and where the logger reacts to rewards.

The worlds of ``studies.safe``. Sticky users come 20 times, keep their context and action, and differ in how much they
click (a gamma factor of shape .25); parts are divided by user, and gains proven by user. The logger that learns begins
at random and shows, from the second of ten days on, half of its traffic what Thompson sampling on all days before
would; gains are proven over days, on the last of them. The logger that is retrained once, after half of the events,
shows from then on nine tenths of each context what had earned most in it; parts are divided by time, then and there, or
at random, which nothing that reacts to rewards allows. Logs are drawn as sums, and the library's functions do the rest.
In brackets: how often a policy departs from logging, and its true gain on the traffic that was to prove it is not
above zero. ``one test``: argmax by the first part, tested once by user, over days or as it is. ``naive``: the same
sets, tested as if events were independent and the logger never changed; with a logger that is retrained, sets that the
second part proposes and the first is to prove.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from benchmarks.records import Rows
from numpy.typing import NDArray

from studies.best_estimate import publish
from studies.safe import ACTIONS, CONTEXTS, PROOF, TAU, WORLDS, World, cells
from warmstart.estimators import CellSums, Proposal, improve, propose, proposed_sets, prove
from warmstart.estimators.improvement import mean_before, supported_in
from warmstart.estimators.intervals import EpochTotals, Points, UnitTotals, unit_gain_ends

Floats = NDArray[np.float64]
Proves = Callable[[Proposal, float], bool]
VISITS, SHAPE, DAYS, DRAWS = 20, 0.25, 10, 100
STRENGTH, FAVOURED = 20.0, 0.9


def last_proven(sets: Sequence[Proposal], proves: Proves, delta: float) -> Proposal | None:
    """Return the last set that is proven in sequence."""
    last = None
    for one in sets:
        if not len(one.contexts) or not proves(one, delta):
            break
        last = one
    return last


class Users:
    """Users of one part: their context, action and clicks, all of VISITS visits."""

    def __init__(self, x: NDArray[np.int64], a: NDArray[np.int64], clicks: Floats) -> None:
        self.x, self.a, self.clicks = x, a, clicks
        keys = x * ACTIONS + a
        sums = [np.bincount(keys, weights, CONTEXTS * ACTIONS) for weights in (np.full(len(x), VISITS), clicks)]
        self.log = np.stack(sums).reshape(2, CONTEXTS, ACTIONS).astype(float)
        self.cells, self.expected = cells(self.log, leaning=False)

    def proves(self, before: Users, sets: Proposal, delta: float) -> bool:
        """Tell whether the gain of deviations is proven by user; rewards are expected as they were before."""
        chosen = np.full(CONTEXTS, -1)
        chosen[sets.contexts] = sets.actions
        n = self.log[0]
        acting = chosen[self.x] >= 0
        x, a, clicks = self.x[acting], self.a[acting], self.clicks[acting]
        u = np.where(a == chosen[x], n.sum(axis=1)[x] / n[x, chosen[x]], 0.0) - 1
        b = mean_before(before.cells, CONTEXTS)[x]
        size, rate = np.abs(u) * VISITS, float(before.clicks.sum()) / (VISITS * len(before.x))
        earned = np.where(u > 0, clicks, VISITS - clicks) / VISITS
        units = UnitTotals(
            size,
            earned,
            np.ones(len(u)),
            float((u**2 * VISITS).sum()) * rate * (1 - rate),
            float((u**2 * VISITS**2 * b * (1 - b)).sum()),
            np.where(u > 0, b, 1 - b),
            icc=before.correlation(rate),
        )
        return unit_gain_ends(units, float(VISITS * len(self.x)), 2 * delta)[0] > 0

    def correlation(self, rate: float) -> float:
        """Return the intraclass correlation of clicks by user."""
        pairs = (self.clicks - VISITS * rate) ** 2 - self.clicks * (1 - rate) ** 2 - (VISITS - self.clicks) * rate**2
        together = float(pairs.sum()) / (VISITS * (VISITS - 1) * len(self.x))
        return min(max(together / (rate * (1 - rate)), 0.0), 1.0)


def of_users(world: World, size: int, delta: float, rng: np.random.Generator) -> dict[str, tuple[float, bool]]:
    """Return the share of the possible gain, and whether a departure gains nothing, by user and naively."""
    number = size // VISITS
    x = rng.choice(CONTEXTS, number, p=world.traffic)
    a = (rng.random(number)[:, None] > world.shares.cumsum(axis=1)[x]).sum(axis=1).clip(0, ACTIONS - 1)
    frail = rng.gamma(SHAPE, 1 / SHAPE, number)
    clicks = rng.binomial(VISITS, np.minimum(world.means[x, a] * frail, 1.0)).astype(float)
    late = rng.random(number) < PROOF
    first, later = (Users(x[some], a[some], clicks[some]) for some in (~late, late))
    bold = propose(first.cells, first.expected, tau=TAU, caution=0.0)
    tested, safe = (
        last_proven([one.only(supported_in(later.cells, one, tau=TAU)) for one in sets], proves, delta)
        for proves in [lambda one, of: later.proves(first, one, of)]
        for sets in ([bold], _sets(first.cells, first.expected))
    )
    naive = improve(first.cells, later.cells, first.expected, tau=TAU, delta=delta)
    found = {"one test": tested, "safe": safe, "naive": naive}
    return {name: _judged(world, one, later.log[0]) for name, one in found.items()}


def _sets(sums: CellSums, expected: Floats) -> list[Proposal]:
    return proposed_sets(sums, expected, tau=TAU)


def _judged(world: World, proposal: Proposal | None, n: Floats) -> tuple[float, bool]:
    """Return the share of what could be gained on some traffic, and whether a departure gains nothing there."""
    possible = float((n.sum(axis=1) * world.means.max(axis=1) - (n * world.means).sum(axis=1)).sum())
    gain = world.gain(proposal, n[None])
    departs = proposal is not None and len(proposal.contexts) > 0
    return gain / possible if possible > 1e-9 else 0.0, departs and gain <= 1e-9


def of_days(world: World, size: int, rng: np.random.Generator) -> list[Floats]:
    """Draw days of a logger that learns from day to day."""
    days: list[Floats] = []
    before = np.zeros((2, CONTEXTS, ACTIONS))
    for day in range(DAYS):
        shares = np.full((CONTEXTS, ACTIONS), 1 / ACTIONS)
        if day:
            n, s = before
            rate = s.sum() / n.sum()
            drawn = rng.beta(s + 5 * rate, n - s + 5 * (1 - rate), (DRAWS, CONTEXTS, ACTIONS)).argmax(axis=2)
            best = np.stack([(drawn == a).mean(axis=0) for a in range(ACTIONS)], axis=1)
            shares = 0.5 * best + 0.5 / ACTIONS
        days.append(world._replace(shares=shares).log(size // DAYS, rng))
        before = before + days[-1]
    return days


def proves_over_days(days: Sequence[Floats], before: Floats, sets: Proposal, delta: float) -> bool:
    """Tell whether the gain of deviations is proven over days; rewards are expected as they were before each."""
    x, a = sets.contexts, sets.actions
    points = []
    for log in days:
        n, s = log[0], log[1]
        total, own = n.sum(axis=1)[x], n[x, a]
        acts = (own >= TAU * total) & (own > 0) & (own < total)
        total, own, won = total[acts], own[acts], s[x, a][acts]
        rate = before[1].sum() / before[0].sum()
        b = ((before[1].sum(axis=1) + STRENGTH * rate) / (before[0].sum(axis=1) + STRENGTH))[x][acts]
        lost = s.sum(axis=1)[x][acts] - won
        u, ones, none = total / own - 1, np.ones(len(own)), np.zeros(len(own))
        events = np.concatenate([won, own - won, lost, total - own - lost])
        gained = np.concatenate([ones, none, none, ones])
        expected, size = np.concatenate([b, b, 1 - b, 1 - b]), np.concatenate([u, u, ones, ones])
        variance = float((size**2 * expected * (1 - expected) * events).sum())
        points.append(Points(size, gained, expected, events, variance, offset=float((total - own).sum())))
        before = before + log
    return EpochTotals.of(points).ends(2 * delta)[0] > 0


def of_learner(world: World, size: int, delta: float, rng: np.random.Generator) -> dict[str, tuple[float, bool]]:
    """Return the share of the possible gain, and whether a departure gains nothing, over days and naively."""
    days = of_days(world, size, rng)
    split = round(DAYS * (1 - PROOF))
    first, later = sum(days[:split], np.zeros_like(days[0])), sum(days[split:], np.zeros_like(days[0]))
    (a, of_a), (b, _) = cells(first, leaning=False), cells(later, leaning=False)
    bold = propose(a, of_a, tau=TAU, caution=0.0)
    tested, safe = (
        last_proven(sets, lambda one, of: proves_over_days(days[split:], first, one, of), delta)
        for sets in ([bold], _sets(a, of_a))
    )
    naive = improve(a, b, of_a, tau=TAU, delta=delta)
    gains = {}
    for name, one in (("one test", tested), ("safe", safe), ("naive", naive)):
        # Where a day does not support an action, what logging did there counts, as in evaluate.
        gains[name] = _judged_over_days(world, one, [later] if name == "naive" else days[split:])
    return gains


def _judged_over_days(world: World, proposal: Proposal | None, days: Sequence[Floats]) -> tuple[float, bool]:
    if proposal is None:
        return 0.0, False
    gain, possible = 0.0, 0.0
    for log in days:
        n = log[0]
        total, own = n.sum(axis=1)[proposal.contexts], n[proposal.contexts, proposal.actions]
        gain += world.gain(proposal.only((own >= TAU * total) & (own > 0) & (own < total)), log)
        possible += float((n.sum(axis=1) * world.means.max(axis=1) - (n * world.means).sum(axis=1)).sum())
    return gain / possible if possible > 1e-9 else 0.0, gain <= 1e-9


def of_retrained(
    world: World, size: int, delta: float, rng: np.random.Generator, *, by_time: bool = True
) -> dict[str, tuple[float, bool]]:
    """Return the share of the possible gain, and whether a departure gains nothing, of a logger retrained half way."""
    half = size // 2
    early = [world.log(half // 2, rng) for _ in range(2)]
    n, s = sum(early, np.zeros_like(early[0]))
    best = ((s + STRENGTH * s.sum() / n.sum()) / (n + STRENGTH)).argmax(axis=1)
    shares = np.where(np.arange(ACTIONS) == best[:, None], FAVOURED, (1 - FAVOURED) / (ACTIONS - 1))
    late = [world._replace(shares=shares).log(half // 2, rng) for _ in range(2)]
    first, later = (early[0] + early[1], late[0] + late[1]) if by_time else (early[0] + late[0], early[1] + late[1])
    (a, of_a), (b, of_b) = cells(first, leaning=by_time), cells(later, leaning=False)
    bold = propose(*cells(first, leaning=False), tau=TAU, caution=0.0)
    return {
        "one test": _judged(world, prove(a, b, bold, tau=TAU, delta=delta), later[0]),
        "safe": _judged(world, improve(a, b, of_a, tau=TAU, delta=delta), later[0]),
        "naive": _judged(world, improve(b, a, of_b, tau=TAU, delta=delta), first[0]),
    }


KINDS: dict[str, Callable[[World, int, float, np.random.Generator], dict[str, tuple[float, bool]]]] = {
    "sticky users": of_users,
    "a logger that learns": of_learner,
    "retrained once": of_retrained,
    "retrained once, parts at random": partial(of_retrained, by_time=False),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=500)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--sizes", type=int, nargs="*", default=[20_000, 60_000])
    parser.add_argument("--record", action="store_true", help="keep the table in benchmarks/results")
    options = parser.parse_args()
    rows: Rows = {}
    for kind, one_log in KINDS.items():
        for name in WORLDS:
            for size in options.sizes:
                rng = np.random.default_rng([list(WORLDS).index(name), size, len(kind), round(100 * options.delta)])
                found = [one_log(World.draw(name, rng), size, options.delta, rng) for _ in range(options.logs)]
                row: dict[str, Any] = {}
                for method in found[0]:
                    shares, wrong = np.array([one[method] for one in found]).T
                    row[method] = f"{shares.mean():.3f} ({wrong.mean():.1%})"
                rows[f"{kind}; {name}, {size:,} events"] = row
    publish("safe-dependent", rows, {"logs": options.logs, "delta": options.delta}, record=options.record)


if __name__ == "__main__":
    main()
