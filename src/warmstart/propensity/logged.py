"""Check of logged propensities: inverse propensity weights of every action must add up to the traffic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmstart.core import ACTION, PROPENSITY

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine

# An action is too heavy if its weights exceed the traffic by more than this many standard errors.
TOO_MANY_ERRORS = 4.0


@dataclass(frozen=True)
class LoggedCheck:
    """Sums of 1 / propensity by action over the traffic: 1 for an action that could always be shown, else less.

    ``mean``: over actions; ``heaviest``: the largest; ``too_heavy``: how many of the ``actions`` are above 1 by more
    than chance allows: their propensities are too small. ``log_loss``: the mean of -log(propensity).
    """

    actions: int
    mean: float
    heaviest: float
    too_heavy: int
    log_loss: float


def check_logged(engine: Engine, strata: ir.Table) -> LoggedCheck:
    """Return sums of inverse propensity weights by action, with Var(sum) about the sum of (1 - p) / p^2 over events."""
    p = strata[PROPENSITY]
    by_action = strata.group_by(ACTION).agg(
        weight=(strata.n / p).sum(),
        variance=(strata.n * (1.0 - p) / (p * p)).sum(),
        loss=-(strata.n * p.ln()).sum(),
        n=strata.n.sum(),
    )
    total = engine.fetch(by_action.agg(events=by_action.n.sum(), loss=by_action.loss.sum()))[0]
    events = float(total["events"])
    excess = by_action.weight - events
    summary = by_action.agg(
        actions=by_action.count(),
        mean=by_action.weight.mean(),
        heaviest=by_action.weight.max(),
        too_heavy=(excess > TOO_MANY_ERRORS * (by_action.variance + 1.0).sqrt()).cast("int64").sum(),
    )
    actions, mean, heaviest, too_heavy = engine.fetch(summary)[0].values()
    return LoggedCheck(
        actions=int(actions),
        mean=float(mean) / events,
        heaviest=float(heaviest) / events,
        too_heavy=int(too_heavy),
        log_loss=max(0.0, float(total["loss"]) / events) if math.isfinite(float(total["loss"])) else math.inf,
    )
