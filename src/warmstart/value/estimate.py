"""From sums over cells to an estimate with its interval, its bias and its support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from warmstart.core.estimate import OnSupported, PropensityError, Rho, Support, ValueEstimate
from warmstart.core.interval import IntervalName
from warmstart.value.intervals import interval, normal_ends
from warmstart.value.sums import ValueSums, fetch_sums

if TYPE_CHECKING:
    from warmstart.core.names import WindowName
    from warmstart.events import Cells
    from warmstart.policy import Policy


def estimate_value(
    policy: Policy,
    cells: Cells,
    *,
    taus: Sequence[float],
    delta: float = 0.05,
    method: IntervalName = "kl",
    weights_from: WindowName = "evaluated",
    looks: int = 1,
    rate: float | None = None,
) -> list[ValueEstimate]:
    """Estimate what a policy would have earned on events it did not choose, one estimate a tau.

    Mean over events of ``reward * probability / max(propensity, tau)`` (paper, Eq. 2). It falls short where the
    propensity is below ``tau``; the estimate carries how often that is. ``looks`` is how many estimates share delta
    in the joint interval; ``rate`` is the mean reward that was known before the window, if any.
    """
    sums = fetch_sums(policy, cells, taus=taus, weights_from=weights_from, spread=method == "bets")
    scale = cells.evaluated.log.reward_range
    estimates = []
    for tau, sum_ in zip(taus, sums, strict=True):
        bound = 1.0 if policy.is_logging else 1 / tau
        terms = sum_.chosen.terms(sum_.events, bound, rate)
        ends = interval(terms, delta=delta, method=method)
        joint = interval(terms, delta=delta / looks, method=method)
        certified = interval(sum_.own.terms(sum_.events, bound, rate), delta=delta, method=method)
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
            on_supported=_on_supported(sum_, delta),
            rho=_rho(sum_),
            propensity_error=_error(sum_),
        )
        estimates.append(estimate.scaled(scale))
    return estimates


def _kish(sums: ValueSums) -> float:
    return sums.chosen.weight**2 / sums.chosen.weight_sq if sums.chosen.weight_sq > 0 else 0.0


def _support(sums: ValueSums) -> Support:
    supported, clipped = sums.supported / sums.events, sums.clipped / sums.events
    decided = min(sums.decided / sums.events, 1.0)
    unsupported = max(decided - supported - clipped, 0.0)
    return Support(supported, clipped, unsupported, max(1 - supported - clipped - unsupported, 0.0))


def _on_supported(sums: ValueSums, delta: float) -> OnSupported:
    """Return D = sum of u * rewards / T_B with u = probability / propensity - s(x), and its normal interval.

    Without a single reward there is nothing to tell a spread from, and no interval.
    """
    traffic, share, contested = sums.supported, sums.supported / sums.events, sums.contested / sums.events
    if traffic <= 0:
        return OnSupported(share, contested, None, None, None, None, None, "approximate")
    value, logging = sums.policy_on_supported / traffic, sums.logging_on_supported / traffic
    if sums.policy_on_supported == sums.logging_on_supported == 0:
        return OnSupported(share, contested, value, logging, 0.0, None, None, "approximate")
    lower, upper = normal_ends(value - logging, sums.difference_sq / traffic**2, delta)
    return OnSupported(share, contested, value, logging, value - logging, lower, upper, "approximate")


def _rho(sums: ValueSums) -> Rho | None:
    if sums.errors is None:
        return None
    shown = sums.supported + sums.clipped
    return Rho(sums.chosen.weight / shown if shown > 0 else 0.0, sums.errors.overweighted / sums.events)


def _error(sums: ValueSums) -> PropensityError | None:
    if sums.errors is None:
        return None
    return PropensityError(paper=sums.errors.paper / sums.events, tight=sums.errors.tight / sums.events)
