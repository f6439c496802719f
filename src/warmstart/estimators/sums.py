"""The sums over cells from which every number of an estimate follows, for all taus at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np

from warmstart.core.names import PROBABILITY, WindowName
from warmstart.estimators.gain import GainSums, rewards_by_u
from warmstart.estimators.intervals import RATIO, Coefficients, TermSums
from warmstart.estimators.tau import choose_tau
from warmstart.propensity import counted_propensity
from warmstart.results.tau import Tau, TauChoice

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
    coefficients: Coefficients | None = None

    def terms(self, events: float, bound: float) -> TermSums:
        """Return them as an interval wants them."""
        sums = (self.reward, self.reward_sq, self.weight, self.weight_sq, self.largest)
        return TermSums(events, *sums, bound, self.coefficients)


@dataclass(frozen=True)
class ErrorSums:
    """How far propensities of another window are off, as events: see WeightRatio and PropensityError."""

    overweighted: float
    tight: float
    paper: float


@dataclass(frozen=True)
class ValueSums:
    """What one policy at one tau adds up to over the evaluated window.

    ``own`` weighs with the propensities of the evaluated window, ``chosen`` with those asked for. Shares of traffic
    come as events: ``supported, clipped, decided, contested``. ``policy_on_supported`` and ``logging_on_supported``
    are rewards on supported traffic, ``spread`` is about the sum of u^2 over it, ``largest_ratio`` the largest
    probability / propensity there, and ``gain`` how rewards lie over u.
    """

    events: float
    matched: float
    decided: float
    own: WeightedSums
    chosen: WeightedSums
    supported: float
    clipped: float
    contested: float
    policy_on_supported: float
    logging_on_supported: float
    spread: float
    largest_ratio: float
    errors: ErrorSums | None
    gain: GainSums | None = None
    tau_choice: TauChoice | None = None


_WEIGHTED = ("reward", "reward_sq", "weight", "weight_sq", "largest")
_ERRORS = ("overweighted", "tight", "paper")
_SHARES = (
    "supported",
    "clipped",
    "contested",
    "policy_on_supported",
    "logging_on_supported",
    "spread",
    "largest_ratio",
)


def fetch_sums(
    policy: Policy,
    cells: Cells,
    *,
    taus: Sequence[Tau],
    weights_from: WindowName,
    spread: bool = False,
    rate: float | None = None,
) -> list[ValueSums]:
    """Run the queries and return the sums, one a tau; with ``spread``, how rewards lie over coefficients too.

    A tau of "auto" is chosen for this policy, with rewards at the rate that is known.

    Logging differs from itself by nothing.
    """
    other = None if weights_from == "evaluated" or policy.is_logging else weights_from
    with ExitStack() as kept:
        rows = choices(policy.on(cells), cells, weights_from=other)
        if other is not None:
            rows = held = cells.engine.materialise(rows)
            kept.callback(held.release)
        floors = [_floor(0.0 if policy.is_logging else tau, rows, cells, rate) for tau in taus]
        row = cells.engine.fetch(value_sums(rows, [floor for floor, _ in floors]))[0]
        row["events"] = float(cells.evaluated.window.events)
        found = []
        for i, (floor, choice) in enumerate(floors):
            sums = replace(_from_row(row, i), tau_choice=choice)
            sums = _with_coefficients(rows, cells, sums, floor) if spread else sums
            found.append(sums if policy.is_logging else _with_gain(rows, cells, sums, floor))
        return found


def _floor(tau: Tau, rows: ir.Table, cells: Cells, rate: float | None) -> tuple[float, TauChoice | None]:
    if tau != "auto":
        return tau, None
    choice = choose_tau(rows, cells, "chosen" if "chosen" in rows.columns else "own", rate)
    return choice.tau, choice


def _with_coefficients(rows: ir.Table, cells: Cells, sums: ValueSums, floor: float) -> ValueSums:
    found = {}
    for name in ("own", "chosen") if sums.errors is not None else ("own",):
        fetched = cells.engine.fetch(coefficient_bins(rows, name, floor))
        coefficients = Coefficients.of_bins(
            np.array([row["bin"] for row in fetched], dtype=np.int64), np.array([row["rewards"] for row in fetched])
        )
        found[name] = replace(getattr(sums, name), coefficients=coefficients)
    return replace(sums, own=found["own"], chosen=found.get("chosen", found["own"]))


def coefficient_bins(rows: ir.Table, propensity: str, floor: float) -> ir.Table:
    """Sum rewards by the logarithm of their coefficient, in steps of RATIO."""
    c = divided(rows.h, rows[propensity], floor)
    shown = rows.mutate(c=c).filter(rows.n > 0, c > 0, rows.reward_sum > 0)
    bins = shown.group_by(bin=(shown.c.ln() / math.log(RATIO)).floor().cast("int64"))
    return bins.agg(rewards=shown.reward_sum.sum()).order_by("bin")


def _with_gain(rows: ir.Table, cells: Cells, sums: ValueSums, floor: float) -> ValueSums:
    found = cells.engine.fetch(rewards_by_u(rows, cells, lambda some: _supported(some, floor) & (some.h > 0)))
    spread = sums.spread / sums.supported if sums.supported > 0 else 0.0
    gain = GainSums.of_rows(found, traffic=sums.supported, spread=max(spread, 0.0), largest=sums.largest_ratio)
    return replace(sums, gain=gain)


def choices(rows: ir.Table, cells: Cells, *, weights_from: WindowName | None) -> ir.Table:
    """Return what a policy chooses, with the cells' columns, h, and the propensities ``own`` and ``chosen``.

    ``chosen`` is there only for weights from another window, with ``regret``, the paper's reg(x) of it.
    """
    rows = rows.mutate(h=rows[PROBABILITY], own=counted_propensity(rows, "evaluated"))
    if weights_from is None:
        return rows
    every = cells.table.filter(cells.table.context_n > 0)
    error = counted_propensity(every, "evaluated") - counted_propensity(every, weights_from).coalesce(0.0)
    regrets = every.group_by(*cells.columns.context_keys).agg(regret=(error**2).max())
    rows = rows.join(regrets, list(cells.columns.context_keys))
    return rows.mutate(chosen=counted_propensity(rows, weights_from))


def value_sums(rows: ir.Table, floors: Sequence[float]) -> ir.Table:
    """Sum over a policy's choices everything that adds up cell by cell."""
    totals: dict[str, ir.Value] = {
        "matched": ibis.ifelse(rows.h > 0, rows.n, 0.0).sum(),
        "decided": (rows.context_n * rows.h).sum(),
    }
    for i, floor in enumerate(floors):
        sums = {**_weighted(rows, "own", floor), **_shares(rows, floor)}
        if "chosen" in rows.columns:
            sums |= {**_weighted(rows, "chosen", floor), **_errors(rows, floor)}
        totals |= {f"{name}_{i}": value for name, value in sums.items()}
    return rows.agg(**totals)


def _supported(rows: ir.Table, floor: float) -> ir.BooleanValue:
    return (rows.n > 0) & (rows.own >= floor)


def _ratio(rows: ir.Table, floor: float) -> ir.Value:
    return _supported(rows, floor).ifelse(rows.h / rows.own.nullif(0.0), 0.0)


def _shares(rows: ir.Table, floor: float) -> dict[str, ir.Value]:
    supported, ratio = _supported(rows, floor), _ratio(rows, floor)
    h = supported.ifelse(rows.h, 0.0)
    return {
        "supported": (rows.context_n * h).sum(),
        "clipped": (rows.context_n * ((rows.n > 0) & ~supported).ifelse(rows.h, 0.0)).sum(),
        "contested": (rows.context_n * (rows.context_actions > 1).ifelse(h, 0.0)).sum(),
        "policy_on_supported": (ratio * rows.reward_sum).sum(),
        "logging_on_supported": (h * rows.context_reward_sum).sum(),
        "largest_ratio": ratio.max(),
        "spread": (ratio * ratio * rows.n).sum() - (rows.context_n * h * h).sum(),
    }


def _weighted(rows: ir.Table, propensity: str, floor: float) -> dict[str, ir.Value]:
    c = (rows.n > 0).ifelse(divided(rows.h, rows[propensity], floor), 0.0)
    return {
        f"{propensity}_reward": (c * rows.reward_sum).sum(),
        f"{propensity}_reward_sq": (c * c * rows.reward_sq_sum).sum(),
        f"{propensity}_weight": (c * rows.n).sum(),
        f"{propensity}_weight_sq": (c * c * rows.n).sum(),
        f"{propensity}_largest": c.max(),
    }


def _errors(rows: ir.Table, floor: float) -> dict[str, ir.Value]:
    rho = divided(rows.own, rows.chosen, floor)
    traffic = rows.context_n * rows.h
    supported = _supported(rows, floor)
    return {
        "overweighted": (rho > 1).ifelse(traffic, 0.0).sum(),
        "tight": supported.ifelse(traffic * (rho - 1).abs(), 0.0).sum(),
        "paper": supported.ifelse(traffic * rows.regret.sqrt() / floor, 0.0).sum(),
    }


def divided(value: ir.Value, propensity: ir.Value, floor: float) -> ir.Value:
    """Return value / max(propensity, floor); zero where there is no propensity: none is made up."""
    weight = 1.0 / ibis.greatest(propensity, ibis.literal(floor)).nullif(0.0)
    return propensity.isnull().ifelse(0.0, value * weight.coalesce(0.0))


def _from_row(row: dict[str, Any], i: int) -> ValueSums:
    def numbers(names: Sequence[str], prefix: str = "") -> dict[str, float]:
        return {name: float(row[f"{prefix}{name}_{i}"] or 0.0) for name in names}

    own = _weighted_sums(numbers(_WEIGHTED, "own_"))
    other = f"chosen_reward_{i}" in row
    shares: Any = numbers(_SHARES)
    return ValueSums(
        events=row["events"],
        matched=float(row["matched"] or 0.0),
        decided=float(row["decided"] or 0.0),
        own=own,
        chosen=_weighted_sums(numbers(_WEIGHTED, "chosen_")) if other else own,
        errors=ErrorSums(**numbers(_ERRORS)) if other else None,
        **shares,
    )


def _weighted_sums(found: dict[str, float]) -> WeightedSums:
    return WeightedSums(found["reward"], found["reward_sq"], found["weight"], found["weight_sq"], found["largest"])
