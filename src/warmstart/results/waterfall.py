"""What the change of a policy is made of: proven, measured, guessed, and what a log cannot rule out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from warmstart.results.estimate import CertifiedGain, ValueEstimate
    from warmstart.results.evaluation import Evaluation

# Shares of traffic below this are what rounding leaves of none.
ROUNDING = 1e-9
# Parts shorter than this share of the longest are not told.
LEAST = 1e-3


@dataclass(frozen=True)
class ChangePart:
    """A part of a policy's change against what was shown: from ``start`` to ``end``, per event of all traffic.

    ``kind``: certified or only measured where the log supports the policy, guessed by a model elsewhere, all of it
    together, or the range that the log leaves open if the policy is used everywhere.
    """

    kind: Literal["certified", "measured", "guessed", "together", "open"]
    start: float
    end: float


def change_parts(evaluation: Evaluation) -> tuple[ChangePart, ...]:
    """Return the parts of the change of the policy that the verdict is about; none if nothing can be said of it."""
    verdict = evaluation.verdict
    if verdict is None or verdict.policy in evaluation.learned_here:
        return ()
    estimate = evaluation[verdict.policy, verdict.tau]
    certified, estimated = estimate.gain.certified, estimate.gain.estimated
    parts: list[ChangePart] = []
    so_far = 0.0
    if certified is not None and certified.difference is not None:
        near = _nearest_to_zero(certified.joint_lower, certified.joint_upper)
        so_far = certified.difference
        parts += [ChangePart("certified", 0.0, near), ChangePart("measured", near, so_far)]
    if estimated is not None:
        parts += [
            ChangePart("guessed", so_far, estimated.difference),
            ChangePart("together", 0.0, estimated.difference),
        ]
    longest = max((abs(part.end - part.start) for part in parts), default=0.0)
    parts = [part for part in parts if abs(part.end - part.start) > LEAST * longest]
    ends = left_open(evaluation, estimate)
    return (*parts, *([] if ends is None or not parts else [ChangePart("open", *ends)]))


def left_open(evaluation: Evaluation, estimate: ValueEstimate) -> tuple[float, float] | None:
    """Return the ends that a log leaves to the change of a policy used everywhere; None if nothing is proven.

    Where the policy is supported these are the joint ends of its gain. On clipped and unsupported traffic its reward
    may be anything in the range, less what was shown got there. Where it is undecided nothing changes.
    """
    certified = estimate.gain.certified
    ends = None if certified is None else _ends(certified)
    if certified is None or ends is None:
        return None
    rest = estimate.support.clipped + estimate.support.unsupported
    if rest < ROUNDING:
        return ends
    low, high = (end * rest for end in evaluation.reward_range)
    if estimate.known < 1:
        # What was shown got there is not known either.
        return ends[0] + low - high, ends[1] + high - low
    # What was shown got on the rest and where the policy is undecided: of the two, the sum is known.
    both = evaluation.log.mean_reward - certified.share * (certified.logging or 0.0)
    silent = max(1 - certified.share - rest, 0.0)
    least, most = (both - silent * end if silent > ROUNDING else both for end in reversed(evaluation.reward_range))
    return ends[0] + low - min(most, high), ends[1] + high - max(least, low)


def _ends(certified: CertifiedGain) -> tuple[float, float] | None:
    """Return the joint ends of a gain; zero where no traffic is supported, none where nothing is proven."""
    if certified.guarantee == "finite-sample" and certified.share <= 0:
        return 0.0, 0.0
    if certified.joint_lower is None or certified.joint_upper is None:
        return None
    return certified.joint_lower, certified.joint_upper


def _nearest_to_zero(lower: float | None, upper: float | None) -> float:
    """Return the end of an interval that is nearest to zero; zero if that is inside."""
    if lower is None or upper is None or lower <= 0 <= upper:
        return 0.0
    return lower if lower > 0 else upper
