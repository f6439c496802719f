"""Guards: limits on what a policy may do to an outcome, against logging, and whether the log proves that it keeps them.

They are about all traffic: the policy where it is supported, logging elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Literal

from warmstart.core import UsageError, quoted
from warmstart.results.display import Unbounded

if TYPE_CHECKING:
    from warmstart.results.doubt import DoubtedLimit

Status = Literal["holds", "fails", "cannot-tell"]
Ends = tuple[float, float]

WRITTEN = re.compile(
    r"^\s*(?P<tick>`?)(?P<outcome>.+?)(?P=tick)\s*(?P<sense><=|>=)\s*(?P<limit>[+-]?\s*[0-9.eE+-]+?)\s*(?P<percent>%?)\s*$"
)
HOW = "Write OUTCOME<=+X or OUTCOME>=-X, or X% of logging's mean: 'cost<=+2%', 'complaint<=+0.001', 'click>=-1%'."
# Of the error that a guard relative to logging may have, the part of the gain, where logging's mean has an interval of
# its own: it has the rest, since it is known far better.
PART_OF_GAIN = 0.9


def guarded_outcome(text: str) -> str | None:
    """Return the outcome that a guard names; None if the text is no guard."""
    found = WRITTEN.match(text)
    return found["outcome"] if found else None


@dataclass(frozen=True)
class Guard:
    """``outcome`` may change by at most (``<=``), or must change by at least (``>=``), ``limit`` against logging.

    ``relative``: the limit is a share of logging's mean, without the sign of that mean: 1 % of -.5 is .005.
    """

    outcome: str
    sense: Literal["<=", ">="]
    limit: float
    relative: bool
    text: str

    @classmethod
    def parse(cls, text: str, outcomes: Sequence[str]) -> Guard:
        """Read a guard; refuse what is none, and outcomes that the log does not have."""
        match = WRITTEN.match(text)
        try:
            limit = float(match["limit"].replace(" ", "")) if match else float("nan")
        except ValueError:
            limit = float("nan")
        if match is None or not abs(limit) < float("inf"):
            raise UsageError(f"{quoted(text)} is no guard.", HOW)
        if limit and match["limit"][0] not in "+-":
            raise UsageError(
                f"{quoted(text)} does not say whether its limit is a change.",
                "Guards are changes against logging: write + or - before the number.",
            )
        if match["outcome"] not in outcomes:
            listed = ", ".join(map(quoted, outcomes))
            raise UsageError(
                f"The guard {quoted(text)} names {quoted(match['outcome'])}, which is no outcome of the log.",
                f"Its outcomes are {listed}; --also names more.",
            )
        relative = bool(match["percent"])
        sense: Literal["<=", ">="] = "<=" if match["sense"] == "<=" else ">="
        return cls(match["outcome"], sense, limit / 100 if relative else limit, relative, text.strip())

    def limits(self, logging: Ends | None) -> Ends | None:
        """Return the smallest and the largest limit of the change that logging's mean leaves possible.

        None where nothing is known of that mean, or where not even its sign is: there is no share of what may be 0.
        """
        if not self.relative:
            return self.limit, self.limit
        if logging is None or logging[0] < 0 < logging[1]:
            return None
        low, high = sorted(self.limit * abs(end) for end in logging)
        return low, high

    def judge(self, gain: Ends | None, logging: Ends | None, relative: Ends | None = None) -> GuardResult:
        """Tell whether the guard is kept, from ends of the change and of logging's mean that hold together.

        Args:
            gain: The ends of the outcome's change, per event of all traffic; None if nothing is proven.
            logging: The ends of logging's mean, for a relative guard.
            relative: The ends of the change as a share of that mean, which is not negative, where one test gave them.
        """
        if self.relative and relative is not None:
            # Shares of the mean, of which the limit is one.
            gain, logging = relative, (1.0, 1.0)
        limits = self.limits(logging)
        if gain is None or limits is None:
            return GuardResult(self.text, "cannot-tell", None, None)
        # The strictest must be kept, the loosest broken.
        shown = _relative(gain, logging) if self.relative and logging else gain
        if self.sense == "<=":
            holds, fails = gain[1] <= limits[0], gain[0] > limits[1]
        else:
            holds, fails = gain[0] >= limits[1], gain[1] < limits[0]
        status: Status = "holds" if holds else "fails" if fails else "cannot-tell"
        lower, upper = shown or (None, None)
        return GuardResult(self.text, status, lower, upper if upper is None or isfinite(upper) else None)


@dataclass(frozen=True)
class GuardResult:
    """Whether a policy keeps a guard, and the ends of the change that decided it.

    They are in the guard's own terms, a share of the size of logging's mean where it is relative. They hold for all
    policies and taus at once, one guard at a time: each end fails somewhere with probability at most delta / 2. No
    upper end: nothing is ruled out above the lower one; no end: nothing is proven. ``tipping``: the largest doubt at
    which it is certain that the guard holds, or fails; None if it is not, or if that is not known.
    """

    guard: str
    status: Status
    lower: float | None
    upper: float | None
    tipping: Unbounded | None = None

    @property
    def span(self) -> str:
        """Show the ends of the guarded change in the guard's own terms."""
        if self.lower is None:
            return "-"
        shape = "+.2%" if self.guard.endswith("%") else "+.4g"
        return f"[{self.lower:{shape}}, {'any' if self.upper is None else format(self.upper, shape)}]"

    def with_doubt(self, limits: Sequence[DoubtedLimit], *, doubted: bool) -> GuardResult:
        """Return the result with the doubt at which it tips.

        Args:
            limits: Where it is no longer sure that the guard is kept, or broken.
            doubted: Whether the status allows for a doubt already.
        """
        tips = [one.tipping for one in limits if one.tipping is not None]
        # A sharper test of change and mean together may tell what the two apart do not.
        decided = bool(limits) and self.status != "cannot-tell" and not doubted
        return replace(self, tipping=tips[0] if tips else 1.0 if decided else None)


def _relative(gain: Ends, logging: Ends) -> Ends | None:
    """Return the ends of the change relative to the size of logging's mean; None where that may be zero."""
    if logging[0] <= 0 <= logging[1]:
        return None
    sizes = [abs(end) for end in logging]
    return min(gain[0] / size for size in sizes), max(gain[1] / size for size in sizes)
