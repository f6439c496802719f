"""Give every impression the reward that came later, in another table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from warmstart.core.errors import DataError, EmptyWindowError, UsageError
from warmstart.core.files import check_output, write_output, write_parquet
from warmstart.core.names import REWARD, TIME
from warmstart.core.progress import Progress, silent
from warmstart.core.text import quoted
from warmstart.core.window import Moment, microseconds
from warmstart.engine import Engine, example_rows, resolve_engine, stored_table
from warmstart.joining.attribution import (
    COUNT,
    OUTCOME_TIME,
    SHOWN_AT,
    Rules,
    attributed,
    impression_counts,
    outcome_counts,
    rewards,
    with_rewards,
)
from warmstart.joining.attribution import (
    repeated as repeated_keys,
)
from warmstart.joining.sides import Side, check_keys_agree, open_impressions, open_outcomes
from warmstart.joining.span import span
from warmstart.results import Duplicates, Impressions, Joined, Outcomes, Repeated

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from warmstart.engine import LocalEngine


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
    drop_nulls: bool = False,
    impressions_table: str | None = None,
    outcomes_table: str | None = None,
    engine: str | Engine = "duckdb",
    force: bool = False,
    on_progress: Progress = silent,
) -> Joined:
    """Write impressions with the rewards that came later as one Parquet file, which ``read_events`` takes.

    ``on`` names the columns by which both tables know an impression; a mapping, if the outcomes have other names for
    them. An outcome belongs to the last impression of its key at or before it (``repeated="error"``: a key with
    outcomes has one impression). It counts if it comes less than ``window`` ("7d", "12h") after that, and never
    before it. Two impressions of one key at one moment that have an outcome cannot be told apart: an error.

    ``reward`` is a column of the outcomes; without one, an outcome is a reward of 1. An impression without an outcome
    has reward 0. ``duplicates``, of several outcomes of one impression: the ``first`` (of those at that moment, the
    largest; the default where there are times), their ``sum``, their ``max`` (the default without times), or ``error``.

    An impression is too young if its window ends after ``until``, the moment up to which outcomes are known: that of
    the last outcome, if not given. It is left out, unless ``keep_young``. Rows without a key, time or reward are an
    error; ``drop_nulls`` leaves them out and counts them.

    The file has all columns of the impressions, ``reward`` and, with times, ``outcome_time``: that of the first outcome
    that counts. Rows come in no particular order. A file that ``join`` did not write is replaced with ``force`` only,
    an input never.

    >>> import pyarrow as pa, tempfile
    >>> shown = pa.table({"id": [1, 2], "page": ["p", "q"], "ad": ["a", "b"]})
    >>> clicks = pa.table({"id": [2, 2, 3]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = join(shown, clicks, Path(folder) / "log.parquet", on="id")
    >>> found.impressions.rewarded, found.outcomes.duplicates, found.outcomes.never_shown
    (1, 1, 1)
    """
    ours, theirs = _names(on)
    timed = _both_or_neither(impression_time, outcome_time)
    rules = Rules(_duplicates(duplicates, timed=timed), _window(window, timed=timed), None, keep_young)
    _check_call(rules, until, repeated)
    path = _checked_path(out, impressions, outcomes, force=force)
    home, shown = resolve_engine(stored_table(impressions, impressions_table), engine)
    if home.remote:
        raise UsageError(
            "Impressions do not leave the database that they are in.", "Copy both tables to Parquet, and join those."
        )
    on_progress("reading and checking")
    left = open_impressions(home, shown, ours, impression_time, drop_nulls=drop_nulls)
    _check_free(left, timed=timed)
    came = stored_table(outcomes, outcomes_table)
    right = open_outcomes(home, came, theirs, outcome_time, reward, drop_nulls=drop_nulls)
    check_keys_agree(left, right)
    rules = _until(rules, until, left, right)
    on_progress("finding the impression of every outcome")
    workshop, keys = cast("LocalEngine", home), left.keys
    with (
        workshop.materialise(attributed(left.table, right.table, keys)) as found,
        workshop.materialise(rewards(found, keys, rules)) as rewarded,
    ):
        _check_repeated(left, rewarded, repeated)
        _check_duplicates(left, rewarded, rules)
        outcomes_by_fate = _outcomes(right, found, rewarded, rules)
        young = _too_young(left, rules)
        on_progress("writing")
        written = _to_parquet(workshop, with_rewards(left.table, rewarded, keys, rules), left, path)
    return Joined(
        path,
        Impressions(left.rows, left.with_nulls, young, written, outcomes_by_fate.rewarding),
        outcomes_by_fate,
        rules.duplicates,
        rules.window,
        rules.until,
        until_is_last_outcome=rules.until is not None and until is None,
        kept_young=keep_young,
    )


def _outcomes(right: Side, found: ir.Table, rewarded: ir.Table, rules: Rules) -> Outcomes:
    fates = right.engine.fetch(outcome_counts(found, rules))[0]
    sums = rewarded.agg(impressions=rewarded.count(), outcomes=rewarded[COUNT].sum().coalesce(0))
    sizes = right.engine.fetch(sums)[0]
    return Outcomes(
        read=right.rows,
        with_nulls=right.with_nulls,
        **fates,
        rewarding=sizes["impressions"],
        duplicates=sizes["outcomes"] - sizes["impressions"],
    )


def _too_young(left: Side, rules: Rules) -> int:
    found = left.engine.fetch(impression_counts(left.table, rules))[0]
    if found["left_out"] == left.rows - left.with_nulls:
        raise EmptyWindowError(
            f"{left.where}: every impression is too young: outcomes are known up to one window after none of them.",
            "Take a shorter window, later outcomes, or keep the young (--keep-young).",
        )
    return int(found["too_young"])


def _to_parquet(engine: LocalEngine, rows: ir.Table, left: Side, path: Path) -> int:
    import pyarrow as pa

    tables = (_under_given_names(pa.Table.from_batches([batch]), left) for batch in engine.stream(rows))
    with write_output(path, force=True) as temporary:  # what may not be replaced was refused before the work
        return write_parquet(temporary, tables)


def _under_given_names(table: pa.Table, left: Side) -> pa.Table:
    import pyarrow as pa

    given = {f"column_{i}": name for i, name in enumerate(left.kept)}
    order = [*given, REWARD, *([OUTCOME_TIME] if TIME in left.given else [])]
    table = table.select(order)
    if TIME in left.given:
        table = table.set_column(len(order) - 1, OUTCOME_TIME, table[OUTCOME_TIME].cast(pa.timestamp("us", "UTC")))
    return table.rename_columns([given.get(name, name) for name in order])


def _names(on: str | Sequence[str] | Mapping[str, str]) -> tuple[list[str], list[str]]:
    if isinstance(on, str):
        on = [on]
    ours, theirs = (list(on), list(on.values())) if isinstance(on, Mapping) else (list(on), list(on))
    if not ours:
        raise UsageError("Name at least one column to join on.")
    for names in (ours, theirs):
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(f"Column {quoted(twice)} is given {names.count(twice)} times to join on.")
    return ours, theirs


def _both_or_neither(impression_time: str | None, outcome_time: str | None) -> bool:
    if (impression_time is None) != (outcome_time is None):
        raise UsageError("One of the tables has a time and the other has none.", "Name both times, or neither.")
    return impression_time is not None


def _duplicates(asked: Duplicates | None, *, timed: bool) -> Duplicates:
    if asked is not None and asked not in get_args(Duplicates):
        raise UsageError(f"Duplicates cannot be {quoted(asked)}.", f"Choose {', '.join(get_args(Duplicates))}.")
    if asked == "first" and not timed:
        raise UsageError("Without times no outcome is the first.", "Choose sum, max or error.")
    return asked or ("first" if timed else "max")


def _window(window: str | timedelta | None, *, timed: bool) -> int | None:
    if window is not None and not timed:
        raise UsageError("A window needs times.", "Name --impression-time and --outcome-time.")
    return None if window is None else span(window)


def _check_call(rules: Rules, until: Moment | None, repeated: Repeated) -> None:
    if (until is not None or rules.keep_young) and rules.window is None:
        raise UsageError("Without a window no impression is too young.", "Give --window, such as 7d.")
    if repeated not in get_args(Repeated):
        raise UsageError(f"Repeated keys cannot be {quoted(repeated)}.", f"Choose {', '.join(get_args(Repeated))}.")


def _until(rules: Rules, until: Moment | None, left: Side, right: Side) -> Rules:
    if rules.window is None:
        return rules
    if until is None:
        moment = right.last
    elif isinstance(until, int):
        ticks = right.ticks or left.ticks
        if ticks is None:
            raise UsageError(f"The integer {until} is no moment where times are not integers.", "Write 2026-10-21.")
        moment = until * 1_000_000 // ticks
    else:
        moment = microseconds(until)
    return Rules(rules.duplicates, rules.window, moment, rules.keep_young)


def _checked_path(out: str | Path, *sources: Any, force: bool) -> Path:
    path = Path(out)
    if path.suffix != ".parquet":
        raise UsageError(f"The result is Parquet, and {quoted(path.name)} does not end so.", "Name it NAME.parquet.")
    check_output(path, inputs=sources, force=force)
    return path


def _check_free(left: Side, *, timed: bool) -> None:
    taken = {name.casefold(): name for name in left.kept}
    for name in (REWARD, *([OUTCOME_TIME] if timed else [])):
        if name in taken:
            raise DataError(
                f"{left.where} has a column {quoted(taken[name])} of its own.", "Rename it before you join."
            )


def _check_repeated(left: Side, rewarded: ir.Table, repeated: Repeated) -> None:
    timed = TIME in left.given
    found = repeated_keys(left.table, rewarded, left.keys, also_in_time=timed and repeated == "last")
    if example := example_rows(left.engine, found, left.given):
        moment = " at one moment" if timed and repeated == "last" else ""
        hint = "Join on a column more, or remove copies" + ("." if timed else "; or name times.")
        raise DataError(f"{left.where}: several impressions of one key{moment} have an outcome ({example}).", hint)


def _check_duplicates(left: Side, rewarded: ir.Table, rules: Rules) -> None:
    if rules.duplicates != "error":
        return
    twice = rewarded.filter(rewarded[COUNT] > 1).drop(SHOWN_AT, OUTCOME_TIME, REWARD)
    if example := example_rows(left.engine, twice, left.given):
        raise DataError(f"An impression has several outcomes ({example}).", "Choose first, sum or max for duplicates.")
