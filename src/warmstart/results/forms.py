"""How results stand in JSON: the keys of every dataclass with their types, for reading them back and for the schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

from warmstart.core import Window
from warmstart.results.audit import Audit, ExploreFirst
from warmstart.results.audit_epochs import EpochFacts
from warmstart.results.checked import Checked
from warmstart.results.display import Fact, Result
from warmstart.results.estimate import PointEstimate, ValueEstimate
from warmstart.results.evaluation import Evaluation
from warmstart.results.interop import Imported, ImportedCalls
from warmstart.results.joined import Joined
from warmstart.results.learned import Learned
from warmstart.results.monitor import Monitor
from warmstart.results.plan import Plan
from warmstart.results.progressive import Progressive
from warmstart.results.propensities import PropensityComparison
from warmstart.results.selection import Selection
from warmstart.results.tradeoffs import Tradeoff
from warmstart.results.verdict import Verdict
from warmstart.results.waterfall import ChangePart

# Microseconds since 1970, which JSON holds as ISO 8601.
Time = Annotated[int, "time"]
Values = dict[str, Any]


class Key(NamedTuple):
    """A key of a JSON object: the type of its value, and the field that it fills, if any.

    ``needed``: the field has no default, so that a file without it cannot be read.
    """

    name: str
    type: Any
    field: str | None = None
    needed: bool = False


@dataclass(frozen=True)
class Form:
    """Where the JSON of a dataclass differs from its fields.

    ``names``: other names of fields. ``types``: other types of fields. ``moved``: fields that have no key of their own;
    ``finish`` returns them, from the fields that have and from the JSON. ``derived``: further keys, which follow from
    the fields; ``optional``: those of them that may be absent.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, Any] = field(default_factory=dict)
    moved: tuple[str, ...] = ()
    finish: Callable[[Values, Values], Values] = lambda values, data: {}  # noqa: ARG005
    derived: Mapping[str, Any] = field(default_factory=dict)
    optional: tuple[str, ...] = ()


def _divided(values: Values, data: Values) -> Values:
    """Tell the estimates of an evaluation apart: of the reward, of other outcomes, of segments."""
    reward, every = values["outcomes"][0].name, values["policies"]
    whole = [one for one in every if one.segment is None]
    return {
        "policies": tuple(one for one in whole if one.outcome == reward),
        "others": tuple(one for one in whole if one.outcome != reward),
        "segments": tuple(one for one in every if one.segment is not None),
        "with_selection": data.get("selected") is not None,
    }


def _about(values: Values, data: Values) -> Values:  # noqa: ARG001
    return {"about": {name: value for name, value in data.items() if name not in ("schema", "kind", "folder")}}


# Fields of segments, next to those of their estimates.
OF_SEGMENTS: dict[str, Any] = {"drawn": float | None, "differs": bool, "proven": bool, "worse": bool}
VERSION = {"version": "warmstart_version"}
# What is said above and below the tables.
SENTENCES = tuple[str, ...]
WORDS = {"headline": SENTENCES, "explanations": SENTENCES}
FORMS: dict[type, Form] = {
    Audit: Form(names=VERSION, derived={"verdict": tuple[str, str, str], **WORDS}),
    Checked: Form(names=VERSION, derived={"why": str}),
    ExploreFirst: Form(moved=("named",)),
    EpochFacts: Form(derived={"recommended": str | None, "verdict": str}),
    Evaluation: Form(
        names={"remarks": "notes", **VERSION},
        moved=("others", "segments", "with_selection"),
        finish=_divided,
        derived={
            "verdict": Verdict | None,
            **WORDS,
            "reward": str,
            "selected": Selection,
            "tradeoffs": tuple[Tradeoff, ...],
            "waterfall": tuple[ChangePart, ...],
        },
        optional=("selected",),
    ),
    **dict.fromkeys((Imported, ImportedCalls), Form(moved=("about",), finish=_about)),
    Joined: Form(
        types={"until": Time | None},
        derived={
            "window_seconds": float | None,
            "too_young": Literal["kept", "left out"] | None,
            **WORDS,
            "facts": tuple[Fact, ...],
        },
    ),
    Monitor: Form(derived={"verdict": SENTENCES, "decision": SENTENCES, **WORDS}),
    Plan: Form(
        names=VERSION,
        types={"until": Time | None},
        moved=("table",),
        derived={"verdict": str, **WORDS},
    ),
    Progressive: Form(derived={"verdict": str, "along_the_way": dict[str, float | None], **WORDS}),
    Learned: Form(names=VERSION, derived={**WORDS, "facts": tuple[Fact, ...]}),
    PropensityComparison: Form(derived={"best": str}),
    Selection: Form(names={"reward": "outcome"}, derived={"policy": str | None, "tau": float | None, "reward": str}),
    ValueEstimate: Form(
        derived={"best": PointEstimate | None, "verdict": Verdict | None, **OF_SEGMENTS},
        optional=("verdict", *OF_SEGMENTS),
    ),
    Window: Form(
        names={"first": "from", "last": "until"},
        types=dict.fromkeys(("start", "stop", "first", "last"), Time | None),
        optional=("steps",),
    ),
}


@cache
def kinds() -> dict[str, type[Result]]:
    """Return all results of this room by what JSON calls them."""
    return {one.kind(): one for one in _names().values() if isinstance(one, type) and issubclass(one, Result)}


@cache
def form_of(record: type) -> Form:
    """Return how the JSON of a dataclass differs from its fields."""
    return FORMS.get(record, Form())


@cache
def keys_of(record: type) -> tuple[Key, ...]:
    """Return the keys that a dataclass has in JSON."""
    return tuple(_keys(record, form_of(record)))


def _keys(record: type, form: Form) -> Iterator[Key]:
    # Names that a module imports for type checkers only are all behind the door.
    hints = get_type_hints(record, localns=_names(), include_extras=True)
    for one in fields(record):
        if one.name not in form.moved:
            needed = one.default is MISSING and one.default_factory is MISSING
            kind = form.types.get(one.name, hints[one.name])
            yield Key(form.names.get(one.name, one.name), kind, one.name, needed)
    yield from (Key(name, kind) for name, kind in form.derived.items())


@cache
def _names() -> dict[str, Any]:
    door = import_module("warmstart.results")
    return {name: getattr(door, name) for name in door.__all__}
