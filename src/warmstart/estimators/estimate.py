"""From the weighted table to an estimate with its confidence interval, its bias and its support."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from warmstart.core import PROPENSITY
from warmstart.engine import fetch_ordered
from warmstart.estimators import doubt, gain, ips, support, weight_ratio
from warmstart.estimators.doubted import ByEpoch, ByEvent, ByUnit, DoubtedGain, certified_value_ends
from warmstart.estimators.epochs import EpochSums, epoch_sums
from warmstart.estimators.gain import Levels
from warmstart.estimators.intervals import (
    NEED_COEFFICIENTS,
    Coefficients,
    EpochTotals,
    GainBins,
    TermSums,
    UnitTotals,
    interval,
)
from warmstart.estimators.point import (
    ESTIMATORS,
    Kind,
    by_event,
    declared,
    estimated_gain,
    inside,
    left_to_model,
    point_estimates,
    without_plain_intervals,
)
from warmstart.estimators.tau import choose_tau, choose_tau_by_epoch, matched_rate
from warmstart.estimators.units import UnitSums, open_unit_sums
from warmstart.estimators.weights import OWN, Clip, TauByEpoch
from warmstart.results import (
    CertifiedGain,
    Doubt,
    EpochEstimate,
    EstimatedGain,
    Gain,
    Interval,
    IntervalName,
    PointEstimate,
    Tau,
    TauChoice,
    ValueEstimate,
)

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.estimators.rows import WeightedRows

# Logging's value is its plain mean.
OF_LOGGING = ("ips",)
ChosenTau = tuple[Clip, TauChoice | None]


def estimate_policy(
    weighted: WeightedRows,
    *,
    taus: Sequence[Tau | ChosenTau],
    levels: Levels,
    method: IntervalName = "bets",
    estimators: Sequence[str] = (),
) -> list[ValueEstimate]:
    """Estimate what a policy would have earned on events it did not choose (off-policy evaluation), one for each tau.

    Mean over events of ``reward * probability / max(propensity, tau)`` (paper, Eq. 2). It falls short where the
    propensity is below ``tau``; the estimate carries how often that is.

    Args:
        weighted: The weighted table of the policy.
        taus: Clipping constants; "auto" chooses one, without a look at evaluated rewards where bounds are certified;
            or what ``chosen_taus`` found for another outcome of the policy.
        levels: The confidence level, and how many estimates share it in joint ends.
        method: The confidence interval.
        estimators: Point estimates of all traffic, the best first; logging has its mean.
    """
    if weighted.is_logging and len(taus) > 1:
        # No tau enters its weights, which are all 1.
        first, *_ = estimate_policy(weighted, taus=taus[:1], levels=levels, method=method)
        others = [tau if isinstance(tau, tuple) else _tau(weighted, tau, levels.rate) for tau in taus]
        return [replace(first, tau=clip.last if isinstance(clip, TauByEpoch) else clip) for clip, _ in others]
    names = OF_LOGGING if weighted.is_logging else estimators
    chosen = [tau if isinstance(tau, tuple) else _tau(weighted, tau, levels.rate) for tau in taus]
    floors = [weighted.floor(clip) for clip, _ in chosen]
    totals = _fetch(weighted, [_sums(weighted, floor, names) for floor in floors], weighted.table.agg)
    for kind, rows in _modelled(weighted, names, floors):
        further = _fetch(weighted, [declared(names, kind, rows, floor) for floor in floors], partial(summed, rows))
        totals = [{**one, **other} for one, other in zip(totals, further, strict=True)]
    with open_unit_sums(weighted, floors, names, totals, levels) as by_unit:
        estimates = [
            _estimate(weighted, clip, choice, some, units, levels=levels, method=method, names=names)
            for (clip, choice), some, units in zip(chosen, totals, by_unit, strict=True)
        ]
    return [estimate.scaled(weighted.reward_range) for estimate in estimates]


def chosen_taus(weighted: WeightedRows, taus: Sequence[Tau], rate: float | None) -> list[ChosenTau]:
    """Return the taus in use, and how they were chosen if they were: once for all outcomes of a policy."""
    return [_tau(weighted, tau, rate) for tau in taus]


def _tau(weighted: WeightedRows, tau: Tau, rate: float | None) -> ChosenTau:
    """Return the tau in use and how it was chosen; what is not clipped, logging, may as well have tau = 1."""
    if tau != "auto":
        return tau, None
    if weighted.is_logging:
        return 1.0, None
    if weighted.epochs is not None:
        return choose_tau_by_epoch(weighted.engine, weighted.table, weighted.epochs)[:2]
    rate = rate if weighted.certified else matched_rate(weighted.engine, weighted.table)
    choice = choose_tau(weighted.engine, weighted.table, weighted.events, rate)
    return choice.tau, choice


def _modelled(weighted: WeightedRows, names: Sequence[str], taus: Sequence[Clip]) -> Iterator[tuple[Kind, ir.Table]]:
    """Yield the rows with a reward model's expectations that some estimators need, and for which of their sums."""
    if weighted.modelled is not None:
        yield "model_terms", weighted.modelled
    elif weighted.model is not None and not weighted.is_logging:
        yield "model_terms", weighted.model.expect(left_to_model(names, weighted.table, taus))
        if any(ESTIMATORS[name].judging_terms for name in names):
            yield "judging_terms", weighted.model.expect(weighted.model.sample(weighted.table))


def _sums(weighted: WeightedRows, floor: Clip, names: Sequence[str]) -> dict[str, ir.Value]:
    """Return everything that adds up over the weighted table at one tau, by name."""
    rows = weighted.table
    sums = {**ips.sums(rows, floor), **support.sums(rows, floor), **declared(names, "sums", rows, floor)}
    sums |= {} if weighted.is_logging else doubt.shown_sums(rows)
    sums |= gain.sums(rows, floor) if weighted.certified else {}
    if OWN in rows.columns:
        sums |= {**ips.sums(rows, floor, OWN), **weight_ratio.sums(rows, floor)}
    return sums


def summed(rows: ir.Table, **terms: ir.Value) -> ir.Table:
    """Sum terms; in two steps, because a term may look at rows beside its own."""
    table = rows.select(**terms)
    return table.agg(**{name: table[name].sum() for name in terms})


def _fetch(
    weighted: WeightedRows, wanted: Sequence[dict[str, ir.Value]], aggregate: Callable[..., ir.Table]
) -> list[dict[str, float]]:
    """Return what sums, or terms, of every tau come to, in one query; what no tau enters is computed once."""
    columns: dict[str, ir.Value] = {}
    places: list[dict[str, str]] = []
    for i, some in enumerate(wanted):
        same = {name for name, value in some.items() if i and value.equals(wanted[0][name])}
        places.append({name: f"{name}_{0 if name in same else i}" for name in some})
        columns |= {places[i][name]: value for name, value in some.items()}
    fetched = weighted.engine.fetch(aggregate(**columns))[0]
    return [{name: float(fetched[place] or 0.0) for name, place in some.items()} for some in places]


def _estimate(
    weighted: WeightedRows,
    clip: Clip,
    choice: TauChoice | None,
    totals: Mapping[str, float],
    units: UnitSums | None,
    *,
    levels: Levels,
    method: IntervalName,
    names: Sequence[str],
) -> ValueEstimate:
    events, rows = weighted.events, weighted.table
    tau = clip.last if isinstance(clip, TauByEpoch) else clip
    epochs = _epoch_sums(weighted, clip, units)
    terms = _terms(weighted, totals, tau, method=method, propensity=PROPENSITY, units=units)
    terms = terms if epochs is None else replace(terms, events=events, scale=1.0, epochs=epochs.value)
    squares_of = by_event if units is None else units.squares
    ends = interval(terms, delta=levels.delta, method=method)
    joint = ends if levels.joint == levels.delta else interval(terms, delta=levels.joint, method=method)
    ends, joint = (doubt.doubted_value(one, weighted, totals, levels.doubt) for one in (ends, joint))
    other = OWN in rows.columns
    of_window = _terms(weighted, totals, tau, method=method, propensity=OWN, units=units) if other else None
    certified = ends if of_window is None else interval(of_window, delta=levels.delta, method=method)
    bounds = _bounds(weighted, clip, totals, certified, levels, units=units, epochs=epochs)
    squares = totals["propensity_weight_sq"]
    points = point_estimates(names, totals, events, levels.delta, squares_of)
    spans = [(one.lower, one.upper) if weighted.certified else inside((one.lower, one.upper)) for one in (ends, joint)]
    if other:
        # An interval would be of what weights of another window make of the value.
        points, spans = without_plain_intervals(points), [(None, None)] * 2
    likely = None if weighted.is_logging else estimated_gain(names, totals, events, levels.delta, squares_of)
    gains, about_doubt = _gain(weighted, totals, tau, levels, units=units, epochs=epochs, points=points, likely=likely)
    return ValueEstimate(
        policy=weighted.policy,
        outcome=weighted.outcome,
        tau=tau,
        value=min(totals["propensity_reward"] / events, 1.0),
        lower=spans[0][0],
        upper=spans[0][1],
        delta=levels.delta,
        interval=method,
        guarantee=ends.guarantee if weighted.certified and not other else "approximate",
        joint_lower=spans[1][0],
        joint_upper=spans[1][1],
        events=round(events),
        matched=round(totals["matched"]),
        effective_sample_size=totals["propensity_weight"] ** 2 / squares if squares > 0 else 0.0,
        support=support.shares(totals, events),
        certified_lower=bounds[0],
        certified_upper=bounds[1],
        is_logging=weighted.is_logging,
        gain=gains,
        weight_ratio=weight_ratio.weight_ratio(totals, events) if other else None,
        propensity_error=weight_ratio.propensity_error(totals, events) if other else None,
        tau_choice=choice,
        units=None if units is None else round(units.sums["units"]),
        estimates=doubt.doubted_points(points, weighted, totals, levels.doubt),
        by_epoch=() if epochs is None else _by_epoch(epochs, levels),
        doubt=about_doubt,
    )


def _by_epoch(epochs: EpochSums, levels: Levels) -> tuple[EpochEstimate, ...]:
    """Return what every epoch says; nothing of it is certified under doubt."""
    estimates = epochs.by_epoch(levels.delta)
    return tuple(one.uncertified() for one in estimates) if levels.doubt > 1 else estimates


def _bounds(
    weighted: WeightedRows,
    clip: Clip,
    totals: Mapping[str, float],
    certified: Interval,
    levels: Levels,
    *,
    units: UnitSums | None,
    epochs: EpochSums | None,
) -> tuple[float, float] | tuple[None, None]:
    """Return bounds of what the policy is expected to earn on the window's traffic; none where nothing is proven.

    Args:
        weighted: The weighted table.
        clip: The clipping constant.
        totals: The sums over it.
        certified: The interval of the value with the window's own propensities.
        levels: The confidence level and the doubt.
        units: What is known of units, if events have them.
        epochs: What is known of epochs.
    """
    if not weighted.certified or certified.guarantee != "finite-sample":
        return None, None
    own = OWN if OWN in weighted.table.columns else PROPENSITY
    lost = max(1 - totals[f"{own}_weight"] / weighted.events, 0.0)
    if levels.doubt == 1 or weighted.is_logging:
        return certified.lower, min(certified.upper + lost, 1.0)
    return certified_value_ends(weighted, clip, own, lost, levels, units=units, epochs=epochs)


def _epoch_sums(weighted: WeightedRows, clip: Clip, units: UnitSums | None) -> EpochSums | None:
    """Return sums by epoch, if propensities are counted within epochs; not of units that come back in a later one."""
    returning = weighted.visits is not None and not weighted.visits.within_epochs
    if weighted.epochs is None or returning:
        return None
    return epoch_sums(weighted, weighted.epochs, weighted.floor(clip), units)


def _terms(
    weighted: WeightedRows,
    totals: Mapping[str, float],
    tau: float,
    *,
    method: IntervalName,
    propensity: str,
    units: UnitSums | None,
) -> TermSums:
    """Return the sums that the confidence interval of the value needs, with one of the columns of propensities."""
    if units is not None:
        by_total = method in NEED_COEFFICIENTS and not (weighted.visits and weighted.visits.within_epochs)
        return units.terms(weighted.events, propensity, by_total=by_total)
    floor, bound = weighted.floor(tau), 1.0 if weighted.is_logging else 1 / tau
    needed = method in NEED_COEFFICIENTS and weighted.epochs is None
    if needed and weighted.is_logging:
        by_weight: Coefficients | None = ips.unweighted(totals, weighted.events)
    else:
        by_weight = ips.events_by_weight(weighted.engine, weighted.table, floor, propensity) if needed else None
    return ips.terms(totals, weighted.events, bound, by_weight, propensity)


def _gain(
    weighted: WeightedRows,
    totals: Mapping[str, float],
    tau: float,
    levels: Levels,
    *,
    units: UnitSums | None,
    epochs: EpochSums | None,
    points: Sequence[PointEstimate],
    likely: EstimatedGain | None,
) -> tuple[Gain, Doubt | None]:
    """Return the gain over logging, certified and estimated, and what doubt does to it.

    Args:
        weighted: The weighted table.
        totals: The sums over it.
        tau: The clipping constant.
        levels: The confidence level.
        units: What is known of units, if events have them.
        epochs: What is known of epochs.
        points: Point estimates of the value.
        likely: The estimated gain, without doubt.
    """
    certified: CertifiedGain | None = None
    doubted: DoubtedGain | None = None
    if weighted.certified:
        gains: GainBins | UnitTotals | EpochTotals | None = None
        traffic = totals["supported"]
        if weighted.is_logging:
            gains = None
        elif epochs is not None:
            gains, doubted = epochs.gains, ByEpoch(epochs, traffic, levels.rate)
        elif units is not None:
            gains, doubted = units.gains(), ByUnit(units, traffic)
        else:
            gains = _gain_bins(weighted, totals, tau, levels)
            doubted = ByEvent(gains)
        # Every doubt takes a query of all units: they are asked for.
        doubted = None if units is not None and levels.doubt == 1 else doubted
        certified = gain.certified_gain(totals, gains, weighted.events, levels)
    if weighted.is_logging:
        return Gain(certified, likely), None
    certified, proven = doubt.doubted_certified(certified, doubted, levels)
    value = next((point.value for point in points if likely and point.estimator == likely.estimator), 0.0)
    likely, about = doubt.doubted_estimate(likely, value, totals, weighted.events, levels.doubt)
    if proven is not None and about is not None:
        about = replace(proven, estimated_tipping=about.tipping)
    return Gain(certified, likely), about or proven


def _gain_bins(weighted: WeightedRows, totals: Mapping[str, float], tau: float, levels: Levels) -> GainBins:
    rate = gain.usable_rate(weighted.table, levels.rate)
    binned = gain.events_by_coefficient(weighted.table, weighted.groups, tau, rate)
    return gain.gain_bins(
        fetch_ordered(weighted.engine, binned, gain.BINS), totals["supported"], known=rate is not None
    )
