"""Settings from ``warmstart.toml`` for what the command line does not say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field
from typing import Any

import typer

from warmstart.cli.completion import option
from warmstart.core import UsageError, check_no_input, printable
from warmstart.pipeline import CONFIG, SECTIONS, LogSettings, read_config

ConfigOption = option(
    "--config", "FILE", f"Read what no option says from this file.  [default: {CONFIG}, if it is there]"
)
# Options that name what a command writes.
OUTPUTS = ("out", "html", "explore_out", "supported_out", "junit", "markdown")
BY_USER = ("COMMANDLINE", "ENVIRONMENT", "PROMPT")
Values = Mapping[str, Mapping[str, Any]]


def is_given(call: typer.Context, name: str) -> bool:
    """Tell whether the user gave an option, so that it is neither a default nor from a file."""
    source = call.get_parameter_source(name)
    return source is not None and source.name in BY_USER


def filled(given: dict[str, Any], policy: Any) -> dict[str, Mapping[str, Any]]:
    """Return what the settings file says, by table; take its name out of what was given, and fill in the policies.

    Args:
        given: The options.
        policy: The type of the option ``policy``; None if the command has none.
    """
    named = given.pop("config")
    path = named or CONFIG
    values: dict[str, Mapping[str, Any]] = {}
    if named is not None or CONFIG.is_file():
        values = dict(read_config(path).values)
        for output in OUTPUTS:
            if given.get(output) is not None:
                check_no_input(given[output], [path])
        typer.echo(f"Settings from {printable(path)}.", err=True)
    if given.get("progressive"):
        values = {"log": _without(values, "also", "minimize")}
    elif given.get("safe") is False:
        values["log"] = _without(values, "also", "epoch")
    if policy is not None and not given["policy"] and not given.get("progressive"):
        given["policy"] = _policies(values.get("policies", {}), single=policy is str)
        if given["policy"] is None and policy in (str, list[str]):
            raise _which_policy(values["policies"], path) if values.get("policies") else _missing("policy")
    return values


def _without(values: Values, *names: str) -> dict[str, Any]:
    """Return what is said of the log, but for some names."""
    return {name: value for name, value in values.get("log", {}).items() if name not in names}


def settings_of(
    call: typer.Context, kind: type, chosen: Iterable[Field[Any]], given: dict[str, Any], values: Values
) -> Any:
    """Return settings of a kind: options first, then the file, then defaults; their names leave ``given``.

    Args:
        call: The call of the command, which knows what the user gave.
        kind: The class of the settings.
        chosen: Those of its fields that the command has.
        given: The options.
        values: What the file says, by table.
    """
    own = {one.name: one for one in chosen}
    section = next((name for name, kinds in SECTIONS.items() if kind in kinds), "")
    said = {name: value for name, value in values.get(section, {}).items() if name in own}
    results: dict[str, Any] = {}
    for name, one in own.items():
        value, parse = given.pop(name), one.metadata.get("parse")
        if is_given(call, name):
            results[name] = value if parse is None else parse(value)
            said.pop(one.metadata.get("instead_of", ""), None)
    for name, one in own.items():
        if name not in results:
            if name not in said and one.default is MISSING:
                raise _missing(name)
            results[name] = said.get(name, one.default)
    return kind(**(_of_read_outcomes(results, said) if kind is LogSettings else results))


def _of_read_outcomes(found: dict[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what a file says of outcomes that this command does not read."""
    read = {found["reward"], *(found.get("also") or ())}
    if "ranges" in said and found["ranges"]:
        found["ranges"] = {name: ends for name, ends in found["ranges"].items() if name in read}
    if "minimize" in said and found.get("minimize"):
        found["minimize"] = [name for name in found["minimize"] if name in read]
    return found


def _policies(policies: Mapping[str, str], *, single: bool) -> Any:
    """Return policies of the file as options have them: all, or the only one that is not logging."""
    from warmstart.policy import CONSTANTS

    # What is shown already, and each action of the log, are not one policy.
    several = ("logging", CONSTANTS)
    named = {name: policy for name, policy in policies.items() if not (single and policy in several)}
    texts = [f"{name}={policy}" for name, policy in named.items()]
    return (texts[0] if len(texts) == 1 else None) if single else texts or None


def _which_policy(policies: Mapping[str, str], path: Any) -> UsageError:
    """Return what to do where a file has no policy, or several, for a command that takes one."""
    from warmstart.policy import CONSTANTS

    named = [f"--policy {name}={policy}" for name, policy in policies.items() if policy not in ("logging", CONSTANTS)]
    if not named and CONSTANTS in policies.values():
        named = ["--policy constant:ACTION"]
    hint = f"Name one: {printable(' or '.join(named[:5]))}." if named else "Name one with --policy."
    return UsageError(f"This command takes one policy, and {printable(path)} does not say which.", hint)


def _missing(name: str) -> UsageError:
    hint = "Give it, or write it down once for all commands: warmstart init LOG."
    return UsageError(f"Missing option --{name.replace('_', '-')}.", hint)
