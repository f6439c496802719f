"""The value of a policy, and everything that must be shown beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from math import isfinite
from typing import Any

from warmstart.results.interval import Guarantee
from warmstart.results.point_estimate import PointEstimate
from warmstart.results.tau import TauChoice

BEST_FIRST = ("dr", "shrunk-dr", "switch-dr", "snips", "dm", "ips")


@dataclass(frozen=True)
class Support:
    """Shares of the traffic by what the window knows of the action chosen there; they sum to 1.

    supported: propensity >= tau; clipped: shown, but more rarely; unsupported: never shown in that context in this
    window; undecided: the policy says nothing.
    """

    supported: float
    clipped: float
    unsupported: float
    undecided: float


@dataclass(frozen=True)
class Gain:
    """The policy against logging on the traffic where the policy is supported.

    ``difference`` is the gain over logging per event of that traffic; ``contested`` is the share of all traffic that
    is supported and lies in contexts with more than one action: elsewhere the two cannot differ. ``joint_lower`` holds
    for all rows of the table at once.
    """

    share: float
    contested: float
    value: float | None
    logging: float | None
    difference: float | None
    lower: float | None
    upper: float | None
    guarantee: Guarantee
    joint_lower: float | None = None

    def scaled(self, low: float, width: float) -> Gain:
        """Return the comparison with rewards r in [0, 1] shown as low + width * r."""
        changed: dict[str, Any] = {}
        starts = {"value": low, "logging": low, "difference": 0.0, "lower": 0.0, "upper": 0.0, "joint_lower": 0.0}
        for name, start in starts.items():
            value = getattr(self, name)
            changed[name] = None if value is None else start + width * value
        return replace(self, **changed)


@dataclass(frozen=True)
class PropensityError:
    """How far propensities of another window can move the estimate: Lemma 3.1's term, and the same without slack."""

    paper: float
    tight: float


@dataclass(frozen=True)
class WeightRatio:
    """The ratio of the window's own propensity to the one used: the factor each chosen action's reward gets.

    ``mean``: over the traffic whose chosen action was shown; ``above_one``: share of all traffic that is counted too
    much.
    """

    mean: float
    above_one: float


@dataclass(frozen=True)
class ValueEstimate:
    """What a policy would have earned, how sure that is, and which traffic it rests on.

    ``value`` is the mean of reward * probability / max(propensity, tau); ``lower`` and ``upper`` bound its expectation
    given contexts and actions; ``joint_lower`` and ``joint_upper`` hold for all rows of the table at once.
    ``certified_lower`` and ``certified_upper`` bound the expected earnings on this window's traffic; None where no
    guarantee holds.
    """

    policy: str
    tau: float
    value: float
    lower: float
    upper: float
    delta: float
    interval: str
    guarantee: Guarantee
    joint_lower: float
    joint_upper: float
    events: int
    matched: int
    effective_sample_size: float
    support: Support
    certified_lower: float | None
    certified_upper: float | None
    gain: Gain
    weight_ratio: WeightRatio | None
    propensity_error: PropensityError | None
    is_logging: bool = False
    tau_choice: TauChoice | None = None
    estimates: tuple[PointEstimate, ...] = ()

    @property
    def best(self) -> PointEstimate | None:
        """Return the point estimate to look at first."""
        named = {point.estimator: point for point in self.estimates}
        return next((named[name] for name in BEST_FIRST if name in named), None)

    def with_estimates(self, estimates: Iterable[PointEstimate], reward_range: tuple[float, float]) -> ValueEstimate:
        """Return the estimate with point estimates of the whole in place of its own."""
        low, high = reward_range
        return replace(self, estimates=tuple(point.scaled(low, high - low) for point in estimates))

    def uncertified(self) -> ValueEstimate:
        """Return the estimate of a policy that saw these rewards before: nothing about it is proven."""
        compared = replace(self.gain, guarantee="approximate", joint_lower=None)
        ends: dict[str, Any] = {"certified_lower": None, "certified_upper": None}
        return replace(self, guarantee="approximate", gain=compared, **ends)

    def scaled(self, reward_range: tuple[float, float]) -> ValueEstimate:
        """Return the estimate on the user's own scale of rewards."""
        low, high = reward_range
        if (low, high) == (0.0, 1.0):
            return self
        width = high - low

        def moved(value: float | None) -> float | None:
            return None if value is None else low + width * value

        levels = ("value", "lower", "upper", "joint_lower", "joint_upper", "certified_lower", "certified_upper")
        changed: dict[str, Any] = {name: moved(getattr(self, name)) for name in levels}
        changed["gain"] = self.gain.scaled(low, width)
        changed["estimates"] = tuple(point.scaled(low, width) for point in self.estimates)
        if self.propensity_error is not None:
            error = self.propensity_error
            changed["propensity_error"] = PropensityError(width * error.paper, width * error.tight)
        return replace(self, **changed)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON shows it; what is not finite is None."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, TauChoice | PointEstimate):
        return value.to_dict()
    if isinstance(value, Support | Gain | PropensityError | WeightRatio):
        return {name: _plain(part) for name, part in asdict(value).items()}
    return value
