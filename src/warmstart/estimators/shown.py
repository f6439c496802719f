"""All rows that were shown, chosen by the policy or not: what every event of a window can be joined with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import DECIDED, EXPECTED, MODEL_VALUE, PART, PROBABILITY, PROPENSITY
from warmstart.estimators.weights import OWN

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells, Strata


def shown_cells(rows: ir.Table, cells: Cells) -> ir.Table:
    """Return the cells that were shown with the weighted table's probability and propensity, zero where not chosen.

    Args:
        rows: The weighted table.
        cells: The cells of the window.
    """
    keys, contexts = list(cells.columns.keys), list(cells.columns.context_keys)
    given = [name for name in (PROPENSITY, OWN) if name in rows.columns]
    shown = cells.table.filter(cells.table.n > 0)
    columns = [name for name in shown.columns if name not in ("live_from", "live_until")]
    chosen = shown.select(*columns).left_join(rows.select(*keys, PROBABILITY, *given), keys)
    chosen = chosen.select(*columns, *given, **{PROBABILITY: chosen[PROBABILITY].coalesce(0.0)})
    decided = rows.group_by(*contexts).agg(**{DECIDED: rows[PROBABILITY].sum()})
    joined = chosen.left_join(decided, contexts)
    return joined.select(*chosen.columns, **{DECIDED: joined[DECIDED].coalesce(0.0)})


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
