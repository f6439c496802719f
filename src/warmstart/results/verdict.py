"""The verdict on a policy: what to do, why, and how strong the evidence is.

Certified ends that hold for all policies and taus at once decide first, else the interval of the best estimate.
Improvements count as positive, also of a reward that should be small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warmstart.core import percent, quoted
from warmstart.results.amounts import Amounts
from warmstart.results.segments import largest_improvement
from warmstart.results.selection import Selection, select
from warmstart.results.settling import what_would_settle_guards, what_would_settle_it
from warmstart.results.wording import EVERYWHERE, Ends, Evidence, Kind, Wording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmstart.results.estimate import ValueEstimate
    from warmstart.results.evaluation import Evaluation

# Which of several policies to speak of first, where none is proven to be the one to use.
FIRST = (
    "better, certified",
    "better, estimated",
    "cannot tell",
    "cannot tell, unsupported",
    "better, but breaks a guard",
    "same",
    "worse",
)


@dataclass(frozen=True)
class Verdict:
    """What to do about a policy.

    ``kind``: what it does to the reward; ``same`` if any change is within the margin. ``evidence``: certified by
    finite-sample bounds, estimated (approximate), or unsupported: the log says next to nothing. ``share``: of the
    traffic on which the log supports the policy. ``gain``: by how much it improves the reward, about, and
    ``gain_lower``: at least, both per event of all traffic; None where nothing is known. ``title``: the decision in a
    few words; ``text``: with its reason. ``settle``: what would decide an open question. ``segments``: those to use it
    in, if share and gains are of them alone.
    """

    policy: str
    tau: float
    kind: Kind
    evidence: Evidence
    share: float
    gain: float | None
    gain_lower: float | None
    title: str
    text: str
    settle: tuple[str, ...] = ()
    segments: tuple[tuple[str, ...], ...] = ()

    @property
    def words(self) -> str:
        """Return kind and evidence for a table."""
        return "cannot tell" if self.kind == "cannot-tell" else f"{self.kind}, {self.evidence}"


def verdict_of(evaluation: Evaluation, estimate: ValueEstimate) -> Verdict:
    """Return the verdict on one policy at one tau."""
    sign, margin = evaluation.reward.sign, evaluation.margin
    certified, estimated = estimate.gain.certified, estimate.gain.estimated
    # Where logging had no choice, a supported policy agrees with it: no finding, unless that is all traffic.
    decides = certified is not None and (certified.contested > 0 or estimate.support.supported >= EVERYWHERE)
    proven = _ends(sign, certified.joint_lower, certified.joint_upper) if certified is not None and decides else None
    likely = None if estimated is None else _ends(sign, estimated.lower, estimated.upper)
    wording = Wording(evaluation, estimate, proven, likely)
    if estimate.policy in evaluation.learned_here:
        return _verdict(wording, "cannot-tell", "unsupported", None)
    measured = None if certified is None or certified.difference is None else sign * certified.difference
    if proven is not None and (kind := _kind(proven, margin)) is not None:
        return _verdict(wording, kind, "certified", measured)
    if estimated is not None and likely is not None:
        return _verdict(wording, _kind(likely, margin) or "cannot-tell", "estimated", sign * estimated.difference)
    return _verdict(wording, "cannot-tell", "unsupported" if proven is None else "certified", measured)


def _verdict(wording: Wording, kind: Kind, evidence: Evidence, gain: float | None) -> Verdict:
    estimate, proven = wording.estimate, wording.proven
    title, text = wording.words(kind, evidence, gain)
    decided = kind != "cannot-tell" and evidence == "certified"
    settle = () if decided else what_would_settle_it(wording.evaluation, estimate)
    if kind != "worse":
        settle += what_would_settle_guards(wording.evaluation, estimate)
    return Verdict(
        policy=estimate.policy,
        tau=estimate.tau,
        kind=kind,
        evidence=evidence,
        share=estimate.support.supported,
        gain=None if evidence == "unsupported" else gain,
        gain_lower=None if proven is None or evidence == "unsupported" else proven[0] + 0.0,
        title=title,
        text=text,
        settle=settle,
    )


def first_verdict(evaluation: Evaluation) -> Verdict | None:
    """Return the verdict to read first: on the selected policy or, where none is, on the most promising one."""
    others = [estimate for estimate in evaluation if not estimate.is_logging]
    if not others:
        return None
    chosen = select(evaluation)
    if chosen.estimate is not None:
        own = verdict_of(evaluation, chosen.estimate)
        return _in_segments(evaluation, chosen, own) if chosen.segments else own
    # At the first tau: to take the best of several would flatter a policy.
    firsts = [evaluation[name] for name in dict.fromkeys(estimate.policy for estimate in others)]
    verdicts = [(verdict_of(evaluation, estimate), estimate) for estimate in firsts]
    return min(verdicts, key=lambda pair: (_place(*pair), -(pair[0].gain or 0.0)))[0]


def _place(verdict: Verdict, estimate: ValueEstimate) -> int:
    if verdict.kind != "better":
        unsupported = verdict.kind == "cannot-tell" and verdict.evidence == "unsupported"
        return FIRST.index(verdict.kind.replace("-", " ") + ", unsupported" * unsupported)
    breaks = any(guard.status == "fails" for guard in estimate.guards)
    return FIRST.index("better, but breaks a guard" if breaks else verdict.words)


def _ends(sign: float, lower: float | None, upper: float | None) -> Ends | None:
    if lower is None or upper is None:
        return None
    return (lower, upper) if sign > 0 else (-upper, -lower)


def _kind(ends: Ends, margin: float | None) -> Kind | None:
    """Return what an interval of the improvement says, if it says anything."""
    if margin is not None and -margin <= ends[0] and ends[1] <= margin:
        return "same"
    return "better" if ends[0] > 0 else "worse" if ends[1] < 0 else None


def _in_segments(evaluation: Evaluation, chosen: Selection, own: Verdict) -> Verdict:
    """Return the verdict "this policy where it is proven better, logging elsewhere"."""
    key, sign = (own.policy, own.tau), evaluation.reward.sign
    every = {one.segment: one for one in evaluation.segments if (one.policy, one.tau) == key}
    parts = [every[segment] for segment in chosen.segments]
    share = sum(one.share * one.support.supported for one in parts)
    gains = [(one.share, one.gain.certified) for one in parts]
    gain = sign * sum(share * (part.difference or 0.0) for share, part in gains if part is not None)
    where = _listed(chosen.segments)
    amounts, least = Amounts.of(evaluation), chosen.gain_lower or 0.0
    verb = f"{'lowers' if evaluation.reward.minimize else 'raises'} {quoted(evaluation.reward.name)}"
    text = (
        f"Used there where this log supports it, on {percent(share)} of all traffic, it {verb} by at least "
        f"{amounts.at_least(least)}, against what was shown; best estimate {amounts.about(gain)}. "
        f"Elsewhere keep what was shown{_worse(evaluation, own)}."
    )
    return replace(
        own,
        kind="better",
        evidence="certified",
        share=share,
        gain=gain,
        gain_lower=least,
        title=f"Use {quoted(own.policy)} where it is proven better: in {where}",
        text=text,
        settle=(),
        segments=chosen.segments,
    )


def _worse(evaluation: Evaluation, own: Verdict) -> str:
    """Name the segments in which a policy is proven worse."""
    every = [one for one in evaluation.segments if (one.policy, one.tau) == (own.policy, own.tau)]
    worse = [one.segment for one in every if one.segment and largest_improvement(one, evaluation.reward) < 0]
    return f": it is proven worse in {_listed(worse)}" if worse else ""


def _listed(segments: Sequence[tuple[str, ...]]) -> str:
    names = [" and ".join(map(quoted, segment)) for segment in segments]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
