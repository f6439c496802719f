"""Where the propensities of an evaluation came from, and how good they are."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, get_args

from warmstart.results.display import Result, TextTable, fields_of

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


@dataclass(frozen=True)
class PropensitySource:
    """The source of propensities in use, why, and what is known of its quality.

    ``log_loss``: the mean of -log(propensity) of what was shown, under counts or models that never saw the event (as
    logged, for logged ones). ``estimated_log_loss``: the same for counts with back-off, to compare logged ones with.
    ``without``: share of events that have no propensity. ``too_heavy``: actions whose logged propensities cannot be
    right, because their weights add up to more than the traffic.
    """

    name: SourceName
    reason: str
    log_loss: float | None = None
    estimated_log_loss: float | None = None
    without: float = 0.0
    too_heavy: int = 0
    detail: str = ""

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
        return WORDS[self.name]

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
                "add up to more than all traffic. Was another number logged?"
            )
        if self.without > 0:
            lines.append(f"{self.without:.2%} of events have no propensity (an action the model never saw): weight 0.")
        lines.append(
            "With such propensities nothing is certified: their own error is not known, shares of traffic are "
            "estimated by the weights, and the gain over logging counts what is not supported against the policy."
        )
        return lines


@dataclass(frozen=True)
class ComparedSource:
    """One source on events that it never saw (as logged, for logged ones).

    ``calibration``: the share of events in another bin of propensities than they should be; ``noise``: what true
    propensities would show there by chance. None where a source does not tell the propensities of all actions.
    """

    name: str
    log_loss: float
    without: float
    calibration: float | None = None
    noise: float | None = None


@dataclass(frozen=True, repr=False)
class PropensityComparison(Result):
    """Sources of propensities, best first: by log-loss, those that leave events without a propensity last."""

    sources: tuple[ComparedSource, ...]
    events: int

    @property
    def best(self) -> str:
        """Return the name of the best source."""
        return self.sources[0].name

    @property
    def tables(self) -> list[TextTable]:
        """Return the comparison as a table."""
        rows = [
            (
                *(source.name, f"{source.log_loss:.4f}" if isfinite(source.log_loss) else "-", f"{source.without:.2%}"),
                *("-" if value is None else f"{value:.3f}" for value in (source.calibration, source.noise)),
            )
            for source in self.sources
        ]
        header = ("source", "log-loss", "without", "miscalibrated", "by chance")
        return [TextTable(f"Propensities of {self.events:,} events, held out", header, rows, left=1)]

    def _rows(self) -> list[dict[str, Any]]:
        return [fields_of(source) for source in self.sources]
