"""Which of several policies to deploy, if any."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from warmstart.core import Outcome, percent, quoted
from warmstart.results.amounts import Amounts
from warmstart.results.display import Result, fields_of
from warmstart.results.estimate import ValueEstimate
from warmstart.results.evaluation import Evaluation
from warmstart.results.segments import improvement, largest_improvement

# Segments to use a policy in, by their names.
Segments = tuple[tuple[str, ...], ...]
IN_ALL: Segments = ()


@dataclass(frozen=True, repr=False)
class Selection(Result):
    """The policy that is certified to improve most on logging, its guards kept; or none.

    ``gain_lower``: used where supported, with logging elsewhere, the policy improves the reward by at least this per
    event of all traffic (gains, or saves what should be small); it holds for every policy and tau that was looked at,
    at once. ``left_out``: policies of which nothing can be proven, because they learned from these events or because of
    where the propensities come from; ``unguarded``: those of which a guard is not proven to be kept, and
    ``held_back``: those of them that are certifiably better. ``segments``: those in which the policy is used, with
    logging in all others, if more is proven of that than of using it everywhere. ``margin``: changes up to this make no
    difference that matters, if one was given; ``same``: policies that are certified to change the reward by no more.
    ``mean_reward``: what logging earned per event.
    """

    estimate: ValueEstimate | None
    gain_lower: float | None
    looks: int
    delta: float
    left_out: tuple[str, ...] = ()
    per: Literal["event", "unit"] = "event"
    reward: Outcome = field(default_factory=lambda: Outcome("reward"))
    unguarded: tuple[str, ...] = ()
    segments: Segments = ()
    margin: float | None = None
    same: tuple[str, ...] = ()
    mean_reward: float = 0.0
    held_back: tuple[str, ...] = ()

    @property
    def policy(self) -> str | None:
        """Return the name of the policy; None if none is certifiably better than logging."""
        return None if self.estimate is None else self.estimate.policy

    def to_dict(self) -> dict[str, Any]:
        """Return the selection as ``evaluate --select --json`` shows it, under ``selected``."""
        parts = fields_of(self)
        return {**self._head(), **self._first(), "outcome": parts.pop("reward"), **parts}

    def _first(self) -> dict[str, Any]:
        """Return the policy that was selected, and what for."""
        tau = None if self.estimate is None else self.estimate.tau
        return {"policy": self.policy, "tau": tau, "gain_lower": self.gain_lower, "reward": self.reward.name}

    def _rows(self) -> list[dict[str, Any]]:
        lists = {"unguarded": ", ".join(self.unguarded), "segments": "; ".join(map(", ".join, self.segments))}
        return [{**self._first(), "looks": self.looks, **lists, "delta": self.delta}]

    @property
    def reservations(self) -> str:
        """Say which policies could not be selected."""
        out = f" Nothing can be proven of {', '.join(map(quoted, self.left_out))}." if self.left_out else ""
        said = self.held_back if self.policy is None else ()
        if unguarded := [name for name in self.unguarded if name not in said]:
            out += f" Guards are not proven to hold for {', '.join(map(quoted, unguarded))}."
        if self.same:
            out += f" Certified to stay within the margin: {', '.join(map(quoted, self.same))}."
        return out

    @property
    def notes(self) -> list[str]:
        """Say which policy is selected, what it gains at least, and what could not be."""
        every = "both" if self.looks == 2 else f"all {self.looks}"
        sure = f"confidence {100 * (1 - self.delta):.6g} %" + (
            f", for {every} rows of the table together" if self.looks > 1 else ""
        )
        out, chosen = self.reservations, self.estimate
        if chosen is None and self.held_back:
            names, many = " and ".join(map(quoted, self.held_back)), len(self.held_back) > 1
            but = f"but {'their' if many else 'its'} guards are not proven to hold"
            return [f"SELECTED: none. {names} {'are' if many else 'is'} certifiably better ({sure}), {but}.{out}"]
        if chosen is None or self.gain_lower is None:
            end = "upper end of a change is below 0" if self.reward.minimize else "lower end of a gain is above 0"
            why = f"no certified {end}"
            why += " and outside the margin" if self.same else ""
            return [f"SELECTED: none. No policy is certifiably better than logging ({sure}): {why}.{out}"]
        where = f"Used where it is supported ({percent(chosen.support.supported)} of traffic), with logging elsewhere"
        if self.segments:
            named = ", ".join(" and ".join(map(quoted, segment)) for segment in self.segments)
            where = f"Used where it is proven better and supported (in {named}), with logging elsewhere"
        verb = f"{'lowers' if self.reward.minimize else 'raises'} {quoted(self.reward.name)}"
        least = Amounts.by_mean(self.mean_reward, self.reward.low, self.per).at_least(self.gain_lower)
        kept = ", and keeps its guards" if chosen.guards else ""
        named = f"{quoted(chosen.policy)} at tau {chosen.tau:g}"
        return [f"SELECTED: {named}. {where}, it {verb} by at least {least}, against logging ({sure}){kept}.{out}"]


def select(evaluation: Evaluation) -> Selection:
    """Select the policy with the largest simultaneous bound of its improvement on logging, or none.

    The improvement is that on all traffic of "this policy where it is supported, logging elsewhere": a gain, or less of
    a reward that should be small. All guards must be proven to hold. Not selected is what is certified to stay within
    the margin, what learned from the evaluated window, and what was weighted with propensities that prove nothing.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p"] * 400, "ad": ["a", "b"] * 200, "click": [1, 0] * 200})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click")
    >>> ws.select(ws.evaluate(["constant:a", "constant:b"], events, tau=0.05)).policy
    'constant:a'
    """
    looks = sum(1 for _ in evaluation.shown())
    best: ValueEstimate | None = None
    gain, left_out, unguarded, same, held_back = 0.0, [], [], [], []
    segments: Segments = ()
    for estimate in evaluation:
        certified = estimate.gain.certified
        if estimate.is_logging:
            continue
        if certified is None or certified.guarantee == "approximate":
            left_out.append(estimate.policy)
            continue
        reward, margin = evaluation.reward, evaluation.margin
        if any(guard.status != "holds" for guard in estimate.guards):
            unguarded.append(estimate.policy)
            matters = margin is None or largest_improvement(estimate, reward) > margin
            held_back += [estimate.policy] if matters and improvement(estimate, reward) > 0 else []
            continue
        choices = [(IN_ALL, improvement(estimate, reward), largest_improvement(estimate, reward))]
        choices += [] if estimate.guards else [_where_proven(estimate, evaluation)]
        for where, least, most in choices:
            if margin is not None and least > 0 and most <= margin:
                same.append(estimate.policy)
            elif least > gain:
                best, gain, segments = estimate, least, where
    return Selection(
        best,
        None if best is None else gain,
        looks,
        evaluation.policies[0].delta,
        tuple(dict.fromkeys(left_out)),
        evaluation.per,
        evaluation.reward,
        tuple(dict.fromkeys(unguarded)),
        segments,
        evaluation.margin,
        tuple(name for name in dict.fromkeys(same) if best is None or name != best.policy),
        evaluation.log.mean_reward,
        tuple(dict.fromkeys(held_back)),
    )


def _where_proven(estimate: ValueEstimate, evaluation: Evaluation) -> tuple[Segments, float, float]:
    """Return the segments in which a policy is proven better, and what using it there alone gains at least and at most.

    That is the sum of what the segments gain, never an interval of their own: they were chosen by it.
    """
    key, reward = (estimate.policy, estimate.tau), evaluation.reward
    # Of two taus that are the same, once.
    own = {one.segment: one for one in evaluation.segments if (one.policy, one.tau) == key and one.segment is not None}
    better = {segment: one for segment, one in own.items() if improvement(one, reward) > 0}
    least = sum(one.share * improvement(one, reward) for one in better.values())
    most = sum(one.share * largest_improvement(one, reward) for one in better.values())
    return tuple(better), least, most
