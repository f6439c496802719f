"""Look at an unknown log and propose which column is what: the first minute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmstart.auditing import profile_columns
from warmstart.core import Columns, EmptyWindowError, no_such_column
from warmstart.engine import describe, open_every_column, resolve_engine, stored_table
from warmstart.events import check_roles, named_outcomes
from warmstart.pipeline.constants import MOST_CONSTANTS
from warmstart.pipeline.init_asking import NONE, ROLES, Ask, Asking
from warmstart.pipeline.init_toml import toml_text
from warmstart.results import Proposal

if TYPE_CHECKING:
    from warmstart.engine import Engine, SourceTable

SHOWN_ROWS = 10


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
            an action or a reward that is not clear is an error that lists what it may be. An answer that cannot be is
            asked again, with why, at most five times.
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
    roles, asking = Asking(profiles, taken, ask, accept=accept).roles()
    chosen = {one.role: list(one.columns) for one in roles}
    outcomes = {**(ranges or {}), **asking.range_of(chosen["reward"][0], ranges or {})}
    columns = Columns(
        tuple(chosen["context"]), chosen["action"][0], chosen["reward"][0], also=tuple(taken.get("also", ()))
    )
    named_outcomes(columns, _listed(minimize), outcomes)
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
            nulls=[name for name in asking.left_out(chosen) if profiles[name].nulls],
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
    names = [name for given_names in taken.values() for name in given_names]
    check_roles(names, context=taken.get("context", ()), unit=taken.get("unit", ()))
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
