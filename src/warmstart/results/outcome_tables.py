"""Further outcomes, guards, trade-offs and segments of an evaluation, as tables."""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING

from warmstart.results.display import TextTable
from warmstart.results.evaluation_tables import best_cells, gain_cells
from warmstart.results.segments import segment_gains
from warmstart.results.tradeoffs import tradeoffs

if TYPE_CHECKING:
    from warmstart.results.evaluation import Evaluation
    from warmstart.results.guards import GuardResult

WORDS = {"holds": "holds", "fails": "FAILS", "cannot-tell": "cannot tell"}


def outcome_tables(evaluation: Evaluation) -> list[TextTable]:
    """Return what there is to show beside the reward of all traffic."""
    shown = [guards_table(evaluation), tradeoffs_table(evaluation), *segment_tables(evaluation)]
    others = [outcome_table(evaluation.of_outcome(outcome.name)) for outcome in evaluation.outcomes[1:]]
    return [*others, *(table for table in shown if table is not None)]


def outcome_table(evaluation: Evaluation) -> TextTable:
    """Show one further outcome: estimates, bounds, and the change against logging."""
    outcome, number = evaluation.reward, evaluation.number
    rows = [
        (
            *names,
            *best_cells(evaluation, e),
            *(number(e.certified_lower), number(e.certified_upper)),
            *(("-", "-", "-", "-") if e.is_logging else gain_cells(evaluation, e)),
        )
        for names, e in evaluation.shown()
    ]
    value = ("policy", "tau", "best estimate", "interval", "at least", "at most")
    header = (*value, "change, estimated", "interval", "certified", "interval")
    better = "less is better" if outcome.minimize else "more is better"
    known = min((e.known for e in evaluation), default=1.0)
    told = "" if known == 1 else f"; known in {known:.1%} of events, which estimates are of"
    return TextTable(f"{outcome.name} per {evaluation.per} ({better}{told})", header, rows, left=1)


def guards_table(evaluation: Evaluation) -> TextTable | None:
    """Show which guards are proven to hold, and the ends of the change that tell."""
    rows = [
        (*names, guard.guard, WORDS[guard.status], guard_ends(guard))
        for names, e in evaluation.shown()
        for guard in e.guards
    ]
    header = ("policy", "tau", "guard", "status", "change lies in")
    title = "Guards (the policy where it is supported, logging elsewhere, against logging; all policies at once)"
    return TextTable(title, header, rows, left=1) if rows else None


def guard_ends(guard: GuardResult) -> str:
    """Show the ends of a guarded change in the guard's own terms."""
    if guard.lower is None or guard.upper is None:
        return "-"
    if guard.guard.endswith("%"):
        return f"[{guard.lower:+.2%}, {guard.upper:+.2%}]"
    return f"[{guard.lower:+.4g}, {guard.upper:+.4g}]"


def tradeoffs_table(evaluation: Evaluation) -> TextTable | None:
    """Show at which prices of an outcome policies are worth it."""
    rows = []
    for one in tradeoffs(evaluation):
        best = "never" if one.best_from is None else f"{price(one.best_from)} to {price(one.best_until)}"
        worth = f"above {price(one.break_even)}" if one.gain < 0 and one.rise < 0 else f"below {price(one.break_even)}"
        if one.break_even is None:
            worth = "at any price" if one.gain >= 0 and one.rise <= 0 else "at none"
        proven = "-" if one.certified_break_even is None else f"below {price(one.certified_break_even)}"
        proven = "at any price" if proven == "below any" else proven
        changes = f"{one.gain:+.4g}", f"{one.rise:+.4g}"
        rows.append((one.policy, f"{one.tau:g}", one.outcome, *changes, worth, proven, best))
    header = ("policy", "tau", "against", "gain", "rise", "worth it", "proven", "best of all at prices")
    title = f"{evaluation.reward.name} against what it costs (a price is what one unit of the other is worth)"
    return TextTable(title, header, rows, left=1) if rows else None


def price(value: float | None) -> str:
    """Show a price; beyond all it is any."""
    return "-" if value is None else "any" if isinf(value) else f"{value:.3g}"


def segment_tables(evaluation: Evaluation) -> list[TextTable]:
    """Show every policy's gain by segment."""
    by = " and ".join(evaluation.by)
    rows = []
    for one in segment_gains(evaluation):
        e = one.estimate
        estimated, interval, certified, ends = gain_cells(evaluation, e)
        drawn = evaluation.number(one.drawn, signed=True)
        told = ", ".join(word for word, said in (("better", one.proven), ("differs", one.differs)) if said) or "-"
        share, supported = f"{e.share:.1%}", f"{e.support.supported:.1%}"
        name = ", ".join(e.segment or ())
        rows.append((e.policy, name, share, supported, estimated, interval, drawn, certified, ends, told))
    header = ("policy", by, "traffic", "supported", "estimated", "interval", "drawn", "certified", "interval", "proven")
    title = f"Gain over logging by {by}, per {evaluation.per} of the segment ('proven' for all segments at once)"
    return [TextTable(title, header, rows, left=2)] if rows else []
