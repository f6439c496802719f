"""Whether a logging policy reacts to rewards inside an epoch: sums over contexts, actions, epochs and their slices.

An epoch is cut into slices. For the events of an action in a context, an epoch e and a slice k,

    z = the action's share of the context's later events in e - its share of the context's other events in the slice
    U = sum of (z - zbar) * s,     Var U = sum of v * n * (z - zbar)^2

with s the rewards and n the events of the slice and v the variance of the cell's rewards. Once zbar is the mean over
the slices of the epoch (within), once rows are whole epochs and zbar is the mean over epochs (between). Given contexts
and actions, U within has mean zero if the policy does not react to rewards of the epoch and mean rewards do not drift
in it, whatever else it does. So has U between, unless a reaction to earlier epochs sets in in the middle of an epoch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import ibis

from warmstart.auditing.checks import ROUNDING, two_sided
from warmstart.core import ACTION, EPOCH
from warmstart.engine import float_literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import ibis.expr.types as ir

LENGTH, SLICE = "length", "slice"
PARTS = WITHIN, BETWEEN = "within", "between"
# Differences of shares below this are rounding errors.
NO_CHANGE = 1e-9
# Fewer stretches than this do not make a sum that is nearly normal.
FEWEST = 5


class PartSums(NamedTuple):
    """Of U within or between: ``groups``, rows with z away from its mean, in so many ``means``.

    ``squares``: of the terms of U; ``fourth``: of the terms of its variance; ``information``: the sum of v * n;
    ``clustered``: the sum over contexts of squared U.
    """

    score: float
    variance: float
    squares: float
    fourth: float
    information: float
    groups: float
    means: float
    clustered: float


class Reaction(NamedTuple):
    """``z``: standard normal without reaction; ``reach``: its mean for a response of 1; ``stretches``: compared."""

    z: float
    clustered_z: float
    reach: float
    stretches: float

    @property
    def p_values(self) -> tuple[float, float]:
        """Return the p-value for independent rewards, and that for rewards that depend within a context."""
        return two_sided(self.z), two_sided(self.clustered_z)

    @property
    def response(self) -> float:
        """Return the response that would give this z on average."""
        return self.z / self.reach


def reaction(sums: Mapping[str, float]) -> tuple[Reaction | None, Reaction | None]:
    """Return the test, and the same with both parts, which says what could be found; None for too few stretches.

    The standardised U within and between are added (Stouffer). U between counts only where it is positive, since a
    policy that follows winners of earlier epochs, from the middle of this one on, makes it too low. By chance it is
    positive in half of all tests, and either kind of test exceeds 1 % as often as it should.
    """
    results = [PartSums(*(float(sums[f"{part}_{name}"] or 0) for name in PartSums._fields)) for part in PARTS]
    within, between = (_standardised(part) for part in results)
    return _added(within, between if between is not None and between.z > 0 else None), _added(within, between)


def _added(*parts: Reaction | None) -> Reaction | None:
    used = [part for part in parts if part is not None]
    if not used:
        return None
    root = math.sqrt(len(used))
    z, clustered, reach = (sum(part[i] for part in used) / root for i in range(3))
    return Reaction(z, clustered, reach, (sum(math.sqrt(part.stretches) for part in used) / root) ** 2)


def _standardised(part: PartSums) -> Reaction | None:
    """Return U over its standard deviation, larger than stated where rewards of a stretch go together."""
    if not (part.variance > 0 and part.groups > part.means):
        return None
    left = (part.groups - part.means) / part.groups
    effective = part.variance**2 / part.fourth * left
    dispersion = max(part.squares / part.variance / left, 1.0)
    deviation = math.sqrt(part.variance * dispersion)
    clustered = part.score / math.sqrt(part.clustered) if part.clustered > 0 else 0.0
    result = Reaction(part.score / deviation, clustered, part.information / deviation, effective)
    return result if effective >= FEWEST else None


def length_sums(rows: ir.Table, contexts: Sequence[str], tau: float) -> ir.Table:
    """Return, for every length, the sums of both parts and the traffic with a choice inside epochs.

    Args:
        rows: Sums by length, context, action, epoch and slice.
        contexts: The context columns.
        tau: Two actions are supported where both have this share of the context in the epoch.
    """
    groups = [LENGTH, *contexts]
    epochs = _by_epoch(_with_terms(_with_z(rows, groups), [*groups, ACTION, EPOCH], WITHIN), groups)
    sums = {name: epochs[name].sum() for name in epochs.columns if name.startswith(PARTS)}
    places = epochs.group_by(*groups, EPOCH).agg(
        n=epochs.n.sum(),
        actions=epochs.count(),
        supported=(epochs.n >= tau * epochs.context_n).cast("int64").sum(),
        **sums,
    )
    by_context = places.group_by(*groups).agg(
        n=places.n.sum(),
        choice=(places.actions > 1).ifelse(places.n, 0.0).sum(),
        supported=(places.supported > 1).ifelse(places.n, 0.0).sum(),
        **{name: places[name].sum() for name in sums},
    )
    totals = {name: by_context[name].sum() for name in by_context.columns if name not in groups}
    for part in PARTS:
        score = by_context[f"{part}_score"]
        totals[f"{part}_clustered"] = (score * score).sum()
    return by_context.group_by(LENGTH).agg(**totals)


def _with_z(rows: ir.Table, contexts: list[str]) -> ir.Table:
    """Add z and the events that have one (``used``), with their rewards (``won``)."""
    cell = [*contexts, ACTION]
    # Ordered like the next one, so that rows are sorted once for both.
    of_slice = ibis.range_window(preceding=0, following=0, group_by=[*contexts, EPOCH], order_by=SLICE)
    from_here = ibis.range_window(preceding=0, following=None, group_by=[*contexts, EPOCH], order_by=SLICE)
    own_from_here = ibis.range_window(preceding=0, following=None, group_by=[*cell, EPOCH], order_by=SLICE)
    rows = rows.mutate(
        slice_n=rows.n.sum().over(of_slice),
        from_here=rows.n.sum().over(from_here),
        own_later=rows.n.sum().over(own_from_here) - rows.n,
    )
    later = rows.from_here - rows.slice_n
    used = (later > 0) & (rows.slice_n > 1)
    z = rows.own_later / later.nullif(0.0) - (rows.n - 1.0) / (rows.slice_n - 1.0).nullif(0.0)
    return rows.select(
        *(*cell, EPOCH, "n", "reward_sum", "reward_sq_sum"),
        z=used.ifelse(z, 0.0),
        used=used.ifelse(rows.n, 0.0),
        won=used.ifelse(rows.reward_sum, 0.0),
    )


def _with_terms(rows: ir.Table, keys: list[str], part: str) -> ir.Table:
    """Add the terms of a part of U, centred by the keys; those of its variance without v."""
    group = ibis.window(group_by=keys)
    total = rows.used.sum().over(group).nullif(0.0)
    rows = rows.mutate(zbar=(rows.used * rows.z).sum().over(group) / total, rbar=rows.won.sum().over(group) / total)
    away = rows.z - rows.zbar
    moved = ((rows.used > 0) & (away.abs() > float_literal(NO_CHANGE))).fill_null(False)
    score, variance = away * (rows.won - rows.used * rows.rbar), rows.used * away * away
    terms = {
        "score": score,
        "variance": variance,
        "squares": score * score,
        "fourth": variance * variance,
        "information": rows.used,
        "groups": float_literal(1),
    }
    return rows.mutate(**{f"{part}_{name}": moved.ifelse(term, 0.0) for name, term in terms.items()})


def _by_epoch(slices: ir.Table, contexts: list[str]) -> ir.Table:
    """Sum slices into (context, action, epoch), with the terms of both parts."""
    cell = [*contexts, ACTION]
    used = slices.used.sum()
    sums = {name: slices[name].sum() for name in slices.columns if name.startswith((WITHIN, "reward")) or name == "n"}
    z = ((slices.used * slices.z).sum() / used.nullif(0.0)).fill_null(0.0)
    rows = slices.group_by(*cell, EPOCH).agg(**sums, z=z, used=used, won=slices.won.sum())
    rows = _with_terms(rows, cell, BETWEEN)
    of_cell = ibis.window(group_by=cell)
    rows = rows.mutate(
        context_n=rows.n.sum().over(ibis.window(group_by=[*contexts, EPOCH])),
        epochs_moved=rows.between_groups.sum().over(of_cell),
        **{f"cell_{name}": rows[name].sum().over(of_cell) for name in ("n", "reward_sum", "reward_sq_sum")},
    )
    squares = rows.cell_reward_sq_sum - rows.cell_reward_sum * rows.cell_reward_sum / rows.cell_n
    differ = (rows.cell_n > 1) & (squares > ROUNDING * rows.cell_reward_sq_sum)
    rows = rows.mutate(v=differ.ifelse(squares / (rows.cell_n - 1.0).nullif(0.0), 0.0))
    # One mean within for every epoch, one between for every cell.
    means = {WITHIN: (rows.within_groups > 0).ifelse(1.0, 0.0), BETWEEN: rows.between_groups / rows.epochs_moved}
    terms: dict[str, ir.Value] = {}
    for part in PARTS:
        some = (rows[f"{part}_groups"] > 0) & (rows.v > 0)
        factors = {"variance": rows.v, "information": rows.v, "fourth": rows.v * rows.v}
        for name in ("score", "variance", "squares", "fourth", "information", "groups"):
            terms[f"{part}_{name}"] = some.ifelse(rows[f"{part}_{name}"] * factors.get(name, 1.0), 0.0)
        terms[f"{part}_means"] = some.ifelse(means[part], 0.0)
    return rows.select(*cell, EPOCH, "n", "context_n", **terms)
