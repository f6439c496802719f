"""Read a log of bandit events: open, cast, check once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from warmstart.core import REWARD, Columns, Outcome, UsageError, quoted
from warmstart.engine import resolve_engine, stored_table
from warmstart.events.check import check_log
from warmstart.events.epochs import Epochs
from warmstart.events.log_table import raw_log, settled
from warmstart.events.window import Events

# Beyond it, the sums of a range's ends would lose the rewards.
LARGEST = 1e15


def read_events(
    source: Any = None,
    *,
    context: str | Sequence[str],
    action: str,
    reward: str,
    time: str | None = None,
    propensity: str | None = None,
    event_id: str | None = None,
    epoch: str | None = None,
    unit: str | Sequence[str] = (),
    also: str | Sequence[str] = (),
    minimize: str | Sequence[str] = (),
    ranges: Mapping[str, tuple[float, float]] | None = None,
    table: str | None = None,
    drop_nulls: bool = False,
    engine: Any = "duckdb",
) -> Events:
    """Read a log of bandit events (context, action, reward) and check every value that will be used.

    The log is not copied: a database computes the sums, and DuckDB works on from there. Nulls, NaN and infinities are
    errors. A password comes from the environment (``PGPASSWORD``) or the password file, never from the URL.

    Args:
        source: Parquet, CSV or JSON files (one, several, a folder, whose Hive partitions become columns, or a glob);
            a pandas, polars or Arrow table, a DuckDB relation, a Spark DataFrame; an Ibis table of any backend;
            a DuckDB file; or the URL of a database, ``postgres://USER@HOST/DATABASE``.
        context: The column, or the columns, of what was known before acting.
        action: The column of the action that was shown.
        reward: The column of the reward, in [0, 1] or in its range.
        time: The column of the time of the event: timestamps, dates, ISO text or epoch integers.
        propensity: The column of the logged probability of the action, if it was recorded.
        event_id: A column that identifies events, for folds.
        epoch: Stretches of the log in which the logging policy did not change: ``"hour"``, ``"day"``, ``"week"``
            (all UTC) or a column, such as the version of the model that chose (``"column:day"`` if it is called like
            one of these words). ``"auto"`` compares several lengths. For ``propensities="mixture"``.
        unit: The column, or the columns, of whoever comes back (user, session, household): rewards may depend on each
            other within a unit, not across units. Bounds, intervals and folds are then by unit. It may be a context.
        also: Columns of further outcomes (cost, latency, complaints), valued beside the reward. Nulls are allowed.
        minimize: Outcomes of which less is better; the reward may be one.
        ranges: The lowest and the highest possible value of the reward and of other outcomes, by column, if that is
            not 0 to 1: ``{"cost": (0, 0.02)}``. Bounds pay for the width of a range.
        table: The table in a DuckDB file with several, in a database (with its schema if need be) or, without a
            source, in the engine.
        drop_nulls: Leave rows with missing values out, and count them.
        engine: ``"duckdb"``, in this process; ``"spark"``, on this machine; ``"spark://host:port"``, a cluster; what
            ``connect`` returned, with a memory limit; or a Spark session. A source that lives in an engine stays there.

    >>> import pyarrow as pa
    >>> log = pa.table({"page": ["p", "p", "q"], "ad": [1, 2, 1], "click": [0, 1, 0]})
    >>> read_events(log, context="page", action="ad", reward="click")
    Events(3 events; context=page, action=ad, reward=click)
    """
    epochs = Epochs.parse(epoch)
    named = None if epochs is None else epochs.column
    contexts, units, others = _names(context), _names(unit), _names(also)
    columns = Columns(contexts, action, reward, time, propensity, event_id, named, units, others)
    if not columns.context:
        raise UsageError("Name at least one context column.")
    check_roles(columns.fixed_to_given.values(), context=contexts, unit=units)
    outcomes = named_outcomes(columns, _names(minimize), ranges or {})
    if epochs is not None and epochs.column is None and time is None:
        raise UsageError(f"Epochs by {epochs.kind} need a time column.", "Name it with time=... (--time).")
    home, source = resolve_engine(stored_table(source, table), engine)
    raw = replace(raw_log(home, source, columns), outcomes=outcomes, epochs=epochs)
    checked, window, dropped = check_log(raw, drop_nulls=drop_nulls)
    return Events(settled(checked), window, dropped)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def check_roles(names: Iterable[str], *, context: Sequence[str], unit: Sequence[str]) -> None:
    """Refuse a column with two roles, unless it is a unit and a context.

    Args:
        names: The columns of all roles, those of the context and the unit among them.
        context: The columns of the context.
        unit: The columns of the unit.
    """
    named = Counter(names)
    # Who comes back may be known before acting.
    named.subtract(name for name in set(unit) if name in context)
    for name, times in named.items():
        if times > 1:
            raise UsageError(
                f"Column {quoted(name)} is given {times} times.",
                "Context, action, outcomes, time, propensity, id and epoch differ; only a unit may be a context too.",
            )


def named_outcomes(
    columns: Columns, minimize: Sequence[str], ranges: Mapping[str, tuple[float, float]]
) -> tuple[Outcome, ...]:
    """Return the outcomes of a log, the reward first; refuse ranges that are none, and names of no outcome."""
    given = {columns.reward: REWARD, **dict(zip(columns.also, columns.also_keys, strict=True))}
    for name in (*minimize, *ranges):
        if name not in given:
            listed = ", ".join(map(quoted, given))
            raise UsageError(
                f"{quoted(name)} is no outcome of the log.", f"Its outcomes are {listed} (--also names more)."
            )
    outcomes = []
    for name, column in given.items():
        low, high = (float(end) for end in ranges.get(name, (0.0, 1.0)))
        if not (math.isfinite(low) and math.isfinite(high) and low < high and max(-low, high) <= LARGEST):
            raise UsageError(
                f"The range {low:g} to {high:g} of {quoted(name)} is not a range.",
                f"Give a lower and a higher number, neither beyond {LARGEST:g}.",
            )
        outcomes.append(Outcome(name, column, low, high, name in minimize))
    return tuple(outcomes)


def parse_ranges(texts: Iterable[str]) -> dict[str, tuple[float, float]]:
    """Read ranges as ``COLUMN=LO:HI``."""
    ranges: dict[str, tuple[float, float]] = {}
    for text in texts:
        name, _, ends = text.rpartition("=")
        try:
            low, high = (float(end) for end in ends.split(":"))
        except ValueError:
            raise UsageError(f"{quoted(text)} is no range.", "Write COLUMN=LO:HI, such as cost=0:0.02.") from None
        if not name or name in ranges:
            raise UsageError(
                f"{quoted(text)} is no range of a column, or its second.", "Write COLUMN=LO:HI, once each."
            )
        ranges[name] = (low, high)
    return ranges
