"""Doubly robust estimates (DR): the reward model's expectation, corrected by weighted residuals.

dr         (sum(D) + sum(e * (r - f))) / T     e the clipped weight, f the reward model, D its mean in the context
switch-dr  the same with e = 0 where the propensity is below tau
shrunk-dr  the same with e = w / (1 + (tau * w)^2), w = probability / propensity

With counted propensities it is the clipped value and, on traffic that weights leave out, the model. Given contexts and
actions only rewards are random there: the variance is that of the weighted rewards, and what the model may be wrong by
where it stands alone. That is told from cells that it did not see: how far each is off (spread), and how far the
policy's choices are off together (bias); so the interval holds if actions that were not shown differ from the model as
left-out shown ones do. With other propensities the variance is that of the influence terms D + e * (r - f) over events,
the model is cross-fitted by event, and the bias is that of the weighted residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ibis import greatest

from warmstart.core import DECIDED, EXPECTED, LEFT_OUT, MODEL_VALUE, PROBABILITY
from warmstart.engine import float_literal
from warmstart.estimators import dm
from warmstart.estimators.moments import Moments
from warmstart.reward import difference_sums, spread_and_noise

if TYPE_CHECKING:
    import ibis.expr.types as ir

    Weight = Callable[[ir.Table, float], ir.Value]

# Below this share of the decided traffic, or this many events, that weights stand for there is no overlap.
LEAST_SHARE, FEWEST_EVENTS = 0.01, 10
# So much of the traffic may be left to the model without a word: it is lost in noise.
UNNOTICED = 0.001


def sums(rows: ir.Table, tau: float, weight: Weight) -> dict[str, ir.Value]:
    """Sum D, the residuals e * (r - f), and what their variance and the gain's consist of."""
    e, f = weight(rows, tau), rows[EXPECTED]
    residual = e * (rows.reward_sum - rows.n * f)
    squares = _squares_inside(rows) if LEFT_OUT in rows.columns else _squares(rows, f)
    own = {
        "residual": residual,
        "events": e * rows.n,
        "residual_sq": e * e * squares,
        "weighted": (e > 0).ifelse(rows.n, 0.0),
    }
    own |= _given_actions(rows, e, squares) if LEFT_OUT in rows.columns else _over_events(rows, e, residual, squares)
    shared = {
        **dm.sums(rows, tau),
        "logging_on_decided": (rows[PROBABILITY] * rows.context_reward_sum).sum(),
        "decided": (rows.context_n * rows[PROBABILITY]).sum(),
    }
    if LEFT_OUT in rows.columns:
        shared |= difference_sums(rows, rows[LEFT_OUT])
    return shared | {f"{weight.__name__}_{name}": term.sum() for name, term in own.items()}


def _squares(rows: ir.Table, f: ir.Value) -> ir.Value:
    """Return the sum of (r - f)^2 over the events of a row."""
    return rows.reward_sq_sum - 2.0 * f * rows.reward_sum + rows.n * f * f


def _squares_inside(rows: ir.Table) -> ir.Value:
    """Return n times the variance of rewards inside a cell, without bias; from a single event, by the model."""
    n, rewards = rows.n, rows.reward_sum
    inside = (rows.reward_sq_sum - rewards * rewards / n.nullif(0.0)) * n / (n - 1.0).nullif(0.0)
    return (n > 1).ifelse(greatest(inside, float_literal(0)), _squares(rows, rows[LEFT_OUT]))


def _given_actions(rows: ir.Table, e: ir.Value, squares: ir.Value) -> dict[str, ir.Value]:
    """Return terms of the variance given contexts and actions; of the gain, rewards count e - decided."""
    n, g, d = rows.n, rows[LEFT_OUT], rows[DECIDED]
    v = g * (1.0 - g)
    missing = greatest(rows.context_n * rows[PROBABILITY] - e * n, float_literal(0))
    mean = rows.context_reward_sum / rows.context_n.nullif(0.0)
    rest = rows[PROBABILITY] * d * (rows.context_reward_sq_sum - mean * rows.context_reward_sum)
    return {
        "missing": missing,
        "missing_root": missing * v.sqrt(),
        "missing_sq": missing * missing * v,
        "off": e * (rows.reward_sum - n * g),
        "off_root": e * n * v.sqrt(),
        "off_noise": e * e * n * v,
        "off_spread": e * e * n * n * v,
        "gain_sq": (e - 2.0 * d) * e * squares + rest,
    }


def _over_events(rows: ir.Table, e: ir.Value, residual: ir.Value, squares: ir.Value) -> dict[str, ir.Value]:
    """Return terms of the second moments of D + e * (r - f) and, for the gain, of the same less decided * r."""
    f, d, value, h = rows[EXPECTED], rows[DECIDED], rows[MODEL_VALUE], rows[PROBABILITY]
    root = (f * (1.0 - f)).sqrt()
    of_model = h * f * (rows.context_n * value - 2.0 * d * rows.context_reward_sum)
    of_both = 2.0 * (value * residual - d * e * (rows.reward_sq_sum - f * rows.reward_sum))
    return {
        "value_sq": rows.context_n * h * f * value + 2.0 * value * residual + e * e * squares,
        "gain_sq": of_model + h * d * rows.context_reward_sq_sum + of_both + e * e * squares,
        "off_root": e * rows.n * root,
        "model_root": rows.context_n * h * root,
    }


def finish(totals: Mapping[str, float], events: float, weight: Weight) -> Moments:
    """Return the mean of D + e * (r - f), its difference to logging, and their variances; none without overlap."""
    prefix = f"{weight.__name__}_"
    own = {name.removeprefix(prefix): total for name, total in totals.items() if name.startswith(prefix)}
    value = min(max((totals["model"] + own["residual"]) / events, 0.0), 1.0)
    gain = value - totals["logging_on_decided"] / events
    missing = own.get("missing", max(totals["decided"] - own["events"], 0.0)) / events
    on_model = missing if missing > UNNOTICED else 0.0
    overlaps = own["events"] >= LEAST_SHARE * totals["decided"] and own["weighted"] >= FEWEST_EVENTS
    if not overlaps or own["off_root"] <= 0:
        return Moments(value, None, on_model, gain)
    if "missing" in own:
        alone = _model_alone(totals, own)
        variance, gain_variance = ((own[name] + alone) / events**2 for name in ("residual_sq", "gain_sq"))
        return Moments(value, variance, on_model, gain, gain_variance)
    squared_bias = max(own["residual"] ** 2 - own["residual_sq"], 0.0) / own["off_root"] ** 2
    alone = squared_bias * (missing * own["model_root"] / totals["decided"]) ** 2
    mean_squares = ((own["value_sq"], value), (own["gain_sq"], gain))
    variance, gain_variance = ((square / events - mean**2) / events + alone for square, mean in mean_squares)
    return Moments(value, variance, on_model, gain, gain_variance)


def _model_alone(totals: Mapping[str, float], own: Mapping[str, float]) -> float:
    """Return the squared error that the model may have on the traffic that is left to it, times the square of T.

    Each cell is off by chance, and all together by what the policy's shown choices are off, less what chance explains.
    """
    spread, noise = spread_and_noise(totals)
    by_chance = noise * own["off_noise"] + spread * own["off_spread"]
    squared_bias = max(own["off"] ** 2 - by_chance, 0.0) / own["off_root"] ** 2
    return spread * own["missing_sq"] + squared_bias * own["missing_root"] ** 2
