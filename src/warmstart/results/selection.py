"""Which of several policies to deploy, if any."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from warmstart.core import Outcome, quoted
from warmstart.results.amounts import rounded
from warmstart.results.display import Result, fields_of
from warmstart.results.estimate import ValueEstimate
from warmstart.results.evaluation import Evaluation
from warmstart.results.segments import improvement


@dataclass(frozen=True, repr=False)
class Selection(Result):
    """The policy that is certified to improve most on logging, its guards kept; or none.

    ``gain_lower``: used where supported, with logging elsewhere, the policy improves the reward by at least this per
    event of all traffic (gains, or saves what should be small); it holds for every policy and tau that was looked at,
    at once. ``left_out``: policies of which nothing can be proven, because they learned from these events or because of
    where the propensities come from; ``unguarded``: those of which a guard is not proven to be kept. ``segments``:
    those in which the policy is used, with logging in all others, if more is proven of that than of using it
    everywhere.
    """

    estimate: ValueEstimate | None
    gain_lower: float | None
    looks: int
    delta: float
    left_out: tuple[str, ...] = ()
    per: Literal["event", "unit"] = "event"
    reward: Outcome = field(default_factory=lambda: Outcome("reward"))
    unguarded: tuple[str, ...] = ()
    segments: tuple[tuple[str, ...], ...] = ()

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
        if self.unguarded:
            out += f" Guards are not proven to hold for {', '.join(map(quoted, self.unguarded))}."
        return out

    @property
    def notes(self) -> list[str]:
        """Say which policy is selected, what it gains at least, and what could not be."""
        every = "both" if self.looks == 2 else f"all {self.looks}"
        sure = f"{1 - self.delta:.6g}" + (f", for {every} looked at together" if self.looks > 1 else "")
        out, chosen = self.reservations, self.estimate
        if chosen is None or self.gain_lower is None:
            end = "upper end of a change is below 0" if self.reward.minimize else "lower end of a gain is above 0"
            why = f"no certified {end}" + (" with all guards kept" if self.unguarded else "")
            return [f"SELECTED: none. No policy is certifiably better than logging ({sure}): {why}.{out}"]
        where = f"Used where it is supported ({chosen.support.supported:.1%} of traffic), with logging elsewhere"
        if self.segments:
            named = ", ".join(" and ".join(map(quoted, segment)) for segment in self.segments)
            where = f"Used where it is proven better and supported (in {named}), with logging elsewhere"
        verb = "saves" if self.reward.minimize else "gains"
        least = f"{verb} at least {rounded(self.gain_lower, down=True)} of {quoted(self.reward.name)} per {self.per}"
        gain = f"it {least} over logging ({sure})"
        kept = ", and keeps its guards" if chosen.guards else ""
        return [f"SELECTED: {quoted(chosen.policy)} at tau {chosen.tau:g}. {where}, {gain}{kept}.{out}"]


def select(evaluation: Evaluation) -> Selection:
    """Select the policy with the largest simultaneous bound of its improvement on logging, or none.

    The improvement is that on all traffic of "this policy where it is supported, logging elsewhere": a gain, or less of
    a reward that should be small. All guards must be proven to hold. What learned from the evaluated window, or was
    weighted with propensities that prove nothing, cannot be selected.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p"] * 400, "ad": ["a", "b"] * 200, "click": [1, 0] * 200})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click")
    >>> ws.select(ws.evaluate(["constant:a", "constant:b"], events, tau=0.05)).policy
    'constant:a'
    """
    looks = sum(1 for _ in evaluation.shown())
    best: ValueEstimate | None = None
    gain, left_out, unguarded = 0.0, [], []
    segments: tuple[tuple[str, ...], ...] = ()
    for estimate in evaluation:
        certified = estimate.gain.certified
        if estimate.is_logging:
            continue
        if certified is None or certified.guarantee == "approximate":
            left_out.append(estimate.policy)
            continue
        if any(guard.status != "holds" for guard in estimate.guards):
            unguarded.append(estimate.policy)
            continue
        choices: list[tuple[tuple[tuple[str, ...], ...], float]] = [((), improvement(estimate, evaluation.reward))]
        choices += [] if estimate.guards else [_where_proven(estimate, evaluation)]
        for where, end in choices:
            if end > gain:
                best, gain, segments = estimate, end, where
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
    )


def _where_proven(estimate: ValueEstimate, evaluation: Evaluation) -> tuple[tuple[tuple[str, ...], ...], float]:
    """Return the segments in which a policy is proven better, and what using it there alone gains at least.

    That is the sum of what the segments gain at least, never an interval of their own: they were chosen by it.
    """
    key = estimate.policy, estimate.tau
    # Of two taus that are the same, once.
    own = {one.segment: one for one in evaluation.segments if (one.policy, one.tau) == key and one.segment is not None}
    better = {segment: end for segment, one in own.items() if (end := improvement(one, evaluation.reward)) > 0}
    return tuple(better), sum(own[segment].share * end for segment, end in better.items())
