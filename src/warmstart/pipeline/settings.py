"""The settings that commands share, declared once: which log, which engine, which windows.

A field's name is the Python name, the key in ``warmstart.toml`` and, with dashes, the option's; its metadata is what
the command line and the schema of that file show. This module imports nothing heavy, because the command line reads it
to answer ``--help``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from warmstart.core import Moment, UsageError, quoted

if TYPE_CHECKING:
    from warmstart.engine import Engine, LocalEngine
    from warmstart.events import Events

ENGINES = ("duckdb", "spark")
EPOCHS = ("auto", "hour", "day", "week")


def shown(text: str, metavar: str | None = None, **more: Any) -> dict[str, Any]:
    """Describe a setting for the command line and the schema.

    ``words`` are completed by a shell, and all that there is if ``closed``; ``least`` and ``most`` are the ends of a
    number, ``argument`` makes it positional, ``flag`` is the option where it is not the name, ``typed`` the type of
    what the command line takes where that is not the type of the field, ``parse`` makes the one of the other.
    ``instead_of``: a setting that this one replaces where it is given.
    """
    return {"help": text, "metavar": metavar, **more}


def parse_tau(flag: str, text: str) -> Any:
    """Return "auto" or the number that was given."""
    try:
        return "auto" if text == "auto" else float(text)
    except ValueError:
        raise UsageError(f"{flag} must be auto or a number in (0, 1], and is {quoted(text)}.") from None


def _ranges(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Read ranges as the command line has them."""
    from warmstart.events import parse_ranges

    return parse_ranges(texts)


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """Where to compute, and with how much."""

    engine: str = field(
        default="duckdb",
        metadata=shown("Where to compute: duckdb, spark or spark://HOST:PORT.", "NAME", words=ENGINES),
    )
    memory_limit: str | None = field(default=None, metadata=shown("The engine's memory, such as 4GB.", "SIZE"))
    threads: int | None = field(default=None, metadata=shown("The engine's threads.", "N", least=1))

    def connect(self) -> LocalEngine:
        """Connect to the engine."""
        from warmstart.engine import connect

        return connect(self.engine, memory_limit=self.memory_limit, threads=self.threads)


@dataclass(frozen=True, kw_only=True)
class LogSettings:
    """A log of events (context, action, reward) and the names of its columns, as ``read_events`` takes them."""

    events: list[str] | None = field(
        default=None,
        metadata=shown(
            "The log: Parquet, CSV or JSON files, folders or globs, a DuckDB file, or postgres://USER@HOST/DATABASE.",
            "EVENTS...",
            argument=True,
            instead_of="table",
        ),
    )
    context: list[str] = field(
        metadata=shown("What was known before acting (state, user, page). May be repeated.", "COLUMN")
    )
    action: str = field(metadata=shown("What was shown (arm, item, treatment).", "COLUMN"))
    reward: str = field(metadata=shown("What came of it, in [0, 1] or its --range.", "COLUMN"))
    time: str | None = field(default=None, metadata=shown("When: a timestamp, a date or an epoch integer.", "COLUMN"))
    propensity: str | None = field(
        default=None,
        metadata=shown("The logged probability of what was shown (pscore), if it was recorded.", "COLUMN"),
    )
    event_id: str | None = field(default=None, metadata=shown("What tells events apart, for random folds.", "COLUMN"))
    epoch: str | None = field(
        default=None,
        metadata=shown(
            "How the log divides into epochs of one logging policy each, which may learn from one to the next: hour, "
            "day, week or a column (column:day for one called day). Propensities are counted within epochs; a mixture "
            "of models also takes auto.",
            "EPOCH",
            words=EPOCHS,
        ),
    )
    unit: list[str] | None = field(
        default=None,
        metadata=shown("Who comes back (user, session): rewards may depend within it. May be repeated.", "COLUMN"),
    )
    table: str | None = field(
        default=None,
        metadata=shown("The table, [SCHEMA.]NAME, of a database; alone, one that the engine knows.", "NAME"),
    )
    also: list[str] | None = field(
        default=None, metadata=shown("A further outcome to value (cost, latency). May be repeated.", "COLUMN")
    )
    minimize: list[str] | None = field(
        default=None,
        metadata=shown("An outcome of which less is better; the reward may be one. May be repeated.", "COLUMN"),
    )
    ranges: dict[str, tuple[float, float]] | None = field(
        default=None,
        metadata=shown(
            "The possible values of the reward or another outcome, if not 0 to 1. May be repeated.",
            "COLUMN=LO:HI",
            flag="--range",
            typed=list[str],
            parse=_ranges,
        ),
    )
    drop_nulls: bool = field(
        default=False, metadata=shown("Leave out rows with nulls, NaN or infinities, and count them.")
    )

    def __post_init__(self) -> None:
        if not self.events and self.table is None:
            raise UsageError("Name the log: files, or --table NAME (table=...).")

    def open(self, engine: str | Engine = "duckdb") -> Events:
        """Read the log and check every value that will be used."""
        from warmstart.events import read_events

        columns = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "events"}
        columns |= {name: columns[name] or () for name in ("unit", "also", "minimize")}
        return read_events(self.events, engine=engine, **columns)


@dataclass(frozen=True, kw_only=True)
class WindowSettings:
    """Which events to learn from and which to evaluate on (train/test split in time); by default all of them."""

    train_until: Moment | None = field(
        default=None,
        metadata=shown("Use the events before this time only.", "TIME", typed=str, instead_of="train_fraction"),
    )
    train_fraction: float | None = field(
        default=None, metadata=shown("Use the first F of the events only.", "F", instead_of="train_until")
    )
    test_from: Moment | None = field(
        default=None,
        metadata=shown(
            "Evaluate events from this time on; train on earlier.", "TIME", typed=str, instead_of="test_fraction"
        ),
    )
    test_fraction: float | None = field(
        default=None,
        metadata=shown("Evaluate the last F of the events; train on earlier.", "F", instead_of="test_from"),
    )

    def __post_init__(self) -> None:
        for moment, fraction in (("train_until", "train_fraction"), ("test_from", "test_fraction")):
            share = getattr(self, fraction)
            if share is None:
                continue
            if getattr(self, moment) is not None:
                raise UsageError(f"{_both(moment)} and {_both(fraction)} exclude each other.", "Give one of them.")
            if not 0 < share < 1:
                raise UsageError(f"{_both(fraction)} must lie between 0 and 1, and is {share:g}.")


def _both(name: str) -> str:
    """Name a setting as in Python and as on the command line."""
    return f"{name} (--{name.replace('_', '-')})"
