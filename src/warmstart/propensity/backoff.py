"""Propensities by counting, where rare contexts borrow from coarser ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import ibis

from warmstart.core import ACTION, FOLD, PROPENSITY

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine

STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
# An action that the other folds never saw counts as half an event of theirs.
UNSEEN = 0.5
EQUAL = 1e-9

Levels = Sequence[Sequence[str]]


def borrowed_propensity(strata: ir.Table, levels: Levels, strength: float) -> ir.Table:
    """Add pi_hat = (events of (x, a) + k * coarser pi_hat) / (events of x + k), level by level, as ``propensity``.

    ``levels``: lists of context columns, most specific first; behind the last stands the action's share.
    """
    counted = _counted(strata, levels, held_out=False)
    return counted.select(*strata.columns, **{PROPENSITY: _mixed(counted, len(levels), strength)})


def best_strength(engine: Engine, strata: ir.Table, levels: Levels) -> tuple[float, float]:
    """Return the strength under which the other folds' counts make each fold likeliest, and the log-loss."""
    counted = _counted(strata, levels, held_out=True)
    losses = {
        f"loss_{i}": -(counted.n * _mixed(counted, len(levels), strength).ln()).sum() / counted.n.sum()
        for i, strength in enumerate(STRENGTHS)
    }
    totals = [float(loss) for loss in engine.fetch(counted.agg(**losses))[0].values()]
    # Of equals, which differ by rounding, the one that borrows most: contexts that never repeat say nothing themselves.
    best = max(i for i, loss in enumerate(totals) if loss <= min(totals) * (1 + EQUAL))
    return STRENGTHS[best], totals[best]


def _counted(strata: ir.Table, levels: Levels, *, held_out: bool) -> ir.Table:
    """Add the events of each level and of each level's action, in all folds or in all but the row's own."""

    def events(*keys: str) -> ir.Value:
        whole = strata.n.sum().over(ibis.window(group_by=list(keys)))
        return whole - strata.n.sum().over(ibis.window(group_by=[*keys, FOLD])) if held_out else whole

    # Every event adds 1 / (events of its action): the number of actions.
    strata = strata.mutate(part=strata.n / strata.n.sum().over(ibis.window(group_by=ACTION)))
    counts = {"every": events(), "every_action": events(ACTION), "kinds": strata.part.sum().over(ibis.window())}
    for i, level in enumerate(levels):
        counts |= {f"level_{i}": events(*level), f"level_{i}_action": events(*level, ACTION)}
    return strata.mutate(**counts)


def _mixed(counted: ir.Table, levels: int, strength: float) -> ir.Value:
    k = ibis.literal(strength, type="float64")
    share = (counted.every_action + UNSEEN) / (counted.every + UNSEEN * counted.kinds)
    for i in reversed(range(levels)):
        share = (counted[f"level_{i}_action"] + k * share) / (counted[f"level_{i}"] + k)
    return share
