"""Join impressions with rewards that came later, in another table (delayed feedback)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from warmstart.core import (
    MICROSECONDS_PER_DAY,
    REWARD,
    DataError,
    EmptyWindowError,
    Moment,
    Progress,
    UsageError,
    check_output,
    microseconds,
    quoted,
    silent,
)
from warmstart.engine import Engine, resolve_engine, stored_table
from warmstart.joining.attribution import OUTCOME_TIME, Rules, open_attribution
from warmstart.joining.inputs import InputTable, check_keys_agree, fixed_names, open_impressions, open_outcomes
from warmstart.results import Duplicates, Impressions, Joined, Repeated, WithoutOutcome

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
LONGEST = 100 * 366 * 86_400_000_000


def join(
    impressions: Any,
    outcomes: Any,
    out: str | Path,
    *,
    on: str | Sequence[str] | Mapping[str, str],
    impression_time: str | None = None,
    outcome_time: str | None = None,
    window: str | timedelta | None = None,
    until: Moment | None = None,
    keep_young: bool = False,
    reward: str | None = None,
    duplicates: Duplicates | None = None,
    repeated: Repeated = "last",
    without_outcome: WithoutOutcome = "zero",
    drop_nulls: bool = False,
    impressions_table: str | None = None,
    outcomes_table: str | None = None,
    engine: str | Engine = "duckdb",
    force: bool = False,
    on_progress: Progress = silent,
) -> Joined:
    """Join impressions with outcomes that came later (delayed rewards) into one Parquet file for ``read_events``.

    An outcome belongs to the last impression of its key at or before it. It counts if it comes less than ``window``
    after that. Two impressions of one key at one moment that have an outcome cannot be told apart: an error. An
    impression without an outcome has reward 0, unless it is left out. An impression is too young if its window ends
    after ``until``: it is left out, unless ``keep_young``. The file has all columns of the impressions, ``reward`` and,
    with times, ``outcome_time``: that of the first outcome that counts. Rows come in no particular order.

    Args:
        impressions: the table of what was shown.
        outcomes: the table of what came of it.
        out: the Parquet file to write.
        on: the columns by which both tables know an impression; a mapping, if the outcomes have other names for them.
        impression_time: the impressions' column of times.
        outcome_time: the outcomes' column of times.
        window: how long after an impression an outcome counts ("7d", "12h"); for ever, if not given.
        until: the moment up to which outcomes are known; that of the last outcome, if not given.
        keep_young: write impressions that are too young, too.
        reward: a column of the outcomes; without one, an outcome is a reward of 1.
        duplicates: of several outcomes of one impression, the ``first`` (of those at that moment, the largest; the
            default where there are times), their ``sum``, their ``max`` (the default without times), or ``error``.
        repeated: "error" if a key with outcomes may have one impression only.
        without_outcome: an impression without an outcome has the reward "zero", as without a click; "leave-out" is for
            judgements, which are unknown where nobody judged.
        drop_nulls: leave out and count rows without a key, time or reward, instead of raising an error.
        impressions_table: the table in a database that ``impressions`` names.
        outcomes_table: the table in a database that ``outcomes`` names.
        engine: "duckdb", "spark", or an engine.
        force: replace a file that this library did not write; an input is never replaced.
        on_progress: called with the name of each step.

    >>> import pyarrow as pa, tempfile
    >>> shown = pa.table({"id": [1, 2], "page": ["p", "q"], "ad": ["a", "b"]})
    >>> clicks = pa.table({"id": [2, 2, 3]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     joined = join(shown, clicks, Path(folder) / "log.parquet", on="id")
    >>> joined.impressions.rewarded, joined.outcomes.duplicates, joined.outcomes.never_shown
    (1, 1, 1)
    """
    ours, theirs = _key_columns(on)
    timed = impression_time is not None
    if timed != (outcome_time is not None):
        raise UsageError("One of the tables has a time and the other has none.", "Name both times, or neither.")
    duplicates = _checked_choices(duplicates, repeated, without_outcome, timed=timed)
    span, path = _microseconds(window, timed=timed), Path(out)
    if span is None and (until is not None or keep_young):
        raise UsageError("Without a window no impression is too young.", "Give --window, such as 7d.")
    if path.suffix != ".parquet":
        raise UsageError(f"The result is Parquet, and {quoted(path.name)} does not end so.", "Name it NAME.parquet.")
    check_output(path, inputs=[impressions, outcomes], force=force)
    resolved, shown = resolve_engine(stored_table(impressions, impressions_table), engine)
    if resolved.remote:
        hint = "Copy both tables to Parquet, and join those."
        raise UsageError("Impressions do not leave the database that they are in.", hint)
    on_progress("reading and checking")
    left = open_impressions(resolved, shown, fixed_names(ours, impression_time), drop_nulls=drop_nulls)
    taken = {name.casefold(): name for name in left.columns}
    for name in (REWARD, *([OUTCOME_TIME] if timed else [])):
        if name in taken:
            what = f"{left.where} has a column {quoted(taken[name])} of its own."
            raise DataError(what, "Rename it before you join.")
    came = stored_table(outcomes, outcomes_table)
    right = open_outcomes(resolved, came, fixed_names(theirs, outcome_time, reward), drop_nulls=drop_nulls)
    check_keys_agree(left, right)
    known_until = None if span is None else _until(until, left, right)
    on_progress("finding the impression of every outcome")
    leave_out = without_outcome == "leave-out"
    with open_attribution(left, right, Rules(duplicates, span, known_until, keep_young, leave_out)) as attribution:
        attribution.check(repeated)
        counts, young = attribution.count_outcomes(), attribution.count_too_young()
        if leave_out and not counts.rewarding:
            what = f"{left.where}: no impression has an outcome, and those without one are left out."
            raise EmptyWindowError(what, "Are the keys of both tables the same?")
        delays = attribution.count_delays()
        on_progress("writing")
        written = attribution.write(path)
    unrewarded = left.rows - left.with_nulls - (0 if keep_young else young) - written
    sizes = Impressions(left.rows, left.with_nulls, young, written, counts.rewarding, unrewarded)
    by_outcome = span is not None and until is None
    return Joined(path, sizes, counts, duplicates, span, known_until, by_outcome, keep_young, delays, without_outcome)


def _key_columns(on: str | Sequence[str] | Mapping[str, str]) -> tuple[list[str], list[str]]:
    if isinstance(on, str):
        on = [on]
    impression_keys, outcome_keys = list(on), list(on.values() if isinstance(on, Mapping) else on)
    if not impression_keys:
        raise UsageError("Name at least one column to join on.")
    for names in (impression_keys, outcome_keys):
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(f"Column {quoted(twice)} is given {names.count(twice)} times to join on.")
    return impression_keys, outcome_keys


def _checked_choices(
    duplicates: Duplicates | None, repeated: Repeated, without_outcome: WithoutOutcome, *, timed: bool
) -> Duplicates:
    if duplicates is None:
        duplicates = "first" if timed else "max"
    for what, value, choices in (
        ("Duplicates", duplicates, Duplicates),
        ("Repeated keys", repeated, Repeated),
        ("The rewards of impressions without an outcome", without_outcome, WithoutOutcome),
    ):
        if value not in get_args(choices):
            raise UsageError(f"{what} cannot be {quoted(value)}.", f"Choose {', '.join(get_args(choices))}.")
    if duplicates == "first" and not timed:
        raise UsageError("Without times no outcome is the first.", "Choose sum, max or error.")
    return duplicates


def _microseconds(window: str | timedelta | None, *, timed: bool) -> int | None:
    if window is None:
        return None
    if not timed:
        raise UsageError("A window needs times.", "Name --impression-time and --outcome-time.")
    if isinstance(window, timedelta):
        span = window // timedelta(microseconds=1)
    else:
        written = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", window, flags=re.ASCII)
        if written is None:
            raise UsageError(f"Cannot read {quoted(window)} as a window.", "Write it like 30m, 12h, 7d or 2w.")
        span = int(Fraction(written[1]) * SECONDS[written[2]] * 1_000_000)
    if not 0 < span <= LONGEST:
        raise UsageError(f"A window of {quoted(str(window))} is none.", "It is longer than 0, and less than a century.")
    return span


def _until(until: Moment | None, left: InputTable, right: InputTable) -> int:
    """Return the moment up to which outcomes are known, in microseconds since 1970."""
    if until is None:
        return right.last
    if not isinstance(until, int):
        return microseconds(until)
    ticks = right.ticks_per_day or left.ticks_per_day
    if ticks is None:
        raise UsageError(f"The integer {until} is no moment where times are not integers.", "Write 2026-10-21.")
    return until * MICROSECONDS_PER_DAY // ticks
