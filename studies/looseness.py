"""``python -m studies.looseness``: how often each end misses, and how far it is from the truth, over many small worlds.

The truth is the expectation of the estimate given contexts and actions. On cells this needs no log: what a day shows is
multinomial, and the rewards of a cell are binomial.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.months import markdown
from warmstart.estimators.intervals import METHODS, Coefficients, TermSums, interval
from warmstart.simulation import TableWorld

SIZES = (10_000, 100_000, 1_000_000)
TAUS = (0.01, 0.05, 0.2)
DELTAS = (0.05, 0.5)


def draw_counts(world: TableWorld, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw how often each action was shown in each context, day by day."""
    counts = np.zeros_like(world.reward_means)
    for day in world.logging:
        shares = (world.traffic[:, None] * day).ravel()
        counts += rng.multinomial(world.events_per_day, shares / shares.sum()).reshape(counts.shape)
    return counts


def coefficients(world: TableWorld, n: NDArray[np.float64], tau: float) -> NDArray[np.float64]:
    """Weigh the policy that takes, of the actions shown in a context, the one with the best mean."""
    h = np.eye(n.shape[1])[np.where(n > 0, world.reward_means, -1).argmax(axis=1)] * (n > 0)
    return h / np.maximum(n / np.maximum(n.sum(axis=1, keepdims=True), 1), tau)


def terms(c: NDArray[np.float64], n: NDArray[np.float64], s: NDArray[Any], tau: float) -> TermSums:
    """Add up what an interval wants."""
    sums = [(c * s).sum(), (c * c * s).sum(), (c * n).sum(), (c * c * n).sum(), c.max()]
    shown = (c > 0) & (n > 0)
    spread = Coefficients(c[shown], n[shown], s[shown].astype(float))
    return TermSums(float(n.sum()), *map(float, sums), 1 / tau, spread)


def ends_and_truth(seed: int, *, events: int, tau: float, delta: float, method: Any) -> tuple[float, float, float]:
    """Draw one small world, one window and its rewards; return the interval and what it should contain."""
    world = TableWorld.month(contexts=12, actions=8, events_per_day=max(events // 30, 1), seed=seed)
    rng = np.random.default_rng([seed, events])
    n = draw_counts(world, rng)
    c = coefficients(world, n, tau)
    s = rng.binomial(n.astype(int), world.reward_means)
    found = interval(terms(c, n, s, tau), delta=delta, method=method)
    return found.lower, found.upper, float((c * n * world.reward_means).sum() / n.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1_000)
    options = parser.parse_args()
    for delta in DELTAS:
        rows = []
        for events in SIZES:
            for tau in TAUS:
                row = [f"{events:,}", f"{tau:g}"]
                for method in METHODS:
                    runs = [
                        ends_and_truth(seed, events=events, tau=tau, delta=delta, method=method)
                        for seed in range(options.worlds)
                    ]
                    lower, upper, truth = map(np.array, zip(*runs, strict=True))
                    misses = f"{(lower > truth).mean():.1%}, {(upper < truth).mean():.1%}"
                    row.append(f"{(lower / truth).mean():.2f} to {(upper / truth).mean():.2f} ({misses})")
                rows.append(row)
        print(
            f"\ndelta {delta:g}, {options.worlds:,} worlds: mean of lower / truth to upper / truth (misses of each)\n"
        )
        print(markdown(["events", "tau", *METHODS], rows))


if __name__ == "__main__":
    main()
