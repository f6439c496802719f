"""Read ``warmstart.toml``: the settings that commands take, written down once; errors name the line."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from warmstart.core import Moment, SettingsError, first_lines, printable, quoted
from warmstart.pipeline.check_settings import CheckSettings
from warmstart.pipeline.config_values import fitting, shown_value, wanted
from warmstart.pipeline.evaluate_settings import EvaluateSettings
from warmstart.pipeline.settings import EngineSettings, LogSettings, WindowSettings

CONFIG = Path("warmstart.toml")
# Version of the file's form: keys are added, never renamed, while it stays.
VERSION = 1
# The tables of the file, with the settings whose fields are their keys.
SECTIONS: dict[str, tuple[type, ...]] = {
    "log": (LogSettings, EngineSettings),
    "windows": (WindowSettings,),
    "evaluate": (EvaluateSettings,),
    "check": (CheckSettings,),
}
POLICIES = "policies"
# Policies that are words and no files: those of the room of policies, which would take long to import.
WORDS = ("logging", "uniform", "uniform-all", "constants")
LARGEST = 1 << 20
Settings = TypeVar("Settings")
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Config:
    """The settings of a file: its ``log``, ``engine``, ``windows``, ``evaluate`` and ``check``, and its ``policies``.

    ``path``: the file. ``values``: what it says, by table and key; all else has its default.
    """

    path: Path
    values: Mapping[str, Values]

    def settings(self, kind: type[Settings]) -> Settings:
        """Return what the file says, as the settings of one kind."""
        section = next(name for name, kinds in SECTIONS.items() if kind in kinds)
        own = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]
        said = {name: value for name, value in self.values.get(section, {}).items() if name in own}
        for name, one in own.items():
            if name not in said and one.default is MISSING and one.default_factory is MISSING:
                raise SettingsError(
                    printable(self.path), None, f"[{section}] lacks {name}.", "warmstart init finds it."
                )
        return kind(**said)

    @property
    def log(self) -> LogSettings:
        """Return the log; ``config.log.open(config.engine.connect())`` reads it."""
        return self.settings(LogSettings)

    @property
    def engine(self) -> EngineSettings:
        """Return where to compute."""
        return self.settings(EngineSettings)

    @property
    def windows(self) -> WindowSettings:
        """Return which events to learn from, and which to evaluate on."""
        return self.settings(WindowSettings)

    @property
    def evaluate(self) -> EvaluateSettings:
        """Return how to evaluate."""
        return self.settings(EvaluateSettings)

    @property
    def check(self) -> CheckSettings:
        """Return the conditions."""
        return self.settings(CheckSettings)

    @property
    def policies(self) -> dict[str, str]:
        """Return the policies by name, as ``evaluate`` takes them."""
        return dict(self.values.get(POLICIES, {}))


def read_config(path: str | Path = CONFIG) -> Config:
    r"""Read a settings file (``warmstart.toml``), every key and type checked; errors name the line.

    Relative paths in it are those beside the file.

    >>> import tempfile, warmstart as ws
    >>> text = 'version = 1\n[log]\nevents = "log.csv"\ncontext = ["page"]\naction = "ad"\nreward = "click"\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "warmstart.toml").write_text(text)
    ...     config = ws.read_config(f"{folder}/warmstart.toml")
    >>> config.log.context, config.evaluate.delta
    (['page'], 0.05)
    """
    place = Path(path)
    try:
        with place.open("rb") as file:
            raw = file.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise SettingsError(printable(path), None, "it is larger than a settings file can be.")
        text = raw.decode("utf-8").removeprefix("\ufeff")
    except OSError as error:
        raise SettingsError(
            printable(path), None, f"{error.strerror or first_lines(error)}.", "warmstart init LOG writes one."
        ) from error
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise SettingsError(printable(path), line, "this is no UTF-8 text.", "Save the file as UTF-8.") from error
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(printable(path), None, f"it is no TOML: {first_lines(error)}.") from error
    return Config(place, MappingProxyType(_Reader(place, text).sections(data)))


@dataclass(frozen=True)
class _Reader:
    """Checks what a file says; ``text`` is what tells on which line."""

    path: Path
    text: str

    def sections(self, data: dict[str, Any]) -> dict[str, Values]:
        """Return the values of every table, in the types of the settings."""
        version = data.pop("version", VERSION)
        if type(version) is not int or version != VERSION:
            raise self.error(
                ("version",), f"version is {quoted(version)}, which this version of warmstart cannot read.",
                f"It reads {VERSION}.",
            )  # fmt: skip
        results: dict[str, Values] = {}
        for name, table in data.items():
            if name not in (*SECTIONS, POLICIES):
                raise self.unknown((name,), name, ("version", *SECTIONS, POLICIES))
            if not isinstance(table, dict):
                raise self.error((name,), f"{name} is no table.", f"Write [{name}] on a line of its own.")
            results[name] = MappingProxyType(self.policies(table) if name == POLICIES else self.section(name, table))
        return results

    def section(self, name: str, table: dict[str, Any]) -> dict[str, Any]:
        """Return the values of one table of settings."""
        known: dict[str, tuple[Field[Any], Any]] = {}
        for kind in SECTIONS[name]:
            hints = get_type_hints(kind)
            known |= {one.name: (one, hints[one.name]) for one in fields(kind)}
        results: dict[str, Any] = {}
        for key, value in table.items():
            if key not in known:
                raise self.unknown((name, key), key, tuple(known))
            setting, kind = known[key]
            results[key] = self.value((name, key), setting, kind, value)
            other = setting.metadata.get("instead_of")
            if other in results and key != "events":
                raise self.error((name, key), f"{key} and {other} exclude each other.", "Give one of them.")
        if "events" in results and results["events"] is not None:
            results["events"] = [self.beside(text) for text in results["events"]]
        if "contexts" in results:
            results["contexts"] = Path(self.beside(str(results["contexts"])))
        return results

    def policies(self, table: dict[str, Any]) -> dict[str, str]:
        """Return the policies by name; files are those beside the settings."""
        for name, policy in table.items():
            if not isinstance(policy, str) or not policy:
                raise self.error((POLICIES, name), f"the policy {quoted(name)} is no text.", 'Write NAME = "POLICY".')
            if "=" in name or not name:
                raise self.error((POLICIES, name), f"{quoted(name)} is no name of a policy.", "Leave out the =.")
        return {name: self.policy(policy) for name, policy in table.items()}

    def policy(self, text: str) -> str:
        """Return a policy with its path, if it has one, as seen from here."""
        kind, colon, rest = text.partition(":")
        if text in WORDS or (colon and kind in ("constant", "column")):
            return text
        return f"naive:{self.beside(rest)}" if colon and kind == "naive" else self.beside(text)

    def beside(self, text: str) -> str:
        """Return a path as seen from here; addresses stay as they are."""
        return text if "://" in text else str(self.path.parent / text) if self.path.parent != Path() else text

    def value(self, place: tuple[str, ...], setting: Field[Any], kind: Any, given: Any) -> Any:
        """Return a value in the type of its field; refuse others, and words that mean nothing."""
        options = [one for one in get_args(kind) if one is not NoneType] if NoneType in get_args(kind) else [kind]
        kind = Moment if set(get_args(Moment)) <= set(options) else options[0]
        try:
            value = fitting(kind, given)
        except TypeError:
            name = ".".join(place)
            raise self.error(place, f"{name} is {shown_value(given)}, not {wanted(kind)}.") from None
        if setting.metadata.get("closed"):
            words = setting.metadata["words"]
            for word in value if isinstance(value, list) else [value]:
                if word not in words:
                    raise self.error(place, f"{quoted(word)} is none of {', '.join(words)}.")
        if isinstance(value, float) and not isfinite(value):
            raise self.error(place, f"{'.'.join(place)} is {value}, and must be a finite number.")
        least, most = (setting.metadata.get(end) for end in ("least", "most"))
        if least is not None and value < least:
            raise self.error(place, f"{'.'.join(place)} is {value}, and must be {least} or more.")
        if most is not None and value > most:
            raise self.error(place, f"{'.'.join(place)} is {value}, and must be {most} or less.")
        return value

    def unknown(self, place: tuple[str, ...], key: str, known: tuple[str, ...]) -> SettingsError:
        """Return the error for a key that does not exist, with the nearest that does."""
        near = get_close_matches(key, known, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(known)}."
        return self.error(place, f"there is no {'.'.join(map(printable, place))}.", hint)

    def error(self, place: tuple[str, ...], what: str, hint: str = "") -> SettingsError:
        """Return the error about a key, with its line."""
        return SettingsError(printable(self.path), line_of(self.text, place), what, hint)


def line_of(text: str, place: tuple[str, ...]) -> int | None:
    r"""Return the line on which a key is set: the first one after which the file, cut off there, has it.

    >>> line_of('[log]\n\ncontext = [\n  "page"\n]\naction = 3\n', ("log", "context"))
    3
    """
    lines = text.splitlines()
    begun = 0
    for end in range(1, len(lines) + 1):
        try:
            data: Any = tomllib.loads("\n".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue
        for key in place:
            data = data.get(key) if isinstance(data, dict) else None
        if data is not None:
            return begun + 1
        begun = end
    return None
