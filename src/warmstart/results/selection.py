"""Which of several policies to deploy, if any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from warmstart.core import quoted
from warmstart.results.display import Result
from warmstart.results.estimate import ValueEstimate
from warmstart.results.evaluation import Evaluation


@dataclass(frozen=True, repr=False)
class Selection(Result):
    """The policy that is certified to gain most over logging; or none.

    ``gain_lower``: used where supported, with logging elsewhere, the policy gains at least this per event of all
    traffic; it holds for every policy and tau that was looked at, at once. ``left_out``: policies of which nothing can
    be proven, because they learned from these events or because of where the propensities come from.
    """

    estimate: ValueEstimate | None
    gain_lower: float | None
    looks: int
    delta: float
    left_out: tuple[str, ...] = ()
    per: Literal["event", "unit"] = "event"

    @property
    def policy(self) -> str | None:
        """Return the name of the policy; None if none is certifiably better than logging."""
        return None if self.estimate is None else self.estimate.policy

    def to_dict(self) -> dict[str, Any]:
        """Return the selection as ``evaluate --select --json`` shows it, under ``selected``."""
        tau = None if self.estimate is None else self.estimate.tau
        return {"policy": self.policy, "tau": tau, "gain_lower": self.gain_lower, "looks": self.looks}

    def _rows(self) -> list[dict[str, Any]]:
        return [{**self.to_dict(), "delta": self.delta}]

    @property
    def notes(self) -> list[str]:
        """Say which policy is selected, what it gains at least, and what could not be."""
        sure = f"{1 - self.delta:.6g}" + (f", for all {self.looks} looked at together" if self.looks > 1 else "")
        out = f" Nothing can be proven of {', '.join(map(quoted, self.left_out))}." if self.left_out else ""
        chosen = self.estimate
        if chosen is None or self.gain_lower is None:
            why = "no certified lower end of a gain over logging is above 0"
            return [f"SELECTED: none. No policy is certifiably better than logging ({sure}): {why}.{out}"]
        where = f"Used where it is supported ({chosen.support.supported:.1%} of traffic), with logging elsewhere"
        gain = f"it gains at least {self.gain_lower:.3g} per {self.per} over logging ({sure})"
        return [f"SELECTED: {quoted(chosen.policy)} at tau {chosen.tau:g}. {where}, {gain}.{out}"]


def select(evaluation: Evaluation) -> Selection:
    """Select the policy with the largest simultaneous lower bound of its gain over logging, or none.

    The gain is that on all traffic of "this policy where it is supported, logging elsewhere". What learned from the
    evaluated window, or was weighted with propensities that prove nothing, cannot be selected.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p"] * 400, "ad": ["a", "b"] * 200, "click": [1, 0] * 200})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click")
    >>> ws.select(ws.evaluate(["constant:a", "constant:b"], events, tau=0.05)).policy
    'constant:a'
    """
    looks = sum(1 for _ in evaluation.shown())
    best: ValueEstimate | None = None
    gain, left_out = 0.0, []
    for estimate in evaluation:
        certified = estimate.gain.certified
        if estimate.is_logging:
            continue
        if certified is None or certified.guarantee == "approximate":
            left_out.append(estimate.policy)
        elif certified.joint_lower is not None and certified.joint_lower > gain:
            best, gain = estimate, certified.joint_lower
    names = tuple(dict.fromkeys(left_out))
    return Selection(best, None if best is None else gain, looks, evaluation.policies[0].delta, names, evaluation.per)
