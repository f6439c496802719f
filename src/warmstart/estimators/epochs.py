"""Sums by epoch: what bets over epochs need to know of a policy's events, and what each epoch came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warmstart.core import EPOCH, PROPENSITY
from warmstart.estimators import gain, ips
from warmstart.estimators.intervals import (
    NO_DOUBT,
    Coefficients,
    EpochTotals,
    GainBins,
    GainSums,
    Points,
    Standing,
    bin_ends,
    lines,
)
from warmstart.estimators.tau import ClippingCost, choose_tau_by_epoch
from warmstart.estimators.units import UnitSums, open_unit_sums
from warmstart.estimators.weights import Clip, TauByEpoch, log_bin, supported_ratio
from warmstart.results import EpochEstimate

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from numpy.typing import NDArray

    from warmstart.estimators.gain import Levels
    from warmstart.estimators.rows import WeightedRows
    from warmstart.events import EpochList
    from warmstart.results import Tau

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EpochState:
    """All that the epochs so far leave to the next one: how bets on value and gain stand, what each tau has cost.

    ``proven``: whether all that bounds over epochs need was there; once it was not, no later epoch brings it back.
    """

    value: Standing
    gain: Standing
    cost: ClippingCost
    proven: bool = True

    @classmethod
    def start(cls) -> Self:
        """Return the state before the first epoch."""
        return cls(Standing.start(), Standing.start(), ClippingCost.none())

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain numbers, to go on from another day."""
        standings = {"value": self.value.to_dict(), "gain": self.gain.to_dict()}
        return {**standings, "cost": self.cost.to_dict(), "proven": self.proven}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Read what ``to_dict`` wrote; refuse what it could not have written."""
        value, gain = (Standing.from_dict(state[name]) for name in ("value", "gain"))
        return cls(value, gain, ClippingCost.from_dict(state["cost"]), state["proven"] is True)


@dataclass(frozen=True, eq=False)
class EpochSums:
    """What a policy's epochs came to at one tau.

    ``value``, ``gains``: their events, or units, by what these could earn, or gain; ``supported``: the supported events
    of each; ``tau``: the clipping constant. For doubts: the ``weighted`` table; ``units``, where these are summed;
    ``bins``, the gains of events.
    """

    epochs: EpochList
    tau: Clip
    value: EpochTotals
    gains: EpochTotals | None
    supported: Mapping[int, float]
    weighted: WeightedRows
    units: UnitSums | None = None
    bins: Sequence[GainBins] = ()

    def doubted_value(self, slope: float) -> list[Points]:
        """Return the epochs by what could be earned, if others that a shown event stands for count ``slope``."""
        if self.units is not None:
            return self.units.value_points(self.epochs, slope)
        return _points(self.epochs, _fetched(self.weighted, _by_weight(self.weighted.table, self.tau, slope)))

    def doubted_gains(self, doubt: float, rate: float | None, *, above: bool) -> list[list[Points]]:
        """Return the epochs by what could be gained at the worst that a doubt leaves possible, in one way or several.

        Args:
            doubt: rho.
            rate: The mean reward that was known before the window, if any.
            above: Whether of rewards, rather than of 1 - reward.
        """
        if self.units is not None:
            ways = [self.units.gain_points(self.epochs, line) for line in lines(doubt, rate)]
            return [points if above else [one.flipped for one in points] for points in ways]
        sides = [bins if above else bins.flipped for bins in self.bins]
        pairs = list(zip(sides, self.epochs.known.tolist(), strict=True))
        # Before the first epoch nothing tells contexts apart: one line for all of them.
        first = lines(doubt, rate) if not all(known for _, known in pairs) else [NO_DOUBT]
        return [
            [gain_points(*side.under(doubt, None if known else line), known=known) for side, known in pairs]
            for line in first
        ]

    def by_epoch(self, delta: float, before: float = 0.0) -> tuple[EpochEstimate, ...]:
        """Return every epoch's own value, and what is known at its end, after so many events ``before``."""
        events = before + np.cumsum(self.epochs.events)
        estimates = []
        for i, (number, label) in enumerate(zip(self.epochs.numbers.tolist(), self.epochs.labels, strict=True)):
            size, until = float(self.epochs.events[i]), float(events[i])
            ends = []
            for totals in (self.value, self.gains):
                alone = None if totals is None else EpochTotals.of([totals.epochs[i]])
                ends.append([part / size for part in _earned_with_ends(alone, delta, 0)])
                ends.append([part / until for part in _earned_with_ends(totals, delta, i)])
            value, so_far, gain_, gain_so_far = ends
            supported = self.supported.get(number, 0.0) / size
            about = label, round(size), _tau_at(self.tau, number), supported
            estimates.append(EpochEstimate(*about, *value, *gain_, *so_far, *gain_so_far))
        return tuple(estimates)


def _earned_with_ends(totals: EpochTotals | None, delta: float, i: int) -> tuple[float, float, float]:
    """Return what was earned until the end of an epoch, and the ends of what could be expected; logging gains 0."""
    if totals is None:
        return 0.0, 0.0, 0.0
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
    # Units that come back in a later epoch have no points inside epochs; nothing that is told of them has ends.
    within = weighted.visits is None or weighted.visits.within_epochs
    with open_unit_sums(weighted, [used], (), totals, levels) as units:
        sums = epoch_sums(weighted, epochs, used, units[0] if within else None, (state.value, state.gain))
    result = sums.by_epoch(levels.delta, state.cost.events)
    gain = state.gain if sums.gains is None else sums.gains.standings[-1]
    return result, EpochState(sums.value.standings[-1], gain, cost, state.proven)


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
    rows, bins = weighted.table, list[GainBins]()
    if units is not None:
        sums = rows.group_by(EPOCH).agg(supported=(supported_ratio(rows, tau) * rows.n).sum())
        supported = {row[EPOCH]: float(row["supported"] or 0.0) for row in weighted.engine.fetch(sums)}
        value, gains = units.value_points(epochs), None if weighted.is_logging else units.gain_points(epochs)
    else:
        binned = _fetched(weighted, _by_weight(rows, tau))
        totals_by_epoch = np.bincount(np.searchsorted(epochs.numbers, binned[EPOCH]), binned["supported"])
        supported = dict(zip(epochs.numbers.tolist(), totals_by_epoch.tolist(), strict=False))
        value, gains = _points(epochs, binned), None
        if not weighted.is_logging:
            binned = _fetched(
                weighted, gain.events_by_coefficient(rows, weighted.groups, tau, None).order_by(EPOCH, *gain.BINS)
            )
            bins = [
                gain.gain_bins(
                    {name: column[binned[EPOCH] == number] for name, column in binned.items()}, 1.0, known=True
                )
                for number in epochs.numbers.tolist()
            ]
            known = epochs.known.tolist()
            gains = [gain_points(one.plain, known=some) for one, some in zip(bins, known, strict=True)]
    totals = EpochTotals.of(value, before[0]), None if gains is None else EpochTotals.of(gains, before[1])
    # What is not clipped, logging, may as well have tau = 1.
    used = 1.0 if weighted.is_logging else tau
    return EpochSums(epochs, used, *totals, supported, weighted, units, bins)


def _by_weight(rows: ir.Table, tau: Clip, slope: float | None = None) -> ir.Table:
    """Sum events and rewards by epoch, by the logarithm of their weight, and by expected reward; see ips.weight_at."""
    shown = rows.mutate(c=ips.weight_at(rows, tau, PROPENSITY, slope), expected=gain.expected(rows, None)).filter(
        rows.n > 0
    )
    shown = shown.filter(shown.c > 0)
    c, doubt = shown.c, shown.expected * (1.0 - shown.expected)
    bins = {
        EPOCH: shown[EPOCH],
        "bin": log_bin(c, gain.RATIO, gain.SMALLEST),
        "level": gain.level(shown.expected),
    }
    sums = {
        "n": shown.n,
        "weight": c * shown.n,
        "rewards": shown.reward_sum,
        "won": c * shown.reward_sum,
        "variance": c * c * shown.n * doubt,
        "supported": supported_ratio(shown, tau) * shown.n,
    }
    return shown.group_by(**bins).agg(**{name: part.sum() for name, part in sums.items()}).order_by(*bins)


def _fetched(weighted: WeightedRows, binned: ir.Table) -> dict[str, Floats]:
    """Fetch events by epoch, logarithm of their coefficients and expected reward."""
    table = weighted.engine.fetch_arrow(binned)
    return {name: table[name].to_numpy(zero_copy_only=False).astype(np.float64) for name in table.column_names}


def _points(epochs: EpochList, binned: Mapping[str, Floats]) -> list[Points]:
    numbers = zip(epochs.numbers.tolist(), epochs.known.tolist(), strict=True)
    return [
        _of_epoch({name: column[binned[EPOCH] == number] for name, column in binned.items()}, known=known)
        for number, known in numbers
    ]


def _of_epoch(rows: Mapping[str, Floats], *, known: bool) -> Points:
    ends = bin_ends(rows["bin"].astype(np.int64), gain.RATIO, gain.SMALLEST)
    by_weight = Coefficients.of_bins(ends, (rows["n"], rows["weight"]), (rows["rewards"], rows["won"]))
    return _points_of(by_weight, np.tile(rows["level"] / gain.LEVELS, 2), float(rows["variance"].sum()), known=known)


def gain_points(sums: GainSums, *, known: bool) -> Points:
    """Return the events of an epoch by what they could gain; ``known``: whether something was before it."""
    assert sums.baselines is not None
    points = _points_of(sums.by_u, sums.baselines, sums.variance, known=known)
    return replace(points, offset=points.offset - sums.certain)


def _points_of(events: Coefficients, expected: Floats, variance: float, *, known: bool) -> Points:
    """Return events by what they could earn: their coefficient of a reward, or of none where that is negative."""
    positive = (events.values > 0).astype(np.float64)
    points = Points(
        size=np.tile(np.abs(events.values), 2),
        earned=np.concatenate([positive, 1 - positive]),
        expected=np.tile(np.where(positive > 0, expected, 1 - expected) if known else positive, 2),
        events=np.concatenate([events.rewards, np.maximum(events.events - events.rewards, 0.0)]),
        variance=variance,
        offset=-float((np.minimum(events.values, 0.0) * events.events).sum()),
        known=known,
    )
    return points.present
