"""What exports to and imports from other tools return: files or tables, and what to know before using them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmstart.core import counted, printable
from warmstart.results.display import Result, plain

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, repr=False)
class Exported(Result):
    """Files written for another learner: the events and, for Vowpal Wabbit, the contexts to choose for and the keys.

    ``bare``: contexts and actions that have no row in the table that describes them.
    """

    path: Path
    format: str
    tau: float
    propensities: str
    events: int
    contexts: int
    actions: int
    bare: int = 0

    @property
    def notes(self) -> list[str]:
        """Say what was written."""
        weighted = f"with propensities of at least {self.tau:g} ({self.propensities})"
        lines = [f"Wrote {counted(self.events, 'event')} {weighted} to {printable(self.path)}."]
        if self.format != "parquet":
            contexts = printable(self.path.with_name(f"{self.path.stem}.contexts.vw"))
            choice = f"{counted(self.contexts, 'context')} to choose for among {counted(self.actions, 'action')}"
            lines.append(f"{contexts} has {choice}; the tables beside it have their keys.")
        if self.bare:
            lines.append(f"WARNING: {self.bare:,} contexts and actions have no row in the tables of features.")
        return lines


@dataclass(frozen=True, repr=False)
class Imported(Result):
    """A folder of tables that another tool's log became, and what is known about them."""

    folder: Path
    about: dict[str, Any]

    @property
    def events(self) -> Path:
        """Return the file of events: context, action, reward, cost[, propensity, feasible, ...]."""
        return self.folder / "events.parquet"

    @property
    def contexts(self) -> Path:
        """Return the file of contexts: their words with weights."""
        return self.folder / "contexts.parquet"

    @property
    def actions(self) -> Path:
        """Return the file of actions: their words with weights."""
        return self.folder / "actions.parquet"

    def to_dict(self) -> dict[str, Any]:
        """Return what ``about.json`` says, and the folder."""
        return {**self._head(), "folder": str(self.folder), **plain(self.about)}

    @property
    def notes(self) -> list[str]:
        """Say what was read, and what to know before using it."""
        about, costs = self.about, self.about["costs"]
        sides = f"{counted(about['contexts'], 'context')}, {counted(about['actions'], 'action')}"
        lines = [
            f"{counted(about['events'], 'event')}, {about['unlabelled']:,} examples without a label; {sides}.",
            f"reward = ({costs['high']:g} - cost) / {costs['high'] - costs['low']:g} ({costs['rule']}).",
        ]
        if about["propensities"] == 0:
            lines.append("There are no probabilities in it: propensities will be estimated.")
        elif about["propensities"] < about["events"]:
            lines.append(f"WARNING: only {about['propensities']:,} of {about['events']:,} events have a probability.")
        if about["malformed"]["lines"]:
            lines.append(f"WARNING: {counted(about['malformed']['lines'], 'malformed line')} left out.")
            lines += about["malformed"]["first"]
        if about["equal_actions"]:
            lines.append(
                f"WARNING: in {counted(about['equal_actions'], 'event')} several actions have equal features, so they "
                "are one action here, whose logged probability is that of one of them."
            )
        return lines


@dataclass(frozen=True, repr=False)
class ImportedTables:
    """A log as Arrow tables: events for ``read_events``, contexts and actions for ``fit``, and what is known of them.

    ``decisions``: a policy that came with it, as ``evaluate`` takes it.
    """

    events: pa.Table
    contexts: pa.Table
    actions: pa.Table
    about: dict[str, Any]
    decisions: pa.Table | None = None

    def __repr__(self) -> str:
        sizes = ", ".join(f"{getattr(self, name).num_rows:,} {name}" for name in ("events", "contexts", "actions"))
        return f"ImportedTables({sizes}; events have {', '.join(self.events.column_names)})"


@dataclass(frozen=True, repr=False)
class Decisions(Result):
    """A file of decisions, how many contexts it decides, and how many rows it has."""

    path: Path
    contexts: int
    rows: int

    @property
    def notes(self) -> list[str]:
        """Say what was written."""
        what = f"{counted(self.rows, 'decision')} for {counted(self.contexts, 'context')}"
        return [f"Wrote {what} to {printable(self.path)}."]
