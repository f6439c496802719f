"""Where the propensities of an evaluation came from, and how good they are."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, Self, get_args

from warmstart.core import shortened
from warmstart.results.display import Result, TextTable, Unbounded, fields_of

SourceName = Literal["counts", "train", "all", "back-off", "model", "mixture", "logged"]
SOURCE_NAMES: tuple[SourceName, ...] = get_args(SourceName)
WORDS: dict[SourceName, str] = {
    "counts": "counted in the evaluated window",
    "train": "counted in the training window",
    "all": "counted in all data (the paper's choice)",
    "back-off": "counted, rare contexts borrowing from coarser ones",
    "model": "from a model of the context columns, cross-fitted",
    "mixture": "from models of the context columns, one for every epoch, cross-fitted",
    "logged": "as logged",
}
# What sources are compared with, and no evaluation takes: an action's share of all events, and the same for all.
REFERENCES = ("shares", "uniform")
# A mean weight that is further from 1 rings, if it is by more than three standard errors. A log-loss below is none.
SHARE, NONE = 0.05, 1e-9


@dataclass(frozen=True)
class PropensitySource:
    """The source of propensities in use, why, and what is known of its quality.

    ``log_loss``: the mean of -log(propensity) of what was shown, under counts or models that never saw the event (as
    logged, for logged ones). ``estimated_log_loss``: the same for counts with back-off, to compare logged ones with.
    ``without``: share of events that have no propensity. ``too_heavy``: actions whose logged propensities cannot be
    right, because their weights add up to more than the traffic. ``epoch``: what an epoch is, if counts are within
    epochs.
    """

    name: SourceName
    reason: str
    log_loss: float | None = None
    estimated_log_loss: float | None = None
    without: float = 0.0
    too_heavy: int = 0
    detail: str = ""
    epoch: str | None = None

    @property
    def certified(self) -> bool:
        """Tell whether the value's own interval is a certified bound: only with counts of the evaluated window."""
        return self.name == "counts"

    @property
    def counted(self) -> bool:
        """Tell whether propensities are the plain counts of a window."""
        return self.name in ("counts", "train", "all")

    @property
    def words(self) -> str:
        """Say where the propensities come from."""
        within = "" if self.epoch is None else f", within epochs ({self.epoch} each)"
        return WORDS[self.name] + within

    @property
    def notes(self) -> list[str]:
        """Say which source was used, why, and what is known of it; nothing if it is plain counts."""
        if self.counted:
            return []
        line = f"Propensities: {self.words}, because {self.reason}."
        if self.log_loss is not None:
            estimated = self.estimated_log_loss
            other = "" if estimated is None else f" (counts with back-off: {estimated:.4f})"
            line += f" Log-loss of what was shown: {self.log_loss:.4f}{other}.{self.detail}"
        lines = [line]
        if self.too_heavy:
            lines.append(
                f"WARNING: the logged propensities of {self.too_heavy:,} actions are too small: the weights of each "
                "add up to more than all traffic. Was another number logged? (WS212)"
            )
        if self.without > 0:
            lines.append(f"{self.without:.2%} of events have no propensity (an action the model never saw): weight 0.")
        lines.append(
            "With such propensities nothing is certified: their own error is not known, and shares of traffic are "
            "estimated by the weights."
        )
        return lines


@dataclass(frozen=True)
class Imbalance:
    """A feature whose weighted mean is not that of the traffic, in standard deviations of the feature."""

    feature: str
    difference: float
    standard_error: float


@dataclass(frozen=True)
class Alarms:
    """Whether a policy's importance weights reproduce the traffic that it decides.

    ``mean_weight``: over the decided share, 1 where propensities are true. ``imbalances``: features of contexts that
    are out of balance, the worst first. ``rings``: whether plain weighting (ips, snips) is not to be trusted; ``code``:
    then WS105 (mean weight) or WS106 (balance); ``text``: what rings, and what to do.
    """

    mean_weight: float
    standard_error: float
    imbalances: tuple[Imbalance, ...] = ()
    rings: bool = False
    code: Literal["WS105", "WS106"] | None = None
    text: str = ""

    @classmethod
    def of(
        cls,
        mean_weight: float,
        standard_error: float,
        imbalances: tuple[Imbalance, ...],
        *,
        weight_rings: bool,
        clipped: tuple[float, float] | None = None,
        within: tuple[float, float] | None = None,
        counted: bool = False,
    ) -> Self:
        """Say what rings: the mean weight, else balance.

        Args:
            mean_weight: Over the decided share.
            standard_error: Of it.
            imbalances: Features out of balance, the worst first.
            weight_rings: Whether the mean weight is too far from 1.
            clipped: The mean weight and its error at a larger tau, if it is that which rings loudest.
            within: The mean weight given the epoch of every event and its error, if it is only this which rings.
            counted: Whether propensities are counts, of another window than the evaluated one.
        """
        if not weight_rings and not imbalances:
            return cls(mean_weight, standard_error)
        if weight_rings:
            small = "too small, so that what was shown counts too much"
            large = "too large, or the log has too little of what the policy chooses"
            more = "" if clipped is None else f" ({clipped[0]:.3f} +- {clipped[1]:.3f} after clipping)"
            more = more if within is None else f" ({within[0]:.3f} +- {within[1]:.3f} given the epoch of every event)"
            above = (mean_weight if within is None else within[0]) > 1
            said = (
                f"The mean weight is {mean_weight:.3f} +- {standard_error:.3f}{more} instead of 1: propensities are "
                f"{small if above else large}."
            )
        else:
            worst = imbalances[0]
            said = (
                f"Weighted events have other contexts than the traffic: {worst.feature} is off by "
                f"{worst.difference:+.2f} +- {worst.standard_error:.2f} standard deviations."
            )
        advice = (
            "Do not trust ips and snips here: try another source of propensities (mixture, with the epochs in which "
            "the logging policy changed; more context columns), and look at dr."
        )
        if counted:
            advice = (
                "The window differs from the one in which propensities were counted: count in the evaluated one "
                "(propensities='counts', --propensities counts), as dr, gains and bounds do."
            )
        code: Literal["WS105", "WS106"] = "WS105" if weight_rings else "WS106"
        return cls(mean_weight, standard_error, imbalances, True, code, f"{said} {advice}")


@dataclass(frozen=True)
class ComparedSource:
    """One source on events that it never saw (as logged, for logged ones).

    ``calibration``: the share of events in another bin of propensities than they should be; ``noise``: what true
    propensities would show there by chance. None where a source does not tell the propensities of all actions.
    ``alarms``: of the weights of the policy that chooses uniformly among all actions.
    """

    name: str
    log_loss: Unbounded
    without: float
    calibration: float | None = None
    noise: float | None = None
    alarms: Alarms | None = None
    detail: str = ""


@dataclass(frozen=True, repr=False)
class PropensityComparison(Result):
    """Sources of propensities, best first: by log-loss, those that leave events without a propensity last."""

    sources: tuple[ComparedSource, ...]
    events: int

    @property
    def best(self) -> str:
        """Return the name of the best source that an evaluation takes; of the best of all if none was compared."""
        return self._best.name

    @property
    def tables(self) -> list[TextTable]:
        """Return the comparison as a table."""
        rows = [
            (
                *(source.name, f"{source.log_loss:.4f}" if isfinite(source.log_loss) else "-", f"{source.without:.2%}"),
                *("-" if value is None else f"{value:.3f}" for value in (source.calibration, source.noise)),
                *(("-", "-", "-") if source.alarms is None else _cells(source.alarms)),
            )
            for source in self.sources
        ]
        header = (
            "source",
            "log-loss",
            "without",
            "miscalibrated",
            "by chance",
            "mean weight",
            "out of balance",
            "alarm",
        )
        return [TextTable(f"Propensities of {self.events:,} events, held out", header, rows, left=1)]

    @property
    def notes(self) -> list[str]:
        """Say which source fits best, and what speaks against it."""
        best, first = self._best, self.sources[0]
        lines = [
            f"Best by held-out log-loss: {best.name}. The alarms have no say in that: choosing by them disarms them."
        ]
        if best.log_loss <= NONE:
            lines.append("All that was shown was certain in its context: this log tells nothing of other choices.")
        elif first.name in REFERENCES and first.log_loss < best.log_loss:
            lines.append(
                f"{first.name}, which knows no context, fits better: {best.name} learned nothing from contexts."
            )
        quiet = [one.name for one in self.sources if one.alarms is not None and _quiet(one.alarms)]
        if quiet:
            lines.append(
                f"No alarm for {', '.join(quiet)}, though the mean weight is more than {SHARE:.0%} from 1: it is "
                "within three standard errors (+-)."
            )
        lines += [f"{source.name}: {source.detail}" for source in self.sources if source.detail]
        if best.alarms is not None and best.alarms.rings:
            lines.append(f"{best.alarms.code}: with {best.name}, for uniform choice: {best.alarms.text}")
        return lines

    @property
    def _best(self) -> ComparedSource:
        taken = (one for one in self.sources if one.name not in REFERENCES and isfinite(one.log_loss))
        return next(taken, self.sources[0])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dictionaries, with the name of the best source."""
        return {**super().to_dict(), "best": self.best}

    def _rows(self) -> list[dict[str, Any]]:
        flat = []
        for source in self.sources:
            alarms = source.alarms
            row = fields_of(source)
            del row["alarms"], row["detail"]
            weight, error = (None, None) if alarms is None else (alarms.mean_weight, alarms.standard_error)
            code = "" if alarms is None else alarms.code or ""
            flat.append({**row, "mean_weight": weight, "standard_error": error, "alarm": code})
        return flat


def _cells(alarms: Alarms) -> tuple[str, ...]:
    """Return the mean weight, the feature that is furthest out of balance, and the alarm that rings."""
    off = [
        f"{shortened(one.feature, 24)} {one.difference:+.2f} +- {one.standard_error:.2f}"
        for one in alarms.imbalances[:1]
    ]
    return f"{alarms.mean_weight:.3f} +- {alarms.standard_error:.3f}", *(off or ["none"]), alarms.code or "none"


def _quiet(alarms: Alarms) -> bool:
    """Tell whether no alarm rings though the mean weight is far from 1."""
    return not alarms.rings and abs(alarms.mean_weight - 1) > SHARE
