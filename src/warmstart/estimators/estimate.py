"""From sums over cells to an estimate with its interval, its bias and its support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from warmstart.estimators.gain import gain_ends
from warmstart.estimators.intervals import NEED_COEFFICIENTS, interval, normal_ends
from warmstart.estimators.sums import ValueSums, WeightedSums, fetch_sums
from warmstart.results.estimate import Gain, PropensityError, Support, ValueEstimate, WeightRatio
from warmstart.results.interval import IntervalName
from warmstart.results.point_estimate import PointEstimate
from warmstart.results.tau import Tau

if TYPE_CHECKING:
    from warmstart.core.names import WindowName
    from warmstart.events import Cells
    from warmstart.policy import Policy


def estimate_value(
    policy: Policy,
    cells: Cells,
    *,
    taus: Sequence[Tau],
    delta: float = 0.05,
    method: IntervalName = "bets",
    weights_from: WindowName = "evaluated",
    looks: int = 1,
    rate: float | None = None,
) -> list[ValueEstimate]:
    """Estimate what a policy would have earned on events it did not choose, one estimate a tau.

    Mean over events of ``reward * probability / max(propensity, tau)`` (paper, Eq. 2). It falls short where the
    propensity is below ``tau``; the estimate carries how often that is. ``looks`` is how many estimates share delta
    in the joint ends; ``rate`` is the mean reward that was known before the window, if any.
    """
    sums = fetch_sums(
        policy, cells, taus=taus, weights_from=weights_from, spread=method in NEED_COEFFICIENTS, rate=rate
    )
    scale = cells.evaluated.log.reward_range
    estimates = []
    for asked, sum_ in zip(taus, sums, strict=True):
        tau = _tau(asked, sum_)
        bound = 1.0 if policy.is_logging else 1 / tau
        terms = sum_.chosen.terms(sum_.events, bound)
        ends = interval(terms, delta=delta, method=method)
        joint = ends if looks == 1 else interval(terms, delta=delta / looks, method=method)
        own = sum_.own.terms(sum_.events, bound)
        certified = ends if own == terms else interval(own, delta=delta, method=method)
        proven = certified.guarantee == "finite-sample"
        lost = max(1 - sum_.own.weight / sum_.events, 0.0)
        estimate = ValueEstimate(
            policy=policy.name,
            tau=tau,
            value=terms.mean,
            lower=ends.lower,
            upper=ends.upper,
            delta=delta,
            interval=method,
            guarantee=ends.guarantee,
            joint_lower=joint.lower,
            joint_upper=joint.upper,
            events=round(sum_.events),
            matched=round(sum_.matched),
            effective_sample_size=_kish(sum_),
            support=_support(sum_),
            certified_lower=certified.lower if proven else None,
            certified_upper=min(certified.upper + lost, 1.0) if proven else None,
            is_logging=policy.is_logging,
            gain=_on_supported(sum_, delta, looks, rate),
            weight_ratio=_rho(sum_),
            propensity_error=_error(sum_),
            tau_choice=sum_.tau_choice,
            estimates=self_normalised(sum_.chosen, delta),
        )
        estimates.append(estimate.scaled(scale))
    return estimates


def _tau(asked: Tau, sums: ValueSums) -> float:
    """Return the tau in use; what is not clipped, logging, may as well have tau = 1."""
    if asked != "auto":
        return asked
    return 1.0 if sums.tau_choice is None else sums.tau_choice.tau


def self_normalised(sums: WeightedSums, delta: float) -> tuple[PointEstimate, ...]:
    """Return the value as if what is not supported earned like the rest; none where nothing is supported.

    Squares of rewards stand for rewards in its variance, which is then no smaller.
    """
    if sums.weight <= 0:
        return ()
    value = sums.reward / sums.weight
    variance = (sums.reward_sq * (1 - 2 * value) + value**2 * sums.weight_sq) / sums.weight**2
    return (PointEstimate("snips", value, *normal_ends(value, variance, delta)),)


def _kish(sums: ValueSums) -> float:
    return sums.chosen.weight**2 / sums.chosen.weight_sq if sums.chosen.weight_sq > 0 else 0.0


def _support(sums: ValueSums) -> Support:
    supported, clipped = sums.supported / sums.events, sums.clipped / sums.events
    decided = min(sums.decided / sums.events, 1.0)
    unsupported = max(decided - supported - clipped, 0.0)
    return Support(supported, clipped, unsupported, max(1 - supported - clipped - unsupported, 0.0))


def _on_supported(sums: ValueSums, delta: float, looks: int, rate: float | None) -> Gain:
    """Return D = sum of u * rewards / T_B with u = probability / propensity - s(x), and its interval.

    Logging itself gains nothing over logging, for certain.
    """
    traffic, share, contested = sums.supported, sums.supported / sums.events, sums.contested / sums.events
    if traffic <= 0:
        return Gain(share, contested, None, None, None, None, None, "finite-sample")
    value, logging = sums.policy_on_supported / traffic, sums.logging_on_supported / traffic
    difference = value - logging
    ends, joint = (
        (0.0, 0.0) if sums.gain is None else gain_ends(sums.gain, level, rate) for level in (delta, delta / looks)
    )
    lower, upper, joint_lower = min(ends[0], difference), max(ends[1], difference), min(joint[0], difference)
    return Gain(share, contested, value, logging, difference, lower, upper, "finite-sample", joint_lower)


def _rho(sums: ValueSums) -> WeightRatio | None:
    if sums.errors is None:
        return None
    shown = sums.supported + sums.clipped
    return WeightRatio(sums.chosen.weight / shown if shown > 0 else 0.0, sums.errors.overweighted / sums.events)


def _error(sums: ValueSums) -> PropensityError | None:
    if sums.errors is None:
        return None
    return PropensityError(paper=sums.errors.paper / sums.events, tight=sums.errors.tight / sums.events)
