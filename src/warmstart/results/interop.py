"""What exports to and imports from other tools return: files or tables, and what to know before using them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmstart.core.text import counted, printable

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Exported:
    """What was written: the events and, for Vowpal Wabbit, the contexts to choose for and the keys of both sides.

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

    def notes(self) -> list[str]:
        """Say what was written."""
        said = [
            (
                f"Wrote {counted(self.events, 'event')} with propensities of at least {self.tau:g} "
                f"({self.propensities}) to {printable(self.path)}."
            )
        ]
        if self.format != "parquet":
            contexts = self.path.with_name(f"{self.path.stem}.contexts.vw")
            said.append(
                f"{printable(contexts)} has {counted(self.contexts, 'context')} to choose for "
                f"among {counted(self.actions, 'action')}; the tables beside it have their keys."
            )
        if self.bare:
            said.append(f"WARNING: {self.bare:,} contexts and actions have no row in the tables of features.")
        return said


@dataclass(frozen=True)
class Imported:
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

    def notes(self) -> list[str]:
        """Say what was read, and what to know before using it."""
        about = self.about
        costs = about["costs"]
        sides = f"{counted(about['contexts'], 'context')}, {counted(about['actions'], 'action')}"
        events = f"{counted(about['events'], 'event')}, {about['unlabelled']:,} examples without a label; {sides}."
        said = [
            events,
            f"reward = ({costs['high']:g} - cost) / {costs['high'] - costs['low']:g} ({costs['rule']}).",
        ]
        if about["propensities"] == 0:
            said.append("There are no probabilities in it: propensities will be estimated.")
        elif about["propensities"] < about["events"]:
            said.append(f"WARNING: only {about['propensities']:,} of {about['events']:,} events have a probability.")
        if about["malformed"]["lines"]:
            said.append(f"WARNING: {counted(about['malformed']['lines'], 'malformed line')} left out.")
            said += about["malformed"]["first"]
        if about["equal_actions"]:
            said.append(
                f"WARNING: in {counted(about['equal_actions'], 'event')} several actions have equal features, so they "
                "are one action here, whose logged probability is that of one of them."
            )
        return said


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


@dataclass(frozen=True)
class Decisions:
    """A file of decisions, how many contexts it decides, and how many rows it has."""

    path: Path
    contexts: int
    rows: int

    def notes(self) -> list[str]:
        """Say what was written."""
        return [
            f"Wrote {counted(self.rows, 'decision')} for {counted(self.contexts, 'context')} to {printable(self.path)}."
        ]
