"""What grouping a log gives: its groups with their sizes, and the numbers of groups that were tried."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from warmstart.core import counted, percent, printable, quoted
from warmstart.results.display import Result, TextTable


@dataclass(frozen=True)
class GroupSize:
    """A group, by its number and words, and how many events are in it."""

    name: str
    events: int


@dataclass(frozen=True)
class GroupsTried:
    """A number of groups that was asked for, how many had enough events, the events of the smallest, and their fit.

    ``explained``: the share of the spread (variance) of texts that lies between the groups.
    """

    asked: int
    groups: int
    smallest: int
    explained: float
    chosen: bool = False


@dataclass(frozen=True, repr=False)
class Grouped(Result):
    """A log with a column ``group``, and the saved grouping beside it.

    ``without_group``: events whose text is null or has no known word; their group is ``(none)``. ``tried`` is empty
    where a saved grouping was used. ``features``: the columns of numbers that tell where each text lies. ``fitted_on``:
    the events with a text that the grouping was fitted to; None for a saved one.
    """

    folder: Path
    rows: int
    groups: tuple[GroupSize, ...]
    without_group: int = 0
    tried: tuple[GroupsTried, ...] = ()
    kept_text: bool = False
    features: tuple[str, ...] = ()
    fitted_on: int | None = None

    @property
    def events(self) -> Path:
        """Return the log with its groups."""
        return self.folder / "events.parquet"

    @property
    def tables(self) -> list[TextTable]:
        """Return the groups, and the numbers that were tried."""
        rows = [(printable(one.name), f"{one.events:,}", percent(one.events / self.rows)) for one in self.groups]
        tables = [TextTable("Groups", ("group", "events", "share"), rows, 1)]
        if len(self.tried) > 1:
            tried = [
                (f"{t.asked}", f"{t.groups}", f"{t.smallest:,}", percent(t.explained), "chosen" if t.chosen else "")
                for t in self.tried
            ]
            header = ("asked", "with enough events", "smallest", "explained", "")
            tables.append(TextTable("Numbers of groups", header, tried))
        return tables

    @property
    def notes(self) -> list[str]:
        """Say what was written, and what is stored."""
        lines = [f"Wrote {counted(self.rows, 'event')} to {printable(self.events)}."]
        if self.fitted_on is not None and self.fitted_on < self.rows:
            lines.append(f"Fitted to {counted(self.fitted_on, 'event')} of them.")
        if self.without_group:
            lines.append(f"{counted(self.without_group, 'event')} without a known word: their group is (none).")
        if self.kept_text:
            lines.append("Texts are in the log, since that was asked for.")
        else:
            lines.append("Texts are not in the log; names of groups are words that at least five of their texts share.")
        if self.features:
            names = f"{quoted(self.features[0])} to {quoted(self.features[-1])}"
            lines.append(f"Where each text lies is in {names}: whoever guesses a text can confirm it by its numbers.")
        return lines
