"""Doubt applied to a policy: gains and tipping points if the context lacks what the logger used.

What the log shows of a policy's own choices is what they earned; only what they stand for beside it is in doubt.
See intervals.doubt for what a doubt means, and doubted for certified ends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from warmstart.core import ACTION, PROBABILITY, PROPENSITY
from warmstart.results import (
    CertifiedGain,
    Doubt,
    DoubtedLimit,
    DoubtPoint,
    EstimatedGain,
    Interval,
    LeftOutColumn,
    PointEstimate,
)

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import LocalEngine
    from warmstart.estimators.doubted import DoubtedGain
    from warmstart.estimators.gain import Levels, Threshold
    from warmstart.estimators.rows import WeightedRows
    from warmstart.events import Cells, Strata

# Of the events that an action was not shown to, so many must be in contexts where others were shown it.
MOSTLY = 0.9
# The doubts of a curve, beside the one that was asked for.
CURVE = (1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0)


def shown_sums(rows: ir.Table) -> dict[str, ir.Value]:
    """Sum how often the policy's choices were shown, and what they earned there."""
    h = rows[PROBABILITY]
    return {"doubtless": (h * rows.n).sum(), "doubtless_reward": (h * rows.reward_sum).sum()}


def doubted_certified(
    gain: CertifiedGain | None, doubted: DoubtedGain | None, levels: Levels
) -> tuple[CertifiedGain | None, Doubt | None]:
    """Return the certified gain with ends that allow for the doubt that was asked for, and what doubt does to it.

    Args:
        gain: The certified gain without doubt.
        doubted: The gain at any doubt; None of logging.
        levels: The confidence level and the doubt.
    """
    if gain is None or gain.joint_lower is None or gain.joint_upper is None:
        return gain, None
    if doubted is None:
        return gain, None
    above = gain.joint_lower > 0
    sure = above or gain.joint_upper < 0
    tipping = (doubted.tipping(levels.choice, above=above) or 1.0) if sure else None
    limits = tuple(_doubted_limit(gain, doubted, one, levels) for one in levels.thresholds)
    if levels.doubt == 1:
        return gain, Doubt(1.0, gain.joint_lower, gain.joint_upper, tipping, "finite-sample", limits=limits)
    factors = sorted({*CURVE, levels.doubt})
    curve = _curve(gain, doubted, levels.choice, factors)
    joint = next(point for point in curve if point.factor == levels.doubt)
    if tipping is not None and tipping < levels.doubt:
        # What was not sure at a smaller doubt is not sure at this one.
        joint = replace(joint, lower=min(joint.lower, 0.0), upper=max(joint.upper, 0.0))
    own = joint
    if levels.choice != levels.delta:
        own = _curve(gain, doubted, levels.delta, [factor for factor in factors if factor <= levels.doubt])[-1]
    result = Doubt(levels.doubt, joint.lower, joint.upper, tipping, "finite-sample", curve=curve, limits=limits)
    gain = replace(gain, lower=own.lower, upper=own.upper, relative=None)
    return replace(gain, joint_lower=joint.lower, joint_upper=joint.upper), result


def _doubted_limit(gain: CertifiedGain, doubted: DoubtedGain, limit: Threshold, levels: Levels) -> DoubtedLimit:
    """Return where it is no longer sure that a gain keeps a limit: it may be none of the smaller doubts."""
    if gain.share <= 0:
        return DoubtedLimit(limit.gain, limit.above, None)
    at = limit.gain / gain.share
    return DoubtedLimit(
        limit.gain, limit.above, doubted.tipping(limit.part * levels.choice, above=limit.above, threshold=at)
    )


def _curve(gain: CertifiedGain, doubted: DoubtedGain, delta: float, factors: Sequence[float]) -> tuple[DoubtPoint, ...]:
    """Return the ends at growing doubts, none nearer than at a smaller one: what holds under it, holds under less."""
    lower = upper = gain.difference or 0.0
    points = []
    for factor in factors:
        ends = [gain.share * end for end in doubted.ends(factor, delta)]
        lower, upper = min(lower, ends[0]), max(upper, ends[1])
        points.append(DoubtPoint(factor, lower, upper))
    return tuple(points)


def doubted_estimate(
    gain: EstimatedGain | None, value: float, totals: Mapping[str, float], events: float, doubt: float
) -> tuple[EstimatedGain | None, Doubt | None]:
    """Return the estimated gain with an interval that allows for a doubt, and what doubt does to it: approximate.

    What the policy's choices earned where they were shown is not in doubt; the rest of its value is.

    Args:
        gain: The estimated gain without doubt.
        value: The best estimate of the policy's value.
        totals: The sums of ``shown_sums``, and the decided traffic.
        events: T, all events of the window.
        doubt: rho.
    """
    if gain is None or gain.lower is None or gain.upper is None:
        return gain, None
    others, most = _in_doubt(value, totals["decided"] / events, totals, events)
    tipping = _tipping(gain.lower, gain.upper, others, most)
    if doubt == 1:
        return gain, Doubt(1.0, gain.lower, gain.upper, tipping, "approximate", tipping)
    below, above = _moved(others, most, doubt)
    lower, upper = max(gain.lower - below, -1.0), min(gain.upper + above, 1.0)
    return replace(gain, lower=lower, upper=upper), Doubt(doubt, lower, upper, tipping, "approximate", tipping)


def doubted_value(ends: Interval, weighted: WeightedRows, totals: Mapping[str, float], doubt: float) -> Interval:
    """Return the interval of a clipped value; where nothing is certified it allows for a doubt, approximately.

    Where something is, certified ends allow for it, and this interval is of chance alone.

    Args:
        ends: The interval without doubt.
        weighted: The weighted table.
        totals: The sums of ``shown_sums``, and those of the value.
        doubt: rho.
    """
    if doubt == 1 or weighted.certified or weighted.is_logging:
        return ends
    events = weighted.events
    value, weight = (totals[f"{PROPENSITY}_{what}"] / events for what in ("reward", "weight"))
    below, above = _moved(*_in_doubt(value, weight, totals, events), doubt)
    return replace(ends, lower=max(ends.lower - below, 0.0), upper=min(ends.upper + above, 1.0))


def doubted_points(
    points: Sequence[PointEstimate], weighted: WeightedRows, totals: Mapping[str, float], doubt: float
) -> tuple[PointEstimate, ...]:
    """Return point estimates whose intervals allow for a doubt, as those of estimated gains do: approximate.

    Args:
        points: The estimates without doubt.
        weighted: The weighted table.
        totals: The sums of ``shown_sums``, and the decided traffic.
        doubt: rho.
    """
    if doubt == 1 or weighted.is_logging:
        return tuple(points)
    events = weighted.events

    def widened(point: PointEstimate) -> PointEstimate:
        if point.lower is None or point.upper is None:
            return point
        below, above = _moved(*_in_doubt(point.value, totals["decided"] / events, totals, events), doubt)
        return replace(point, lower=max(point.lower - below, 0.0), upper=min(point.upper + above, 1.0))

    return tuple(map(widened, points))


def _in_doubt(value: float, weight: float, totals: Mapping[str, float], events: float) -> tuple[float, float]:
    """Return the part of a value that is in doubt, and what it would be if every reward there were the largest.

    Args:
        value: The estimate.
        weight: What the estimate would be if every reward were the largest.
        totals: The sums of ``shown_sums``.
        events: T, all events of the window.
    """
    others = max(value - totals["doubtless_reward"] / events, 0.0)
    return others, max(weight - totals["doubtless"] / events, others)


def _moved(others: float, most: float, doubt: float) -> tuple[float, float]:
    """Return by how much the part in doubt may be less, and more, than it was estimated to be."""
    least = max(others / doubt, doubt * others - (doubt - 1) * most)
    return others - least, min(others * doubt, most - (most - others) / doubt) - others


def _tipping(lower: float, upper: float, others: float, most: float) -> float | None:
    """Return the doubt at which an end of the gain reaches 0, where that is on one side of it.

    Args:
        lower: The lower end of the gain without doubt.
        upper: The upper end.
        others: The part of the policy's value that is in doubt.
        most: What it would be if every reward there were the largest.
    """
    if lower > 0:
        left = others - lower
        return math.inf if left <= 0 else max(others / left, _ratio(most - left, most - others))
    if upper < 0:
        left = others - upper
        return math.inf if left >= most else max(_ratio(left, others), _ratio(most - others, most - left))
    return None


def _ratio(part: float, whole: float) -> float:
    return math.inf if whole <= 0 else part / whole


def left_out_columns(rows: ir.Table, cells: Cells, strata: Strata | None = None) -> tuple[LeftOutColumn, ...]:
    """Return the doubt that each context column would have made, had it been hidden; none of a single column.

    Without the column, contexts that differ by it alone are one. What events that were shown an action earned is
    compared with what the others would have earned with it, by the means of the full contexts: on average over the
    others, as often as the policy would take the action there. None where too many of them are in full contexts in
    which the action was never shown. Where propensities are counted within epochs, so are the events of a context.

    Args:
        rows: The policy's choices: context, action, epoch if there are any, ``probability`` and ``context_n``.
        cells: All cells of the window.
        strata: The cells by epoch, where propensities are counted within them.
    """
    keys = cells.columns.context_keys
    if len(keys) < 2:
        return ()
    shown, contexts, by = cells.table.filter(cells.table.n > 0), cells.contexts, () if strata is None else strata.by
    if strata is not None:
        contexts = strata.traffic
        shown = strata.table.join(contexts.select(*strata.groups, "context_n"), list(strata.groups))

    def without(hidden: str) -> float | None:
        left = [*(key for key in keys if key != hidden), *by]
        return _doubt_without(cells.engine, rows, shown, contexts, left)

    return tuple(LeftOutColumn(name, without(key)) for key, name in zip(keys, cells.columns.context, strict=True))


def _doubt_without(
    engine: LocalEngine, rows: ir.Table, shown: ir.Table, contexts: ir.Table, keys: list[str]
) -> float | None:
    """Return how much shown and other events differ in contexts of fewer columns; None if too little is known."""
    groups, others = [*keys, ACTION], shown.context_n - shown.n
    merged = shown.group_by(*groups).agg(
        n=shown.n.sum(),
        rewards=shown.reward_sum.sum(),
        known=others.sum(),
        known_rewards=(others * shown.reward_sum / shown.n).sum(),
    )
    whole = contexts.group_by(*keys).agg(events=contexts.context_n.sum())
    chosen = rows.group_by(*groups).agg(traffic=(rows[PROBABILITY] * rows.context_n).sum())
    both = chosen.join(merged, groups).join(whole, keys)
    # The events that the action was not shown to, as often as the policy would take it there.
    away = both.traffic * (both.events - both.n) / both.events
    comparable = both.known > 0
    totals = engine.fetch(
        both.agg(
            all=away.sum(),
            comparable=comparable.ifelse(away * both.known / (both.events - both.n), 0.0).sum(),
            away=comparable.ifelse(away, 0.0).sum(),
            own=comparable.ifelse(away * both.rewards / both.n, 0.0).sum(),
            other=comparable.ifelse(away * both.known_rewards / both.known, 0.0).sum(),
        )
    )[0]
    everything, known, traffic, own, other = (
        float(totals[name] or 0.0) for name in ("all", "comparable", "away", "own", "other")
    )
    if known < MOSTLY * everything:
        return None
    pairs = ((own, other), (traffic - own, traffic - other))
    return max((max(_ratio(a, b), _ratio(b, a)) for a, b in pairs if a > 0 or b > 0), default=1.0)
