"""Simulated logging policies that learn from the rewards of their own log (bandit algorithms)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from warmstart.core import MICROSECONDS_PER_DAY, UsageError, quoted
from warmstart.simulation.checks import require_number

Kind = Literal["thompson", "epsilon-greedy", "greedy", "nightly"]
EVENT: Literal["event"] = "event"
MOST_UPDATES, MOST_DAYS = 86_400, 366


@dataclass(frozen=True, kw_only=True)
class LearnerSettings:
    """A logging policy that learns while it logs.

    At every update it takes in all rewards so far. Between updates, in a period, its probabilities of actions are
    fixed, as long as the same actions are available. In the first period it is the logging policy that the world has
    without a learner. An action that was shown n times in a context, with s rewards, has the shrunk mean

        (s + k * m) / (n + k),    m = prior_mean,  k = prior_events

    Args:
        kind: ``thompson``: every event draws the means of its actions from their posterior, Beta(s + k * m,
            n - s + k * (1 - m)), and shows the largest. ``greedy``: the largest shrunk mean; ties go to what the
            logging policy without a learner favours over all days. ``epsilon-greedy``: the same, but for a share
            ``epsilon`` of events, which show an action at random. ``nightly``: a model that is refitted at every
            update, the softmax of the log-odds of shrunk means; m is then the mean of the action over all contexts,
            itself shrunk to ``prior_mean``.
        updates_per_day: A whole number; or one over a whole number of days, such as 1/7; or ``event``: an update after
            every event, so that no two events have the same policy.
        epsilon: The share of events that ``epsilon-greedy`` shows an action at random.
        temperature: The log-odds of ``nightly`` are divided by it; near 0 it is greedy.
        prior_mean: What is assumed of an action without events. None: the mean reward of all events so far.
        prior_events: The number of events that this assumption counts for.
    """

    kind: Kind
    updates_per_day: float | Literal["event"] = 1
    epsilon: float = 0.1
    temperature: float = 0.25
    prior_mean: float | None = None
    prior_events: float = 10.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            known = ", ".join(get_args(Kind))
            raise UsageError(f"The kind of a learner must be one of {known}, and is {quoted(self.kind)}.")
        if self.updates_per_day != EVENT:
            self._check_updates()
        require_number("epsilon", self.epsilon, 0, 1)
        require_number("temperature", self.temperature, 0.001, 1_000)
        require_number("prior_events", self.prior_events, 0.001, 1_000_000)
        if self.prior_mean is not None:
            require_number("prior_mean", self.prior_mean, 0.000_001, 0.999_999)

    def periods(self, time: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the periods of events, in the order of time; ``time`` is in microseconds since the first midnight."""
        if self.updates_per_day == EVENT:
            return np.arange(len(time))
        if self.updates_per_day >= 1:
            return time * int(self.updates_per_day) // MICROSECONDS_PER_DAY
        return time // (round(1 / self.updates_per_day) * MICROSECONDS_PER_DAY)

    def parts(self, time: NDArray[np.int64]) -> Iterator[tuple[int, slice]]:
        """Yield the periods of events that are in the order of time, each with its part of the events."""
        periods = self.periods(time)
        starts = np.flatnonzero(np.diff(periods, prepend=-1)).tolist()
        for start, stop in zip(starts, [*starts[1:], len(periods)], strict=True):
            yield int(periods[start]), slice(start, stop)

    def _check_updates(self) -> None:
        require_number("updates_per_day", self.updates_per_day, 1 / MOST_DAYS, MOST_UPDATES)
        often = float(self.updates_per_day)
        number = often if often >= 1 else 1 / often
        # A week may be given as 0.143.
        if abs(number - round(number)) > (0 if often >= 1 else 0.01):
            raise UsageError(
                f"updates_per_day must be a whole number, or one over a whole number of days, and is {often:g}.",
                "For an update every week give 1/7.",
            )


class Learner:
    """What a learner has seen of contexts and their candidates, and the choices that follow.

    ``candidates[x]``: the actions of context x, by place; places and not actions are chosen and learned from.
    """

    def __init__(self, settings: LearnerSettings, candidates: NDArray[Any]) -> None:
        self.settings = settings
        self._candidates = candidates
        # Events and sums of rewards: by context and place, and by action.
        self._cells = np.zeros((2, *candidates.shape), dtype=np.float32)
        self._actions = np.zeros((2, int(candidates.max()) + 1))
        self._period = 0
        self._pending: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []

    @property
    def has_learned(self) -> bool:
        """Return whether there was an update with events."""
        return bool(self._actions[0].any())

    def begin(self, period: int) -> None:
        """Begin a period: if it is a new one, take in what was observed before."""
        if period == self._period:
            return
        self._period = period
        for x, place, reward in self._pending:
            for cells, actions, amount in zip(self._cells, self._actions, (np.ones(len(x)), reward), strict=True):
                np.add.at(cells, (x, place), amount)
                np.add.at(actions, self._candidates[x, place], amount)
        self._pending.clear()

    def observe(self, x: NDArray[Any], place: NDArray[Any], reward: NDArray[Any]) -> None:
        """Keep the rewards of events for the next update."""
        self._pending.append((x.copy(), place.copy(), reward.copy()))

    def choose(
        self, x: NDArray[Any], available: NDArray[np.bool_], preference: NDArray[Any], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return the places that events show.

        Args:
            x: The contexts of events.
            available: Which of their places can be shown.
            preference: What breaks ties of greedy choices: the largest, then the first.
            rng: The source of what is random in a choice.
        """
        settings = self.settings
        if settings.kind == "thompson":
            events, rewards = self._cells[:, x].astype(np.float64)
            prior = settings.prior_events * self._prior_mean()
            losses = events - rewards + (settings.prior_events - prior)
            return _best(rng.beta(rewards + prior, losses), available)
        means = self._means(x)
        if settings.kind == "nightly":
            odds = np.log(means) - np.log1p(-means)
            # The largest of scores with Gumbel noise is a draw from their softmax.
            return _best(odds / settings.temperature + rng.gumbel(size=odds.shape), available)
        largest = np.where(available, means, -1).max(axis=1, keepdims=True)
        chosen = _best(preference, available & (means == largest))
        if settings.kind == "greedy":
            return chosen
        at_random = _best(rng.random(available.shape), available)
        return np.where(rng.random(len(x)) < settings.epsilon, at_random, chosen)

    def _means(self, x: NDArray[Any]) -> NDArray[np.float64]:
        """Return the shrunk means of the places of contexts."""
        k, prior = self.settings.prior_events, np.float64(self._prior_mean())
        if self.settings.kind == "nightly":
            events, rewards = self._actions
            prior = ((rewards + k * prior) / (events + k))[self._candidates[x]]
        events, rewards = self._cells[:, x].astype(np.float64)
        means: NDArray[np.float64] = (rewards + k * prior) / (events + k)
        return means

    def _prior_mean(self) -> float:
        """Return the prior mean; half a reward in one event keeps that of all events inside (0, 1)."""
        if self.settings.prior_mean is not None:
            return self.settings.prior_mean
        events, rewards = self._actions.sum(axis=1)
        return float((rewards + 0.5) / (events + 1))


def _best(score: NDArray[Any], allowed: NDArray[np.bool_]) -> NDArray[np.int64]:
    best: NDArray[np.int64] = np.where(allowed, score, -np.inf).argmax(axis=1)
    return best
