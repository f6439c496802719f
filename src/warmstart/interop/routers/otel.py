"""OpenTelemetry's traces and logs as OTLP JSON lines, with the conventions for generative AI (GenAI)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from warmstart.interop.json_values import (
    LAST_MOMENT,
    Record,
    count,
    number,
    seconds_between,
    stripped,
    text,
    truth,
)
from warmstart.interop.lines import BadLineError
from warmstart.interop.routers.calls import (
    CACHED,
    FAILED,
    INCOMPLETE,
    NO_ANSWER,
    UNFINISHED,
    Call,
    Dropped,
    Item,
    Score,
)

# Operations in which a model answers a prompt; others are embeddings, tools, agents, workflows, retrieval, memory.
ANSWERS = ("chat", "text_completion", "generate_content")
# Models of spans without an operation that answer no prompt.
EMBEDDING = re.compile(r"embed|rerank|moderation|(^|/)(voyage|bge|gte|e5)-", re.IGNORECASE)
EVALUATION = "gen_ai.evaluation.result"
ERROR_STATUS = (2, "2", "STATUS_CODE_ERROR")
OTHERS = "spans and records of other kinds than generative AI's"


def read_otel(request: Record) -> Iterator[Item]:
    """Read an export request: spans of ``resourceSpans``, or records of ``resourceLogs``."""
    if not any(isinstance(request.get(name), list) for name in ("resourceSpans", "resourceLogs", "resourceMetrics")):
        raise BadLineError("it has no resourceSpans and no resourceLogs")
    for resource in _objects(request, "resourceSpans"):
        shared = _attributes(_object(resource, "resource"))
        for scope in _objects(resource, "scopeSpans"):
            for span in _objects(scope, "spans"):
                yield from _of_span(span, shared)
    for resource in _objects(request, "resourceLogs"):
        for scope in _objects(resource, "scopeLogs"):
            for record in _objects(scope, "logRecords"):
                yield _of_record(record)


def _of_span(span: Record, shared: Record) -> Iterator[Item]:
    """Give the call that a span is, and the evaluations among its events."""
    yield _call(span, {**shared, **_attributes(span)})
    for event in _objects(span, "events"):
        if event.get("name") == EVALUATION:
            moment = _moment(event, "timeUnixNano")
            yield _score(_attributes(event), moment, text(span, "traceId"), text(span, "spanId"))


def _of_record(record: Record) -> Item:
    """Return the evaluation that a record of a log is."""
    values = _attributes(record)
    if EVALUATION not in (record.get("eventName"), values.get("event.name")):
        return Dropped(OTHERS)
    moment = _moment(record, "timeUnixNano", "observedTimeUnixNano")
    return _score(values, moment, text(record, "traceId"), text(record, "spanId"))


def _call(span: Record, values: Record) -> Item:
    response = stripped(values, "gen_ai.response.model")
    model = stripped(values, "gen_ai.request.model") or response
    operation = text(values, "gen_ai.operation.name")
    provider = text(values, "gen_ai.provider.name", "gen_ai.system")
    if model is None and operation is None and provider is None:
        return Dropped(OTHERS)
    is_answer = not EMBEDDING.search(model or "") if operation is None else operation in ANSWERS
    if not is_answer or truth(values, "litellm.cache_hit"):
        return Dropped(CACHED if is_answer else NO_ANSWER)
    if _object(span, "status").get("code") in ERROR_STATUS or values.get("error.type") is not None:
        return Dropped(FAILED, model)
    start, end = _moment(span, "startTimeUnixNano"), _moment(span, "endTimeUnixNano")
    trace, place = text(span, "traceId"), text(span, "spanId")
    if start is None or end is None or model is None or trace is None or place is None:
        return Dropped(INCOMPLETE if end else UNFINISHED)
    return Call(
        _request_id(trace, place),
        start,
        model,
        provider=provider,
        response_model=response,
        operation=operation,
        service=text(values, "service.name"),
        environment=text(values, "deployment.environment.name", "deployment.environment"),
        user=text(values, "user.id", "enduser.id"),
        session=text(values, "gen_ai.conversation.id", "session.id"),
        # No convention: what LiteLLM and others write.
        cost=number(values, "gen_ai.cost.total_cost", "gen_ai.usage.cost"),
        latency=seconds_between(start, end),
        first_token=number(values, "gen_ai.response.time_to_first_chunk"),
        input_tokens=count(values, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        output_tokens=count(values, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        trace_id=trace,
        response_id=text(values, "gen_ai.response.id"),
        prompt=values.get("gen_ai.input.messages", values.get("gen_ai.prompt")),
    )


def _score(values: Record, moment: int | None, trace: str | None, span: str | None) -> Item:
    """Return an evaluation: of the response that it names, or else of the span that it belongs to."""
    name, value = text(values, "gen_ai.evaluation.name"), number(values, "gen_ai.evaluation.score.value")
    response = text(values, "gen_ai.response.id")
    if values.get("error.type") is not None or value is None:
        return Dropped("no numbers: labels alone, or evaluations that failed", is_score=True)
    if moment is None or name is None:
        return Dropped("without an id, a time or a name", is_score=True)
    if response is None and (trace is None or span is None):
        return Dropped("of no span and no response", is_score=True)
    request = None if response is not None or trace is None or span is None else _request_id(trace, span)
    score_id = f"{request or response} {name} {moment} {value!r}"
    return Score(score_id, name, moment, value, request, None, response)


def _request_id(trace: str, span: str) -> str:
    """Return the id of a span: its own is unique within its trace."""
    return f"{trace}-{span}"


def _moment(record: Record, *names: str) -> int | None:
    """Return nanoseconds since 1970, which OTLP writes as text, as microseconds; 0 is unknown."""
    for name in names:
        value = record.get(name)
        if value in (None, "", 0, "0"):
            continue
        try:
            nanoseconds = int(value)
        except (TypeError, ValueError) as error:
            raise BadLineError(f"{name} is no number of nanoseconds") from error
        if not 0 <= nanoseconds // 1_000 <= LAST_MOMENT:
            raise BadLineError(f"{name} is no time")
        return nanoseconds // 1_000
    return None


def _attributes(record: Record) -> dict[str, Any]:
    """Return the attributes of a span, an event, a record or a resource as plain values."""
    return _pairs(record, "attributes")


def _plain(value: Any) -> Any:
    """Return an ``AnyValue`` of OTLP as a plain one; integers may be text."""
    if not isinstance(value, dict):
        return value
    for name, inner in value.items():
        if name == "arrayValue":
            return [_plain(part) for part in _objects(_object(value, name), "values")]
        return _pairs(_object(value, name), "values") if name == "kvlistValue" else inner
    return None


def _pairs(record: Record, name: str) -> dict[str, Any]:
    pairs = ((pair.get("key"), pair.get("value")) for pair in _objects(record, name))
    return {key: _plain(value) for key, value in pairs if isinstance(key, str)}


def _object(record: Record, name: str) -> Record:
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def _objects(record: Record, name: str) -> list[Record]:
    """Return a list of objects; none if it is absent."""
    value = record.get(name) or []
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise BadLineError(f"{name} is no list of objects")
    return value
