"""Sums by epoch: what bets over epochs need to know of a policy's events, and what each epoch came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warmstart.core import EPOCH
from warmstart.estimators import gain
from warmstart.estimators.intervals import Coefficients, EpochTotals, Points, Standing, bin_ends
from warmstart.estimators.tau import ClippingCost, choose_tau_by_epoch
from warmstart.estimators.units import UnitSums, open_unit_sums
from warmstart.estimators.weights import Clip, TauByEpoch, clipped, log_bin, supported_ratio
from warmstart.events import RATE_BEFORE
from warmstart.results import EpochEstimate

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from numpy.typing import NDArray

    from warmstart.estimators.gain import Levels
    from warmstart.estimators.rows import WeightedRows
    from warmstart.events import EpochList
    from warmstart.results import Tau

    Floats = NDArray[np.float64]

NUMBERS = (EPOCH, "positive", "level", "n", "weight", "rewards", "won", "variance")


@dataclass(frozen=True, eq=False)
class EpochState:
    """All that the epochs so far leave to the next one: how bets on value and gain stand, what each tau has cost."""

    value: Standing
    gain: Standing
    cost: ClippingCost

    @classmethod
    def start(cls) -> Self:
        """Return the state before the first epoch."""
        return cls(Standing.start(), Standing.start(), ClippingCost.none())

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain numbers, to go on from another day."""
        return {"value": self.value.to_dict(), "gain": self.gain.to_dict(), "cost": self.cost.to_dict()}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Read what ``to_dict`` wrote; refuse what it could not have written."""
        value, gain = (Standing.from_dict(state[name]) for name in ("value", "gain"))
        return cls(value, gain, ClippingCost.from_dict(state["cost"]))


@dataclass(frozen=True, eq=False)
class EpochSums:
    """What a policy's epochs came to at one tau.

    ``value``, ``gains``: their events, or units, by what these could earn, or gain; ``supported``: the supported events
    of each; ``tau``: the clipping constant.
    """

    epochs: EpochList
    tau: Clip
    value: EpochTotals
    gains: EpochTotals | None
    supported: Mapping[int, float]

    def by_epoch(self, delta: float, before: float = 0.0) -> tuple[EpochEstimate, ...]:
        """Return every epoch's own value, and what is known at its end, after so many events ``before``."""
        events = before + np.cumsum(self.epochs.events)
        estimates = []
        for i, (number, label) in enumerate(zip(self.epochs.numbers.tolist(), self.epochs.labels, strict=True)):
            size, until = float(self.epochs.events[i]), float(events[i])
            alone = EpochTotals.of([self.value.epochs[i]])
            value, lower, upper = (part / size for part in _told(alone, delta, 0))
            so_far = [part / until for part in _told(self.value, delta, i)]
            gains = [0.0] * 3 if self.gains is None else [part / until for part in _told(self.gains, delta, i)]
            supported = self.supported.get(number, 0.0) / size
            estimates.append(
                EpochEstimate(
                    label, round(size), _tau_at(self.tau, number), supported, value, lower, upper, *so_far, *gains
                )
            )
        return tuple(estimates)


def _told(totals: EpochTotals, delta: float, i: int) -> tuple[float, float, float]:
    """Return what was earned until the end of an epoch, and the ends of what could be expected."""
    earned, (lower, upper) = totals.earned(i), totals.ends(delta, i)
    return earned, min(lower, earned), max(upper, earned)


def _tau_at(tau: Clip, number: int) -> float:
    if not isinstance(tau, TauByEpoch):
        return tau
    return next(value for since, value in reversed(tau.steps) if since <= number)


def step(
    weighted: WeightedRows, epochs: EpochList, tau: Tau, levels: Levels, state: EpochState
) -> tuple[tuple[EpochEstimate, ...], EpochState]:
    """Value a policy on the next epochs of a log that goes on; return what they say, and the state after them.

    Args:
        weighted: The weighted table by epoch.
        epochs: Its epochs.
        tau: The clipping constant, or "auto".
        levels: The confidence level, and what was known before the log.
        state: What the epochs before leave.
    """
    clip, _, cost = choose_tau_by_epoch(weighted.engine, weighted.table, epochs, state.cost)
    used = weighted.floor(clip if tau == "auto" else tau)
    totals: list[dict[str, float]] = [{}]
    with open_unit_sums(weighted, [used], (), totals, levels) as units:
        sums = epoch_sums(weighted, epochs, used, units[0], (state.value, state.gain))
    shown = sums.by_epoch(levels.delta, state.cost.events)
    gain = state.gain if sums.gains is None else sums.gains.standings[-1]
    return shown, EpochState(sums.value.standings[-1], gain, cost)


def epoch_sums(
    weighted: WeightedRows,
    epochs: EpochList,
    tau: Clip,
    units: UnitSums | None,
    before: tuple[Standing | None, Standing | None] = (None, None),
) -> EpochSums:
    """Sum a policy's events, or units, by epoch and by what they could earn.

    Args:
        weighted: The weighted table by epoch.
        epochs: The epochs of the window.
        tau: The clipping constant.
        units: The sums by unit, where each unit lies in one epoch; None where events are independent.
        before: How bets on value and gain stood before these epochs; None at the beginning.
    """
    rows, engine = weighted.table, weighted.engine
    sums = rows.group_by(EPOCH).agg(supported=(supported_ratio(rows, tau) * rows.n).sum())
    supported = {row[EPOCH]: float(row["supported"] or 0.0) for row in engine.fetch(sums)}
    if units is not None:
        value, gains = units.value_points(epochs), None if weighted.is_logging else units.gain_points(epochs)
    else:
        value = _points(weighted, epochs, _by_weight(rows, tau))
        by_u = gain.events_by_u(rows, weighted.groups, tau, None)
        gains = None if weighted.is_logging else _points(weighted, epochs, by_u)
    totals = EpochTotals.of(value, before[0]), None if gains is None else EpochTotals.of(gains, before[1])
    # What is not clipped, logging, may as well have tau = 1.
    return EpochSums(epochs, 1.0 if weighted.is_logging else tau, *totals, supported)


def _by_weight(rows: ir.Table, tau: Clip) -> ir.Table:
    """Sum events and rewards by epoch, by the logarithm of their weight, and by expected reward."""
    shown = rows.mutate(c=clipped(rows, tau), expected=gain.expected(rows, None)).filter(rows.n > 0)
    shown = shown.filter(shown.c > 0)
    c, doubt = shown.c, shown.expected * (1.0 - shown.expected)
    bins = {
        EPOCH: shown[EPOCH],
        "positive": c > 0,
        "bin": log_bin(c, gain.RATIO, gain.SMALLEST),
        "level": gain.level(shown.expected),
    }
    sums = {
        "n": shown.n,
        "weight": c * shown.n,
        "rewards": shown.reward_sum,
        "won": c * shown.reward_sum,
        "variance": c * c * shown.n * doubt,
    }
    return shown.group_by(**bins).agg(**{name: part.sum() for name, part in sums.items()}).order_by(*bins)


def _points(weighted: WeightedRows, epochs: EpochList, binned: ir.Table) -> list[Points]:
    """Read events by epoch, sign, logarithm of the coefficient and expected reward."""
    traffic, fetched = weighted.table, weighted.engine.fetch_arrow(binned)
    columns = {name: fetched[name].to_numpy(zero_copy_only=False).astype(np.float64) for name in (*NUMBERS, "bin")}
    firsts = traffic.filter(traffic[RATE_BEFORE].isnull()).select(EPOCH).distinct()
    unknown = {row[EPOCH] for row in weighted.engine.fetch(firsts)}
    return [
        _of_epoch(
            {name: column[columns[EPOCH] == number] for name, column in columns.items()}, known=number not in unknown
        )
        for number in epochs.numbers.tolist()
    ]


def _of_epoch(rows: Mapping[str, Floats], *, known: bool) -> Points:
    ends = bin_ends(rows["bin"].astype(np.int64), gain.RATIO, gain.SMALLEST)
    by_size = Coefficients.of_bins(ends, (rows["n"], rows["weight"]), (rows["rewards"], rows["won"]))
    positive, b = (np.tile(part, 2) for part in (rows["positive"], rows["level"] / gain.LEVELS))
    expected = np.where(positive > 0, b, 1 - b) if known else positive
    rewarded, others = by_size.rewards, np.maximum(by_size.events - by_size.rewards, 0.0)
    points = Points(
        size=np.tile(by_size.values, 2),
        earned=np.concatenate([positive, 1 - positive]),
        expected=np.tile(expected, 2),
        events=np.concatenate([rewarded, others]),
        variance=float(rows["variance"].sum()),
        offset=float(rows["weight"][rows["positive"] == 0].sum()),
        known=known,
    )
    return points.present
