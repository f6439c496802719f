"""Covariate shift of contexts over time, and churn of actions."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import ibis

from warmstart.core import ACTION, DAY, MICROSECONDS_PER_DAY, WindowName, date_of
from warmstart.engine import float_literal
from warmstart.estimators import importance_weight
from warmstart.events import counted_propensity
from warmstart.results import Churn, ContextDrift

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import DailyCells

TRAIN_FRACTION = 0.65
TAU = 0.01
# A variance below this is rounding error: the margins determine the statistic.
NO_VARIANCE = 1e-6


def context_drift(daily: DailyCells) -> ContextDrift | None:
    """Test whether contexts differ between the first and the second half of the traffic (covariate shift).

    Pearson's chi-square of a table with two rows. Under independence its mean and variance are known for any counts,
    however small, and a gamma distribution with these gives the p-value. None if there is a single day.
    """
    engine, traffic = daily.cells.engine, daily.traffic
    by_day = events_by_day(daily)
    cut = day_at(by_day, 0.5)
    if cut is None:
        return None
    early = (traffic[DAY] < cut).ifelse(traffic.n, 0.0)
    halves = traffic.group_by(*daily.cells.columns.context_keys).agg(n=traffic.n.sum(), early=early.sum())
    events = sum(by_day.values())
    share = sum(n for day, n in by_day.items() if day < cut) / events
    variance_of_half = share * (1 - share)
    error = halves.early - halves.n * share
    sums = halves.agg(
        contexts=halves.count(),
        statistic=(error * error / (halves.n * variance_of_half)).sum(),
        one_over_n=(1.0 / halves.n).sum(),
        unseen=(halves.early == 0).ifelse(halves.n, 0.0).sum(),
    )
    contexts, statistic, one_over_n, unseen = engine.fetch(sums)[0].values()
    later = events * (1 - share)
    date = date_of(cut)
    if contexts < 2:
        return ContextDrift(date, unseen / later, 0.0, None)
    mean = (contexts - 1) * events / (events - 1)
    of_halves = 1 / (events * share) + 1 / later
    variance = chi_square_variance(events, (contexts, 2), (one_over_n, of_halves))
    distance = math.sqrt(max(statistic - mean, 0.0) / events)
    p_value = _gamma_tail(statistic, mean, variance) if variance > NO_VARIANCE else None
    return ContextDrift(date, unseen / later, distance, p_value)


def chi_square_variance(events: float, sizes: tuple[int, int], reciprocals: tuple[float, float]) -> float:
    """Return the variance of Pearson's chi-square given both margins of a table (Dawson 1954; Haldane 1940).

    ``sizes``: rows and columns; ``reciprocals``: the sums of 1 / total over rows and over columns. A table of single
    events has no variance.

    >>> round(chi_square_variance(4, (4, 2), (4.0, 1.0)), 9)
    0.0
    """
    if events <= 3:
        return 0.0
    (v1, w1), (v2, w2) = (
        ((size - 1) * (events - size) / (events - 1), (events * reciprocal - size**2) / (events - 2))
        for size, reciprocal in zip(sizes, reciprocals, strict=True)
    )
    return 2 * events / (events - 3) * (v1 - w1) * (v2 - w2) + events**2 / (events - 1) * w1 * w2


def action_churn(daily: DailyCells) -> Churn:
    """Return the share of actions live all window, and how propensities of other windows would bias ``uniform``."""
    cells = daily.cells
    table, window = cells.table, cells.evaluated.window
    first, last = ((time or 0) // MICROSECONDS_PER_DAY for time in (window.first, window.last))
    actions = table.group_by(ACTION).agg(
        n=table.n.sum(), live_from=table.live_from.min(), live_until=table.live_until.max()
    )
    whole = (actions.live_from <= first) & (actions.live_until > last)
    sums = actions.agg(
        actions=actions.count(), whole=whole.cast("int64").sum(), traffic=whole.ifelse(actions.n, 0.0).sum()
    )
    totals = cells.engine.fetch(sums)[0]
    cut = day_at(events_by_day(daily), TRAIN_FRACTION)
    sums = {} if cut is None else cells.engine.fetch(_weight_ratio_sums(daily, cut))[0]
    shown = sums.get("shown") or 0.0
    ratios = [(sums[name] or 0.0) / shown if shown else None for name in ("all", "train", "over_all", "over_train")]
    return Churn(totals["whole"] / totals["actions"], totals["traffic"] / window.events, *ratios)


def _weight_ratio_sums(daily: DailyCells, cut: int) -> ir.Table:
    """Return sums of the weight ratio, share in the later days / max(propensity, tau), over uniform's traffic.

    Where an action was shown on later days. Uniform among the actions of the earlier days, so that those that are new
    on later ones are never chosen.
    """
    days, columns = daily.days, daily.cells.columns
    is_late = days[DAY] >= cut
    cells = days.group_by(*columns.keys).agg(
        n=is_late.ifelse(days.n, 0.0).sum(), n_train=is_late.ifelse(0.0, days.n).sum()
    )
    whole = ibis.window(group_by=list(columns.context_keys))
    cells = cells.mutate(
        context_n=cells.n.sum().over(whole),
        context_n_train=cells.n_train.sum().over(whole),
        feasible=(cells.n_train > 0).cast("float64").sum().over(whole),
    )
    cells = cells.filter(cells.n_train > 0, cells.n > 0)
    share, traffic = counted_propensity(cells), cells.context_n / cells.feasible
    windows: list[WindowName] = ["all", "train"]
    used = {str(window): counted_propensity(cells, window) for window in windows}
    ratios = {name: importance_weight(share, propensity, float_literal(TAU)) for name, propensity in used.items()}
    sums = {name: (traffic * ratio).sum() for name, ratio in ratios.items()}
    sums |= {f"over_{name}": (ratio > 1).ifelse(traffic, 0.0).sum() for name, ratio in ratios.items()}
    return cells.agg(shown=traffic.sum(), **sums)


def events_by_day(daily: DailyCells) -> dict[int, float]:
    """Return the number of events by day, in order."""
    traffic = daily.traffic
    rows = daily.cells.engine.fetch(traffic.group_by(DAY).agg(n=traffic.n.sum()).order_by(DAY))
    return {row[DAY]: row["n"] for row in rows}


def day_at(by_day: dict[int, float], fraction: float) -> int | None:
    """Return the day before which the share of events is nearest to a fraction; None if there is a single day.

    >>> day_at({3: 10, 4: 10, 9: 20}, 0.5)
    9
    """
    total, seen, cuts = sum(by_day.values()), 0.0, []
    for (_, n), (day, _) in pairwise(by_day.items()):
        seen += n
        cuts.append((abs(seen / total - fraction), day))
    return min(cuts)[1] if cuts else None


def _gamma_tail(statistic: float, mean: float, variance: float) -> float:
    from scipy.special import gammaincc

    return float(gammaincc(mean**2 / variance, statistic * mean / variance))
