"""Trade-offs: more of the reward against more of an outcome that should be small, over all prices of it.

At a price p of one unit of the outcome a policy is worth gain - p * rise. Over all prices, the best of several policies
and logging are those on the upper hull of (rise, gain); mixtures of two neighbours lie between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmstart.results.estimate import ValueEstimate
    from warmstart.results.evaluation import Evaluation

# Its gain over itself, and its rise.
LOGGING = (0.0, 0.0)


@dataclass(frozen=True)
class Tradeoff:
    """What a policy does to the reward and to one other outcome, and at which prices of that it is worth it.

    ``gain`` and ``rise`` are estimated, per event of all traffic. ``break_even``: the price at which they cancel; None
    where no price does. ``certified_break_even``: at any price below this it is proven to be worth it, the lower end of
    the gain over the upper end of the rise; ``inf`` where it is at every price, None where nothing is proven at any.
    ``best_from``, ``best_until``: the prices between which it is the best of all policies and logging; None if never.
    """

    policy: str
    tau: float
    outcome: str
    gain: float
    rise: float
    break_even: float | None
    certified_break_even: float | None
    best_from: float | None
    best_until: float | None


def tradeoffs(evaluation: Evaluation) -> list[Tradeoff]:
    """Return the trade-offs of the reward against other outcomes that should be small; a utility has its own prices."""
    found: list[Tradeoff] = []
    if evaluation.reward.minimize:
        return found
    for outcome in evaluation.outcomes[1:]:
        if outcome.minimize and outcome.name not in evaluation.reward.parts:
            rises = {(one.policy, one.tau): one for one in evaluation.others if one.outcome == outcome.name}
            pairs = [(one, rises[one.policy, one.tau]) for one in evaluation.policies if not one.is_logging]
            found += _against(pairs, outcome.name)
    return found


def _against(pairs: list[tuple[ValueEstimate, ValueEstimate]], outcome: str) -> list[Tradeoff]:
    points = [(change(gain), change(rise)) for gain, rise in pairs]
    known = [(g, c) for g, c in points if g is not None and c is not None]
    found = []
    for (gain, rise), (g, c) in zip(pairs, points, strict=True):
        if g is None or c is None:
            continue
        even = g / c if c and g / c >= 0 else None
        best = best_prices(g, c, [*known, LOGGING])
        found.append(Tradeoff(gain.policy, gain.tau, outcome, g, c, even, _certified(gain, rise), *best))
    return found


def change(estimate: ValueEstimate) -> float | None:
    """Return the estimated change of an outcome against logging; the certified one where there is none."""
    estimated, certified = estimate.gain.estimated, estimate.gain.certified
    if estimated is not None:
        return estimated.difference
    return None if certified is None else certified.difference


def frontier(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return those of (gain, rise), logging among them, that are best at some price, by rise; mixtures lie between."""
    every = [*points, LOGGING]
    best = {point for point in every if best_prices(*point, every)[0] is not None}
    return sorted(best, key=lambda point: point[1])


def best_prices(g: float, c: float, points: Sequence[tuple[float, float]]) -> tuple[float | None, float | None]:
    """Return the prices, zero or above, between which (g, c) is no worse than every point."""
    low, high = 0.0, float("inf")
    for gain, rise in points:
        # Up to, or from, the price at which the two are worth the same.
        less, dearer = g - gain, c - rise
        if dearer > 0:
            high = min(high, less / dearer)
        elif dearer < 0:
            low = max(low, less / dearer)
        elif less < 0:
            return None, None
    return (low, high) if low <= high else (None, None)


def _certified(gain: ValueEstimate, rise: ValueEstimate) -> float | None:
    gains, rises = gain.gain.certified, rise.gain.certified
    if gains is None or rises is None or gains.joint_lower is None or rises.joint_upper is None:
        return None
    if gains.joint_lower < 0:
        return None
    return gains.joint_lower / rises.joint_upper if rises.joint_upper > 0 else float("inf")
