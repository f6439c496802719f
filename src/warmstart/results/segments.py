"""Segments of the traffic beside each other: estimates drawn towards the whole, what differs, what is proven where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warmstart.core import Outcome
    from warmstart.results.estimate import EstimatedGain, ValueEstimate
    from warmstart.results.evaluation import Evaluation

# Of fewer segments nobody can tell how much they differ.
SEGMENTS_TO_DRAW = 3


@dataclass(frozen=True)
class SegmentGain:
    """The gain of a policy in one segment, per event of it.

    ``drawn``: the estimated gain, drawn towards that of the whole as far as its own error is large beside how much
    segments differ (empirical Bayes); None where there is no estimate with an interval. ``differs``: whether the
    certified gain is proven to differ from that of the other segments together. ``proven`` and ``worse``: whether the
    policy is proven to improve on logging here, or to do worse. Bounds hold for all segments, policies and taus
    at once.
    """

    estimate: ValueEstimate
    drawn: float | None
    differs: bool
    proven: bool
    worse: bool

    def to_dict(self) -> dict[str, Any]:
        """Return what is told beside the estimate."""
        said = {"drawn": self.drawn, "differs": self.differs, "proven": self.proven, "worse": self.worse}
        return {"share": self.estimate.share, **said}


def segment_gains(evaluation: Evaluation) -> list[SegmentGain]:
    """Return the gains of all policies by segment, policy by policy, in the order of the evaluation."""
    found = []
    wholes = {(one.policy, one.tau): one for one in evaluation.policies}
    for key, whole in wholes.items():
        own = [one for one in evaluation.segments if (one.policy, one.tau) == key]
        if own and not whole.is_logging:
            found += _of_policy(own, whole, evaluation.reward)
    return found


def _of_policy(own: Sequence[ValueEstimate], whole: ValueEstimate, reward: Outcome) -> list[SegmentGain]:
    drawn = _drawn(own, whole)
    return [
        SegmentGain(one, mean, _differs(one, own), improvement(one, reward) > 0, largest_improvement(one, reward) < 0)
        for one, mean in zip(own, drawn, strict=True)
    ]


def improvement(estimate: ValueEstimate, reward: Outcome) -> float:
    """Return how much better than logging a policy is at least, jointly; zero or less where nothing is proven."""
    gain = estimate.gain.certified
    end = None if gain is None else gain.joint_upper if reward.minimize else gain.joint_lower
    return 0.0 if end is None else reward.sign * end


def largest_improvement(estimate: ValueEstimate, reward: Outcome) -> float:
    """Return how much better than logging a policy is at most, jointly; infinite where nothing is known."""
    gain = estimate.gain.certified
    end = None if gain is None else gain.joint_lower if reward.minimize else gain.joint_upper
    return inf if end is None else reward.sign * end


def _drawn(own: Sequence[ValueEstimate], whole: ValueEstimate) -> list[float | None]:
    """Draw estimated gains towards that of the whole, by how far segments differ beyond their errors."""
    center = whole.gain.estimated
    known = [(one.share, gain) for one in own if (gain := one.gain.estimated) is not None and gain.lower is not None]
    if center is None or len(known) < SEGMENTS_TO_DRAW:
        return [None if one.gain.estimated is None else one.gain.estimated.difference for one in own]
    squares = [_square(gain, whole.delta) or 0.0 for _, gain in known]
    traffic = sum(share for share, _ in known)
    apart = sum(
        share * ((gain.difference - center.difference) ** 2 - square)
        for (share, gain), square in zip(known, squares, strict=True)
    )
    spread = max(apart / traffic, 0.0)
    means: list[float | None] = []
    for one in own:
        gain = one.gain.estimated
        if gain is None:
            means.append(None)
            continue
        # Nothing is known of the error of an estimate without an interval: it says nothing.
        square = _square(gain, whole.delta)
        weight = 0.0 if square is None or spread + square <= 0 else spread / (spread + square)
        means.append(center.difference + weight * (gain.difference - center.difference))
    return means


def _square(gain: EstimatedGain, delta: float) -> float | None:
    """Return the squared standard error that an approximate interval stands for."""
    if gain.lower is None or gain.upper is None:
        return None
    return ((gain.upper - gain.lower) / (2 * NormalDist().inv_cdf(1 - delta / 2))) ** 2


def _differs(one: ValueEstimate, own: Sequence[ValueEstimate]) -> bool:
    """Tell whether the joint interval of a segment's gain does not meet that of all others together."""
    ends = []
    for some in ([one], [other for other in own if other is not one]):
        gains = [(other.share, *_joint(other)) for other in some]
        known = [(share, lower, upper) for share, lower, upper in gains if lower is not None and upper is not None]
        if not known or len(known) < len(gains):
            return False
        traffic = sum(share for share, _, _ in known)
        ends.append(tuple(sum(part[0] * part[i] for part in known) / traffic for i in (1, 2)))
    return ends[0][0] > ends[1][1] or ends[0][1] < ends[1][0]


def _joint(estimate: ValueEstimate) -> tuple[float | None, float | None]:
    """Return the joint ends of a certified gain: none where nothing is proven, zero where no traffic is supported."""
    gain = estimate.gain.certified
    if gain is None:
        return None, None
    if gain.share <= 0 and gain.guarantee == "finite-sample":
        return 0.0, 0.0
    return gain.joint_lower, gain.joint_upper
