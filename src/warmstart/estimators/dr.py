"""Doubly robust estimates (DR): the reward model's expectation, corrected by weighted residuals.

dr         (sum(D) + sum(e * (r - f))) / T     e the clipped weight, f the reward model, D its mean in the context
switch-dr  the same with e = 0 where the propensity is below tau
shrunk-dr  the same with e = w / (1 + (tau * w)^2), w = probability / propensity

With counted propensities that is sum(e * r) and, on the traffic m = context_n * probability - n * e that weights leave
to the model, sum(m * f). Given contexts and actions only rewards are random there: the variance is that of the weighted
rewards, and what the model may be wrong by where it stands alone. That is told from cells that it did not see: how far
each is off (spread), and how far the policy's choices are off together (bias); so the interval holds if actions that
were not shown differ from the model as left-out shown ones do. With other propensities the variance is that of the
influence terms D + e * (r - f) over events, the model is cross-fitted by event, and the bias is that of the weighted
residuals, and of those that clipping took away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import ibis
from ibis import greatest

from warmstart.core import (
    ACTION,
    ACTION_ERROR,
    CONTEXT_ERROR,
    DECIDED,
    EPOCH,
    EXPECTED,
    LEFT_OUT,
    MODEL_VALUE,
    NOISE,
    PART,
    PROBABILITY,
    SPREAD,
)
from warmstart.engine import float_literal
from warmstart.estimators.moments import Moments, Term, Terms
from warmstart.estimators.shown import CELL_MEAN, INFLATION

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.estimators.weights import Clip

    Weight = Callable[[ir.Table, Clip], ir.Value]
    Sums = dict[str, ir.Value]

# Where weights stand for less of the decided traffic, or for fewer events, there is no interval: it would be the
# model's alone. With 60 % left to the model, intervals for 95 % covered 80 %; with 30 %, 94 to 97 %.
LEAST_SHARE, FEWEST_EVENTS = 0.5, 10
# Weights that are clipped below this only would be all there are.
SMALLEST_TAU = 0.0005
ROUNDING = 1e-12
# So much of the traffic may be left to the model without a word: it is lost in noise.
UNNOTICED = 0.001


def sums(rows: ir.Table, tau: Clip, weight: Weight) -> Sums:
    """Sum e * r and e over events; given actions also the variance of the first, and of its gain over logging."""
    e, h = weight(rows, tau), rows[PROBABILITY]
    own = {"reward": e * rows.reward_sum, "events": e * rows.n, "weighted": (e > 0).ifelse(rows.n, 0.0)}
    if PART not in rows.columns:
        inside, d = _variance_inside(rows), rows[DECIDED]
        mean = rows.context_reward_sum / rows.context_n.nullif(0.0)
        rest = h * d * (rows.context_reward_sq_sum - mean * rows.context_reward_sum)
        squares = (rows.reward_sq_sum - rows.reward_sum * rows.reward_sum / rows.n.nullif(0.0)).coalesce(0.0)
        # Of the gain, a reward counts e - decided, and that of an action which is not chosen -decided: these have what
        # the squares of the chosen ones leave of the context's.
        own |= {"noise": e * e * inside, "gain_noise": (e - d) * (e - d) * inside + rest - d * d * squares}
    shared = {"logging_on_decided": h * rows.context_reward_sum, "decided": h * rows.context_n}
    return {name: term.sum() for name, term in {**shared, **_named(own, weight)}.items()}


def _named(terms: Sums, weight: Weight) -> Sums:
    return {f"{weight.__name__}_{name}": term for name, term in terms.items()}


def _variance_inside(rows: ir.Table) -> ir.Value:
    """Return n times the variance of rewards inside a cell, without bias; of one event, around its context's others."""
    n, rewards = rows.n, rows.reward_sum
    inside = (rows.reward_sq_sum - rewards * rewards / n.nullif(0.0)) * n / (n - 1.0).nullif(0.0)
    others = ((rows.context_reward_sum - rewards) / (rows.context_n - n).nullif(0.0)).coalesce(0.0)
    return (n > 1).ifelse(greatest(inside, float_literal(0)), _squares(rows, others))


def _squares(rows: ir.Table, f: ir.Value) -> ir.Value:
    """Return the sum of (r - f)^2 over the events of a row."""
    return rows.reward_sq_sum - 2.0 * f * rows.reward_sum + rows.n * f * f


def model_terms(rows: ir.Table, tau: Clip, weight: Weight) -> Sums:
    """Return what is summed over rows with the model's expectations: what it stands for, and its error."""
    if PART in rows.columns:
        e = weight(rows, tau)
        own = _over_events(rows, e)
        rest = weight(rows, SMALLEST_TAU) - e
        own |= {
            "lost": rest * (rows.reward_sum - rows.n * rows[EXPECTED]),
            "lost_sq": rest * rest * _squares(rows, rows[EXPECTED]),
        }
    else:
        signed = rows.context_n * rows[PROBABILITY] - weight(rows, tau) * rows.n
        own = {"left": signed.abs(), "model": signed * rows[EXPECTED], "alone": _alone(rows, signed.abs())}
        own["left_root"] = signed.abs() * _root(rows)
    return _named(own, weight)


def _alone(rows: ir.Table, left: ir.Value) -> ir.Value:
    """Return each row's part of the squared error: of its cell, and of errors that cells of an action or context share.

    Every row adds its part of the sum over the rows that share an error, so that all add up to its square.
    """
    part = left * _root(rows)
    contexts = [name for name in rows.columns if name.startswith("context_") and name[len("context_") :].isdigit()]
    # The rows of a cell in different epochs share all of its error.
    of_cell = part.sum().over(ibis.window(group_by=[*contexts, ACTION])) if EPOCH in rows.columns else part
    shared = rows[ACTION_ERROR] * part.sum().over(ibis.window(group_by=ACTION))
    shared += rows[CONTEXT_ERROR] * part.sum().over(ibis.window(group_by=contexts))
    return part * (rows[SPREAD] * of_cell + shared)


def _root(rows: ir.Table) -> ir.Value:
    return (rows[LEFT_OUT] * (1.0 - rows[LEFT_OUT])).sqrt()


def _over_events(rows: ir.Table, e: ir.Value) -> Sums:
    """Return terms of D + e * (r - f), of its second moment and of that of the same less decided * r."""
    f, d, value, h = rows[EXPECTED], rows[DECIDED], rows[MODEL_VALUE], rows[PROBABILITY]
    residual, squares = e * (rows.reward_sum - rows.n * f), e * e * _squares(rows, f)
    of_both = 2.0 * (value * residual - d * e * (rows.reward_sq_sum - f * rows.reward_sum))
    of_model = h * f * (rows.context_n * value - 2.0 * d * rows.context_reward_sum)
    root = (f * (1.0 - f)).sqrt()
    return {
        "model": rows.context_n * h * f,
        "residual": residual,
        "residual_sq": squares,
        "value_sq": rows.context_n * h * f * value + 2.0 * value * residual + squares,
        "gain_sq": of_model + h * d * rows.context_reward_sq_sum + of_both + squares,
        "off_root": e * rows.n * root,
        "model_root": rows.context_n * h * root,
    }


def judging_terms(rows: ir.Table, tau: Clip, weight: Weight) -> Sums:
    """Return what is summed over shown cells: how far the model that did not see them is off, and how far by chance."""
    n, e, root = rows.n, weight(rows, tau), _root(rows)
    own = {
        "off": e * (rows.reward_sum - n * rows[LEFT_OUT]),
        "off_root": e * n * root,
        "off_by_chance": e * e * root * root * n * (rows[NOISE] + rows[SPREAD] * n),
    }
    return _named(own, weight)


def influence(rows: ir.Table, tau: Clip, moments: Moments, weight: Weight) -> Terms:
    """Return what an event adds to the errors of value and gain, for sums by unit.

    With counts that is e times the reward less the mean reward of its cell.

    Args:
        rows: All rows that were shown (see ``shown``).
        tau: The clipping constant.
        moments: The value, and the gain, that the estimator found.
        weight: The weight of the estimator.
    """
    e, d = weight(rows, tau), rows[DECIDED]
    if PART in rows.columns:
        f, rest = rows[EXPECTED], weight(rows, SMALLEST_TAU) - e
        model = rows[MODEL_VALUE] - e * f
        return {
            "value": Term(model - float_literal(moments.value), e),
            "gain": Term(model - float_literal(moments.gain or 0.0), e - d),
            "residual": Term(-e * f, e),
            "lost": Term(-rest * f, rest),
        }
    slopes = {"noise": e * rows[INFLATION], "gain_noise": (e - d) * rows[INFLATION]}
    return {name: Term(-slope * rows[CELL_MEAN], slope) for name, slope in slopes.items()}


def finish(
    totals: Mapping[str, float], events: float, by_unit: Mapping[str, float] | None = None, *, weight: Weight
) -> Moments:
    """Return the mean of D + e * (r - f), its difference to logging, and their variances; none without overlap.

    Nor where rewards never differed: that tells nothing of an error.

    Args:
        totals: The sums over the weighted table.
        events: T, all events of the window.
        by_unit: The sums over units of the squared terms of ``influence``, where events of a unit go together.
        weight: The weight of the estimator.
    """
    prefix = f"{weight.__name__}_"
    own = {name.removeprefix(prefix): total for name, total in totals.items() if name.startswith(prefix)}
    corrected = own["model"] + own.get("residual", own["reward"])
    value = min(max(corrected / events, 0.0), 1.0)
    gain = value - totals["logging_on_decided"] / events
    left = own.get("left", max(totals["decided"] - own["events"], 0.0)) / events
    on_model = left if left > UNNOTICED else 0.0
    overlaps = own["events"] >= LEAST_SHARE * totals["decided"] and own["weighted"] >= FEWEST_EVENTS
    differs = 0 < own["reward"] < own["events"] * (1 - ROUNDING)
    if not (overlaps and differs) or own["off_root"] <= 0:
        return Moments(value, None, on_model, gain)
    if "left" in own:
        # What is left may be off as far as what was shown: together, less what chance explains, and each for itself.
        squared_bias = max(own["off"] ** 2 - own["off_by_chance"], 0.0) / own["off_root"] ** 2
        alone = own["alone"] + squared_bias * own["left_root"] ** 2
        noise = by_unit or own
        variance, gain_variance = ((noise[name] + alone) / events**2 for name in ("noise", "gain_noise"))
        return Moments(value, variance, on_model, gain, gain_variance)
    by_chance, lost_by_chance = own["residual_sq"], own["lost_sq"]
    mean_squares = ((own["value_sq"], value), (own["gain_sq"], gain))
    squares = [square - events * mean**2 for square, mean in mean_squares]
    if by_unit:
        by_chance, lost_by_chance, *squares = (by_unit[name] for name in ("residual", "lost", "value", "gain"))
    squared_bias = max(own["residual"] ** 2 - by_chance, 0.0) / own["off_root"] ** 2
    alone = squared_bias * (left * own["model_root"] / totals["decided"]) ** 2
    # What the weights that clipping took away would have corrected, beyond chance.
    alone += max(own["lost"] ** 2 - lost_by_chance, 0.0) / events**2
    variance, gain_variance = (square / events**2 + alone for square in squares)
    return Moments(value, variance, on_model, gain, gain_variance)
