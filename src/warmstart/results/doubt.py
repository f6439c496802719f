"""Doubt: what hidden segments, which the logging policy used and the context columns lack, could do to a conclusion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from warmstart.core import quoted, shortened
from warmstart.results.amounts import Amounts
from warmstart.results.display import TextTable, Unbounded

if TYPE_CHECKING:
    from warmstart.results.evaluation import Evaluation
    from warmstart.results.verdict import Verdict

# Beyond this, nobody asks how much larger a tipping point is.
LARGEST = 20.0
# Means below this part of the largest reward are rare ones.
RARE = 0.1


@dataclass(frozen=True)
class DoubtPoint:
    """The ends of the gain, per event of all traffic, if hidden segments are no larger than ``factor``."""

    factor: float
    lower: float
    upper: float


@dataclass(frozen=True)
class LeftOutColumn:
    """The doubt that one of the context columns would have made, had it been left out; None if that cannot be told."""

    column: str
    factor: float | None


@dataclass(frozen=True)
class DoubtedLimit:
    """The largest doubt at which the gain is certain to be above (or below) a ``limit``, per event of all traffic."""

    limit: float
    above: bool
    tipping: Unbounded | None


@dataclass(frozen=True)
class Doubt:
    """How much of a conclusion would stand if the context columns lacked something that the logging policy used.

    A doubt of rho says: in a context, events that were shown an action would earn between 1 / rho and rho times what
    the others would have earned with it, rewards being counted from the lowest possible; and the same of how far they
    stay below the largest. ``factor``: the doubt that all certified bounds and the gains allow for;
    1 if none was asked for. ``lower``, ``upper``: the ends of the gain at that doubt, per event of all traffic, None if
    there are none. ``tipping``: the largest doubt at which the sign of the gain is still certain, None if it is not at
    all. ``guarantee``: whether these are finite-sample or approximate, as for propensities that are no counts.
    ``estimated_tipping``: the same of the estimated gain, approximate. ``curve``: the ends at several doubts, and
    ``columns``: what each context column would have made if it were hidden, if a doubt was asked for. ``limits``: the
    same as ``tipping`` for what guards ask of the gain: first to keep each guard, then to break it.
    """

    factor: float
    lower: float | None
    upper: float | None
    tipping: Unbounded | None
    guarantee: Literal["finite-sample", "approximate"]
    estimated_tipping: Unbounded | None = None
    curve: tuple[DoubtPoint, ...] = ()
    columns: tuple[LeftOutColumn, ...] = ()
    limits: tuple[DoubtedLimit, ...] = ()

    def uncertified(self, lower: float | None, upper: float | None) -> Doubt:
        """Return what is left where nothing is certified: the estimated tipping point, and the ends of the estimate."""
        tipping = self.estimated_tipping
        return replace(self, lower=lower, upper=upper, tipping=tipping, guarantee="approximate", curve=(), limits=())

    def scaled(self, width: float) -> Doubt:
        """Return the doubt with its ends on the user's own scale of rewards."""
        lower, upper = (None if end is None else width * end for end in (self.lower, self.upper))
        curve = tuple(replace(one, lower=width * one.lower, upper=width * one.upper) for one in self.curve)
        limits = tuple(replace(one, limit=width * one.limit) for one in self.limits)
        return replace(self, lower=lower, upper=upper, curve=curve, limits=limits)


def doubt_line(evaluation: Evaluation, verdict: Verdict) -> str | None:
    """Say how large a hidden segment would have to be to overturn a verdict; None if it decides nothing."""
    certified, doubts = verdict.evidence == "certified", _doubts(evaluation, verdict)
    doubt = next(iter(doubts), None)
    tips = [one.tipping if certified else one.estimated_tipping for one in doubts]
    known = [tip for tip in tips if tip is not None]
    if doubt is None or verdict.kind not in ("better", "worse") or len(known) < len(tips):
        return None
    tipping = min(known)
    about = "" if certified and all(one.guarantee == "finite-sample" for one in doubts) else "about "
    allowed = f" The bounds here allow for {doubt.factor:g} already." if doubt.factor > 1 else ""
    if tipping < 1.005:
        return f"Doubt: something that the log does not record, however small, could overturn this.{allowed}"
    better = verdict.kind == "better"
    shown, others = "events that got its choices", "the other events of their contexts"
    if better != (evaluation.reward.sign > 0):
        shown, others = others.replace("their", "the same"), shown
    low, high = evaluation.reward_range
    # Rare rewards are far from the largest, whatever is hidden: the notes say the rest.
    rare = not low and evaluation.log.mean_reward < RARE * high
    nearer = "" if rare else f" (and at most as many times nearer to {high:g})"
    even = f"even if something that the log does not record made {quoted(evaluation.reward.name)}"
    # The factor is one of distances from the lowest reward.
    large = f"far above {low:g}" if low else "large"
    larger = f"up to {about}{shown_factor(tipping)} times as {large} in {shown} as in {others}{nearer}"
    where = " in each of these segments" if verdict.segments else ""
    stands = f"Doubt: it would still be {verdict.kind}{where} {even} {larger}; beyond that, it might not be."
    return f"{stands}{_about_guards(evaluation, verdict)}{allowed}"


def _about_guards(evaluation: Evaluation, verdict: Verdict) -> str:
    """Say up to which doubt guards hold that hold."""
    kept = [guard for guard in evaluation[verdict.policy, verdict.tau].guards if guard.status == "holds"]
    tips = [f"{shown_factor(one.tipping)} for {quoted(one.guard)}" for one in kept if one.tipping is not None]
    unknown = ", ".join(quoted(one.guard) for one in kept if one.tipping is None)
    if verdict.kind != "better" or not kept:
        return ""
    if not tips:
        return f" Up to which factor the guards would still hold ({unknown}), is not known."
    also = f"; it is not known for {unknown}" if unknown else ""
    return f" Guards would still hold at such a factor, of their own outcome, of up to {', '.join(tips)}{also}."


def _doubts(evaluation: Evaluation, verdict: Verdict) -> list[Doubt]:
    """Return what doubt does to the gains that a verdict rests on: that of all traffic, or those of some segments."""
    own = evaluation[verdict.policy, verdict.tau]
    of_segments = [
        e
        for e in evaluation.segments
        if (e.policy, e.tau, e.outcome) == (own.policy, own.tau, own.outcome) and e.segment in verdict.segments
    ]
    return [e.doubt for e in (of_segments if verdict.segments else [own]) if e.doubt is not None]


def doubt_table(evaluation: Evaluation) -> TextTable | None:
    """Show what a doubt does to gains, and where conclusions tip; None if nothing is known of that."""
    rows = []
    for names, estimate in evaluation.shown():
        doubt = estimate.doubt
        if doubt is None:
            continue
        ends = [evaluation.number(end, signed=True) for end in (doubt.lower, doubt.upper)]
        span = f"[{ends[0]}, {ends[1]}]" + ("" if doubt.guarantee == "finite-sample" else " approx.")
        rows.append((*names, f"{doubt.factor:g}", span, *map(shown_factor, (doubt.tipping, doubt.estimated_tipping))))
    if not rows:
        return None
    header = ("policy", "tau", "doubt", "gain lies in", "tips at", "estimate tips at")
    gain = f"the gain over logging, {shortened(evaluation.reward.name, 30)} {Amounts.of(evaluation).unit}"
    return TextTable(f"Doubt: what a hidden segment could do to {gain}", header, rows, left=1)


def left_out_table(evaluation: Evaluation) -> TextTable | None:
    """Show the doubts that context columns would have made if they had been hidden."""
    columns = {e.policy: e.doubt.columns for e in reversed(evaluation.policies) if e.doubt is not None}
    rows = [
        (shortened(policy, 30), shortened(one.column, 30), "cannot tell" if one.factor is None else f"{one.factor:.2f}")
        for policy in reversed(columns)
        for one in columns[policy]
    ]
    if not rows:
        return None
    title = "What doubts are like: had a context column been hidden, it would have made this one"
    return TextTable(title, ("policy", "column", "doubt"), rows, left=2)


def shown_factor(tipping: float | None) -> str:
    """Show a tipping point, rounded down: what is said to stand does."""
    if tipping is None:
        return "-"
    return f"above {LARGEST:g}" if tipping >= LARGEST else f"{int(100 * tipping + 1e-9) / 100:.2f}"
