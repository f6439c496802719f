"""Which epoch a log allows: support inside epochs of every length, and whether the logging policy reacts there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import ibis

from warmstart.auditing.epoch_sums import LENGTH, SLICE, length_sums, reaction
from warmstart.core import ACTION, EPOCH, quoted
from warmstart.events import DAYS_BEFORE_MONDAY, HOUR, KEYWORDS, SLOT, SLOTS_PER_HOUR, open_slots
from warmstart.results import LEVEL, EpochFacts, EpochLength

if TYPE_CHECKING:
    from collections.abc import Iterator

    import ibis.expr.types as ir

    from warmstart.engine import Row
    from warmstart.events import Events, Slots

TAU = 0.01
# A column's epochs, and days, have so many slices.
SLICES = 6
# As for evaluate: below this share of traffic in contexts seen more than once, nothing is counted by context.
REPEATING = 0.1
SLOTS_PER_DAY = 24 * SLOTS_PER_HOUR
# Standard deviations: at a level of 1 %, two-sided, a sum of this mean is found with a chance of 80 %.
FOUND = 2.5758 + 0.8416
# Rewards and later shares of simulated loggers that react inside a day had correlations of .15 to .8 over stretches; so
# many stretches show one of .24 with a chance of 80 %.
ENOUGH_STRETCHES = 200
ALL = "all"


class Division(NamedTuple):
    """Epochs of one length: ``rows`` of slots with the ``epoch`` and ``slice`` of each; ``words``: one, for people."""

    name: str
    words: str
    rows: ir.Table
    epoch: ir.Value
    slice: ir.Value
    nested: bool = True


def epoch_facts(events: Events, *, tau: float = TAU) -> EpochFacts | None:
    """Tell within which epochs the logging policy does not react to rewards; None without a time column.

    Args:
        events: The log, or a window of it, from which later windows are to be judged.
        tau: Two actions are supported where both have this share of the context in the epoch.
    """
    if events.columns.time is None:
        return None
    with open_slots(events) as slots:
        if _repeating(slots) < REPEATING:
            return EpochFacts((), tau, slots.share)
        result = _lengths(slots, list(_divisions(slots)), tau)
    return EpochFacts(tuple(judged(sorted(result, key=lambda row: row.epochs))), tau, slots.share)


def judged(lengths: list[EpochLength]) -> list[EpochLength]:
    """Say of every length, longest first, whether the logging policy reacts inside it.

    What reacts within an hour reacts within a day: a length is tested by its own p-value and those of all shorter ones
    (Bonferroni). From the longest on, each is tested at the full level until one is not found to react (fixed
    sequence), so that an epoch that is short enough is called too long in 1 % of logs.
    """
    reacting = 0
    while reacting < len(lengths) and _joint_p(lengths[reacting:]) < LEVEL:
        reacting += 1
    excluded = reacting < len(lengths) and _is_excluded(lengths, reacting)
    answers = [True] * reacting + [False if excluded else None] * (len(lengths) - reacting)
    return [replace(row, reacts=answer) for row, answer in zip(lengths, answers, strict=True)]


def _p_values(lengths: list[EpochLength]) -> list[float]:
    """Return the p-values that tell of the first length: its own and those inside it."""
    own = lengths[0]
    inside = [row.p_value for row in lengths if row is own or (own.nested and row.nested) or own.name == ALL]
    return [p for p in inside if p is not None]


def _joint_p(lengths: list[EpochLength]) -> float:
    p_values = _p_values(lengths)
    return len(p_values) * min(p_values) if p_values else 1.0


def _is_excluded(lengths: list[EpochLength], place: int) -> bool:
    """Tell whether a reaction inside a length would have been found, if there were one, and no test is in doubt.

    One as strong as inside the next longer length; or, where no reaction was found at all, one of usual strength.
    """
    row = lengths[place]
    if row.p_value is None or min(_p_values(lengths[place:])) < LEVEL:
        return False
    if place == 0:
        return any(row.stretches >= ENOUGH_STRETCHES for row in lengths if row.name != "hour")
    seen = [longer.response for longer in lengths[:place] if longer.p_value is not None and longer.p_value < LEVEL]
    return row.visible is not None and bool(seen) and row.visible <= abs(seen[-1] or 0.0)


def _lengths(slots: Slots, divisions: list[Division], tau: float) -> list[EpochLength]:
    """Ask for all lengths at once: to compile a query takes as long as to run it on a small log."""
    contexts = slots.events.columns.context_keys
    rows = [_summed(division, number, [*contexts, ACTION]) for number, division in enumerate(divisions)]
    stacked = slots.engine.materialise(ibis.union(*rows, distinct=False) if len(rows) > 1 else rows[0])
    try:
        totals = {row[LENGTH]: row for row in slots.engine.fetch(length_sums(stacked, contexts, tau))}
        epochs = stacked.group_by(LENGTH).agg(epochs=stacked[EPOCH].nunique())
        numbers = {row[LENGTH]: row["epochs"] for row in slots.engine.fetch(epochs)}
    finally:
        stacked.release()
    return [_length(division, totals[i], int(numbers[i])) for i, division in enumerate(divisions)]


def _summed(division: Division, number: int, keys: list[str]) -> ir.Table:
    rows = division.rows
    by = {LENGTH: ibis.literal(number, "int64"), EPOCH: division.epoch, SLICE: division.slice}
    sums = {name: rows[name].sum() for name in ("n", "reward_sum", "reward_sq_sum")}
    grouped = rows.group_by(**{key: rows[key] for key in keys}, **by).agg(**sums)
    return grouped.select(LENGTH, *keys, EPOCH, SLICE, *sums)


def _length(division: Division, totals: Row, epochs: int) -> EpochLength:
    test, both = reaction(totals)
    p_value, clustered = (None, None) if test is None else test.p_values
    return EpochLength(
        name=division.name,
        words=division.words,
        epochs=epochs,
        choice=totals["choice"] / totals["n"],
        supported=totals["supported"] / totals["n"],
        response=None if test is None else test.response,
        visible=None if both is None else FOUND / both.reach,
        stretches=0.0 if both is None else both.stretches,
        p_value=p_value,
        clustered_p=clustered,
        nested=division.nested,
    )


def _divisions(slots: Slots) -> Iterator[Division]:
    """Yield the whole window, the lengths of which it has two epochs or more, and the log's own epochs."""
    table, window = slots.table, slots.events.window
    first, last = ((time or 0) // (HOUR // SLOTS_PER_HOUR) for time in (window.first, window.last))
    slot = table[SLOT]
    day, length = _whole(slot, SLOTS_PER_DAY), SLOTS_PER_DAY // SLICES
    week = _whole(day + DAYS_BEFORE_MONDAY, 7)
    span = last - first + 1
    fine = next((size for size in (SLOTS_PER_DAY, length) if span >= SLICES * size), 1)
    yield Division(ALL, "the whole window", table, slot * 0, _whole(slot, fine))
    if _weeks(last) > _weeks(first):
        yield Division("week", "a week", table, week, day)
    if last // SLOTS_PER_DAY > first // SLOTS_PER_DAY:
        yield Division("day", "a day", table, day, _whole(slot, length))
    if last // SLOTS_PER_HOUR > first // SLOTS_PER_HOUR and _within_days(slots):
        yield Division("hour", "an hour", table, _whole(slot, SLOTS_PER_HOUR), slot)
    if (column := slots.events.columns.epoch) is not None:
        yield _by_column(table, column)


def _by_column(table: ir.Table, column: str) -> Division:
    """Cut the time from the first to the last event of every value of the column into slices."""
    spans = table.group_by(EPOCH).agg(since=table[SLOT].min(), until=table[SLOT].max())
    spans = spans.mutate(epoch_number=ibis.row_number().over(ibis.window(order_by=EPOCH)).cast("int64"))
    rows = table.join(spans, EPOCH).select(*table.columns, "since", "until", "epoch_number")
    place = _whole((rows[SLOT] - rows.since) * SLICES, rows.until - rows.since + 1)
    name = f"column:{column}" if column in KEYWORDS else column
    return Division(name, f"a value of {quoted(column)}", rows, rows.epoch_number, place, nested=False)


def _whole(number: ir.Value, size: ir.Value | int) -> ir.Value:
    return (number / size).floor().cast("int64")


def _weeks(slot: int) -> int:
    return (slot // SLOTS_PER_DAY + DAYS_BEFORE_MONDAY) // 7


def _within_days(slots: Slots) -> bool:
    """Tell whether any event is not at the beginning of a day: times may be dates."""
    inside = (slots.table[SLOT] % SLOTS_PER_DAY != 0).cast("int64").max()
    return bool(slots.engine.fetch(slots.table.agg(inside=inside))[0]["inside"])


def _repeating(slots: Slots) -> float:
    table = slots.table
    contexts = table.group_by(*slots.events.columns.context_keys).agg(n=table.n.sum())
    sums = contexts.agg(n=contexts.n.sum(), again=(contexts.n > 1).ifelse(contexts.n, 0.0).sum())
    totals = slots.engine.fetch(sums)[0]
    return float(totals["again"] or 0.0) / float(totals["n"] or 1.0)
