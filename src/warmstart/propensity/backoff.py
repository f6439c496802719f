"""Propensities by counting, where rare contexts borrow from coarser ones; an event never counts for itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import ibis

from warmstart.core import ACTION, PROPENSITY
from warmstart.engine import float_literal

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import LocalEngine

STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
# An action that no other event showed counts as half an event.
UNSEEN = 0.5
EQUAL = 1e-9
# How often the strengths of all levels are gone through, each by itself.
ROUNDS = 2

Levels = Sequence[Sequence[str]]


def borrowed_propensity(strata: ir.Table, levels: Levels, strengths: Sequence[float]) -> ir.Table:
    """Add pi_hat = (events of (x, a) + k * coarser pi_hat) / (events of x + k), level by level, as ``propensity``.

    Counts are of all events but one: an event's propensity comes from the others (leave-one-out), at every level. Else
    what is rare would get a large propensity by having been shown. All events of a cell leave out the same.

    Args:
        strata: A row for every cell, and maybe fold, that was shown.
        levels: Lists of context columns, most specific first; behind the last stands the action's share.
        strengths: k of every level, in events.
    """
    counted = _counted(strata, levels)
    return counted.select(*strata.columns, **{PROPENSITY: _mixed(counted, strengths)})


def best_strengths(engine: LocalEngine, strata: ir.Table, levels: Levels) -> tuple[tuple[float, ...], float]:
    """Return the strengths with the smallest leave-one-out log-loss of what was shown, and that loss.

    The best strength for all levels is found first, then each level's in turn.
    """
    counted = engine.materialise(_counted(strata, levels))
    try:
        best, loss = _best(engine, counted, [(k,) * len(levels) for k in STRENGTHS])
        for _ in range(ROUNDS if len(levels) > 1 else 0):
            for level in range(len(levels)):
                best, loss = _best(engine, counted, [(*best[:level], k, *best[level + 1 :]) for k in STRENGTHS])
    finally:
        counted.release()
    return best, loss


def _best(
    engine: LocalEngine, counted: ir.Table, candidates: Sequence[tuple[float, ...]]
) -> tuple[tuple[float, ...], float]:
    losses = {
        f"loss_{i}": -(counted.n * _mixed(counted, strengths).ln()).sum() / counted.n.sum()
        for i, strengths in enumerate(candidates)
    }
    totals = [max(0.0, float(loss)) for loss in engine.fetch(counted.agg(**losses))[0].values()]
    # Of equals, which differ by rounding, the one that borrows most: contexts that never repeat say nothing themselves.
    best = max(i for i, loss in enumerate(totals) if loss <= min(totals) * (1 + EQUAL))
    return candidates[best], totals[best]


def _counted(strata: ir.Table, levels: Levels) -> ir.Table:
    """Add the other events of each level and of each level's action: all but one, in all folds.

    Where units count the same, an event counts at most 1 and at most as much as its cell: so much is left out.
    """
    cell = strata.n.sum().over(ibis.window(group_by=[*levels[0], ACTION]))
    strata = strata.mutate(own=ibis.least(cell, float_literal(1)))

    def others(*keys: str) -> ir.Value:
        every = strata.n.sum().over(ibis.window(group_by=list(keys)))
        return ibis.greatest(every - strata.own, float_literal(0))

    # Every event adds 1 / (events of its action): the number of actions.
    strata = strata.mutate(part=strata.n / strata.n.sum().over(ibis.window(group_by=ACTION)))
    counts = {"every": others(), "every_action": others(ACTION), "kinds": strata.part.sum().over(ibis.window())}
    for i, level in enumerate(levels):
        counts |= {f"level_{i}": others(*level), f"level_{i}_action": others(*level, ACTION)}
    return strata.mutate(**counts)


def _mixed(counted: ir.Table, strengths: Sequence[float]) -> ir.Value:
    share = smoothed_share(counted.every_action, counted.every, counted.kinds)
    levels = ((counted[f"level_{i}_action"], counted[f"level_{i}"]) for i in reversed(range(len(strengths))))
    return backed_off(share, levels, [float_literal(strength) for strength in reversed(strengths)])


def smoothed_share(of_action: Any, of_all: Any, actions: Any) -> Any:
    """Return an action's share of all events, of Ibis columns or arrays; one that none of them shows has a little."""
    return (of_action + UNSEEN) / (of_all + UNSEEN * actions)


def backed_off(share: Any, levels: Iterable[tuple[Any, Any]], strengths: Iterable[Any]) -> Any:
    """Return pi_hat from counts that borrow from coarser ones, of Ibis columns or arrays.

    Args:
        share: The share of the action in all contexts.
        levels: The events of the action, and of all actions, in each level of the context, the coarsest first.
        strengths: How many events what is borrowed counts as, in the same order.
    """
    for (of_action, of_all), strength in zip(levels, strengths, strict=True):
        share = (of_action + strength * share) / (of_all + strength)
    return share
