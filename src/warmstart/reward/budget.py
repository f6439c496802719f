"""What a time budget leaves out: how long a kind of model takes, from a few of its cells, and what is left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from warmstart.reward.examples import Examples
from warmstart.reward.learner import CELL_PASSES, Learner
from warmstart.reward.models import ModelName
from warmstart.reward.trial import Division

# A kind is timed on so much of the cells that it is tried with, and on so many at the least.
SHARES, FEWEST = (1 / 40, 1 / 10), 200


@dataclass(frozen=True)
class Budget:
    """Seconds for comparing kinds of model and learning the best; None: no limit.

    ``begun``: when they began to count; ``learned_later``: the cells that are learned from once a kind is chosen, over
    those of a trial; ``costs``: the seconds of the trials so far.
    """

    seconds: float | None
    learned_later: float
    begun: float = field(default_factory=time.perf_counter)
    costs: dict[ModelName, float] = field(default_factory=dict)

    @property
    def left(self) -> float:
        """Return the seconds that are left."""
        return float("inf") if self.seconds is None else self.seconds - (time.perf_counter() - self.begun)

    def lacks_time(self, learner: Learner, divisions: Sequence[Division], tau: float) -> str | None:
        """Say why a kind is left out for want of time; None: there is enough to try it and then to learn the best."""
        if self.seconds is None or not self.costs:
            return None
        if self.left <= 0:
            return "left out: the time budget was spent"
        trial = expected_seconds(learner, divisions, tau, self.left)
        costs = [*self.costs.items(), (learner.settings.model, trial)]
        later = max(self._later(kind, seconds) for kind, seconds in costs)
        return _left_out(trial + later, self.left) if trial + later > self.left else None

    def lacks_time_to_learn(self, kinds: Sequence[ModelName]) -> str | None:
        """Say why what was tried cannot be learned any more; None: it can."""
        later = sum(self._later(kind, self.costs[kind]) for kind in kinds)
        return _left_out(later, self.left) if later > self.left else None

    def _later(self, kind: str, trial: float) -> float:
        """Return about how long it takes to learn a kind once it is chosen."""
        return trial * self.learned_later * (CELL_PASSES if kind == "product" else 1)


def expected_seconds(learner: Learner, divisions: Sequence[Division], tau: float, most: float) -> float:
    """Return about how long a kind takes to learn from the earlier cells of all divisions; at least ``most`` if longer.

    It learns from a few cells, and then from a few more: what the second takes longer, it takes for each further cell.
    """
    first, seconds, sizes = divisions[0][0], list[float](), list[int]()
    for share in SHARES:
        few = first.sample_contexts(max(int(share * len(first)), FEWEST), len(learner.x), learner.settings.seed)
        if not 0 < few.reward_sum.sum() < few.n.sum():
            continue
        begun = time.perf_counter()
        learner.learn(few, tau)
        seconds.append(time.perf_counter() - begun)
        sizes.append(len(few))
        if seconds[-1] * len(divisions) >= most:
            break
    if not seconds:
        return 0.0
    more = sizes[-1] - sizes[0]
    by_cell = max(seconds[-1] - seconds[0], 0.0) / more if more > 0 else 0.0
    return len(divisions) * seconds[-1] + by_cell * (learned_from(divisions) - len(divisions) * sizes[-1])


def learned_from(divisions: Sequence[Division]) -> int:
    """Return the number of cells that a trial learns from."""
    return sum(len(earlier) for earlier, _ in divisions)


def learned_later(examples: Examples, divisions: Sequence[Division], more_taus: int) -> float:
    """Return the cells that are learned from once a kind is chosen, over those of a trial.

    Args:
        examples: all cells, of the final fit.
        divisions: what kinds are tried with.
        more_taus: the number of fit taus that are tried with the earlier cells of the first division.
    """
    return (len(examples) + more_taus * len(divisions[0][0])) / max(learned_from(divisions), 1)


def _left_out(needed: float, left: float) -> str:
    return f"left out: about {needed:.3g} s with what is learned after it, and {max(left, 0.0):.3g} s were left"
