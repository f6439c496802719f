"""What the columns of an unknown log hold: types, how many values, how many nulls, from where to where."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from warmstart.auditing.written_dates import date_formats, integer_format, is_written_date
from warmstart.events import missing, text_as_time, ticks_per_day

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine, SourceTable

ColumnKind = Literal["truth", "whole", "number", "text", "time", "other"]
# Of columns with so few values all are listed.
FEW = 12
# Above so many rows values are counted approximately, where the engine can.
MANY_ROWS = 2_000_000
# Values of text that say yes or no, in pairs.
YES_WORDS = "yes y true t clicked click 1 converted bought success positive on ja j oui si sí sim tak"
NO_WORDS = "no n false f not_clicked none 0 skipped ignored failure negative off nein nej nee non não nao nie"
YES, NO = frozenset(YES_WORDS.split()), frozenset(NO_WORDS.split())
# Text that holds numbers, with currencies, per cent or separators of thousands.
NUMBER_TEXT = re.compile(r"^[-+]?\W{0,4}[0-9][0-9.,' ]*\W{0,4}[A-Z]{0,3}$")
# The first two numbers of a date.
FIRST_TWO = r"^\s*([0-9]{1,4})[./-]([0-9]{1,2})[./-]"
EXAMPLES = 3


@dataclass(frozen=True)
class ColumnProfile:
    """A column: its name, what it holds, its rows, nulls and distinct values, and the ends of numbers.

    ``values``: all of them, as text, if they are few. ``times``: the share of text that can be read as a time.
    ``examples``: of text, some values. ``date_ends``: of text that looks like dates of digits, the largest first
    number and the largest second one.
    """

    name: str
    kind: ColumnKind
    type: str
    rows: int
    nulls: int
    distinct: int
    least: float | None = None
    most: float | None = None
    values: tuple[str, ...] = ()
    times: float = 0.0
    examples: tuple[str, ...] = ()
    date_ends: tuple[float, float] | None = None

    @property
    def repeats(self) -> float:
        """Return how often a value comes, on average."""
        return (self.rows - self.nulls) / self.distinct if self.distinct else 0.0

    @property
    def is_yes_or_no(self) -> bool:
        """Tell whether it is text of two values that say yes and no."""
        words = set(map(_word, self.values))
        return self.kind == "text" and len(words) == 2 and bool(words & YES) and bool(words & NO)

    @property
    def looks_like_numbers(self) -> bool:
        """Tell whether it is text that holds numbers, as '$1,250.00' or '12 %'."""
        return bool(self.examples) and all(NUMBER_TEXT.match(one.strip()) for one in self.examples)

    @property
    def looks_like_dates(self) -> bool:
        """Tell whether it holds dates, as text in whatever form or as integers such as 20261231."""
        return bool(self.date_formats) or (bool(self.examples) and all(map(is_written_date, self.examples)))

    @property
    def date_formats(self) -> tuple[str, ...]:
        """Return the formats that its dates may have: two if days could be months, none if it is not known."""
        if self.kind == "whole":
            form = integer_format(self.least, self.most)
            return () if form is None else (form,)
        return date_formats(self.examples, self.date_ends) if all(map(is_written_date, self.examples)) else ()

    @property
    def is_zero_or_one(self) -> bool:
        """Tell whether it holds truths, or numbers that are 0 and 1."""
        return self.kind == "truth" or (self.distinct <= 2 and (self.least, self.most) == (0.0, 1.0))

    @property
    def is_epoch(self) -> bool:
        """Tell whether it holds integers that are seconds, milli-, micro- or nanoseconds since 1970."""
        ends = self.least, self.most
        return (
            self.kind == "whole"
            and None not in ends
            and ticks_per_day(int(ends[0] or 0), int(ends[1] or 0)) is not None
        )


def says_yes(value: str) -> bool:
    """Tell whether a text says yes.

    >>> says_yes("Ja"), says_yes("nein")
    (True, False)
    """
    return _word(value) in YES


def _word(value: str) -> str:
    return value.strip().lower().replace(" ", "_")


def profile_columns(engine: Engine, opened: SourceTable) -> list[ColumnProfile]:
    """Return the columns of a source, in one pass, and another one over those with few values."""
    table = opened.table
    columns = [(name, table[place], _kind(table[place])) for place, name in enumerate(opened.names)]
    rows = int(engine.fetch(table.agg(rows=table.count()))[0]["rows"])
    sums: dict[str, ir.Value] = {}
    for i, (_, column, kind) in enumerate(columns):
        if kind == "other":
            continue
        known = missing(column).ifelse(None, column) if kind == "number" else column
        sums[f"known_{i}"] = known.count()
        sums[f"distinct_{i}"] = known.approx_nunique() if rows > MANY_ROWS and not engine.remote else known.nunique()
        if kind in ("whole", "number"):
            sums |= {f"least_{i}": known.min().cast("float64"), f"most_{i}": known.max().cast("float64")}
        if kind == "text":
            sums[f"times_{i}"] = text_as_time(column.cast("string")).count()
    totals = engine.fetch(table.agg(**sums))[0] if sums and rows else {}
    return [
        _profile(engine, table, (i, *column), rows, totals) for i, column in enumerate(columns)
    ]  # fmt: skip


def _profile(
    engine: Engine, table: Any, column: tuple[int, str, Any, ColumnKind], rows: int, totals: Any
) -> ColumnProfile:
    i, name, values, kind = column
    known, distinct = int(totals.get(f"known_{i}") or 0), int(totals.get(f"distinct_{i}") or 0)
    times = (totals.get(f"times_{i}") or 0) / known if known else 0.0
    few: tuple[str, ...] = ()
    if kind == "text" and 0 < distinct <= FEW:
        own = table.select(value=values).filter(lambda part: part["value"].notnull()).distinct().limit(FEW)
        few = tuple(sorted(str(row["value"]) for row in engine.fetch(own)))
    first = few[:EXAMPLES]
    if kind == "text" and distinct > FEW:
        known_values = table.select(value=values).filter(lambda part: part["value"].notnull()).limit(EXAMPLES)
        first = tuple(str(row["value"]) for row in engine.fetch(known_values))
    ends = None
    if first and times <= 0.99 and all(map(is_written_date, first)):
        numbers = [values.re_extract(FIRST_TWO, place).try_cast("int64").max() for place in (1, 2)]
        high = engine.fetch(table.agg(first=numbers[0], second=numbers[1]))[0]
        ends = (float(high["first"] or 0), float(high["second"] or 0))
    return ColumnProfile(
        name=name,
        kind=kind,
        type=str(values.type()).removeprefix("!"),
        rows=rows,
        nulls=rows - known if kind != "other" else 0,
        distinct=min(distinct, known),
        least=totals.get(f"least_{i}"),
        most=totals.get(f"most_{i}"),
        values=few,
        times=times,
        examples=first,
        date_ends=ends,
    )


def _kind(column: Any) -> ColumnKind:
    kind = column.type()
    if kind.is_boolean():
        return "truth"
    if kind.is_integer():
        return "whole"
    if kind.is_floating() or kind.is_decimal():
        return "number"
    if kind.is_string() or kind.is_uuid():
        return "text"
    return "time" if kind.is_timestamp() or kind.is_date() else "other"
