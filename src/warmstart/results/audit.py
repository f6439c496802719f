"""The answer to "can this log tell me anything?", as one value that shows and saves well."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from warmstart.results import audit_headline, audit_notes, audit_tables
from warmstart.results.display import Result, fields_of

if TYPE_CHECKING:
    import pyarrow as pa

    from warmstart.results.assumptions import Assumption
    from warmstart.results.audit_epochs import EpochFacts
    from warmstart.results.audit_units import PossibleUnit, UnitFacts
    from warmstart.results.display import TextTable
    from warmstart.results.remarks import Overlap

# A check fires when chance alone would do as much in one log of a hundred.
LEVEL = 0.01


@dataclass(frozen=True)
class Spread:
    """Quantiles of a count."""

    least: float
    quarter: float
    median: float
    three_quarters: float
    ninety: float
    ninety_nine: float
    most: float


@dataclass(frozen=True)
class LogFacts:
    """What is in the log. ``duplicates`` are events that equal an earlier one in every column, time included.

    ``unique_columns``: where contexts do not repeat, the context columns that differ in nearly every event.
    ``possible_units``: where no unit was named, the columns that look like one. ``numbered``: what times are numbers
    of, if they are no times since 1970.
    """

    events: int
    contexts: int
    actions: int
    cells: int
    reward_rate: float
    first: str | None
    last: str | None
    days: int | None
    events_per_context: Spread
    events_per_action: Spread
    duplicates: int | None
    dropped: int
    source: str
    columns: dict[str, Any]
    unique_columns: tuple[str, ...] = ()
    possible_units: tuple[PossibleUnit, ...] = ()
    numbered: Literal["day", "step"] | None = None


@dataclass(frozen=True)
class ActionCount:
    """Contexts in which so many actions were shown, and their share of the traffic."""

    actions: str
    contexts: int
    traffic: float


@dataclass(frozen=True)
class SupportAt:
    """At one tau: the share of traffic on which ``uniform`` is supported; on which two actions or more are.

    ``error`` is what tau trades: the square of what clipping loses plus the variance of the estimate, for uniform.
    """

    tau: float
    uniform: float
    choice: float
    error: float


@dataclass(frozen=True)
class EvenShares:
    """How often a context's actions were shown too unevenly for a fair draw (1 % of contexts if all were fair)."""

    contexts: int
    rejected: float


@dataclass(frozen=True)
class Exploration:
    """How much choice the log holds. ``effective_actions``: exp of the entropy of the action given the context.

    ``overlap``: where contexts do not repeat, what propensities of a model (or logged ones) say of it. Support is then
    by those propensities: that of ``uniform-all``, and the share of traffic on which no action has more than 1 - tau.
    """

    by_actions: tuple[ActionCount, ...]
    effective_actions: float
    support: tuple[SupportAt, ...]
    even: EvenShares
    live: bool
    overlap: Overlap | None = None


@dataclass(frozen=True)
class SwitchDay:
    """On this day, the share of contexts (with traffic the time before) that mostly changed to other actions."""

    day: str
    contexts: int
    switched: float


@dataclass(frozen=True)
class Origin:
    """Where the choice comes from: the calendar, or chance within a day.

    ``differ_within_day, differ_across_days``: how often two events of a context show different actions;
    ``calendar``: the share of the difference that days explain. ``one_action_days``: of the context-days with two
    events or more. Entropies are in nats, corrected for small counts (Miller and Madow).
    """

    context_days: int
    one_action_days: float | None
    differ_within_day: float | None
    differ_across_days: float | None
    calendar: float | None
    entropy: float
    entropy_within_day: float
    switches_per_context: float
    switch_days: tuple[SwitchDay, ...]


@dataclass(frozen=True)
class Check:
    """A test of one assumption: how large the effect is, and how surprising if there were none.

    ``clustered_p`` allows rewards of one context to depend on each other.
    """

    name: str
    question: str
    effect: float | None
    lower: float | None
    upper: float | None
    unit: str
    z: float | None
    p_value: float | None
    clustered_p: float | None
    cells: int

    @property
    def fires(self) -> bool:
        """Tell whether chance alone would rarely do this."""
        return self.p_value is not None and self.p_value < LEVEL

    @property
    def may_be_chance(self) -> bool:
        """Tell whether it could still be chance if rewards of one context depend on each other."""
        return self.clustered_p is not None and self.clustered_p >= LEVEL


@dataclass(frozen=True)
class ContextDrift:
    """The contexts of the first and of the second half: new ones, and how far apart the shares are.

    ``distance``: Cramer's V, from 0 (the same shares) to 1, less what chance alone gives.
    """

    cut: str
    unseen_before: float
    distance: float
    p_value: float | None


@dataclass(frozen=True)
class Churn:
    """Actions that come and go, and what that does to weights from other windows than the evaluated one.

    ``weight_ratio_*``: what the reward of a chosen action is multiplied by, on average, for ``uniform`` on the last
    35 % of events, if its weights came from there; 1 is right, and above 1 counts too much.
    """

    actions_all_window: float
    traffic_all_window: float
    weight_ratio_all: float | None
    weight_ratio_train: float | None
    overweighted_all: float | None
    overweighted_train: float | None


@dataclass(frozen=True)
class MoreLog:
    """How many times this log it takes to prove a gain over logging."""

    gain: float
    times: float | None


def gain_at(c: float) -> float:
    """Return the g with g^2 = c^2 * (1 + g).

    >>> gain_at(0.0), round(gain_at(0.1), 4)
    (0.0, 0.1051)
    """
    return (c * c + c * math.sqrt(c * c + 4)) / 2


@dataclass(frozen=True)
class Power:
    """What this log could prove at ``tau``. Gains are relative to logging, on the contested traffic.

    ``smallest_gain``: of a policy that takes one supported action in every contested context, provable with 80 %
    chance. Of the doubt about such a policy, in reward per event of all traffic: ``sampling``, the width of an interval
    of 95 %, which more log shrinks; ``blind``, what other actions might earn where none was shown often enough, which
    more of the same log never tells.
    """

    tau: float
    contested: float
    smallest_gain: float | None
    more_log: tuple[MoreLog, ...]
    sampling: float
    blind: float

    def gain_with(self, times: float) -> float | None:
        """Return the smallest gain that so many times this log could prove."""
        if self.smallest_gain is None:
            return None
        return gain_at(self.smallest_gain / math.sqrt((1 + self.smallest_gain) * times))


@dataclass(frozen=True)
class Experiment:
    """Giving a share of the one-action contexts' traffic to another action, for as long as this log.

    ``smallest_gain`` of the other action, relative to what is shown there now, provable with 80 % chance.
    """

    share: float
    events: int
    smallest_gain: float | None


@dataclass(frozen=True)
class ExploreFirst:
    """Contexts with much traffic and a single action, the busiest first.

    ``rows``: as the log names them, but free text, which is numbered unless it was asked for. ``named``: the same rows
    with the texts, where some are numbered; not part of the JSON.
    """

    contexts: int
    traffic: float
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    experiments: tuple[Experiment, ...]
    named: tuple[tuple[Any, ...], ...] = field(default=(), compare=False, repr=False)

    def to_arrow(self) -> pa.Table:
        """Return the contexts as a table, texts too unless the result was read from a file."""
        import pyarrow as pa

        columns = [list(column) for column in zip(*(self.named or self.rows), strict=True)]
        return pa.table(columns or [[]] * len(self.columns), list(self.columns))


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """What a log can tell about other policies, and what it cannot.

    ``to_arrow`` and ``to_pandas`` give one row per number, named by its path in ``to_dict``.
    """

    log: LogFacts
    exploration: Exploration
    origin: Origin | None
    checks: tuple[Check, ...]
    context_drift: ContextDrift | None
    churn: Churn | None
    power: Power
    explore: ExploreFirst
    reward_range: tuple[float, float]
    version: str
    units: UnitFacts | None = None
    epochs: EpochFacts | None = None
    assumptions: tuple[Assumption, ...] = ()

    @property
    def verdict(self) -> tuple[str, str, str]:
        """Say what can be asked of this log, what cannot, and which tau to begin with."""
        return audit_notes.verdict(self)

    @property
    def headline(self) -> list[str]:
        """Return the verdict, what to do next, and what all of it is about."""
        return audit_headline.headline(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dictionaries, as ``--json`` prints it; non-finite numbers are None."""
        parts = fields_of(self)
        del parts["explore"]["named"]
        version = parts.pop("version")
        said = {"headline": self.headline, "explanations": self.notes}
        return {**self._head(), "verdict": list(self.verdict), **parts, **said, "warmstart_version": version}

    def _rows(self) -> list[dict[str, Any]]:
        return [row for row in super()._rows() if not row["name"].startswith("explore.rows.")]

    @property
    def tables(self) -> list[TextTable]:
        """Return the tables that people look at."""
        return audit_tables.tables(self)

    @property
    def notes(self) -> list[str]:
        """Return in plain words what the numbers say."""
        return audit_notes.notes(self)
