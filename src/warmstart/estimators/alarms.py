"""Two alarms for propensities that are not counts: mean weight, and balance.

Where propensities are true, importance weights w reproduce the traffic that the policy decides, whatever g is:

    sum of w * g(x) / T  =  sum of decided(x) * g(x) / T

g = 1 gives the mean weight, features of the context give balance. Neither needs a reward, and neither implies the
other: a logger that showed one action to the contexts of one week and another to those of the next may have a mean
weight of 1 and yet the wrong contexts.

With a mixture over epochs the mean weight is judged given the epochs too: the part of a weight that its event's own
epoch explains has mean 1 by construction, whatever the imitators are, and is chance. Without it the standard error of
a logger that is deterministic at any moment is about two thirds (``own_epoch_rows``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import ibis

from warmstart.core import ACTION, DECIDED, EVENTS, OWN_EPOCH, PROBABILITY, PROPENSITY, ROW, SHOWN
from warmstart.engine import float_literal
from warmstart.estimators.tau import CANDIDATES
from warmstart.estimators.weights import OWN, clipped, importance_weight
from warmstart.results import Alarms, Imbalance

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import LocalEngine
    from warmstart.estimators.rows import WeightedRows

# The smallest tau that evaluate chooses by itself: a larger one hides weights that are too large (1.10 became 1.004),
# and a smaller one would judge weights that are in no estimate, with standard errors that nothing rings against.
SMALLEST_TAU = min(CANDIDATES)
# Clipping only takes weight away, so that a mean above 1 at a larger tau is wrong too; there a single weight of
# thousands, whose error hides everything, counts less.
TAUS = (SMALLEST_TAU, 0.005, 0.02, 0.05)
# Rings beyond this share, and beyond so many standard errors; for features, jointly over all of them.
SHARE, STANDARD_ERRORS = 0.05, 3.0
# Where imitators are proven wrong, so many standard errors of a mean weight are enough.
LIKELY = 2.0
# Weights are skewed: a log that lacks rare, heavy ones by chance has a small mean and a small error. So events of the
# largest weight are added to the squares: one where the mean is above 1, so many where it is below.
LACKING = 9.0
# Such an event is taken to lie so many standard deviations of a number from its mean.
FAR = 2.0
MOST_VALUES = 10
# The events that the policy decides, a column of the rows that are judged.
TRAFFIC = "traffic"


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


def check_weights(weighted: WeightedRows) -> Alarms:
    """Tell whether a policy's weights reproduce the traffic it decides: the mean weight, and balance of contexts.

    Quiet for the logging policy, and for counts of the evaluated window, whose error is exactly what is unsupported.
    """
    if weighted.is_logging or (weighted.certified and OWN not in weighted.table.columns):
        return Alarms(1.0, 0.0)
    rows = weighted.table
    h = rows[PROBABILITY]
    # The policy's whole share in the context: what an event that it did not match has instead of a weight.
    share = rows[DECIDED] if DECIDED in rows.columns else h.sum().over(ibis.window(group_by=list(weighted.groups)))
    judged = rows.select(
        *weighted.context_keys, "n", PROBABILITY, PROPENSITY, **{DECIDED: share, TRAFFIC: h * rows.context_n}
    )
    names = dict(zip(weighted.context_keys, weighted.names, strict=True))
    own = weighted.own_epoch
    if own is not None:
        keys = [*weighted.context_keys, ACTION]
        own = own.join(rows.select(*keys, PROBABILITY).distinct(), keys)
    other_window = OWN in rows.columns
    return judge_weights(weighted.engine, judged, weighted.events, names, own, counted=other_window)


def judge_weights(
    engine: LocalEngine,
    rows: ir.Table,
    events: float,
    names: dict[str, str],
    own: ir.Table | None = None,
    *,
    counted: bool = False,
) -> Alarms:
    """Return the alarms of rows of events and of what a policy decides.

    Args:
        engine: Where the rows are.
        rows: Context columns, n, probability and propensity; ``decided``, the policy's whole share in the context;
            ``traffic``, the events that the policy decides.
        events: T, all events of the window.
        names: The users' names of the context columns.
        own: A sample of events with the propensities of their own epoch, and the policy's probability of each action.
        counted: Whether propensities are counts, of another window.
    """
    features = _features(engine, rows, names)
    sums = {"traffic": rows[TRAFFIC].sum()}
    for i, tau in enumerate(TAUS):
        sums |= _sums(rows, tau, f"at_{i}", None)
    for i, feature in enumerate(features):
        sums |= _sums(rows, SMALLEST_TAU, f"of_{i}", feature.value - feature.mean)
    totals = {name: float(total or 0.0) for name, total in engine.fetch(rows.agg(**sums))[0].items()}
    traffic = totals["traffic"]
    if not traffic:
        return Alarms(0.0, 0.0)
    means = [_mean(totals, f"at_{i}") for i in range(len(TAUS))]
    mean, error = means[0]
    rings, within = _rings(means), [] if own is None else _given_epochs(engine, own)
    rings_within = bool(within) and _rings_given_epochs(within)
    imbalances = []
    for i, feature in enumerate(features):
        square = totals[f"of_{i}_square"] + totals["at_0_largest"] ** 2 * feature.far**2
        difference, own = totals[f"of_{i}_excess"] / feature.spread, math.sqrt(max(square, 0.0)) / feature.spread
        if abs(difference) > max(SHARE * traffic, joint(len(features)) * own):
            imbalances.append(Imbalance(feature.name, difference / events, own / events))
    imbalances.sort(key=lambda one: -abs(one.difference))
    worst = _loudest(means) if rings else means[0]
    return Alarms.of(
        mean,
        error,
        tuple(imbalances),
        weight_rings=rings or rings_within,
        clipped=None if worst == means[0] else worst,
        within=_loudest(within[:-1]) if rings_within and not rings else None,
        counted=counted,
    )


def _loudest(means: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the mean weight that is furthest above 1, in standard errors; the first where it is below."""
    return means[0] if means[0][0] < 1 else max(means, key=lambda pair: (pair[0] - 1) / max(pair[1], 1e-12))


def _rings(means: Sequence[tuple[float, float]]) -> bool:
    """Tell whether a mean weight is too far from 1 at the smallest tau, or above it at a larger one."""
    (mean, error), *larger = means
    z = joint(len(means))
    too_large = any(one - 1 > max(SHARE, z * of) for one, of in larger)
    return too_large or abs(mean - 1) > max(SHARE, STANDARD_ERRORS * error)


def _given_epochs(engine: LocalEngine, own: ir.Table) -> list[tuple[float, float]]:
    """Return the mean weight given the epoch of every event, over the decided share, and its error, at every tau.

    Last at tau 1, where weights are the policy's probabilities: how often it was matched beyond what imitators expect.
    The variance is the larger one of what the weights show and what the imitators say: a log may lack a rare, heavy
    weight by chance, or have one that should not be.
    """
    h, shown, due = own[PROBABILITY], own[SHOWN], own[OWN_EPOCH]
    taus = (*TAUS, 1.0)
    sums: dict[str, ir.Value] = {}
    for i, tau in enumerate(taus):
        w = importance_weight(h, own[PROPENSITY], float_literal(tau))
        sums |= {f"excess_{i}": ((shown - due) * w).sum(), f"due_{i}": (due * w).sum(), f"sq_{i}": (due * w * w).sum()}
    by_event = own.group_by(ROW).agg(n=own[EVENTS].max(), decided=h.sum(), **sums)
    n = by_event.n
    totals = {"traffic": (n * by_event.decided).sum()}
    for i in range(len(taus)):
        excess, due, square = (by_event[f"{name}_{i}"] for name in ("excess", "due", "sq"))
        parts = {"excess": excess, "seen": excess * excess, "said": square - due * due}
        totals |= {f"{name}_{i}": (n * part).sum() for name, part in parts.items()}
    results = {name: float(total or 0.0) for name, total in engine.fetch(by_event.agg(**totals))[0].items()}
    traffic = results["traffic"]
    if not traffic:
        return [(1.0, 0.0)] * len(taus)
    variances = [max(results[f"seen_{i}"], results[f"said_{i}"], 0.0) for i in range(len(taus))]
    return [(1 + results[f"excess_{i}"] / traffic, math.sqrt(one) / traffic) for i, one in enumerate(variances)]


def _rings_given_epochs(means: Sequence[tuple[float, float]]) -> bool:
    """Tell whether a mean weight given the epochs is too far from 1.

    Or likely is, where the policy was matched more often, or less often, than the imitators explain: that has no heavy
    weights in it, and proves that they are wrong about what the policy chooses.
    """
    *weights, (matched, error) = means
    side = math.copysign(1.0, matched - 1)
    off = any(side * (one - 1) > max(SHARE, LIKELY * of) for one, of in weights)
    return _rings(weights) or (off and abs(matched - 1) > STANDARD_ERRORS * error)


def _sums(rows: ir.Table, tau: float, name: str, g: ir.Value | None) -> dict[str, ir.Value]:
    """Sum over events (w - decided) * g and its square, and find the largest weight."""
    n, share, traffic = rows.n, rows[DECIDED], rows[TRAFFIC]
    w = (n > 0).ifelse(clipped(rows, tau), 0.0)
    excess, square = w * n - traffic, n * w * (w - 2.0 * share) + traffic * share
    if g is not None:
        return {f"{name}_excess": (excess * g).sum(), f"{name}_square": (square * g * g).sum()}
    return {f"{name}_excess": excess.sum(), f"{name}_square": square.sum(), f"{name}_largest": w.max()}


def _mean(totals: dict[str, float], name: str) -> tuple[float, float]:
    """Return the mean weight over the decided share, and its standard error."""
    traffic, heavy = totals["traffic"], totals[f"{name}_largest"] ** 2
    mean = 1 + totals[f"{name}_excess"] / traffic
    square = max(totals[f"{name}_square"], 0.0) + heavy * (1.0 if mean > 1 else LACKING)
    return mean, math.sqrt(square) / traffic


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
    results = []
    if numbers:
        spreads = engine.fetch(
            rows.agg(
                **{
                    key: ((traffic * (value - float(means[f"mean_{key}"])) ** 2).sum() / total).sqrt()
                    for key, value in numbers.items()
                }
            )
        )[0]
        results = [
            _Feature(names[key], value, float(means[f"mean_{key}"]), spread, FAR * spread)
            for key, value in numbers.items()
            for spread in (float(spreads[key] or 0.0),)
        ]
    for row in engine.fetch(_frequent(rows, others)) if others else []:
        share = float(row[TRAFFIC]) / events
        indicator = (rows[row["key"]].cast("string") == row["value"]).cast("float64")
        spread = math.sqrt(max(share * (1 - share), 0.0))
        results.append(_Feature(f"{names[row['key']]} = {row['value']}", indicator, share, spread, 1 - share))
    return [feature for feature in results if feature.spread > 1e-9 * max(abs(feature.mean), 1.0)]


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
