"""Sentences about further outcomes, guards, prices and segments, where an evaluation has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import quoted
from warmstart.results.segments import SEGMENTS_TO_DRAW
from warmstart.results.tradeoffs import tradeoffs

if TYPE_CHECKING:
    from warmstart.results.estimate import ValueEstimate
    from warmstart.results.evaluation import Evaluation

GUARDS = (
    "Guards are about all traffic: the policy where it is supported, logging elsewhere, against logging. One holds if "
    "the whole joint interval of the change keeps its limit, and fails if none of it does. A limit in % also allows "
    "for the error of logging's mean. It tips at the doubt beyond which it might not, or might."
)
SEGMENTS = (
    "Segments share one half of delta: 'better' and 'worse' (than logging) and 'differs' (from the other segments "
    "together) hold for all of them at once. 'drawn' is the estimate, drawn towards that of all traffic as far as its "
    "own error is large beside how much segments differ (empirical Bayes{few}); certified ends are never drawn."
)


def at_once(evaluation: Evaluation) -> str:
    """Name what joint bounds hold for."""
    parts = ["policies", "taus"]
    parts += ["outcomes"] if len(evaluation.outcomes) > 1 else []
    parts += ["segments"] if evaluation.by else []
    return f"all {', '.join(parts[:-1])} and {parts[-1]} at once"


def joint_bound(evaluation: Evaluation, estimate: ValueEstimate) -> float | None:
    """Return what a policy earns at least on all traffic, or at most where less is better; None if it is not certified.

    The upper end of a clipped value leaves out what is not supported; the certified one has the worst for it.
    """
    lower, upper, joint = estimate.joint_lower, estimate.upper, estimate.joint_upper
    if estimate.certified_upper is None or lower is None or upper is None or joint is None:
        return None
    if not evaluation.reward.minimize:
        return lower
    return min(estimate.certified_upper + joint - upper, evaluation.reward.high)


def outcome_notes(evaluation: Evaluation) -> list[str]:
    """Say what further outcomes, guards, prices and segments are; nothing where there are none."""
    lines = []
    if len(evaluation.outcomes) > 1:
        lines.append(
            "All outcomes of a policy have the same tau and supported traffic. Joint bounds of their values hold for "
            f"{at_once(evaluation)}; those of changes hold one outcome at a time, which is enough for a policy that "
            "must pass on each (intersection-union)."
        )
    lines += [GUARDS] if any(e.guards for e in evaluation) else []
    if found := tradeoffs(evaluation):
        lines.append(about_prices(evaluation, list(dict.fromkeys(one.outcome for one in found))))
    if evaluation.segments:
        segments = {e.segment for e in evaluation.segments}
        few = f"; fewer than {SEGMENTS_TO_DRAW} stay as they are" if len(segments) < SEGMENTS_TO_DRAW else ""
        lines.append(SEGMENTS.format(few=few))
    return lines


def about_prices(evaluation: Evaluation, against: list[str]) -> str:
    """Say what a price of the other outcomes is, and what is proven at which."""
    reward, names = quoted(evaluation.reward.name), " or ".join(map(quoted, against))
    gain = "its fall" if evaluation.reward.minimize else "its gain"
    more = {one.name for one in evaluation.outcomes if not one.minimize}
    goods = [quoted(name) for name in against if name in more]
    of_goods = f" (gain + p x rise for {' and '.join(goods)}, of which more is better)" if goods else ""
    return (
        f"A price is how much {reward} one unit of {names} is worth: at price p a policy is worth {gain} - p x "
        f"rise{of_goods}. 'proven' goes by joint bounds, of the policy where the log supports it and logging "
        "elsewhere, at all prices at once, for one other outcome at a time; the other prices go by estimates."
    )
