"""The conditions that ``check`` holds an evaluation to, declared once for the command line and ``warmstart.toml``."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from warmstart.core import UsageError
from warmstart.pipeline.settings import shown

KINDS = ("better", "same", "worse", "cannot-tell")
EVIDENCE = ("certified", "estimated")


@dataclass(frozen=True, kw_only=True)
class CheckSettings:
    """What must hold, all of it, of one policy."""

    judged: str | None = field(
        default=None,
        metadata=shown(
            "The policy that the conditions are about, by its name.  [default: the one of the verdict]", "NAME"
        ),
    )
    verdict: list[str] | None = field(
        default=None,
        metadata=shown(
            "What the verdict must be: better, same, worse or cannot-tell. May be repeated: one of them.",
            "KIND",
            words=KINDS,
            closed=True,
        ),
    )
    evidence: str | None = field(
        default=None,
        metadata=shown(
            "What the verdict must rest on: certified, or estimated (either of the two).",
            "NAME",
            words=EVIDENCE,
            closed=True,
        ),
    )
    gain_lower: float | None = field(
        default=None,
        metadata=shown("The certified improvement on logging, per event of all traffic, is at least this.", "X"),
    )
    keep_guards: bool = field(
        default=True,
        metadata=shown(
            "Whether all guards must be proven to hold, if there are any.", flag="--keep-guards/--no-keep-guards"
        ),
    )
    support: float | None = field(
        default=None,
        metadata=shown("The log supports the policy on at least this share of the traffic.", "SHARE", least=0, most=1),
    )
    no_alarms: bool = field(
        default=False, metadata=shown("No alarm rings of propensities that are not the window's counts (WS105, WS106).")
    )
    no_codes: list[str] | None = field(
        default=None,
        metadata=shown(
            "No warning has this code, and no assumption of it fails, such as WS104. May be repeated.",
            "CODE",
            flag="--no-code",
        ),
    )
    min_events: int | None = field(
        default=None, metadata=shown("The evaluated window has at least so many events.", "N", least=1)
    )

    def __post_init__(self) -> None:
        check_conditions(self.gain_lower, self.support)


def check_conditions(gain_lower: float | None, support: float | None) -> None:
    """Refuse conditions that nothing could meet."""
    if gain_lower is not None and not math.isfinite(gain_lower):
        raise UsageError(f"gain_lower (--gain-lower) must be a finite number, and is {gain_lower:g}.")
    if support is not None and not 0 <= support <= 1:
        raise UsageError(f"support (--support) must be a share from 0 to 1, and is {support:g}.")
