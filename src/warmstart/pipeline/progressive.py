"""Learn and evaluate on the same log: in each epoch the policy learned from all earlier epochs is valued."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any

from warmstart.core import Progress, UsageError, __version__, quoted, silent
from warmstart.estimators import EpochState
from warmstart.pipeline.checks import check_events, check_level, check_maximized, checked_taus
from warmstart.pipeline.epoch_steps import Followed, epoch_windows, take_steps, together, with_epochs
from warmstart.pipeline.evaluate import evaluate
from warmstart.policy import parse_policies
from warmstart.results import LearningStep, Progressive, trend_of

if TYPE_CHECKING:
    from warmstart.events import Events
    from warmstart.results import Tau

NAME = "learned"


def evaluate_progressively(
    events: Events,
    epoch: str | None = None,
    *,
    fit: Callable[[Events], Any] | Mapping[str, Any] | None = None,
    every: int = 1,
    first: int = 1,
    tau: Tau = "auto",
    delta: float = 0.05,
    live: bool = True,
    on_progress: Progress = silent,
) -> Progressive:
    """Value in each epoch the policy that was learned from all earlier ones: learning and evaluation on one log.

    The average of the policies along the way has certified bounds although nothing was held out, because no policy saw
    rewards of the epochs that it is valued on. The paper calls this "an important open problem".

    Args:
        events: The log, with times.
        epoch: hour, day, week, or the column that the log was read with; by default as the log was read.
        fit: What learns: a function of a window of events that returns a policy (anything ``evaluate`` takes), or
            settings of ``fit``. By default ``fit`` as it is.
        every: Learn anew in every so many epochs: a policy is valued on all epochs until the next one.
        first: How many epochs the first policy is learned from, at least.
        tau: The clipping constant, or "auto".
        delta: The share of bounds that may ever miss.
        live: Whether a learned policy chooses among the actions live in the epoch.
        on_progress: Called with the step that begins.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p"] * 80, "ad": ["a", "b"] * 40, "click": [0, 1, 0, 1, 0, 0, 1, 1] * 10,
    ...                 "at": [f"2026-10-0{day}" for day in (1, 2, 3, 4) for _ in range(20)]})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click", time="at")
    >>> result = ws.evaluate_progressively(events, "day", fit=lambda window: "constant:b", tau=0.05)
    >>> [step.learned_from for step in result.steps], round(result.value, 2)
    ([20, 40, 60], 0.73)
    """
    check_events(events)
    check_maximized(events)
    check_level(delta, "bets", ())
    tau = checked_taus(tau)[0]
    if not all(isinstance(number, int) and number >= 1 for number in (every, first)):
        raise UsageError("every and first must be whole numbers, 1 or more.")
    windows = epoch_windows(with_epochs(events, epoch))
    if len(windows) <= first:
        raise UsageError(
            f"The log has {len(windows)} epochs, and {first} of them are to learn from first: none is left to value.",
            "Take shorter epochs, or a longer log.",
        )
    learn, state, steps = _learner(fit), EpochState.start(), list[LearningStep]()
    for begin in range(first, len(windows), every):
        block = windows[begin : begin + every]
        train, valued = together(windows[:begin]), together(block)
        on_progress(f"learning from {len(train):,} events", begin / len(windows))
        learned = learn(train)
        if learned is None:
            raise UsageError("fit returned no policy.", "Return anything that evaluate takes.")
        policy = parse_policies({NAME: learned})[0]
        on_progress(f"valuing what was learned on {block[0].label}", begin / len(windows))
        result = take_steps([Followed(policy, delta, state)], valued, train, tau=tau, live=live)[policy.name]
        state = result.state
        seen = len(train)
        steps += [LearningStep(seen, one) for one in result.epochs]
    on_progress("estimating the newest policy")
    # Decisions that were learned before these epochs have seen none of their rewards.
    fixed = {NAME: "never"} if policy.is_decisions else None
    settings: dict[str, Any] = {"tau": tau, "delta": delta, "live": live, "trained_until": fixed}
    last = evaluate({NAME: policy.source}, valued, train=train, **settings)
    certified = steps[-1].epoch.lower_so_far is not None
    return Progressive(
        steps=tuple(steps),
        delta=delta,
        first_learned_from=together(windows[:first]).window,
        every=every,
        last=last[NAME],
        reward_range=events.log.reward_range,
        version=__version__,
        trend=trend_of(tuple(steps), delta),
        guarantee="finite-sample" if certified else "approximate",
    )


def _learner(fit: Callable[[Events], Any] | Mapping[str, Any] | None) -> Callable[[Events], Any]:
    if callable(fit):
        return fit
    if fit is not None and not isinstance(fit, Mapping):
        raise UsageError(f"fit must be a function of events or settings, and is {quoted(fit)}.")
    from warmstart.pipeline.fit import fit as fit_policy

    settings = dict(fit or {})
    if unknown := [name for name in settings if name not in signature(fit_policy).parameters]:
        raise UsageError(f"fit has no setting {quoted(unknown[0])}.", "The settings are those of warmstart.fit.")
    return lambda events: fit_policy(events, **settings)
