"""Look at an unknown log and propose which column is what: the first minute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmstart.auditing import Candidate, ColumnProfile, Roles, find_roles, is_sure, profile_columns
from warmstart.core import EmptyWindowError, UsageError, no_such_column, quoted, shortened
from warmstart.engine import describe, open_every_column, resolve_engine, stored_table
from warmstart.pipeline.constants import MOST as MOST_CONSTANTS
from warmstart.pipeline.init_toml import toml_text
from warmstart.results import (
    COSTLY,
    Proposal,
    ProposedRole,
    left_out_note,
    nulls_note,
    only_known_note,
    unread_time_note,
    without_note,
)

if TYPE_CHECKING:
    from warmstart.engine import Engine, SourceTable

# Asked with a question, the possible answers and the one to take if nothing is said; returns the answer.
Ask = Callable[[str, Sequence[str], str], str]
NONE = "none"
# Roles in the order of a settings file; those that a log cannot do without are needed.
ROLES = ("context", "action", "reward", "time", "unit", "epoch", "propensity", "event_id")
NEEDED = ("action", "reward")
NOTHING = {
    "time": "no column holds times",
    "unit": "no column is named like a user or a session whose events repeat",
    "epoch": "no column tells versions of the logging policy apart; audit tells whether it learned over time",
    "propensity": "nobody recorded probabilities, so they are counted or modelled",
    "event_id": "no column is different in every event",
}
SHOWN_ROWS = 10
# A reward of so few whole values is a rating.
RATINGS = 11


def init(
    source: Any = None,
    *,
    context: str | Sequence[str] = (),
    action: str | None = None,
    reward: str | None = None,
    time: str | None = None,
    unit: str | Sequence[str] = (),
    epoch: str | None = None,
    propensity: str | None = None,
    event_id: str | None = None,
    also: str | Sequence[str] = (),
    minimize: str | Sequence[str] = (),
    ranges: Mapping[str, tuple[float, float]] | None = None,
    table: str | None = None,
    drop_nulls: bool = False,
    engine: Any = "duckdb",
    ask: Ask | None = None,
    accept: bool = False,
) -> Proposal:
    """Propose which column of a log is what, from names, types, cardinalities and repeats, as a settings file.

    Args:
        source: The log, as ``read_events`` takes it.
        context: The context columns, if they are known. All names that are given are taken, and not guessed.
        action: The column of the action.
        reward: The column of the reward.
        time: The column of the time; "none" if there is none to be used. So for unit, epoch, propensity and event_id.
        unit: The columns of whoever comes back.
        epoch: As for ``read_events``.
        propensity: The column of logged probabilities.
        event_id: What tells events apart.
        also: Further outcomes.
        minimize: Outcomes of which less is better.
        ranges: The possible values of outcomes that are not within 0 and 1.
        table: The table of a database.
        drop_nulls: Leave rows with nulls out.
        engine: As for ``read_events``.
        ask: Called where a column is not clear, with a question, the possible answers and the likeliest; without it,
            an action or a reward that is not clear is an error that lists what it may be.
        accept: Take the likeliest without a question.

    >>> import pyarrow as pa
    >>> log = pa.table({"page": ["p", "q"] * 50, "ad": ["a", "b", "b", "a"] * 25, "click": [0, 1] * 50})
    >>> init(log)["action"].columns
    ('ad',)
    """
    home, source = resolve_engine(stored_table(source, table), engine)
    opened = open_every_column(home, source)
    single = {"action": action, "reward": reward, "time": time, "propensity": propensity, "event_id": event_id}
    several = {"context": context, "unit": unit, "also": also}
    taken = _taken({**single, **several}, epoch, opened.names, describe(source))
    profiles = {one.name: one for one in profile_columns(home, opened)}
    events = next(iter(profiles.values())).rows
    if not events:
        raise EmptyWindowError(f"{describe(source)} has no rows.")
    asking = _Asking(find_roles(list(profiles.values()), taken), profiles, taken, ask, accept=accept)
    roles = asking.roles()
    chosen = {one.role: list(one.columns) for one in roles}
    outcomes = {**(ranges or {}), **asking.range_of(chosen["reward"][0], ranges or {})}
    settings: dict[str, Any] = {"events": _paths(source), "table": table}
    settings |= {role: _written(role, chosen[role]) for role in ROLES if chosen[role]}
    settings |= {"epoch": epoch} if epoch and epoch != NONE else {}
    settings |= {"also": list(taken.get("also", ())), "minimize": _listed(minimize), "drop_nulls": drop_nulls}
    settings["ranges"] = {name: list(ends) for name, ends in outcomes.items()}
    used = {name for names in chosen.values() for name in names}
    spare = [] if "also" in taken else [one.name for one in asking.found.also if one.name not in used]
    header, rows = _first_rows(home, opened, chosen)
    return Proposal(
        source=tuple(_paths(source)) or (describe(source),),
        events=events,
        contexts=_contexts(home, opened, chosen["context"]),
        roles=tuple(roles),
        header=header,
        rows=rows,
        advice=tuple(asking.advice(chosen, outcomes, drop_nulls=drop_nulls, minimize=_listed(minimize))),
        toml=toml_text(
            {name: value for name, value in settings.items() if value},
            roles,
            spare,
            constants=profiles[chosen["action"][0]].distinct <= MOST_CONSTANTS,
        ),
    )


def _taken(
    given: Mapping[str, str | Sequence[str] | None], epoch: str | None, columns: Sequence[str], where: str
) -> dict[str, Sequence[str]]:
    """Return the columns that were given by role, all of which exist; none for a role that the log does not have."""
    taken: dict[str, Sequence[str]] = {role: _listed(names) for role, names in given.items() if names}
    if epoch:
        taken["epoch"] = [] if epoch in ("hour", "day", "week", "auto") else [epoch.removeprefix("column:")]
    for role, names in taken.items():
        if names == [NONE] and NONE not in columns:
            taken[role] = []
        for name in taken[role]:
            if name not in columns:
                raise no_such_column(name, columns, where=where)
    return taken


def _first_rows(
    engine: Engine, opened: SourceTable, chosen: Mapping[str, list[str]]
) -> tuple[tuple[str, ...], tuple[tuple[str | None, ...], ...]]:
    """Return the first rows of a log as text, by role, with their header."""
    shown = [(role, name) for role in ("time", *ROLES) for name in chosen[role]]
    shown = list(dict.fromkeys(shown))
    # As text of the engine: what a time with a zone becomes in Python depends on what is installed.
    columns = {f"c{i}": opened.table[opened.names.index(name)].cast("string") for i, (_, name) in enumerate(shown)}
    rows = engine.fetch(opened.table.select(**columns).limit(SHOWN_ROWS))
    return tuple(f"{role}: {name}" for role, name in shown), tuple(tuple(row.values()) for row in rows)


def _contexts(engine: Engine, opened: SourceTable, context: Sequence[str]) -> int:
    columns = {f"c{i}": opened.table[opened.names.index(name)] for i, name in enumerate(context)}
    contexts = opened.table.select(**columns).distinct()
    return int(engine.fetch(contexts.agg(n=contexts.count()))[0]["n"])


@dataclass(frozen=True)
class _Asking:
    """Decides who plays each role: as it was given, as it is clear, as was answered, or not at all."""

    found: Roles
    profiles: Mapping[str, ColumnProfile]
    taken: Mapping[str, Sequence[str]]
    ask: Ask | None
    accept: bool

    def roles(self) -> list[ProposedRole]:
        """Return every role with its columns."""
        if self.ask is None:
            self.check_needed()
        return [self.role(role) for role in ROLES]

    def check_needed(self) -> None:
        """Refuse to guess what a log cannot do without: one error for all that is not clear."""
        unclear: dict[str, Sequence[Candidate]] = {}
        for role in NEEDED:
            candidates: Sequence[Candidate] = getattr(self.found, role)
            if role not in self.taken and not is_sure(candidates) and not (candidates and self.accept):
                unclear[role] = candidates
        if not unclear:
            return
        flags = " ".join(f"--{role} COLUMN" for role in unclear)
        parts = [
            f"The {role} may be {_listed_candidates(candidates)}." for role, candidates in unclear.items() if candidates
        ]
        if len(parts) < len(unclear):
            parts.append(f"There are {', '.join(quoted(name) for name in list(self.profiles)[:20])}.")
        which = "which column is the" if len(unclear) == 1 else "which columns are the"
        raise UsageError(f"It is not clear {which} {' and the '.join(unclear)}.", f"Say so: {flags}. {' '.join(parts)}")

    def role(self, role: str) -> ProposedRole:
        """Return one role with its columns, asking where need be."""
        candidates: Sequence[Candidate] = getattr(self.found, role)
        if role in self.taken:
            return ProposedRole(role, tuple(self.taken[role]), "you said so", (), sure=True)
        if role == "context":
            return self.context(candidates)
        names = [one.name for one in candidates]
        if not names and role not in NEEDED:
            return ProposedRole(role, (), NOTHING[role], (), sure=True)
        sure = is_sure(candidates)
        name = names[0] if sure or (names and self.accept) else self.answer(role, candidates)
        if name is None:
            return ProposedRole(role, (), "you said that there is none", tuple(names), sure=True)
        if self.profiles[name].is_yes_or_no and role == "reward":
            raise _no_number(self.profiles[name])
        reason = next((one.reason for one in candidates if one.name == name), "you said so")
        others = tuple(one for one in names if one != name)
        return ProposedRole(role, (name,), reason, others, sure=sure or self.ask is not None)

    def context(self, candidates: Sequence[Candidate]) -> ProposedRole:
        """Return the columns of the context."""
        others = tuple(one.name for one in self.found.left_out)
        if not candidates:
            if not others or not (self.ask or self.accept):
                listed = ", ".join(map(quoted, others or self.profiles))
                raise UsageError(
                    "No column looks like a context that repeats.", f"Name it: --context. There are {listed}."
                )
            return self.chosen_context(others[:1], "what repeats most", others[1:])
        names = tuple(one.name for one in candidates)
        reason = "; ".join(f"{one.name}: {one.reason}" for one in candidates[:3]) if len(names) == 1 else (
            "known before acting, and together they repeat"
        )  # fmt: skip
        return self.chosen_context(names, reason, others)

    def chosen_context(self, names: tuple[str, ...], reason: str, others: tuple[str, ...]) -> ProposedRole:
        """Return the context after a question, if one can be put."""
        if self.ask is None or self.accept or not others:
            return ProposedRole("context", names, reason, others, sure=not others)
        said = self.ask("What was known before acting (context; several with commas)?", others, ",".join(names))
        given = tuple(part.strip() for part in said.split(",") if part.strip())
        for name in given:
            if name not in self.profiles:
                raise no_such_column(name, self.profiles, where="The log")
        rest = tuple(name for name in (*names, *others) if name not in given)
        return ProposedRole("context", given or names, reason, rest, sure=True)

    def answer(self, role: str, candidates: Sequence[Candidate]) -> str | None:
        """Return the column that was answered; None for "none"."""
        if self.ask is None:
            return candidates[0].name
        choices = [one.name for one in candidates] or list(self.profiles)
        first = choices[0] if candidates else ""
        said = self.ask(
            f"Which column is the {role}? {_listed_candidates(candidates)}",
            choices + [NONE] * (role not in NEEDED),
            first,
        )
        if said == NONE and NONE not in self.profiles and role not in NEEDED:
            return None
        if said not in self.profiles:
            raise no_such_column(said, self.profiles, where="The log")
        return said

    def range_of(self, reward: str, ranges: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
        """Return the range of a reward that is not within 0 and 1."""
        own = self.profiles[reward]
        if reward in ranges or own.least is None or own.most is None or (own.least >= 0 and own.most <= 1):
            return {}
        if own.kind == "whole" and own.distinct <= RATINGS:
            return {reward: (own.least, own.most)}
        ends = f"The log has {own.least:g} to {own.most:g}."
        if self.ask is not None:
            said = self.ask(f"What are the lowest and highest possible {reward} (LOW:HIGH)? {ends}", (), "")
            try:
                low, high = (float(end) for end in said.split(":"))
            except ValueError:
                raise UsageError(f"{quoted(said)} is no range.", "Write LOW:HIGH, such as 0:100.") from None
            return {reward: (low, high)}
        raise UsageError(
            f"The reward {quoted(reward)} is not within 0 and 1. {ends}",
            f"State what is possible, not what was seen: --range {shortened(reward)}=LOW:HIGH.",
        )

    def advice(
        self, chosen: Mapping[str, list[str]], ranges: Mapping[str, Any], *, drop_nulls: bool, minimize: Sequence[str]
    ) -> list[str]:
        """Return what to know or to do before going on."""
        notes, events = [], next(iter(self.profiles.values())).rows
        names = [name for names in chosen.values() for name in names]
        others = tuple(one.name for one in self.found.left_out if one.name not in names)
        without = {name: self.profiles[name].nulls for name in others if self.profiles[name].nulls}
        notes += [left_out_note(others)] if others else []
        notes += [without_note(without, events)] if without else []
        reward = self.profiles[chosen["reward"][0]]
        only_known = reward.distinct == 1 and reward.nulls > 0 and not drop_nulls
        nulls = {name: self.profiles[name].nulls for name in names if self.profiles[name].nulls}
        nulls = {name: n for name, n in nulls.items() if not (only_known and name == reward.name)}
        if nulls and not drop_nulls:
            notes.append(nulls_note(nulls, events))
        notes += [unread_time_note(one.name) for one in self.found.unread_times[:1]]
        if reward.name in ranges and "reward" not in self.taken:
            low, high = ranges[reward.name]
            notes.append(f"The range of {quoted(reward.name)} is taken to be {low:g} to {high:g}: is more possible?")
        if reward.distinct == 1:
            same = f"{quoted(reward.name)} is the same in every event: nothing can be learned from it."
            notes.append(only_known_note(reward.name) if only_known else same)
        costly = {word for word in COSTLY if word in reward.name.lower()}
        if costly and reward.name not in minimize:
            notes.append(f"If less of {quoted(reward.name)} is better, say so: --minimize {shortened(reward.name)}.")
        return notes


def _listed_candidates(candidates: Sequence[Candidate]) -> str:
    first = "; ".join(f"{quoted(one.name)}: {one.reason}" for one in candidates[:5])
    others = ", ".join(quoted(one.name) for one in candidates[5:20])
    return first + (f"; or {others}" if others else "")


def _no_number(profile: ColumnProfile) -> UsageError:
    """Return what to do about a reward that is text."""
    words = ", ".join(map(quoted, profile.values))
    yes = next((value for value in profile.values if value.strip().lower() in {"yes", "y", "true", "t", "1"}), "yes")
    name = shortened(profile.name)
    return UsageError(
        f"The reward {quoted(profile.name)} is text ({words}), and a reward is a number.",
        f"Make it one, in pandas by log[{name!r}] = log[{name!r}] == {yes!r}, in SQL by ({name} = '{yes}')::INT; write "
        "that to a file, and run this again.",
    )


def _paths(source: Any) -> list[str]:
    """Return the files or the address of a source; none of a frame."""
    parts = source if isinstance(source, list | tuple) else [source]
    if all(isinstance(part, str | Path) for part in parts):
        return [str(part) for part in parts]
    address = getattr(source, "path", None) or getattr(source, "url", None)
    return [str(address)] if isinstance(address, str) else []


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _written(role: str, names: list[str]) -> Any:
    """Return columns as a settings file has them."""
    if role == "epoch":
        return f"column:{names[0]}" if names[0] in ("hour", "day", "week", "auto") else names[0]
    return names if role in ("context", "unit") else names[0]
