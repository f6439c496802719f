"""Two alarms for propensities that are not counts of the evaluated window: mean weight, and balance.

Where propensities are true, importance weights w reproduce the traffic that the policy decides, whatever g is:

    sum of w * g(x) / T  =  sum of decided(x) * g(x) / T

g = 1 gives the mean weight, features of the context give balance. Neither needs a reward, and neither implies the
other: a logger that showed one action to the contexts of one week and another to those of the next may have a mean
weight of 1 and yet the wrong contexts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import ibis

from warmstart.core import DECIDED, PROBABILITY
from warmstart.estimators.tau import CANDIDATES
from warmstart.estimators.weights import OWN, clipped
from warmstart.results import Alarms, Imbalance

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import LocalEngine
    from warmstart.estimators.rows import WeightedRows

# The smallest tau that evaluate chooses by itself: a larger one hides weights that are too large (1.10 became 1.004),
# and a smaller one would judge weights that are in no estimate, with standard errors that nothing rings against.
SMALLEST_TAU = min(CANDIDATES)
# Rings beyond this share, and beyond so many standard errors; for features, jointly over all of them.
SHARE, STANDARD_ERRORS = 0.05, 3.0
# Weights are skewed: a log that lacks rare, heavy ones by chance has a small mean and a small error. So events of the
# largest weight are added to the squares: one where the mean is above 1, so many where it is below.
LACKING = 9.0
# Such an event is taken to lie so many standard deviations of a number from its mean.
FAR = 2.0
MOST_VALUES = 10
# Columns of the rows that are judged: w * n less the decided events, its squares over events, the decided events.
EXCESS, SQUARE, TRAFFIC = "excess", "square", "traffic"


@dataclass(frozen=True)
class _Feature:
    """A feature of contexts, as a column, with its mean and standard deviation over the decided traffic.

    ``far``: how far from the mean an event may well be.
    """

    name: str
    value: ir.Value
    mean: float
    spread: float
    far: float


def check_weights(weighted: WeightedRows, *, tau: float = SMALLEST_TAU) -> Alarms:
    """Tell whether a policy's weights reproduce the traffic it decides: the mean weight, and balance of contexts.

    Quiet for the logging policy, and for counts of the evaluated window, whose error is exactly what is unsupported.
    """
    if weighted.is_logging or (weighted.certified and OWN not in weighted.table.columns):
        return Alarms(1.0, 0.0)
    rows = weighted.table
    h, decided = rows[PROBABILITY], rows[PROBABILITY] * rows.context_n
    whole = ibis.window(group_by=list(weighted.groups))
    # The policy's whole share in the context: what an event that it did not match has instead of a weight.
    share = rows[DECIDED] if DECIDED in rows.columns else h.sum().over(whole)
    w = (rows.n > 0).ifelse(clipped(rows, tau), 0.0)
    judged = rows.select(
        *weighted.context_keys,
        **{
            EXCESS: w * rows.n - decided,
            SQUARE: rows.n * w * (w - 2.0 * share) + decided * share,
            TRAFFIC: decided,
            "weight": w,
        },
    )
    return judge_weights(
        weighted.engine, judged, weighted.events, dict(zip(weighted.context_keys, weighted.names, strict=True))
    )


def judge_weights(engine: LocalEngine, rows: ir.Table, events: float, names: dict[str, str]) -> Alarms:
    """Return the alarms of rows that say how much their weights exceed the traffic.

    Args:
        engine: Where the rows are.
        rows: Context columns; ``excess``, w * n less the events that the policy decides; ``square``, the sum over
            events of the squared difference; ``traffic``, the events that the policy decides; ``weight``.
        events: T, all events of the window.
        names: The users' names of the context columns.
    """
    features = _features(engine, rows, names)
    sums = {"excess": rows[EXCESS].sum(), "square": rows[SQUARE].sum(), "traffic": rows[TRAFFIC].sum()}
    sums |= {"largest": rows.weight.max()}
    for i, feature in enumerate(features):
        centred = feature.value - feature.mean
        sums |= {f"excess_{i}": (rows[EXCESS] * centred).sum(), f"square_{i}": (rows[SQUARE] * centred**2).sum()}
    totals = {name: float(total or 0.0) for name, total in engine.fetch(rows.agg(**sums))[0].items()}
    decided = totals["traffic"] / events
    if not decided:
        return Alarms(0.0, 0.0)
    heavy, square = totals["largest"] ** 2, max(totals["square"], 0.0)
    mean = 1 + totals["excess"] / totals["traffic"]
    error = math.sqrt(square + heavy * (1.0 if mean > 1 else LACKING)) / totals["traffic"]
    z = joint(len(features))
    imbalances = []
    for i, feature in enumerate(features):
        difference = totals[f"excess_{i}"] / events
        own = math.sqrt(max(totals[f"square_{i}"], 0.0) + heavy * feature.far**2) / events
        if abs(difference) > max(SHARE * feature.spread * decided, z * own):
            imbalances.append(Imbalance(feature.name, difference / feature.spread, own / feature.spread))
    imbalances.sort(key=lambda one: -abs(one.difference))
    return Alarms.of(mean, error, tuple(imbalances), weight_rings=abs(mean - 1) > max(SHARE, STANDARD_ERRORS * error))


def joint(features: int) -> float:
    """Return the standard errors that the largest of so many features exceeds as rarely as a single one exceeds 3.

    >>> round(joint(1), 6), round(joint(100), 2)
    (3.0, 4.2)
    """
    from statistics import NormalDist

    normal = NormalDist()
    single = 1 - normal.cdf(STANDARD_ERRORS)
    return -normal.inv_cdf(single / max(features, 1))


def _features(engine: LocalEngine, rows: ir.Table, names: dict[str, str]) -> list[_Feature]:
    """Return numeric columns, and indicators of the most frequent values of the others; none that is constant."""
    numbers = {key: value for key in names if (value := _number(engine, rows[key])) is not None}
    others = [key for key in names if key not in numbers]
    traffic = rows[TRAFFIC]
    total = traffic.sum()
    sums: dict[str, ir.Value] = {"total": total}
    for key, value in numbers.items():
        sums |= {f"mean_{key}": (traffic * value).sum() / total.nullif(0.0)}
    means = engine.fetch(rows.agg(**sums))[0]
    events = float(means["total"] or 0.0)
    if not events:
        return []
    found = []
    if numbers:
        spreads = engine.fetch(
            rows.agg(
                **{
                    key: ((traffic * (value - float(means[f"mean_{key}"])) ** 2).sum() / total).sqrt()
                    for key, value in numbers.items()
                }
            )
        )[0]
        found = [
            _Feature(names[key], value, float(means[f"mean_{key}"]), spread, FAR * spread)
            for key, value in numbers.items()
            for spread in (float(spreads[key] or 0.0),)
        ]
    for row in engine.fetch(_frequent(rows, others)) if others else []:
        share = float(row[TRAFFIC]) / events
        indicator = (rows[row["key"]].cast("string") == row["value"]).cast("float64")
        spread = math.sqrt(max(share * (1 - share), 0.0))
        found.append(_Feature(f"{names[row['key']]} = {row['value']}", indicator, share, spread, 1 - share))
    return [feature for feature in found if feature.spread > 1e-9 * max(abs(feature.mean), 1.0)]


def _number(engine: LocalEngine, column: ir.Value) -> ir.Value | None:
    kind = column.type()
    if kind.is_boolean():
        return column.cast("int8").cast("float64")
    if kind.is_timestamp() or kind.is_date():
        return engine.epoch_microseconds(column).cast("float64")
    return column.cast("float64") if kind.is_numeric() else None


def _frequent(rows: ir.Table, keys: list[str]) -> ir.Table:
    """Return the most frequent values of columns, as text: key, value, traffic."""
    parts = []
    for key in keys:
        grouped = rows.group_by(value=rows[key].cast("string")).agg(**{TRAFFIC: rows[TRAFFIC].sum()})
        ordered = grouped.order_by(ibis.desc(TRAFFIC), "value").limit(MOST_VALUES)
        parts.append(ordered.select("value", TRAFFIC, key=ibis.literal(key)))
    return ibis.union(*parts, distinct=False) if len(parts) > 1 else parts[0]
