"""What policies learned along the way earned: a learning curve with bounds, on the log that they were learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from warmstart.core import Window, counted, quoted
from warmstart.results.amounts import Amounts
from warmstart.results.display import Result, TextTable, fields_of
from warmstart.results.epochs import EpochEstimate
from warmstart.results.estimate import ValueEstimate

# Fewer epochs show no trend.
FEWEST_EPOCHS = 5
TOO_MANY_ROWS = 31
AVERAGE = "Certified ends are about the average of these policies, and hold at the end of every epoch at once."


@dataclass(frozen=True)
class LearningStep:
    """One epoch: how many events the policy was learned from, all of them earlier, and what it earned there."""

    learned_from: int
    epoch: EpochEstimate


@dataclass(frozen=True)
class Trend:
    """What a doubling of the events learned from added to the gain per event; a straight line through epochs."""

    per_doubling: float
    lower: float
    upper: float

    @property
    def words(self) -> str:
        """Say whether more log would help."""
        ends = f"{self.lower:+.3g} to {self.upper:+.3g}"
        span = f"{self.per_doubling:+.3g} per event of all traffic for every doubling, {ends}"
        if self.lower > 0:
            return f"The gain still grows with the log ({span}): more log would help."
        if self.upper < 0:
            return f"The gain falls as the log grows ({span}): the world may drift, or the log lose its support."
        return f"Whether the gain still grows with the log cannot be told from its noise ({span})."


@dataclass(frozen=True, repr=False)
class Progressive(Result):
    """Learning and off-policy evaluation on the same log: each epoch values what was learned before it.

    ``steps``: an epoch each. ``value, lower, upper, gain, gain_lower, gain_upper``: the average over the valued epochs
    of the policies along the way; the ends are certified, though nothing was held out. ``last``: the newest policy, on
    the epochs that it was valued on: an estimate, with the best estimate of all traffic.
    """

    steps: tuple[LearningStep, ...]
    delta: float
    first_learned_from: Window
    every: int
    last: ValueEstimate
    reward_range: tuple[float, float]
    version: str
    trend: Trend | None = None
    guarantee: Literal["finite-sample", "approximate"] = "finite-sample"

    @property
    def value(self) -> float:
        """Return what the policies along the way earned per event of the valued epochs, where supported."""
        return self.steps[-1].epoch.value_so_far

    @property
    def lower(self) -> float | None:
        """Return its certified lower end."""
        return self.steps[-1].epoch.lower_so_far

    @property
    def upper(self) -> float | None:
        """Return the upper end of what they earn where supported."""
        return self.steps[-1].epoch.upper_so_far

    @property
    def gain(self) -> float:
        """Return what they gained over logging, used where supported, per event of all traffic."""
        return self.steps[-1].epoch.gain_so_far

    @property
    def gain_lower(self) -> float | None:
        """Return its certified lower end."""
        return self.steps[-1].epoch.gain_lower_so_far

    @property
    def gain_upper(self) -> float | None:
        """Return its certified upper end."""
        return self.steps[-1].epoch.gain_upper_so_far

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dictionaries, as ``--json`` prints it."""
        along = ("value", "lower", "upper", "gain", "gain_lower", "gain_upper")
        ends = {name: getattr(self, name) for name in along}
        said = {"headline": self.headline, "explanations": self.notes}
        return {**self._head(), "verdict": self.verdict, **fields_of(self), "along_the_way": ends, **said}

    def _rows(self) -> list[dict[str, Any]]:
        return [{"learned_from": step.learned_from, **vars(step.epoch)} for step in self.steps]

    @property
    def tables(self) -> list[TextTable]:
        """Return the learning curve."""
        header = ("epoch", "learned from", "value", "interval", "gain", "gain so far", "interval so far", "supported")
        shown = (
            self.steps if len(self.steps) <= TOO_MANY_ROWS else (*self.steps[:3], *self.steps[-(TOO_MANY_ROWS - 3) :])
        )
        rows = [
            (
                step.epoch.epoch,
                f"{step.learned_from:,}",
                f"{step.epoch.value:.4g}",
                _span(step.epoch.lower, step.epoch.upper, ".4g"),
                f"{step.epoch.gain:+.4g}",
                f"{step.epoch.gain_so_far:+.4g}",
                _span(step.epoch.gain_lower_so_far, step.epoch.gain_upper_so_far, "+.4g"),
                f"{step.epoch.supported:.1%}",
            )
            for step in shown
        ]
        title = f"Learning curve, per event ({100 * (1 - self.delta):.6g} % confidence)"
        if len(shown) < len(self.steps):
            title += f"; {len(self.steps) - len(shown):,} epochs in the middle are left out here"
        return [TextTable(title, header, rows, left=1)]

    @property
    def verdict(self) -> str:
        """Say in one sentence whether what is learned from this log beats logging."""
        if self.gain_lower is None or self.gain_upper is None:
            return "Nothing is certified of what was learned along the way: units come back in later epochs."
        amounts = Amounts(1, "event", None)
        span = f"{amounts.bound(self.gain_lower, 1)} to {amounts.bound(self.gain_upper, -1)}"
        who = "On average the policies learned along the way, used where supported,"
        if self.gain_lower > 0:
            return f"{who} earn {self.gain:.4g} more per event than logging (certified: {span})."
        if self.gain_upper < 0:
            return f"{who} earn {-self.gain:.4g} less per event than logging (certified: {span})."
        return f"{who} cannot be told from logging: {self.gain:+.4g} per event (certified: {span})."

    @property
    def headline(self) -> list[str]:
        """Return whether what is learned from this log beats logging."""
        return [f"VERDICT: {self.verdict}"]

    @property
    def notes(self) -> list[str]:
        """Return in plain words what the numbers are and what they rest on."""
        best, estimate = self.last.best, self.last
        often = "every epoch" if self.every == 1 else f"every {self.every} epochs"
        epochs = (
            f"Each of {counted(len(self.steps), 'epoch')} values the policy that was learned from all events before"
        )
        lines = [
            *([] if self.trend is None else [self.trend.words]),
            f"{epochs} it (learned anew {often}): no event is held out, and no policy saw the rewards it is valued by.",
            f"The first policy was learned from {self.first_learned_from}. {AVERAGE}",
        ]
        if best is not None:
            ends = _span(best.lower, best.upper, ".4g")
            lines.append(
                f"The newest policy ({quoted(estimate.policy)}) is estimated to earn {best.value:.4g} per event of all "
                f"traffic {ends} ({best.estimator}, approximate), on the {estimate.events:,} events it was valued on."
            )
        lines.append(
            "It rests on this: the context columns hold everything the logging policy used that also predicts the "
            "reward, and nothing inside an epoch reacts to rewards inside it; later epochs may."
        )
        return lines


def trend_of(steps: tuple[LearningStep, ...], delta: float) -> Trend | None:
    """Fit a straight line through the gains of epochs against the logarithm of the events learned from.

    Epochs count by their events; the interval is that of least squares (Student's t). None where there are too few.
    """
    from scipy.stats import t

    sizes = np.log2([step.learned_from for step in steps])
    if len(steps) < FEWEST_EPOCHS or np.ptp(sizes) <= 0:
        return None
    weights = np.array([step.epoch.events for step in steps], dtype=np.float64)
    gains = np.array([step.epoch.gain for step in steps])
    weights /= weights.mean()
    centred = sizes - np.average(sizes, weights=weights)
    spread = float((weights * centred**2).sum())
    slope = float((weights * centred * gains).sum()) / spread
    left = gains - np.average(gains, weights=weights) - slope * centred
    free = len(steps) - 2
    error = float(np.sqrt((weights * left**2).sum() / free / spread)) * float(t.ppf(1 - delta / 2, free))
    return Trend(slope, slope - error, slope + error)


def _span(lower: float | None, upper: float | None, shape: str) -> str:
    return "-" if lower is None or upper is None else f"[{lower:{shape}}, {upper:{shape}}]"
