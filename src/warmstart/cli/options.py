"""Commands from functions: settings become options, docstrings become help, and no option is given twice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import Parameter, Signature, cleandoc, signature
from pathlib import Path
from textwrap import dedent, indent
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperOption

from warmstart.cli.completion import option
from warmstart.cli.from_file import ConfigOption, filled, settings_of
from warmstart.core import UsageError
from warmstart.pipeline import SECTIONS, LogSettings

Command = Callable[..., None]
OPTION = re.compile(r"^ {4}(\w+)(?: \((.+?)\))?: (.+(?:\n {8}.+)*)", re.MULTILINE)


JsonOption = Annotated[bool, option("--json", None, "Print one JSON object and nothing else.")]
HtmlOption = Annotated[Path | None, option("--html", "FILE", "Write a report as one HTML file.")]
ForceOption = Annotated[
    bool, option("--force", None, "Replace output files that warmstart did not write. Inputs are never replaced.")
]

IN_FILE = frozenset(kind for kinds in SECTIONS.values() for kind in kinds)
# What to do instead of giving an option again.
ONE_ONLY = {
    "--reward": "Name one; further outcomes are --also COLUMN, those of which less is better --minimize COLUMN too."
}


class Only:
    """The fields of a settings class that a command has: ``Annotated[WindowSettings, Only("test_from")]``."""

    def __init__(self, *names: str) -> None:
        self.names = names


class Without(Only):
    """The fields of a settings class that a command lacks."""


class StrictCommand(TyperCommand):
    """A command that refuses an option given twice instead of taking the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and count the options that take one value."""
        if not ctx.resilient_parsing:
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
            single = [param for param in order if isinstance(param, TyperOption) and not param.multiple]
            for param in single:
                if single.count(param) > 1:
                    name, times = param.opts[0], single.count(param)
                    raise UsageError(f"{name} is given {times} times.", ONE_ONLY.get(name, "Give it once."))
        return super().parse_args(ctx, args)


def command(**words: tuple[str, ...]) -> Callable[[Command], Command]:
    """Make a command of a function: its parameters, and the fields of those that are settings, become options.

    The docstring describes a plain parameter under ``Options:``, as ``name (METAVAR): text``, and ends with
    ``Examples:``. ``words``: those that a shell completes, by parameter.
    """

    def decorate(function: Command) -> Command:
        text, _, examples = cleandoc(function.__doc__ or "").partition("\n\nExamples:\n")
        text, _, listed = text.partition("\n\nOptions:\n")
        described = {name: (metavar or None, help_) for name, metavar, help_ in OPTION.findall(listed)}
        groups: dict[str, tuple[Any, list[Field[Any]]]] = {}
        parameters = []
        hints = get_type_hints(function, include_extras=True)
        reads_file = any(LogSettings in (hint, *get_args(hint)) for hint in hints.values())
        for parameter in signature(function).parameters.values():
            name, hint = parameter.name, hints[parameter.name]
            kind, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
            if is_dataclass(kind):
                groups[name] = (kind, _chosen(fields(kind), extras))
                kinds = get_type_hints(kind)
                parameters += [_parameter(one, kinds[one.name], in_file=kind in IN_FILE) for one in groups[name][1]]
                continue
            if name == "policy" and reads_file:
                parameter, hint = parameter.replace(default=None), hint | None  # noqa: PLW2901
            if name in described:
                metavar, help_ = described[name]
                flag = f"--{name.strip('_').replace('_', '-')}"
                hint = Annotated[hint, option(flag, metavar, re.sub(r"\n +", " ", help_), words=words.get(name, ()))]
            parameters.append(parameter.replace(annotation=hint, kind=Parameter.KEYWORD_ONLY))

        if reads_file:
            hint = Annotated[Path | None, ConfigOption]
            parameters.append(Parameter("config", Parameter.KEYWORD_ONLY, default=None, annotation=hint))

        call = Parameter("call", Parameter.KEYWORD_ONLY, annotation=typer.Context)

        def run(**given: Any) -> None:
            called = given.pop("call")
            values = filled(given, hints.get("policy")) if reads_file else {}
            settings = {name: settings_of(called, kind, own, given, values) for name, (kind, own) in groups.items()}
            function(**given, **settings)

        run.__name__, run.__module__ = function.__name__, function.__module__
        run.__doc__ = f"{text}\n\n\b\nExamples:\n{indent(dedent(examples), '  ')}\n"
        run.__signature__ = Signature([call, *parameters])  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in (call, *parameters)}
        return run

    return decorate


def _chosen(all_fields: Iterable[Field[Any]], extras: Iterable[Any]) -> list[Field[Any]]:
    chosen = list(all_fields)
    for extra in extras:
        if isinstance(extra, Only):
            chosen = [one for one in chosen if (one.name in extra.names) != isinstance(extra, Without)]
    return chosen


def _parameter(setting: Field[Any], kind: Any, *, in_file: bool) -> Parameter:
    """Turn a field of a settings class into a parameter that typer reads; what a file may say is not required."""
    about = setting.metadata
    if about.get("argument"):
        described: Any = typer.Argument(metavar=about["metavar"], help=about["help"], show_default=False)
    else:
        flag = about.get("flag") or f"--{setting.name.replace('_', '-')}"
        words, least = about.get("words", ()), about.get("least")
        described = option(flag, about["metavar"], about["help"], words=words, min=least)
    kind = about["typed"] | None if "typed" in about else kind
    default = setting.default
    if default is MISSING:
        default, kind = (None, kind | None) if in_file else (Parameter.empty, kind)
    return Parameter(setting.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, described])
