"""Trade-offs: the reward against each further outcome, over all prices of one unit of it.

With the reward's improvement g and the other outcome's change for the worse c, a policy is worth g - p * c at price p.
Over all prices, the best of several policies and logging are those on the upper hull of (c, g); mixtures of two
neighbours lie between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmstart.core import Outcome
    from warmstart.results.estimate import ValueEstimate
    from warmstart.results.evaluation import Evaluation

# Its change of either outcome against itself.
LOGGING = (0.0, 0.0)
Prices = tuple[float | None, float | None]
NEVER: Prices = (None, None)
ALWAYS = (0.0, float("inf"))


@dataclass(frozen=True)
class Tradeoff:
    """What a policy does to the reward and to one other outcome, and at which prices of that it is worth it.

    ``gain`` and ``rise``: the estimated changes of the two against logging, per event of all traffic, each with its own
    sign. ``worth_from``, ``worth_until``: the prices between which it is estimated to be worth more than logging; both
    None if at none; ``inf`` where the price is without end. ``proven_from``, ``proven_until``: the same, proven of the
    policy where the log supports it and logging elsewhere, at all prices, for all policies and taus at once.
    ``best_from``, ``best_until``: the prices between which it is estimated to be the best of all policies and logging.
    """

    policy: str
    tau: float
    outcome: str
    gain: float
    rise: float
    worth_from: float | None
    worth_until: float | None
    proven_from: float | None
    proven_until: float | None
    best_from: float | None
    best_until: float | None


def tradeoffs(evaluation: Evaluation) -> list[Tradeoff]:
    """Return the trade-offs of the reward against every further outcome; what a utility weighs has its price."""
    found: list[Tradeoff] = []
    for outcome in evaluation.outcomes[1:]:
        if outcome.name not in evaluation.reward.parts:
            others = {(one.policy, one.tau): one for one in evaluation.others if one.outcome == outcome.name}
            pairs = [(one, others[one.policy, one.tau]) for one in evaluation.policies if not one.is_logging]
            found += _against(pairs, evaluation.reward, outcome)
    return found


def _against(pairs: list[tuple[ValueEstimate, ValueEstimate]], reward: Outcome, outcome: Outcome) -> list[Tradeoff]:
    changes = [(gain, rise, change(gain), change(rise)) for gain, rise in pairs]
    known = [(gain, rise, g, c) for gain, rise, g, c in changes if g is not None and c is not None]
    points = [_improvement(g, c, reward, outcome) for *_, g, c in known]
    every = [*points, LOGGING]
    return [
        Tradeoff(
            *(gain.policy, gain.tau, outcome.name, g, c),
            *worth_prices(*point),
            *_proven_prices(gain, rise, reward, outcome),
            *best_prices(*point, every),
        )
        for (gain, rise, g, c), point in zip(known, points, strict=True)
    ]


def change(estimate: ValueEstimate) -> float | None:
    """Return the estimated change of an outcome against logging; the certified one where there is none."""
    estimated, certified = estimate.gain.estimated, estimate.gain.certified
    if estimated is not None:
        return estimated.difference
    return None if certified is None else certified.difference


def frontier(found: Sequence[Tradeoff], reward: Outcome, outcome: Outcome) -> list[tuple[float, float]]:
    """Return the changes, of policies or logging, that are best at some price, by that of the outcome.

    Args:
        found: All trade-offs against the outcome.
        reward: What policies are judged by.
        outcome: The other outcome.
    """
    points = [_improvement(one.gain, one.rise, reward, outcome) for one in found]
    best = {(one.gain, one.rise) for one in found if one.best_from is not None}
    best |= set() if best_prices(*LOGGING, points) == NEVER else {LOGGING}
    return sorted(best, key=lambda point: point[1])


def _improvement(gain: float, rise: float, reward: Outcome, outcome: Outcome) -> tuple[float, float]:
    """Return the reward's change for the better and the other outcome's for the worse."""
    return reward.sign * gain, -outcome.sign * rise


def worth_prices(g: float, c: float) -> Prices:
    """Return the prices above zero between which g - price * c is above zero.

    >>> worth_prices(0.2, 0.1), worth_prices(-0.2, -0.1), worth_prices(0.2, -0.1), worth_prices(-0.2, 0.1)
    ((0.0, 2.0), (2.0, inf), (0.0, inf), (None, None))
    """
    if c > 0:
        return (0.0, g / c) if g > 0 else NEVER
    if c < 0:
        return (0.0 if g >= 0 else g / c, ALWAYS[1])
    return ALWAYS if g > 0 else NEVER


def best_prices(g: float, c: float, points: Sequence[tuple[float, float]]) -> Prices:
    """Return the prices, zero or above, between which (g, c) is no worse than every point."""
    low, high = ALWAYS
    for gain, rise in points:
        # Up to, or from, the price at which the two are worth the same.
        less, dearer = g - gain, c - rise
        if dearer > 0:
            high = min(high, less / dearer)
        elif dearer < 0:
            low = max(low, less / dearer)
        elif less < 0:
            return NEVER
    return (low, high) if low <= high else NEVER


def _proven_prices(gain: ValueEstimate, rise: ValueEstimate, reward: Outcome, outcome: Outcome) -> Prices:
    """Return the prices at which a policy is worth it even at the worst joint ends of both changes."""
    worst = _worst_end(gain, reward), _worst_end(rise, outcome)
    if worst[0] is None or worst[1] is None:
        return NEVER
    return worth_prices(*_improvement(worst[0], worst[1], reward, outcome))


def _worst_end(estimate: ValueEstimate, outcome: Outcome) -> float | None:
    certified = estimate.gain.certified
    if certified is None:
        return None
    return certified.joint_upper if outcome.minimize else certified.joint_lower
