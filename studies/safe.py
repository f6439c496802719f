"""``python -m studies.safe``: how often are policies worse than logging, and what share of the possible gain have they?

Four worlds of 100 contexts with frequencies 1 / rank, and 4 actions. Mean rewards are .04 * exp(effect * normal) by
cell, and logging shows actions by Dirichlet(1) shares, tilted to the better ones. Logs are drawn as sums by cell, and
the library's functions do the rest. In brackets: how often a policy departs from logging, and its true gain, on the
traffic that was to prove it, is not above zero. Argmax, caution and one test have shrunk means that know nothing of
what logging prefers, as those of ``fit`` without ``safe`` do.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from benchmarks.records import Rows
from numpy.typing import NDArray

from studies.best_estimate import publish
from warmstart.estimators import CellSums, Proposal, improve, propose, prove
from warmstart.reward import Examples, shrunk_rates

Floats = NDArray[np.float64]
CONTEXTS, ACTIONS, RATE, TAU = 100, 4, 0.04, 0.02
# The spread of cells' mean rewards, and how much logging prefers the better actions.
WORLDS = {"small effects": (0.3, 1.0), "large effects": (0.8, 1.0), "a good logger": (0.3, 3.0), "null": (0.0, 0.0)}
SIZES = (4_000, 20_000, 60_000)
CAUTION, PROOF = 0.5, 0.5


class World(NamedTuple):
    """Frequencies of contexts, mean rewards and logging's shares by context and action."""

    traffic: Floats
    means: Floats
    shares: Floats

    @classmethod
    def draw(cls, name: str, rng: np.random.Generator) -> World:
        effect, tilt = WORLDS[name]
        traffic = 1 / np.arange(1.0, CONTEXTS + 1)
        normal = rng.standard_normal((CONTEXTS, ACTIONS))
        shares = rng.dirichlet(np.ones(ACTIONS), CONTEXTS) * np.exp(tilt * normal)
        means = np.minimum(RATE * np.exp(effect * normal), 1.0)
        return cls(traffic / traffic.sum(), means, shares / shares.sum(axis=1, keepdims=True))

    def log(self, events: int, rng: np.random.Generator) -> Floats:
        """Draw events and rewards: an array of both by context and action."""
        n = rng.multinomial(events, (self.traffic[:, None] * self.shares).ravel()).reshape(self.means.shape)
        return np.stack([n, rng.binomial(n, self.means)]).astype(float)

    def share(self, proposal: Proposal | None) -> float:
        """Return the share of the best policy's gain over logging; 0 in a world without any."""
        logging = (self.shares * self.means).sum(axis=1)
        possible = float(self.traffic @ (self.means.max(axis=1) - logging))
        if proposal is None or possible < 1e-12:
            return 0.0
        x, a = proposal.contexts, proposal.actions
        return float(self.traffic[x] @ (self.means[x, a] - logging[x])) / possible

    def gain(self, proposal: Proposal | None, log: Floats) -> float:
        """Return the true gain on the traffic of a log, whose shares of actions are logging's."""
        if proposal is None:
            return 0.0
        x, a, n = proposal.contexts, proposal.actions, log[0]
        return float((n.sum(axis=1)[x] * self.means[x, a] - (n * self.means).sum(axis=1)[x]).sum())


def cells(log: Floats, *, leaning: bool = True) -> tuple[CellSums, Floats]:
    """Return the cells of a log, and their expected rewards."""
    x, a = np.nonzero(log[0])
    n, s = log[0][x, a], log[1][x, a]
    examples = Examples(x, a, n, s, s, log[0].sum(axis=1)[x])
    return CellSums(x, a, n, s), shrunk_rates(examples, leaning=leaning)


def one_log(world: World, size: int, proof: float, delta: float, rng: np.random.Generator) -> dict[str, list[float]]:
    """Return the share of every method, and whether it departs for nothing, on one log."""
    first, later = world.log(round(size * (1 - proof)), rng), world.log(round(size * proof), rng)
    (a, of_a), (b, _) = cells(first), cells(later)
    bold, early = (propose(*cells(log, leaning=False), tau=TAU, caution=0.0) for log in (first + later, first))
    sure = bold.only(bold.gains * np.sqrt(bold.events) > CAUTION * np.sqrt(bold.noise))
    tested = prove(a, b, early, tau=TAU, delta=delta)
    safe = improve(a, b, of_a, tau=TAU, delta=delta)
    found = {"argmax": (bold, first + later), "cautious": (sure, first + later), "one test": (tested, later)}
    found["safe"] = safe, later
    return {
        name: [world.share(one), float(one is not None and len(one.contexts) > 0 and world.gain(one, log) <= 1e-9)]
        for name, (one, log) in found.items()
    }


def line(logs: list[dict[str, list[float]]]) -> dict[str, str]:
    """Return of every method the mean share, and how often it departs for nothing."""
    row = {}
    for method in logs[0]:
        shares, wrong = np.array([log[method] for log in logs]).T
        row[method] = f"{shares.mean():.3f} ({wrong.mean():.1%})"
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=500)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--proof", type=float, default=PROOF)
    parser.add_argument("--record", action="store_true", help="keep the table in benchmarks/results")
    options = parser.parse_args()
    rows: Rows = {}
    for name in WORLDS:
        for size in SIZES:
            rng = np.random.default_rng([list(WORLDS).index(name), size, round(options.delta * 100)])
            found = [
                one_log(World.draw(name, rng), size, options.proof, options.delta, rng) for _ in range(options.logs)
            ]
            rows[f"{name}, {size:,} events"] = line(found)
    settings = {"logs": options.logs, "delta": options.delta, "proof": options.proof}
    publish("safe", rows, settings, record=options.record)


if __name__ == "__main__":
    main()
