"""The sums over cells from which every number of an estimate follows: one query a policy, for all taus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ibis

from warmstart.core.names import PROBABILITY, WindowName
from warmstart.propensity import counted_propensity
from warmstart.value.intervals import TermSums

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells
    from warmstart.policy import Policy


@dataclass(frozen=True)
class WeightedSums:
    """Sums of c * reward, (c * reward)^2, c and c^2 over events, c = probability / max(propensity, tau)."""

    reward: float
    reward_sq: float
    weight: float
    weight_sq: float
    largest: float

    def terms(self, events: float, bound: float) -> TermSums:
        """Return them as an interval wants them."""
        return TermSums(events, self.reward, self.reward_sq, self.weight_sq, self.largest, bound)


@dataclass(frozen=True)
class ValueSums:
    """What one policy at one tau adds up to over the evaluated window.

    ``own`` weighs with the propensities of the evaluated window, ``chosen`` with those asked for. Shares of traffic
    come as events: ``supported, clipped, decided, contested``. ``policy_on_supported`` and ``logging_on_supported``
    are rewards on supported traffic; ``difference_sq`` is the sum of u^2 * reward^2 of their difference.
    ``overweighted, tight_error, paper_error`` say how far the chosen propensities are off.
    """

    events: float
    matched: float
    own: WeightedSums
    chosen: WeightedSums
    supported: float
    clipped: float
    decided: float
    contested: float
    policy_on_supported: float
    logging_on_supported: float
    difference_sq: float
    overweighted: float
    tight_error: float
    paper_error: float


_WEIGHTED = ("reward", "reward_sq", "weight", "weight_sq", "largest")
_WHOLE = ("events", "matched", "decided")
_PER_TAU = (
    *("supported", "clipped", "contested", "policy_on_supported", "logging_on_supported", "difference_sq"),
    *("overweighted", "tight_error", "paper_error"),
)


def fetch_sums(policy: Policy, cells: Cells, *, taus: Sequence[float], weights_from: WindowName) -> list[ValueSums]:
    """Run the query and return the sums, one a tau."""
    row = cells.engine.fetch(value_sums(policy, cells, taus=taus, weights_from=weights_from))[0]
    return [_from_row(row, i) for i in range(len(taus))]


def value_sums(policy: Policy, cells: Cells, *, taus: Sequence[float], weights_from: WindowName) -> ir.Table:
    """Join cells with a policy once, sum by context, then sum over contexts.

    By context first, because the comparison with logging needs s(x), the policy's supported share in a context.
    """
    rows = _joined(policy, cells, weights_from)
    by_context: dict[str, ir.Value] = {
        "context_n": rows.context_n.max(),
        "actions": (rows.n > 0).cast("float64").sum(),
        "matched": ibis.ifelse(rows.h > 0, rows.n, 0.0).sum(),
        "decided": rows.h.sum(),
        "reward": rows.reward_sum.sum(),
        "reward_sq": rows.reward_sq_sum.sum(),
        "regret": ((rows.own - rows.chosen.coalesce(0.0)) ** 2).max(),
    }
    for i, tau in enumerate(taus):
        floor = 0.0 if policy.is_logging else tau
        by_context |= {f"{name}_{i}": value for name, value in _context_sums(rows, floor).items()}
    contexts = rows.group_by(*cells.columns.context_keys).agg(**by_context)
    contexts = contexts.filter(contexts.context_n.notnull())
    totals: dict[str, ir.Value] = {
        "events": contexts.context_n.sum(),
        "matched": contexts.matched.sum(),
        "decided": (contexts.context_n * contexts.decided).sum(),
    }
    for i, tau in enumerate(taus):
        totals |= {f"{name}_{i}": value for name, value in _total_sums(contexts, i, tau).items()}
    return contexts.agg(**totals)


def _joined(policy: Policy, cells: Cells, weights_from: WindowName) -> ir.Table:
    """Return cells of the window's contexts and what the policy chooses there, seen or never shown."""
    own = counted_propensity(cells, "evaluated")
    chosen = own if policy.is_logging else counted_propensity(cells, weights_from)
    kept = cells.table.mutate(own=own, chosen=chosen).filter(cells.table.context_n > 0)
    joined = kept.outer_join(policy.table, list(cells.columns.keys))
    keys = {name: ibis.coalesce(joined[name], joined[f"{name}_right"]) for name in cells.columns.context_keys}
    sums = {name: joined[name].coalesce(0.0) for name in ("n", "reward_sum", "reward_sq_sum", "own")}
    h = joined[PROBABILITY].coalesce(0.0)
    return joined.select(**keys, **sums, h=h, chosen=joined.chosen, context_n=joined.context_n)


def _context_sums(rows: ir.Table, floor: float) -> dict[str, ir.Value]:
    shown = rows.n > 0
    supported = shown & (rows.own >= floor)
    ratio = ibis.ifelse(supported, rows.h / rows.own.nullif(0.0), 0.0)
    rho = _divided(rows.own, rows.chosen, floor)
    return {
        **_weighted(rows, "own", floor),
        **_weighted(rows, "chosen", floor),
        "supported": ibis.ifelse(supported, rows.h, 0.0).sum(),
        "clipped": ibis.ifelse(shown & ~supported, rows.h, 0.0).sum(),
        "ratio_reward": (ratio * rows.reward_sum).sum(),
        "ratio_reward_sq": (ratio * rows.reward_sq_sum).sum(),
        "ratio_sq_reward_sq": (ratio * ratio * rows.reward_sq_sum).sum(),
        "overweighted": ibis.ifelse(shown & (rho > 1), rows.h, 0.0).sum(),
        "tight_error": ibis.ifelse(supported, rows.h * (rho - 1).abs(), 0.0).sum(),
    }


def _weighted(rows: ir.Table, propensity: str, floor: float) -> dict[str, ir.Value]:
    c = ibis.ifelse(rows.n > 0, _divided(rows.h, rows[propensity], floor), 0.0)
    return {
        f"{propensity}_reward": (c * rows.reward_sum).sum(),
        f"{propensity}_reward_sq": (c * c * rows.reward_sq_sum).sum(),
        f"{propensity}_weight": (c * rows.n).sum(),
        f"{propensity}_weight_sq": (c * c * rows.n).sum(),
        f"{propensity}_largest": c.max(),
    }


def _divided(value: ir.Value, propensity: ir.Value, floor: float) -> ir.Value:
    """Return value / max(propensity, floor); zero where there is no propensity: none is made up."""
    weight = 1.0 / ibis.greatest(propensity, ibis.literal(floor)).nullif(0.0)
    return ibis.ifelse(propensity.isnull(), 0.0, value * weight.coalesce(0.0))


def _total_sums(contexts: ir.Table, i: int, tau: float) -> dict[str, ir.Value]:
    def of(name: str) -> ir.Value:
        return contexts[f"{name}_{i}"]

    n, share = contexts.context_n, of("supported")
    weighted = {f"{which}_{name}": of(f"{which}_{name}") for which in ("own", "chosen") for name in _WEIGHTED}
    return {
        **{name: value.max() if name.endswith("largest") else value.sum() for name, value in weighted.items()},
        "supported": (n * share).sum(),
        "clipped": (n * of("clipped")).sum(),
        "contested": ibis.ifelse(contexts.actions > 1, n * share, 0.0).sum(),
        "policy_on_supported": of("ratio_reward").sum(),
        "logging_on_supported": (share * contexts.reward).sum(),
        "difference_sq": (
            of("ratio_sq_reward_sq") - 2 * share * of("ratio_reward_sq") + share * share * contexts.reward_sq
        ).sum(),
        "overweighted": (n * of("overweighted")).sum(),
        "tight_error": (n * of("tight_error")).sum(),
        "paper_error": (n * share * contexts.regret.sqrt() / tau).sum(),
    }


def _from_row(row: dict[str, Any], i: int) -> ValueSums:
    own, chosen = (
        WeightedSums(**{name: float(row[f"{which}_{name}_{i}"]) for name in _WEIGHTED}) for which in ("own", "chosen")
    )
    numbers = {name: float(row[name]) for name in _WHOLE} | {name: float(row[f"{name}_{i}"]) for name in _PER_TAU}
    return ValueSums(own=own, chosen=chosen, **numbers)
