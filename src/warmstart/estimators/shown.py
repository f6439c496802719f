"""All rows that were shown, chosen by the policy or not: what every event of a window can be joined with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import ibis

from warmstart.core import DECIDED, EXPECTED, MODEL_VALUE, PART, PROBABILITY, PROPENSITY
from warmstart.engine import float_literal
from warmstart.estimators.weights import OWN
from warmstart.events import N_BEFORE, RATE_BEFORE, REWARD_SUM_BEFORE

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Strata, Visits

# Columns: what a reward of the cell is compared with, and by how much that makes the difference too small.
CELL_MEAN, INFLATION = "cell_mean", "inflation"


# What rows may know of their context before the window, or the epoch.
BEFORE = ("context_n_train", "context_reward_sum_train", N_BEFORE, REWARD_SUM_BEFORE, RATE_BEFORE)


def shown_rows(rows: ir.Table, shown: ir.Table, visits: Visits) -> ir.Table:
    """Return the rows that were shown with the weighted table's probability and propensity, zero where not chosen.

    A reward is compared with the mean of its cell, of which its own unit makes up a part, ``per_row`` events on
    average, so that differences are too small; where that may be all of them, with the context's other actions.

    Args:
        rows: The weighted table.
        shown: The cells of the window, or what was shown in every epoch.
        visits: The events with their units, and what identifies a row.
    """
    keys, per_row = list(visits.keys), visits.per_row
    given = [name for name in (PROPENSITY, OWN) if name in rows.columns]
    n, rewards = shown.n, shown.reward_sum
    others = ((shown.context_reward_sum - rewards) / (shown.context_n - n).nullif(0.0)).coalesce(0.0)
    enough = n >= 2 * per_row
    before = [name for name in BEFORE if name in shown.columns]
    shown = shown.select(
        *keys,
        *before,
        **{
            CELL_MEAN: enough.ifelse(rewards / n, others),
            INFLATION: enough.ifelse((n / (n - per_row).nullif(0.0)).sqrt(), 1.0),
        },
    )
    joined = shown.left_join(rows.select(*keys, PROBABILITY, *given), keys)
    return joined.select(*shown.columns, *given, **{PROBABILITY: joined[PROBABILITY].coalesce(0.0)})


def with_share(rows: ir.Table, contexts: Sequence[str], *, whole: bool = False) -> ir.Table:
    """Add the policy's share in the context: 1, where it is known to decide wholly what it decides."""
    if whole:
        return rows.mutate(**{DECIDED: float_literal(1)})
    return rows.mutate(**{DECIDED: rows[PROBABILITY].sum().over(ibis.window(group_by=list(contexts)))})


def with_decided(shown: ir.Table, decided: ir.Table | None, contexts: Sequence[str]) -> ir.Table:
    """Add the policy's whole share in the context, all of it without a table of shares; none where it has none."""
    if decided is None:
        return shown.mutate(**{DECIDED: float_literal(1)})
    joined = shown.left_join(decided, list(contexts))
    return joined.select(*shown.columns, **{DECIDED: joined[DECIDED].coalesce(0.0)})


def with_context_shares(shown: ir.Table, rows: ir.Table, groups: Sequence[str], **shares: ir.Value) -> ir.Table:
    """Add to rows that were shown what the policy does in their context: its whole share, if need be, and further sums.

    Args:
        shown: All rows that were shown.
        rows: The weighted table.
        groups: The columns that divide traffic: context and further keys.
        shares: Sums over the weighted table, by name.
    """
    sums = {**({} if DECIDED in shown.columns else {DECIDED: rows[PROBABILITY].sum()}), **shares}
    contexts = rows.group_by(*groups).agg(**sums)
    joined = shown.left_join(contexts, list(groups))
    return joined.select(*shown.columns, **{name: joined[name].coalesce(0.0) for name in sums})


def shown_strata(rows: ir.Table, strata: Strata) -> ir.Table:
    """Return the strata with the weighted table's probability and the model's expectations, zero where not chosen.

    Args:
        rows: The weighted table, with a model's expectations if there is one.
        strata: The strata, with propensities.
    """
    keys = [*strata.cells.columns.keys, *strata.by, *([PROPENSITY] if strata.by_propensity else [])]
    own = [name for name in (PROBABILITY, EXPECTED) if name in rows.columns]
    of_groups = [name for name in (DECIDED, MODEL_VALUE) if name in rows.columns]
    groups = rows.group_by(*strata.groups).agg(**{name: rows[name].max() for name in of_groups})
    chosen = strata.table.left_join(rows.select(*keys, PART, *own), keys)
    chosen = chosen.select(*strata.table.columns, PART, **{name: chosen[name].coalesce(0.0) for name in own})
    joined = chosen.left_join(groups, list(strata.groups))
    return joined.select(*chosen.columns, **{name: joined[name].coalesce(0.0) for name in of_groups})
