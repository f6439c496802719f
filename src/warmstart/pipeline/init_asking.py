"""Who plays which role in an unknown log: as it was given, as it is clear, as was answered, or not at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from warmstart.auditing import Candidate, ColumnProfile, Roles, find_roles, is_sure
from warmstart.core import UsageError, WarmstartError, no_such_column, quoted, shortened
from warmstart.events import check_roles
from warmstart.pipeline.init_hints import no_context, no_key, not_a_number, records_in
from warmstart.results import (
    COSTLY,
    ProposedRole,
    left_out_note,
    modelled_note,
    nulls_note,
    only_known_note,
    unread_time_note,
    without_note,
)

T = TypeVar("T")
# Asked with a question, the possible answers and the one to take if nothing is said; returns the answer.
Ask = Callable[[str, Sequence[str], str], str]
NONE = "none"
# Roles in the order of a settings file; those that a log cannot do without are needed.
ROLES = ("context", "action", "reward", "time", "unit", "epoch", "propensity", "event_id")
NEEDED = ("action", "reward")
# Decided in this order, and then the context, which is found among the columns that are left.
ORDER = ("action", "reward", "time", "propensity", "event_id", "unit", "epoch")
# So often a question is put before its last answer is an error.
TRIES = 5
NOTHING = {
    "time": "no column holds times",
    "unit": "no column is named like a user or a session whose events repeat",
    "epoch": "no column tells versions of the logging policy apart; audit tells whether it learned over time",
    "propensity": "nobody recorded probabilities, so they are counted or modelled",
    "event_id": "no column is named like an id and different in every event",
}
# A reward of so few whole values is a rating.
RATINGS = 11


@dataclass(frozen=True)
class Asking:
    """Decides who plays each role: as it was given, as it is clear, as was answered, or not at all.

    ``taken``: columns by role, as they were given; ``decided``: as they were found or answered since.
    """

    profiles: Mapping[str, ColumnProfile]
    taken: Mapping[str, Sequence[str]]
    ask: Ask | None
    accept: bool
    decided: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def found(self) -> Roles:
        """Return the candidates of every role among columns that have none yet."""
        return find_roles(list(self.profiles.values()), {**self.taken, **self.decided})

    def roles(self) -> tuple[list[ProposedRole], Asking]:
        """Return every role with its columns, and what is known then."""
        if self.ask is None:
            self.check_needed()
        asking, roles = self, dict[str, ProposedRole]()
        for role in ORDER:
            roles[role] = one = asking.role(role)
            # A role without candidates stays open: what looks like a time and cannot be read is named later.
            if role not in asking.taken and (one.columns or one.alternatives):
                asking = replace(asking, decided={**asking.decided, role: one.columns})
        roles["context"] = asking.role("context")
        return [roles[role] for role in ROLES], asking

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
            listed = ", ".join(quoted(name) for name in list(self.profiles)[:20])
            parts.append(f"There are {listed}.{records_in(self.profiles.values())}")
        which = "which column is the" if len(unclear) == 1 else "which columns are the"
        raise UsageError(f"It is not clear {which} {' and the '.join(unclear)}.", f"Say so: {flags}. {' '.join(parts)}")

    def role(self, role: str) -> ProposedRole:
        """Return one role with its columns, asking where need be."""
        candidates: Sequence[Candidate] = getattr(self.found, role)
        if role in self.taken:
            self.check(role, self.taken[role])
            return ProposedRole(role, tuple(self.taken[role]), "you said so", (), sure=True)
        if role == "context":
            return self.context(candidates)
        names = [one.name for one in candidates]
        if not names and role not in NEEDED:
            return self.nothing(role)
        sure = is_sure(candidates)
        name = names[0] if sure or (names and self.accept) else self.answer(role, candidates)
        if name is None:
            return ProposedRole(role, (), "you said that there is none", tuple(names), sure=True)
        self.check(role, [name])
        reason = next((one.reason for one in candidates if one.name == name), "you said so")
        others = tuple(one for one in names if one != name)
        return ProposedRole(role, (name,), reason, others, sure=sure or self.ask is not None)

    def nothing(self, role: str) -> ProposedRole:
        """Return a role that no column has, with why."""
        if role == "time" and (unread := [one.name for one in self.found.unread_times]):
            return ProposedRole(role, (), f"{quoted(unread[0])} looks like a time and cannot be read", (), sure=False)
        return ProposedRole(role, (), NOTHING[role], (), sure=True)

    def check(self, role: str, names: Sequence[str]) -> None:
        """Refuse columns that cannot have a role: a reward that is no number, and what is no single value."""
        if role == "context" and not names:
            raise no_context(list(self.profiles), ())
        for profile in (self.profiles[name] for name in names):
            if role == "reward" and profile.kind in ("text", "time", "other"):
                raise not_a_number(profile)
            if profile.kind == "other":
                raise no_key(profile, role)

    def context(self, candidates: Sequence[Candidate]) -> ProposedRole:
        """Return the columns of the context."""
        others = tuple(one.name for one in self.found.left_out)
        if not candidates:
            # Nothing repeats: then contexts are what the columns say together, and none of them is left out.
            whole = tuple(name for name, one in self.profiles.items() if name in others and not one.nulls)
            if not whole:
                raise no_context(list(self.profiles), self.profiles.values())
            rest = tuple(name for name in others if name not in whole)
            return self.chosen_context(whole, "hardly any context comes again: what may have been looked at", rest)
        names = tuple(one.name for one in candidates)
        reason = "; ".join(f"{one.name}: {one.reason}" for one in candidates[:3]) if len(names) == 1 else (
            "known before acting, and together they repeat"
        )  # fmt: skip
        return self.chosen_context(names, reason, others)

    def chosen_context(self, names: tuple[str, ...], reason: str, others: tuple[str, ...]) -> ProposedRole:
        """Return the context after a question, if one can be put."""
        sure = not others and not self.hardly_repeat(names)
        if self.ask is None or self.accept or sure:
            return ProposedRole("context", names, reason, others, sure=sure)

        def columns(said: str) -> tuple[str, ...]:
            answered = tuple(part.strip() for part in said.split(",") if part.strip()) or names
            self.check_answers("context", answered)
            return answered

        question = "What was known before acting (context; several with commas)?"
        given = self.asked(question, (*names, *others), ",".join(names), columns)
        rest = tuple(name for name in (*names, *others) if name not in given)
        return ProposedRole("context", given, reason, rest, sure=True)

    def hardly_repeat(self, names: Sequence[str]) -> bool:
        """Tell whether contexts of these columns were proposed although they do not come again."""
        return not self.found.context and set(names) <= {one.name for one in self.found.left_out}

    def answer(self, role: str, candidates: Sequence[Candidate]) -> str | None:
        """Return the column that was answered; None for "none"."""
        if self.ask is None:
            return candidates[0].name
        choices = [one.name for one in candidates] or list(self.profiles)
        # Of what a log cannot do without, no guess is taken with Enter: the rest would follow from it unnoticed.
        first = choices[0] if candidates and role not in NEEDED else ""
        choices += [NONE] * (role not in NEEDED)

        def column(said: str) -> str | None:
            if said == NONE and NONE not in self.profiles and role not in NEEDED:
                return None
            self.check_answers(role, [said])
            return said

        return self.asked(f"Which column is the {role}? {_listed_candidates(candidates)}", choices, first, column)

    def asked(self, question: str, choices: Sequence[str], default: str, read: Callable[[str], T]) -> T:
        """Return an answer as it was read; one that cannot be is answered with why, and the question again."""
        if self.ask is None:
            raise UsageError(question)
        said = self.ask(question, choices, default)
        for _ in range(TRIES - 1):
            try:
                return read(said)
            except WarmstartError as error:
                said = self.ask(f"{error} {question}", choices, default)
        return read(said)

    def check_answers(self, role: str, names: Sequence[str]) -> None:
        """Refuse an answer that names no column, one that has another role, or one that cannot have this role."""
        for name in names:
            if name not in self.profiles:
                raise no_such_column(name, self.profiles, where="The log")
        self.check(role, names)
        others = {one: columns for one, columns in {**self.taken, **self.decided}.items() if one != role}
        check_roles(
            [*names, *(name for columns in others.values() for name in columns)],
            context=names if role == "context" else others.get("context", ()),
            unit=names if role == "unit" else others.get("unit", ()),
        )

    def range_of(self, reward: str, ranges: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
        """Return the range of a reward that is not within 0 and 1."""
        own = self.profiles[reward]
        if reward in ranges or own.least is None or own.most is None or (own.least >= 0 and own.most <= 1):
            return {}
        if own.kind == "whole" and own.distinct <= RATINGS:
            return {reward: (own.least, own.most)}
        ends = f"The log has {own.least:g} to {own.most:g}."
        if self.ask is not None:
            question = f"What are the lowest and highest possible {reward} (LOW:HIGH)? {ends}"
            return {reward: self.asked(question, (), "", _ends)}
        raise UsageError(
            f"The reward {quoted(reward)} is not within 0 and 1. {ends}",
            f"State what is possible, not what was seen: --range {shortened(reward)}=LOW:HIGH.",
        )

    def left_out(self, chosen: Mapping[str, list[str]]) -> tuple[str, ...]:
        """Return the columns that may have been looked at, and have no role."""
        used = {name for names in chosen.values() for name in names}
        return tuple(one.name for one in self.found.left_out if one.name not in used)

    def advice(
        self, chosen: Mapping[str, list[str]], ranges: Mapping[str, Any], *, drop_nulls: bool, minimize: Sequence[str]
    ) -> list[str]:
        """Return what to know or to do before going on."""
        notes, events = [], next(iter(self.profiles.values())).rows
        names = [name for names in chosen.values() for name in names]
        others = self.left_out(chosen)
        modelled = "context" not in self.taken and self.hardly_repeat(chosen["context"])
        notes += [modelled_note()] if modelled else []
        without = {name: self.profiles[name].nulls for name in others if self.profiles[name].nulls}
        notes += [left_out_note(others)] if others else []
        notes += [without_note(without, events)] if without else []
        reward = self.profiles[chosen["reward"][0]]
        only_known = reward.distinct == 1 and reward.nulls > 0 and not drop_nulls
        nulls = {name: self.profiles[name].nulls for name in names if self.profiles[name].nulls}
        nulls = {name: n for name, n in nulls.items() if not (only_known and name == reward.name)}
        if nulls and not drop_nulls:
            notes.append(nulls_note(nulls, events, reward.name))
        for one in () if "time" in self.taken else self.found.unread_times[:1]:
            own = self.profiles[one.name]
            formats, example = own.date_formats, (own.examples or ("",))[0]
            instead = next(iter(chosen["time"]), None)
            notes.append(unread_time_note(one.name, formats, example, is_text=own.kind == "text", instead=instead))
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


def _ends(said: str) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in said.split(":"))
    except ValueError:
        low, high = math.inf, math.inf
    if not -math.inf < low < high < math.inf:
        raise UsageError(f"{quoted(said)} is no range.", "Write LOW:HIGH, such as 0:100.")
    return low, high


def _listed_candidates(candidates: Sequence[Candidate]) -> str:
    first = "; ".join(f"{quoted(one.name)}: {one.reason}" for one in candidates[:5])
    others = ", ".join(quoted(one.name) for one in candidates[5:20])
    return first + (f"; or {others}" if others else "")
