"""What exports to and imports from other tools return: files or tables, and what to know before using them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from warmstart.core import counted, percent, printable, quoted, shortened
from warmstart.results.display import Result, plain

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN_MODELS = 5
# What a call is first compared within, if the log has it for all calls.
CONTEXTS = ("requested_model", "name", "service", "environment")
STORED = {
    "none": "No prompt is stored.",
    "hash": "Prompts are stored as hashes: whoever guesses one can confirm it.",
    "text": "Prompts are stored as text, with their hashes.",
}


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
            lines.append(f"WARNING: {self.bare:,} contexts and actions have no row in the tables of features. (WS217)")
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
            lines.append(
                f"WARNING: only {about['propensities']:,} of {about['events']:,} events have a probability. (WS210)"
            )
        if about["malformed"]["lines"]:
            lines.append(f"WARNING: {counted(about['malformed']['lines'], 'malformed line')} left out. (WS215)")
            lines += about["malformed"]["first"]
        if about["equal_actions"]:
            lines.append(
                f"WARNING: in {counted(about['equal_actions'], 'event')} several actions have equal features, so they "
                "are one action here, whose logged probability is that of one of them. (WS218)"
            )
        return lines


@dataclass(frozen=True, repr=False)
class ImportedCalls(Result):
    """A folder of events that a log of requests to language models became, their scores, and what was left out."""

    folder: Path
    about: dict[str, Any]

    @property
    def events(self) -> Path:
        """Return the file of events: request_id, time, model, and what the log has of context, cost and latency."""
        return self.folder / "events.parquet"

    @property
    def scores(self) -> dict[str, Path]:
        """Return the files of judgements by name: request_id, time, score."""
        return {name: self.folder / one["file"] for name, one in self.about["scores"]["named"].items()}

    def to_dict(self) -> dict[str, Any]:
        """Return what ``about.json`` says, and the folder."""
        return {**self._head(), "folder": str(self.folder), **plain(self.about)}

    @property
    def notes(self) -> list[str]:
        """Say what was read, what was left out and why, and what is stored."""
        about, scores = self.about, self.about["scores"]
        span = " to ".join(about["times"])
        calls = f"{counted(about['events'], 'call')} of {counted(len(about['models']), 'model')}, {span}"
        lines = [f"{calls}; {counted(about['read'], 'record')} read."]
        if about["dropped"]:
            lines.append(f"Left out: {_reasons(about['dropped'])}.")
        if about["failed"]:
            most = list(about["failed"].items())[:SHOWN_MODELS]
            shares = [f"{shortened(m)} {n:,} of {n + self._answered(m):,}" for m, n in most]
            lines.append(
                f"WARNING: Failures by model: {', '.join(shares)}. Values are those of answered calls: a model that "
                "fails more looks better than it is. (WS113)"
            )
        lines += self._names_of_models()
        lines += [
            f"Scores {shortened(name)}: {one['scores']:,}, from {one['low']:g} to {one['high']:g}."
            for name, one in scores["named"].items()
        ]
        if scores["dropped"]:
            lines.append(f"Scores left out: {_reasons(scores['dropped'])}.")
        if (traces := about.get("traces", {})).get("read"):
            told, read = counted(traces["calls"], "call"), counted(traces["read"], "trace")
            lines.append(f"{told} took user, session, name or tags from their traces; {read} read.")
        if about["malformed"]["lines"]:
            lines.append(f"WARNING: {counted(about['malformed']['lines'], 'malformed line')} left out. (WS215)")
            lines += about["malformed"]["first"]
        lines.append(f"Columns: {', '.join(self._column(name) for name in about['columns'])}.")
        return [*lines, STORED[about["prompts"]]]

    @property
    def next_command(self) -> str:
        """Return the command to run next: join the scores if there are any, else audit the cost."""
        events, scores = quote(printable(self.events)), self.scores
        join = f"warmstart join {events}"
        times, leave = "--impression-time time --outcome-time time", "--without-outcome leave-out --out judged.parquet"
        if scores:
            most = max(scores, key=lambda name: self.about["scores"]["named"][name]["scores"])
            return f"{join} {quote(printable(scores[most]))} --on request_id {times} --reward score {leave}"
        if self.about["costs"] is None:
            return f"{join} JUDGEMENTS --on request_id=COLUMN --reward COLUMN {leave}"
        context = next((name for name in CONTEXTS if self.about["columns"].get(name) == self.about["events"]), "COLUMN")
        low, high = self.about["costs"]
        top, bottom = max(high, 0) or 1, min(low, 0)
        cost = f"--reward cost --range cost={bottom!r}:{top!r}"
        return f"warmstart audit {events} --context {context} --action model {cost} --time time"

    def _answered(self, model: str) -> int:
        """Return how many calls a model answered, or were answered under an alias."""
        return int(sum(self.about.get("aliases", {}).get(model, {}).values()) or self.about["models"].get(model, 0))

    def _names_of_models(self) -> list[str]:
        """Say where several models answered under one name, and which names may be those of one model."""
        lines = []
        for alias, models in list(self.about.get("aliases", {}).items())[:SHOWN_MODELS]:
            by = ", ".join(f"{shortened(m)} {n:,}" for m, n in list(models.items())[:SHOWN_MODELS])
            action = quoted(alias) if self.about["action"] == "request" else "the model that answered"
            lines.append(
                f"WARNING: Several models answered to the name {quoted(alias)} ({by}): the action is {action}. (WS221)"
            )
        for group in self.about.get("alike", [])[:SHOWN_MODELS]:
            names = ", ".join(map(quoted, group[:SHOWN_MODELS]))
            lines.append(
                f"WARNING: {names} differ by provider or case alone, and are {len(group)} actions. If they are one "
                "model, give them one name before you import. (WS222)"
            )
        return lines

    def _column(self, name: str) -> str:
        share = self.about["columns"][name] / self.about["events"]
        return name if share == 1 else f"{name} ({percent(share)})"


def _reasons(dropped: dict[str, int]) -> str:
    return ", ".join(f"{n:,} {reason}" for reason, n in sorted(dropped.items(), key=lambda pair: -pair[1]))


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
