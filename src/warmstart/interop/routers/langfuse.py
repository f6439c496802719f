"""Langfuse's observations and scores, as its API (camelCase) and its exports to files (snake_case) write them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from warmstart.interop.json_values import (
    Record,
    as_set,
    count,
    first_of,
    inside,
    moment,
    number,
    seconds_between,
    stripped,
    text,
)
from warmstart.interop.lines import BadLineError
from warmstart.interop.routers.calls import (
    FAILED,
    INCOMPLETE,
    INTERNAL,
    NO_ANSWER,
    UNFINISHED,
    Call,
    Dropped,
    Item,
    Score,
)
from warmstart.interop.routers.traces import Trace

# Environments in which Langfuse's own judges run; those of users cannot begin so.
OWN_ENVIRONMENTS = "langfuse"
NUMERIC = ("NUMERIC", "BOOLEAN")


def read_langfuse(record: Record) -> Iterator[Item | Trace]:
    """Read an observation, a score or a trace."""
    if _value(record, "start_time") is not None:
        yield _call(record)
    elif "timestamp" in record and ("value" in record or _value(record, "data_type") is not None):
        yield _score(record)
    elif "timestamp" in record and "id" in record:
        yield _trace(record)
    else:
        raise BadLineError("it is neither an observation nor a score of Langfuse")


def _call(record: Record) -> Item:
    environment = text(record, "environment")
    model = stripped(record, "model", "provided_model_name", "providedModelName")
    start, end = _moment(record, "start_time"), _moment(record, "end_time")
    request = text(record, "id")
    if (environment or "").startswith(OWN_ENVIRONMENTS):
        return Dropped(INTERNAL)
    if record.get("type") != "GENERATION":
        return Dropped(NO_ANSWER)
    if record.get("level") == "ERROR":
        return Dropped(FAILED, model)
    if request is None or start is None or model is None:
        return Dropped(INCOMPLETE)
    if end is None:
        return Dropped(UNFINISHED)
    usage, costs = (inside(record, name) or inside(record, _camel(name)) for name in ("usage_details", "cost_details"))
    # The older API names the cost that Langfuse worked out, and that of its list of prices is in it.
    cost = number(record, *_names("total_cost"), *_names("calculated_total_cost"))
    return Call(
        request,
        start,
        model,
        name=text(record, "name"),
        trace_name=text(record, *_names("trace_name")),
        environment=environment,
        user=text(record, *_names("user_id")),
        session=text(record, *_names("session_id")),
        tags=as_set(record.get("tags")),
        cost=number(costs, "total") if cost is None else cost,
        latency=seconds_between(start, end),
        first_token=seconds_between(start, _moment(record, "completion_start_time")),
        input_tokens=count(usage, "input"),
        output_tokens=count(usage, "output"),
        trace_id=text(record, *_names("trace_id")),
        prompt=record.get("input"),
    )


def _trace(record: Record) -> Item | Trace:
    """Return who asked: observations had neither user nor session before version 4."""
    trace = text(record, "id")
    if trace is None:
        return Dropped(INCOMPLETE)
    user, session = (text(record, *_names(name)) for name in ("user_id", "session_id"))
    return Trace(trace, user, session, text(record, "name"), as_set(record.get("tags")))


def _score(record: Record) -> Item:
    """Return a score of an observation, or else of a trace. Its subject is an object in the newest API."""
    subject = inside(record, "subject")
    kind, of = subject.get("kind"), text(subject, "id")
    request = of if kind == "observation" else text(record, *_names("observation_id"))
    trace = of if kind == "trace" else text(record, *_names("trace_id"))
    if request is None and trace is None:
        return Dropped("of a session or an experiment, not of a call", is_score=True)
    value = record.get("value")
    if _value(record, "data_type") not in (*NUMERIC, None) or value is None:
        return Dropped("no numbers: categories, texts, corrections", is_score=True)
    value = float(value) if isinstance(value, bool) else number(record, "value")
    time, name, score_id = moment(record, "timestamp"), text(record, "name"), text(record, "id")
    if time is None or name is None or score_id is None or value is None:
        return Dropped("without an id, a time or a name", is_score=True)
    return Score(score_id, name, time, value, request, None if request else trace)


def _value(record: Record, name: str) -> Any:
    return first_of(record, *_names(name))


def _moment(record: Record, name: str) -> int | None:
    return moment(record, *_names(name))


@cache
def _names(name: str) -> tuple[str, str]:
    return name, _camel(name)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
