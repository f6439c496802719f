"""Further outcomes, guards, trade-offs and segments of an evaluation, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal
from math import isinf
from typing import TYPE_CHECKING

from warmstart.core import shortened
from warmstart.results.amounts import Amounts
from warmstart.results.display import TextTable
from warmstart.results.doubt import shown_factor
from warmstart.results.evaluation_tables import best_cells, gain_cells
from warmstart.results.segments import segment_gains
from warmstart.results.tradeoffs import tradeoffs

if TYPE_CHECKING:
    from warmstart.results.evaluation import Evaluation
    from warmstart.results.segments import SegmentGain

WORDS = {"holds": "holds", "fails": "FAILS", "cannot-tell": "cannot tell"}


def outcome_tables(evaluation: Evaluation) -> list[TextTable]:
    """Return what there is to show beside the reward of all traffic."""
    shown = [guards_table(evaluation), tradeoffs_table(evaluation), segments_table(evaluation)]
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
    partly = "" if known == 1 else f"; known in {known:.1%} of events, which estimates are of"
    title = f"{shortened(outcome.name)} {Amounts.of(evaluation).unit} ({better}{partly})"
    return TextTable(title, header, rows, left=1)


def guards_table(evaluation: Evaluation) -> TextTable | None:
    """Show which guards are proven to hold, and the ends of the change that tell."""
    tips = any(guard.tipping is not None for e in evaluation for guard in e.guards)
    rows = [
        (
            *(*names, guard.guard, WORDS[guard.status], guard.span),
            *([shown_factor(guard.tipping)] if tips else []),
        )
        for names, e in evaluation.shown()
        for guard in e.guards
    ]
    header = ("policy", "tau", "guard", "status", "change lies in", *(["tips at"] if tips else []))
    about = "the policy where it is supported, logging elsewhere, against logging; all policies at once"
    title = f"Guards, in % or per {evaluation.per} ({about})"
    return TextTable(title, header, rows, left=1) if rows else None


def tradeoffs_table(evaluation: Evaluation, only: str | None = None) -> TextTable | None:
    """Show at which prices of an outcome policies are worth it; of every outcome, or of one."""
    rows = [
        (
            *(shortened(one.policy, 30), shortened(one.outcome, 30), f"{one.tau:g}"),
            *(f"{one.gain:+.4g}", f"{one.rise:+.4g}"),
            prices(one.worth_from, one.worth_until) or "at none",
            prices(one.proven_from, one.proven_until, inside=True) or "-",
            "never" if one.best_from is None else f"{price(one.best_from)} to {price(one.best_until)}",
        )
        for one in tradeoffs(evaluation)
        if only in (None, one.outcome)
    ]
    gain = "change" if evaluation.reward.minimize else "gain"
    header = ("policy", "against", "tau", gain, "rise", "worth it", "proven", "best of all at prices")
    reward = shortened(evaluation.reward.name)
    price_of = f"a price is what one unit of the other is worth, in {reward}"
    title = f"{reward} against other outcomes, per {evaluation.per} ({price_of})"
    return TextTable(title, header, rows, left=2) if rows else None


def prices(low: float | None, high: float | None, *, inside: bool = False) -> str:
    """Show between which prices something is so, one of the ends being zero or none; empty for never.

    Args:
        low: The lowest price.
        high: The highest one.
        inside: Round to prices at which it is so, as what is proven must be.
    """
    if low is None or high is None:
        return ""
    if low > 0:
        return f"above {-rounded_down(-low) if inside else low:.3g}"
    if isinf(high):
        return "at any price"
    return f"below {rounded_down(high) if inside else high:.3g}"


def rounded_down(value: float) -> float:
    """Return the nearest number of three digits that is not above.

    >>> rounded_down(0.012399), rounded_down(-1234.0)
    (0.0123, -1240.0)
    """
    digits = Decimal(str(value))
    place = Decimal(1).scaleb(digits.adjusted() - 2)
    return float(digits.quantize(place, ROUND_FLOOR))


def price(value: float | None) -> str:
    """Show a price; beyond all it is any."""
    return "-" if value is None else "any" if isinf(value) else f"{value:.3g}"


def segments_table(evaluation: Evaluation, gains: Sequence[SegmentGain] | None = None) -> TextTable | None:
    """Show the best estimate and the gains of every policy by segment, or only those given."""
    by = " and ".join(shortened(name, 30) for name in evaluation.by)
    rows, shown = [], segment_gains(evaluation) if gains is None else gains
    doubts = any(one.estimate.doubt is not None for one in shown)
    for one in shown:
        e = one.estimate
        names = shortened(e.policy, 30), segment_name(one), f"{e.tau:g}"
        shares, value = (f"{e.share:.1%}", f"{e.support.supported:.1%}"), best_cells(evaluation, e)[0]
        estimated, interval, *certified = gain_cells(evaluation, e)
        drawn = evaluation.number(one.drawn, signed=True)
        tips = [shown_factor(None if e.doubt is None else e.doubt.tipping)] if doubts else []
        rows.append((*names, *shares, value, estimated, interval, drawn, *certified, proven_words(one), *tips))
    reward, unit = shortened(evaluation.reward.name, 30), Amounts.of(evaluation).unit
    gain = ("estimated", "interval", "drawn", "certified", "interval", "proven", *(["tips at"] if doubts else []))
    header = ("policy", by, "tau", "traffic", "supported", "value", *gain)
    title = f"Value, and gain over logging, by {by}: {reward} {unit} of the segment ('proven' for all segments at once)"
    return TextTable(title, header, rows, left=2) if rows else None


def segment_name(gain: SegmentGain, longest: int = 30) -> str:
    """Show the values that a segment has in its columns."""
    return " / ".join(shortened(value, longest) for value in gain.estimate.segment or ())


def proven_words(gain: SegmentGain) -> str:
    """Say what is proven of a segment."""
    words = (("better", gain.proven), ("worse", gain.worse), ("differs", gain.differs))
    return ", ".join(word for word, said in words if said) or "-"
