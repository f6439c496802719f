"""Amounts of a reward in units people use: per 1,000 events, and relative to what logging earned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmstart.results.evaluation import Evaluation

# Means below 1 are shown per so many events.
MANY, VERY_MANY = 1_000, 1_000_000


@dataclass(frozen=True)
class Amounts:
    """``times``: how many events an amount is of; ``base``: what logging earned per event, if above zero."""

    times: int
    per: str
    base: float | None

    @classmethod
    def of(cls, evaluation: Evaluation) -> Amounts:
        """Choose units by what logging earned."""
        return cls.by_mean(evaluation.log.mean_reward, evaluation.reward.low, evaluation.per)

    @classmethod
    def by_mean(cls, mean: float, lowest: float, per: str = "event") -> Amounts:
        """Choose units by the mean of a reward whose possible values begin with ``lowest``."""
        times = 1 if abs(mean) >= 1 else MANY if abs(mean) >= 1 / MANY else VERY_MANY
        return cls(times, per, mean if lowest >= 0 and mean > 0 else None)

    @property
    def unit(self) -> str:
        """Say what an amount is for: "per 1,000 events"; per unit, a mean of events too, in which units weigh alike.

        >>> Amounts(1000, "event", None).unit, Amounts(1000, "unit", None).unit
        ('per 1,000 events', 'per 1,000 events (units weighted alike)')
        """
        many = "per event" if self.times == 1 else f"per {self.times:,} events"
        return many if self.per == "event" else f"{many} (units weighted alike)"

    def at_least(self, value: float) -> str:
        """Show a lower bound of all traffic, never rounded up.

        >>> Amounts(1000, "event", 0.5).at_least(0.004199)
        '4.19 per 1,000 events of all traffic (0.839 % relative)'
        """
        least = rounded(self.times * value, down=True)
        return f"{least} {self.unit} of all traffic{self._relative(value, down=True)}"

    def about(self, value: float) -> str:
        """Show the size of a change whose unit was named before.

        >>> Amounts(1000, "event", 0.5).about(0.004199)
        '4.20 (0.840 % relative)'
        """
        return f"{self.number(value)}{self._relative(value)}"

    def signed(self, value: float) -> str:
        """Show a change of all traffic, with its direction.

        >>> Amounts(1, "event", None).signed(-0.25)
        '-0.250 per event of all traffic'
        """
        return f"{self.signed_number(value)} {self.unit} of all traffic{self._relative(value, '+')}"

    def number(self, value: float) -> str:
        """Show an amount without its unit, to three digits."""
        return rounded(self.times * value)

    def signed_number(self, value: float) -> str:
        """Show a change without its unit, to three digits."""
        return rounded(self.times * value, "+")

    def bound(self, value: float, sign: float) -> str:
        """Show the end of a change that is the worst, rounded to the worse.

        >>> Amounts(1000, "event", 0.5).bound(0.00298, 1), Amounts(1000, "event", 0.5).bound(-0.00298, -1)
        ('+2.98', '-2.98')
        """
        worst = rounded(sign * self.times * value, "+", down=True)
        return worst if sign > 0 else worst.translate(str.maketrans("+-", "-+"))

    def _relative(self, value: float, sign: str = "", *, down: bool = False) -> str:
        return "" if self.base is None else f" ({rounded(100 * value / self.base, sign, down=down)} % relative)"


def rounded(value: float, sign: str = "", *, down: bool = False) -> str:
    """Show three digits, and all before the point; ``down``: rounded down, as a lower bound must be.

    >>> rounded(0.012394), rounded(1239.6), rounded(0.012394, "+"), rounded(1.996, down=True)
    ('0.0124', '1,240', '+0.0124', '1.99')
    """
    if value == 0:
        return "0"
    decimals = max(2 - math.floor(math.log10(abs(value))), 0)
    if down:
        scale = 10.0**decimals
        value = math.floor(value * scale + 1e-9) / scale
    return f"{value:{sign},.{decimals}f}"
