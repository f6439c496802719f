"""The value of a policy (IPS estimate), its confidence interval, and everything that must be shown with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from warmstart.results.display import Unbounded, fields_of, plain
from warmstart.results.doubt import Doubt
from warmstart.results.epochs import EpochEstimate
from warmstart.results.guards import GuardResult
from warmstart.results.propensities import Alarms

IntervalName = Literal["kl", "hoeffding", "bernstein", "bets", "gamma", "bootstrap"]
Guarantee = Literal["finite-sample", "approximate"]
Tau = float | Literal["auto"]
BEST_FIRST = ("dr", "shrunk-dr", "switch-dr", "snips", "dm", "ips")
# The estimates that rest on weights alone.
PLAIN = ("ips", "snips")
GAIN_ENDS = "difference lower upper joint_lower joint_upper"


@dataclass(frozen=True)
class Interval:
    """Two ends, each wrong with probability at most delta / 2 (about that, where approximate)."""

    lower: float
    upper: float
    delta: float
    method: str
    guarantee: Guarantee


@dataclass(frozen=True)
class PointEstimate:
    """A point estimate of a policy's value on all traffic, unsupported traffic included; its interval is approximate.

    It is no bound. ``on_model``: the share of the traffic where a reward model stands alone; where it is above zero the
    interval is conditional on the model: it holds if actions that were not shown differ from what the model expects as
    left-out shown ones do. No ends: nothing is known of its error, as without overlap.
    """

    estimator: str
    value: float
    lower: float | None
    upper: float | None
    on_model: float = 0.0


@dataclass(frozen=True)
class Support:
    """Shares of the traffic by what the window knows of the action chosen there (overlap); they sum to 1.

    supported: propensity >= tau; clipped: shown, but more rarely; unsupported: never shown in that context in this
    window; undecided: the policy says nothing.
    """

    supported: float
    clipped: float
    unsupported: float
    undecided: float


@dataclass(frozen=True)
class CertifiedGain:
    """What "this policy where it is supported, logging elsewhere" gains over logging, with finite-sample bounds.

    ``difference`` and its ends are per event of all traffic; ``joint_lower`` and ``joint_upper`` hold for all policies
    and taus at once. ``value`` and ``logging`` are what the two earn per event of the traffic where the policy
    is supported, a ``share`` of all; ``contested`` is the share of all traffic that is supported and lies in contexts
    with more than one action: elsewhere the two cannot differ. ``relative``: joint ends of the change as a share of
    logging's mean, where a guard asked for them and one test could tell.
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
    joint_upper: float | None = None
    relative: tuple[float, Unbounded] | None = None

    def uncertified(self) -> CertifiedGain:
        """Return the gain of a policy about which nothing is proven: its ends are withheld."""
        plain = replace(self, guarantee="approximate", lower=None, upper=None)
        return replace(plain, joint_lower=None, joint_upper=None, relative=None)


@dataclass(frozen=True)
class EstimatedGain:
    """The best estimate of a policy less what logging earned, per event of all traffic; its interval is approximate.

    Where the policy says nothing it does as logging does. ``on_model``: as for the best estimate.
    """

    estimator: str
    difference: float
    lower: float | None
    upper: float | None
    on_model: float = 0.0


@dataclass(frozen=True)
class Gain:
    """The policy against logging (lift): what is certain on supported traffic, and the best estimate on all of it.

    ``certified`` is None where propensities prove nothing, ``estimated`` where no doubly robust estimate was asked for.
    """

    certified: CertifiedGain | None
    estimated: EstimatedGain | None

    @property
    def decisive(self) -> CertifiedGain | EstimatedGain | None:
        """Return the gain to look at first: the certified one, if there is one with ends."""
        if self.certified is not None and self.certified.lower is not None:
            return self.certified
        return self.estimated or self.certified


@dataclass(frozen=True)
class PropensityError:
    """How far propensities of another window can move the estimate: Lemma 3.1's term, and the same without slack."""

    paper: float
    tight: float


@dataclass(frozen=True)
class WeightRatio:
    """The window's own propensity divided by the one used: the factor each chosen action's reward gets.

    ``mean``: over the traffic whose chosen action was shown; ``above_one``: share of all traffic that is counted too
    much. ``value``: what these propensities make of the clipped value, whatever an alarm says of them, and even beyond
    the range of rewards; ``own_value``: the clipped value with the window's own. The difference is the bias.
    """

    mean: float
    above_one: float
    value: float
    own_value: float


@dataclass(frozen=True)
class TauPoint:
    """What one tau would cost: the share of traffic lost to clipping, the standard error, and both as an error."""

    tau: float
    lost: float
    standard_error: float
    error: float


@dataclass(frozen=True)
class TauChoice:
    """The tau (clipping constant) of least expected error, and the errors of those it was chosen among.

    Rewards were taken to come at ``rate`` (in [0, 1]), that of the training window or one minus it, whichever is
    smaller, if ``rate_is_known``; else the tau is the one whose error is the smallest multiple of the best tau's at any
    rate, and ``curve`` shows errors at a middling one. The rewards of the evaluated window had no say, so intervals
    need no allowance for the choice; but for propensities that are not counted, where nothing is certified: there the
    rate is that of what the policy matched.
    """

    tau: float
    rate: float
    rate_is_known: bool
    curve: tuple[TauPoint, ...]


@dataclass(frozen=True)
class ValueEstimate:
    """What a policy would have earned (off-policy estimate), how sure that is, and which traffic it rests on.

    ``value`` is the mean of reward * probability / max(propensity, tau), the clipped IPS estimate; ``lower`` and
    ``upper`` bound its expectation given contexts and actions, and are None where propensities are counts of another
    window, which bend it (``weight_ratio``); ``joint_lower`` and ``joint_upper`` hold for all
    policies and taus at once. ``certified_lower`` and ``certified_upper`` bound the expected earnings on this window's
    traffic; None where no guarantee holds. ``mean_weight``: over the decided share, of propensities that are not
    this window's counts; 1 where they are true. ``withheld``: the code of an alarm because of which there is no value.
    ``units``: how many the window has, if they were named. ``by_epoch``: where propensities are counted within epochs,
    what each of these says, and what is known at its end. ``outcome``: what is valued; ``known``: the share of events
    in which it is. Where that is below 1, values and estimates are of these events, and bounds of all, unknown outcomes
    being the worst that they could be. ``guards``: which limits on outcomes are proven to be kept.
    ``segment``: the part of the traffic that the estimate is of, by its values of the segments' columns; None for all.
    ``share``: how much of the traffic that is. ``doubt``: what hidden segments could do to the gain.
    """

    policy: str
    tau: float
    value: float | None
    lower: float | None
    upper: float | None
    delta: float
    interval: str
    guarantee: Guarantee
    joint_lower: float | None
    joint_upper: float | None
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
    mean_weight: float | None = None
    withheld: str | None = None
    units: int | None = None
    by_epoch: tuple[EpochEstimate, ...] = ()
    outcome: str = "reward"
    known: float = 1.0
    guards: tuple[GuardResult, ...] = ()
    segment: tuple[str, ...] | None = None
    share: float = 1.0
    doubt: Doubt | None = None

    @property
    def best(self) -> PointEstimate | None:
        """Return the best estimate: the point estimate to look at first."""
        named = {point.estimator: point for point in self.estimates}
        return next((named[name] for name in BEST_FIRST if name in named), None)

    @property
    def without_overlap(self) -> bool:
        """Tell whether the best estimate is mostly a reward model's word, and has no interval for that."""
        best, decided = self.best, 1 - self.support.undecided
        unsure = best is not None and best.lower is None and best.estimator != "dm"
        return unsure and best is not None and best.on_model >= decided / 2

    def with_estimates(self, estimates: Iterable[PointEstimate], reward_range: tuple[float, float]) -> ValueEstimate:
        """Return the estimate with point estimates of all traffic in place of its own."""
        low, high = reward_range
        scaled = (_scaled(point, low, high - low, levels="value lower upper") for point in estimates)
        return replace(self, estimates=tuple(scaled))

    def judged(self, alarms: Alarms) -> ValueEstimate:
        """Return the estimate with what its weights say of the propensities; where they ring, without its value."""
        judged = replace(self, mean_weight=alarms.mean_weight, withheld=alarms.code if alarms.rings else None)
        if self.is_logging or not alarms.rings:
            return judged
        others = tuple(point for point in self.estimates if point.estimator not in PLAIN)
        return replace(judged, value=None, lower=None, upper=None, joint_lower=None, joint_upper=None, estimates=others)

    def between(self, low: ValueEstimate, high: ValueEstimate, known: float) -> ValueEstimate:
        """Return the estimate with the bounds of two others, in which the worst and the best stand for what is unknown.

        Args:
            low: The same with the lowest possible value for every null; its gain has the worst.
            high: The same with the highest possible value; its gain has the best.
            known: The share of events in which the outcome is known.
        """
        gain, below, above = self.gain.certified, low.gain.certified, high.gain.certified
        if gain is not None and below is not None and above is not None:
            gain = replace(gain, lower=below.lower, joint_lower=below.joint_lower)
            gain = replace(gain, upper=above.upper, joint_upper=above.joint_upper)
        return replace(
            self,
            known=known,
            **{name: getattr(low, name) for name in ("lower", "joint_lower", "certified_lower")},
            **{name: getattr(high, name) for name in ("upper", "joint_upper", "certified_upper")},
            events=low.events,
            support=low.support,
            gain=replace(self.gain, certified=gain),
            doubt=None,
        )

    def uncertified(self) -> ValueEstimate:
        """Return the estimate of a policy that saw these rewards before: nothing about it is proven at any time."""
        certified = self.gain.certified and self.gain.certified.uncertified()
        gain, likely = replace(self.gain, certified=certified), self.gain.estimated
        doubt = None if self.doubt is None or likely is None else self.doubt.uncertified(likely.lower, likely.upper)
        epochs = tuple(epoch.uncertified() for epoch in self.by_epoch)
        plain = replace(self, guarantee="approximate", gain=gain, by_epoch=epochs)
        return replace(plain, certified_lower=None, certified_upper=None, doubt=doubt)

    def scaled(self, reward_range: tuple[float, float]) -> ValueEstimate:
        """Return the estimate on the user's own scale of rewards."""
        low, width = reward_range[0], reward_range[1] - reward_range[0]
        if (low, width) == (0.0, 1.0):
            return self
        levels = "value lower upper joint_lower joint_upper certified_lower certified_upper"
        certified, estimated, ends = self.gain.certified, self.gain.estimated, GAIN_ENDS
        certified = certified and _scaled(certified, low, width, levels="value logging", differences=ends)
        estimated = estimated and _scaled(estimated, low, width, differences="difference lower upper")
        gain = Gain(certified, estimated)
        error = self.propensity_error and _scaled(self.propensity_error, low, width, differences="paper tight")
        ratio = self.weight_ratio and _scaled(self.weight_ratio, low, width, levels="value own_value")
        epochs = tuple(epoch.scaled(low, width) for epoch in self.by_epoch)
        scaled = _scaled(self, low, width, levels=levels)
        doubt = self.doubt and self.doubt.scaled(width)
        scaled = replace(scaled, gain=gain, propensity_error=error, weight_ratio=ratio, by_epoch=epochs, doubt=doubt)
        return scaled.with_estimates(self.estimates, reward_range)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON shows it; non-finite numbers are None."""
        return {**fields_of(self), "best": plain(self.best)}

    def row(self) -> dict[str, Any]:
        """Return the estimate as one flat row of a data frame."""
        own = (
            "policy",
            "outcome",
            "tau",
            "value",
            "lower",
            "upper",
            "certified_lower",
            "certified_upper",
            "joint_lower",
        )
        about = ("joint_upper", "delta", "interval", "guarantee", "events", "matched", "effective_sample_size")
        certified, estimated, best = self.gain.certified, self.gain.estimated, self.best
        ends = ("difference", "lower", "upper")
        return {
            **{name: getattr(self, name) for name in (*own, *about)},
            **fields_of(self.support),
            **{f"certified_gain_{name}": certified and getattr(certified, name) for name in GAIN_ENDS.split()},
            **{f"estimated_gain_{name}": estimated and getattr(estimated, name) for name in ends},
            "contested": certified and certified.contested,
            "best": None if best is None else best.value,
            **{f"best_{name}": best and getattr(best, name) for name in ("lower", "upper", "estimator", "on_model")},
            "mean_weight": self.mean_weight,
            "withheld": self.withheld,
            "units": self.units,
            "known": self.known,
            "segment": None if self.segment is None else ", ".join(self.segment),
            "share": self.share,
        }


_Record = TypeVar("_Record", PointEstimate, CertifiedGain, EstimatedGain, PropensityError, WeightRatio, ValueEstimate)


def _scaled(record: _Record, low: float, width: float, *, levels: str = "", differences: str = "") -> _Record:
    """Return a record whose levels v become low + width * v, and differences width * v; what is None stays so."""
    starts = dict.fromkeys(levels.split(), low) | dict.fromkeys(differences.split(), 0.0)
    values = {name: getattr(record, name) for name in starts}
    changed: Any = {name: starts[name] + width * value for name, value in values.items() if value is not None}
    return replace(record, **changed)
