"""Safe improvement: which deviations from logging to propose on some events, so that others can prove their gain.

Of each context the action is proposed whose expected gain d stands out most from the noise of its estimate; v is the
variance of one event's gain, with l the expected reward of logging's choices and p the action's share of the context:

    d = expected reward of the action - l,   v = l * (1 - l) * (1 / p - 1)

Sets of contexts are prefixes in the order of d / v. The first is the one whose gain stands out most, the largest
sum n * d / sqrt(sum n * v); each further one is larger, and the last takes, in every context, the action of the largest
expected reward. They are tested in this order, each with all of delta, until one is not proven (a fixed sequence): the
first set that is truly no gain is declared one with probability at most delta, whatever follows, so that of all the
sets that are called proven none is worse than logging but with that probability.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warmstart.estimators.gain import STRENGTH
from warmstart.estimators.intervals import Coefficients, GainSums, proves_gain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# Sets grow in so many equal ratios from the first prefix to all contexts with an expected gain.
STEPS = 3
# Actions are proposed by d / v^CAUTION: 0 takes the largest gain, 1/2 what stands out most from noise.
CAUTION = 0.5


@dataclass(frozen=True, eq=False)
class CellSums:
    """Events and rewards by cell: numbers of context and action, n, sums of rewards, and both of the cell's context."""

    contexts: Ints
    actions: Ints
    n: Floats
    rewards: Floats

    @classmethod
    def of(cls, contexts: Ints, actions: Ints, n: Floats, rewards: Floats) -> CellSums:
        """Return the cells that have events."""
        seen = n > 0
        return cls(contexts[seen], actions[seen], n[seen], rewards[seen])

    def by_context(self, values: Floats, size: int) -> Floats:
        """Return the sums of values over the cells of every context."""
        sums: Floats = np.bincount(self.contexts, values, size).astype(np.float64)
        return sums


class Proposal(NamedTuple):
    """One action a context, those that promise most for their noise first: d, v and the context's events."""

    contexts: Ints
    actions: Ints
    gains: Floats
    noise: Floats
    events: Floats

    @property
    def total(self) -> float:
        """Return the expected gain of all of it, in rewards."""
        return float(self.events @ self.gains)

    def first(self, size: int) -> Proposal:
        """Return the first contexts."""
        return self.only(np.arange(len(self.contexts)) < size)

    def only(self, kept: NDArray[np.bool_]) -> Proposal:
        """Return some contexts."""
        numbers = self.contexts[kept], self.actions[kept]
        return Proposal(*numbers, self.gains[kept], self.noise[kept], self.events[kept])


def propose(cells: CellSums, expected: Floats, *, tau: float, caution: float = CAUTION, least: int = 1) -> Proposal:
    """Return the actions to deviate to, in contexts where one has an expected gain over logging.

    Args:
        cells: The cells of the events that may be looked at.
        expected: The expected reward of each cell, shrunk.
        tau: Only actions with at least this share of their context are proposed, and none that has all of it.
        caution: How much noise counts against gains.
        least: Only actions with so many events in their context are proposed.
    """
    size = int(cells.contexts.max()) + 1
    events = cells.by_context(cells.n, size)
    logging = (cells.by_context(cells.n * expected, size) / np.maximum(events, 1e-300))[cells.contexts]
    p = cells.n / events[cells.contexts]
    gains, noise = expected - logging, logging * (1 - logging) * (1 / p - 1)
    able = np.flatnonzero((p >= tau) & (p < 1) & (gains > 0) & (noise > 0) & (cells.n >= least))
    score = gains[able] / noise[able] ** caution
    order = np.lexsort((cells.actions[able], -score, cells.contexts[able]))
    best = able[order]
    context = cells.contexts[best]
    best = best[np.append(True, context[1:] != context[:-1])[: len(best)]]
    best = best[np.argsort(-gains[best] / noise[best], kind="stable")]
    return Proposal(cells.contexts[best], cells.actions[best], gains[best], noise[best], events[cells.contexts[best]])


def nested(proposal: Proposal, boldest: Proposal) -> list[Proposal]:
    """Return the sets to test, in this order: prefixes, the first of which stands out most, then the boldest choice."""
    if not len(proposal.contexts):
        return []
    gained, noise = (np.cumsum(proposal.events * part) for part in (proposal.gains, proposal.noise))
    first = int((gained / np.sqrt(noise)).argmax()) + 1
    sizes = np.unique(np.round(np.geomspace(first, len(proposal.contexts), STEPS + 1)).astype(int))
    sets = [proposal.first(int(size)) for size in sizes]
    return [*sets, boldest] if boldest.total > proposal.total else sets


def supported_in(cells: CellSums, proposal: Proposal, *, tau: float) -> NDArray[np.bool_]:
    """Tell of which proposed actions other events show enough to judge them: at least tau of their context, not all."""
    own, events = (_matched(cells, proposal, part) for part in ("own", "events"))
    share = own / np.maximum(events, 1e-300)
    supported: NDArray[np.bool_] = (own > 0) & (share >= tau) & (share < 1)
    return supported


def gain_sums(cells: CellSums, proposal: Proposal, expected: Floats) -> GainSums:
    """Return what bets on the gain need of the events that are to prove it.

    Args:
        cells: Their cells.
        proposal: Actions that are supported among these events.
        expected: The reward that is expected in each context of the proposal, from other events.
    """
    own, own_rewards, events, rewards = (
        _matched(cells, proposal, part) for part in ("own", "own_rewards", "events", "rewards")
    )
    ratios = np.concatenate([events / own - 1, np.full(len(own), -1.0)])
    n = np.concatenate([own, events - own])
    won = np.concatenate([own_rewards, rewards - own_rewards])
    baselines = np.tile(expected, 2)
    variance = float((ratios**2 * n * baselines * (1 - baselines)).sum())
    return GainSums(Coefficients(ratios, n, won), baselines, float(events.sum()), variance, sign=True)


def prove(first: CellSums, later: CellSums, proposal: Proposal, *, tau: float, delta: float) -> Proposal | None:
    """Return what other events support of a proposal if they prove its gain, one-sided; else None.

    Args:
        first: Cells of the events that proposed it.
        later: Cells of the events that are to prove it.
        proposal: The deviations.
        tau: The share of their context that actions need among these.
        delta: The probability with which what is returned may be worse than logging on these events' traffic.
    """
    able = proposal.only(supported_in(later, proposal, tau=tau))
    if not len(able.contexts):
        return None
    expected = mean_before(first, int(max(first.contexts.max(), able.contexts.max())) + 1)
    sums = gain_sums(later, able, expected[able.contexts])
    return able if proves_gain(sums, delta) else None


def improve(
    first: CellSums, later: CellSums, expected: Floats, *, tau: float, delta: float, least: int = 1
) -> Proposal | None:
    """Return the last set of deviations that is proven in sequence, None if none is.

    Args:
        first: Cells of the events that propose.
        later: Cells of the events that prove.
        expected: The expected rewards of the first cells.
        tau: The share of their context that actions need, in both.
        delta: The probability with which what is returned may be worse than logging on the later events' traffic.
        least: Only actions with so many events in their context are proposed.
    """
    last = None
    for proposal in proposed_sets(first, expected, tau=tau, least=least):
        proven = prove(first, later, proposal, tau=tau, delta=delta)
        if proven is None:
            break
        last = proven
    return last


def proposed_sets(cells: CellSums, expected: Floats, *, tau: float, least: int = 1) -> list[Proposal]:
    """Return the sets of deviations to test, in their order; arguments as those of ``propose``."""
    cautious, boldest = (propose(cells, expected, tau=tau, caution=caution, least=least) for caution in (CAUTION, 0.0))
    return nested(cautious, boldest)


def worth(cells: CellSums, expected: Floats, proposal: Proposal) -> float:
    """Return the gain per event of all cells that their expected rewards promise of a proposal."""
    size = int(max(cells.contexts.max(initial=0), proposal.contexts.max(initial=0))) + 1
    events = cells.by_context(cells.n, size)
    logging = cells.by_context(cells.n * expected, size) / np.maximum(events, 1e-300)
    own = _matched(replace(cells, rewards=expected), proposal, "own_rewards")
    return float(events[proposal.contexts] @ (own - logging[proposal.contexts])) / float(cells.n.sum())


def mean_before(cells: CellSums, size: int) -> Floats:
    """Return the mean reward of each context, shrunk to that of all, as bets on gains expect it of later events."""
    rate = float(cells.rewards.sum() / cells.n.sum())
    sums: Floats = (cells.by_context(cells.rewards, size) + STRENGTH * rate) / (
        cells.by_context(cells.n, size) + STRENGTH
    )
    return sums


def _matched(cells: CellSums, proposal: Proposal, part: str) -> Floats:
    """Return sums of the proposed cells, or of their contexts."""
    size = int(max(cells.contexts.max(initial=-1), proposal.contexts.max(initial=-1))) + 1
    if part in ("events", "rewards"):
        return cells.by_context(cells.n if part == "events" else cells.rewards, size)[proposal.contexts]
    width = int(max(cells.actions.max(initial=-1), proposal.actions.max(initial=-1))) + 1
    keys, wanted = cells.contexts * width + cells.actions, proposal.contexts * width + proposal.actions
    order = np.argsort(keys)
    place = np.minimum(np.searchsorted(keys[order], wanted), max(len(keys) - 1, 0))
    values = (cells.n if part == "own" else cells.rewards)[order][place]
    return np.where(keys[order][place] == wanted, values, 0.0)
