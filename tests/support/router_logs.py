"""Logs of routers as LiteLLM, Langfuse and OTLP write them, with what is odd in real ones.

Their fields were compared, one by one, with those of the packages on PyPI: of litellm 1.109.1 the table
LiteLLM_SpendLogs (``schema.prisma``), ``SpendLogsPayload``, ``SpendLogsMetadata``, ``StandardLoggingRoutingDecision``
and the columns of ``/spend/logs/v2``; of langfuse 5.0.4 ``ObservationV2``, ``ScoreV3`` and ``BaseScore``, of 3.15.0
``ObservationsView`` and ``Trace``. No package has the columns of Langfuse's exports to files (``stored_...``).
"""

import json
from datetime import UTC, datetime, timedelta

from warmstart.interop.routers.calls import (
    CACHED,
    FAILED,
    FALLBACK,
    INCOMPLETE,
    INTERNAL,
    NO_ANSWER,
    REPEATED,
    UNFINISHED,
)
from warmstart.interop.routers.otel import OTHERS
from warmstart.interop.routers.scores import NO_CALL

START = datetime(2026, 10, 1, 12, tzinfo=UTC)
SECRET = "my diagnosis"
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": SECRET}]}]


def at(seconds):
    return START + timedelta(seconds=seconds)


def iso(seconds):
    return f"{at(seconds):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"


def written(path, records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def spend(request, second=0, **changed):
    """A row of the table LiteLLM_SpendLogs, of a proxy that stores prompts."""
    metadata = {"status": "success", "user_api_key_alias": None, "attempted_retries": 0, "attempted_fallbacks": 0}
    metadata |= {"internal_call_origin": None, "billed_retry_attempt": False, "cost_breakdown": {"total_cost": 0.00025}}
    row = {
        "request_id": request,
        "call_type": "acompletion",
        "api_key": "88dc28d0f030c55ed4ab77ed8faf098196cb1c05df778539800c9f1243fe6b4b",
        "spend": 0.00025,
        "total_tokens": 150,
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "startTime": iso(second),
        "endTime": iso(second + 2.5),
        "request_duration_ms": 2500,
        "completionStartTime": iso(second + 0.5),
        "model": "gpt-4o-mini",
        "model_id": "5f3b",
        "model_group": "auto",
        "custom_llm_provider": "openai",
        "api_base": "https://api.openai.com",
        "user": "ann",
        "metadata": metadata,
        "cache_hit": "None",
        "cache_key": "Cache OFF",
        "request_tags": ["b", "a"],
        "team_id": "core",
        "organization_id": "",
        "end_user": "",
        "requester_ip_address": None,
        "messages": {},
        "response": {},
        "session_id": "s1",
        "status": "success",
        "mcp_namespaced_tool_name": None,
        "billing_agent_id": None,
        "agent_id": None,
        "proxy_server_request": {"model": "auto", "messages": MESSAGES},
        "litellm_call_id": f"call-{request}",
        "created_at": iso(second + 3),
        "updated_at": iso(second + 3),
    }
    more = changed.pop("meta", {})
    return {**row, "metadata": {**metadata, **more}, **changed}


# Columns of the table that /spend/logs/v2 does not return: prompts are in none of its pages.
NOT_IN_PAGES = ("messages", "response", "proxy_server_request", "billing_agent_id", "created_at", "updated_at")


def listed(request, second=0, **changed):
    """A row as /spend/logs/v2 returns it."""
    return {key: value for key, value in spend(request, second, **changed).items() if key not in NOT_IN_PAGES}


# What the automatic router of LiteLLM writes of its choice; signals and keywords quote the prompt.
DECISION = {"router_model_name": "auto", "router_type": "complexity", "routed_model": "gpt-4o-mini", "tier": "SIMPLE"}
DECISION |= {
    "cause": "heuristic_scorer",
    "score": -0.25,
    "request_type": "analytical",
    "router_config_fingerprint": "f1",
}
DECISION |= {"signals": [SECRET], "matched_keyword": SECRET, "escalation_keyword": SECRET, "classifier_crux": SECRET}
# What a hook of the proxy adds that draws the model.
DRAWN = {"spend_logs_metadata": {"propensity": 0.95}}
# As a payload is logged, or row_to_json writes it: no zone, no duration, not streamed, JSON as text, empty lists.
_PLAIN = spend("chatcmpl-2", 10, startTime="2026-10-01T12:00:10", endTime="2026-10-01T12:00:12.5", model="gpt-4o")
_PLAIN |= {"completionStartTime": "2026-10-01T12:00:12.5", "request_duration_ms": None, "request_tags": "[]"}
_PLAIN |= {"spend": 0.004, "metadata": json.dumps(_PLAIN["metadata"]), "proxy_server_request": "{}", "user": None}
LITELLM = [
    spend("chatcmpl-1"),
    _PLAIN,
    spend("chatcmpl-1_cache_hit1759320000.1", 20, cache_hit="True", spend=0.0),
    # Answered from a cache inside of the call: the id alone says so.
    spend("chatcmpl-1_cache_hit1759320000.25", 25, cache_hit="False", spend=0.0),
    spend("chatcmpl-3", 30, status="failure", meta={"status": "failure"}, model="gpt-4o", spend=0),
    spend("chatcmpl-4", 40, meta={"billed_retry_attempt": True}, model="gpt-4o"),
    spend("chatcmpl-5", 50, meta={"attempted_fallbacks": 1, "original_model_group": "auto"}),
    spend("chatcmpl-retried", 60, meta={"attempted_retries": 2, "routing_decision": DECISION, **DRAWN}),
    spend("emb-1", 70, call_type="aembedding"),
    spend("judge-1", 80, meta={"internal_call_origin": "llm_as_a_judge_guardrail"}),
    spend("shadow-1", 90, meta={"is_silent_experiment": True}),
    spend("chatcmpl-6", 100, model="", model_group=""),
    spend("chatcmpl-7", 110, model="unknown-model"),
    spend("chatcmpl-1"),
    {"request_id": "old-1", "startTime": iso(120), "model": "gpt-4o"},
]
LITELLM_LEFT_OUT = {CACHED: 2, FAILED: 2, FALLBACK: 1, NO_ANSWER: 1, INTERNAL: 2, INCOMPLETE: 2, REPEATED: 1}


def observation(name, trace, second=0, **changed):
    """An observation as Langfuse's API, v2, returns it."""
    return {
        "id": name,
        "traceId": trace,
        "startTime": iso(second),
        "endTime": iso(second + 2.5),
        "projectId": "p1",
        "parentObservationId": None,
        "isRootObservation": True,
        "type": "GENERATION",
        "name": "answer",
        "level": "DEFAULT",
        "statusMessage": "",
        "version": None,
        "environment": "production",
        "userId": "ann",
        "sessionId": "s1",
        "completionStartTime": iso(second + 0.5),
        "latency": 2.5,
        "timeToFirstToken": 0.5,
        "createdAt": iso(second + 3),
        "updatedAt": iso(second + 3),
        "bookmarked": False,
        "public": False,
        "metadata": {"scope": {"name": "langfuse-sdk"}},
        "input": json.dumps(MESSAGES),
        "output": None,
        "model": "gpt-4o",
        "internalModelId": "m1",
        "modelParameters": {"temperature": 0.2},
        "usagePricingTierName": "Standard",
        "promptId": None,
        "promptName": None,
        "promptVersion": None,
        "modelId": "m1",
        "inputPrice": "0.00001",
        "outputPrice": "0.00004",
        "totalPrice": None,
        "release": None,
        "usageDetails": {"input": 100, "output": 50, "total": 150},
        "costDetails": {"input": 0.001, "output": 0.002, "total": 0.003},
        "totalCost": 0.003,
        "tags": ["beta"],
        "traceName": "chat",
        **changed,
    }


# What the older API, v1, says of an observation and v2 does not, and the other way round.
OF_V1 = {"usage": {"input": 100, "output": 50, "total": 150, "unit": "TOKENS", "totalCost": 0.003}, "inputPrice": 1e-05}
OF_V1 |= {"outputPrice": 4e-05, "calculatedInputCost": 0.001, "calculatedOutputCost": 0.002}
OF_V2 = ("userId", "sessionId", "tags", "traceName", "release", "totalCost", "isRootObservation", "projectId")
OF_V2 += ("bookmarked", "public", "createdAt", "updatedAt", "internalModelId", "usagePricingTierName")


def older_observation(name, trace, second=0, **changed):
    """An observation as the older API, v1, returns it: who asked is in the trace alone."""
    row = {**observation(name, trace, second), **OF_V1, "calculatedTotalCost": 0.0035, **changed}
    return {key: value for key, value in row.items() if key not in OF_V2}


def trace(name, second=0, **changed):
    """A trace as the API returns it in lists."""
    given = {"id": name, "timestamp": iso(second), "name": "chat", "input": SECRET, "output": None, "release": None}
    given |= {"sessionId": "s2", "userId": "bob", "version": None, "metadata": {}, "tags": ["y", "x"], "public": False}
    return {**given, "environment": "production", **changed}


def stored_observation(name, trace, second=0, **changed):
    """An observation as Langfuse exports it to blob storage: snake_case, times of ClickHouse, numbers as text."""
    return {
        "id": name,
        "trace_id": trace,
        "project_id": "p1",
        "environment": "production",
        "type": "GENERATION",
        "parent_observation_id": "",
        "start_time": f"{at(second):%Y-%m-%d %H:%M:%S.%f}",
        "end_time": f"{at(second + 1):%Y-%m-%d %H:%M:%S.%f}",
        "level": "DEFAULT",
        "input": {"messages": MESSAGES},
        "provided_model_name": "mixtral",
        "usage_details": {"input": "7", "output": "3", "total": "10"},
        "cost_details": {"total": 0.0001},
        "total_cost": "0.0001",
        "completion_start_time": None,
        "user_id": "",
        **changed,
    }


def score(name, value, **changed):
    """A score as the older API returns it."""
    given = {
        "id": f"{name}-{value}-{changed}",
        "name": name,
        "source": "EVAL",
        "timestamp": iso(86_400),
        "value": value,
    }
    given |= {"createdAt": iso(86_400), "updatedAt": iso(86_400), "metadata": {}, "configId": None, "queueId": None}
    given |= {"authorUserId": None, "sessionId": None, "datasetRunId": None}
    return {**given, "dataType": "NUMERIC", "comment": None, "environment": "production", **changed}


def newest_score(name, value, subject, data_type):
    """A score as the newest API, v3, returns it."""
    row = {**score(name, value, subject=subject), "dataType": data_type, "projectId": "p1"}
    return {key: part for key, part in row.items() if key not in ("sessionId", "datasetRunId")}


def stored_score(name, value, data_type="NUMERIC", **changed):
    row = score(name, value, **changed)
    row["data_type"], row["timestamp"] = data_type, "2026-10-03 01:02:03.004"
    return {key: part for key, part in row.items() if key != "dataType"}


LANGFUSE = [
    {"data": [observation("o1", "t1"), observation("span-1", "t1", type="SPAN", model=None)], "meta": {"cursor": None}},
    # A failed attempt and its retry in one trace.
    observation("o-failed", "t2", 10, level="ERROR"),
    stored_observation("o2", "t2", 11),
    # Two answers in one trace.
    stored_observation("o3", "t3", 20),
    stored_observation("o4", "t3", 21),
    observation("o-running", "t4", 30, endTime=None),
    observation("o-nameless", "t5", 40, model=None),
    observation("o-judge", "t6", 50, environment="langfuse-llm-as-a-judge"),
    observation("o1", "t1", totalCost=9.0),
    # Another user than the observation names, whose word counts; and what the observation of the older API lacks.
    {"id": "t1", "timestamp": iso(0), "name": "chat", "user_id": "eve", "session_id": "s9"},
    older_observation("o-older", "t7", 60),
    trace("t7", 60),
    trace("t7", 60, userId="eve"),
    trace("t8", 60),
    newest_score("quality", 0.9, {"kind": "observation", "id": "o1", "traceId": "t1"}, "NUMERIC"),
    score("quality", 0.25, traceId="t2", observationId=None),
    score("quality", 0.5, traceId="t3"),
    score("quality", 0.5, traceId="t9"),
    stored_score("quality", 1, observation_id="o4", trace_id="t3"),
    # Of an agent's step, which is no call, and of a call that failed.
    newest_score("quality", 0.7, {"kind": "observation", "id": "span-1", "traceId": "t1"}, "NUMERIC"),
    score("quality", 0.7, traceId="t2", observationId="o-failed"),
    newest_score("is it/right?", True, {"kind": "trace", "id": "t1"}, "BOOLEAN"),
    stored_score("is it/right?", 0, "BOOLEAN", trace_id="t2", string_value="False"),
    newest_score("tone", "warm", {"kind": "trace", "id": "t1"}, "CATEGORICAL"),
    newest_score("quality", 0.1, {"kind": "session", "id": "s1"}, "NUMERIC"),
    score("quality", 0.25, traceId="t2", observationId=None),
]
LANGFUSE_LEFT_OUT = {NO_ANSWER: 1, FAILED: 1, UNFINISHED: 1, INCOMPLETE: 1, INTERNAL: 1, REPEATED: 1}
LANGFUSE_SCORES_LEFT_OUT = {
    "no numbers: categories, texts, corrections": 1,
    "of a session or an experiment, not of a call": 1,
    "of a trace or a response with several calls": 1,
    "of a trace or a response with no imported call": 1,
    NO_CALL: 2,
    REPEATED: 1,
}

TRACE, SPANS = "5b8efff798038103d269b633813fc60c", ("eee19b7ec3c1b174", "eee19b7ec3c1b175", "eee19b7ec3c1b176")


def attributes(values):
    """Attributes as OTLP's JSON writes them: integers as text."""
    kinds = {str: "stringValue", bool: "boolValue", float: "doubleValue", int: "intValue", list: "arrayValue"}
    pairs = []
    for key, value in values.items():
        held = {"values": [{"stringValue": part} for part in value]} if isinstance(value, list) else value
        plain = str(held) if type(held) is int else held
        pairs.append({"key": key, "value": {kinds[type(value)]: plain}})
    return pairs


def nanoseconds(second):
    return str(round(at(second).timestamp() * 1_000) * 1_000_000)


def span(place, second, values, **changed):
    return {
        "traceId": TRACE,
        "spanId": place,
        "name": "chat",
        "kind": 3,
        "startTimeUnixNano": nanoseconds(second),
        "endTimeUnixNano": nanoseconds(second + 2.5),
        "attributes": attributes(values),
        "status": {},
        **changed,
    }


def traces(*spans, resource=None):
    scopes = [{"scope": {"name": "openai"}, "spans": list(spans)}]
    return {"resourceSpans": [{"resource": {"attributes": attributes(resource or {})}, "scopeSpans": scopes}]}


def records(*rows):
    return {"resourceLogs": [{"resource": {}, "scopeLogs": [{"scope": {}, "logRecords": list(rows)}]}]}


def evaluation(value, *, span=None, **values):
    more = {} if value is None else {"gen_ai.evaluation.score.value": value}
    given = {"gen_ai.evaluation.name": "Relevance", "gen_ai.evaluation.score.label": "good", **more, **values}
    place = {"traceId": TRACE, "spanId": span} if span else {}
    named = {"eventName": "gen_ai.evaluation.result", "timeUnixNano": nanoseconds(600)}
    return {**named, **place, "attributes": attributes(given)}


CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.response.model": "gpt-4o-2024-08-06",
    "gen_ai.response.id": "chatcmpl-1",
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.response.time_to_first_chunk": 0.25,
    "gen_ai.request.stream": True,
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 50,
    "gen_ai.conversation.id": "c1",
    "gen_ai.cost.total_cost": 0.004,
    "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": SECRET}]}]),
}
OLDER = {"gen_ai.system": "mistral_ai", "gen_ai.request.model": "mixtral", "gen_ai.usage.prompt_tokens": 7}
OTEL = [
    traces(
        span(SPANS[0], 0, CHAT),
        span("aaa19b7ec3c1b174", 0, {"http.request.method": "POST"}),
        span("aaa19b7ec3c1b175", 0, {**CHAT, "gen_ai.operation.name": "invoke_agent"}),
        span("aaa19b7ec3c1b176", 0, {**CHAT, "error.type": "timeout"}, status={"code": 2}),
        span("aaa19b7ec3c1b177", 0, {**CHAT, "litellm.cache_hit": True}),
        span("aaa19b7ec3c1b178", 0, CHAT, endTimeUnixNano="0"),
        span("aaa19b7ec3c1b179", 0, {"gen_ai.operation.name": "chat"}),
        resource={"service.name": "shop"},
    ),
    traces(span(SPANS[1], 10, OLDER, events=[{**evaluation(0.5), "name": "gen_ai.evaluation.result"}])),
    traces(span(SPANS[0], 0, CHAT)),
    {"resourceMetrics": []},
    records(
        evaluation(0.75, **{"gen_ai.response.id": "chatcmpl-1"}),
        evaluation(0.75, **{"gen_ai.response.id": "chatcmpl-9"}),
        evaluation(None, span=SPANS[1]),
        evaluation(1.0),
        # Of the agent that the call was a step of.
        evaluation(0.25, span="aaa19b7ec3c1b175"),
        {"body": {"stringValue": "started"}, "timeUnixNano": nanoseconds(0)},
    ),
]
OTEL_LEFT_OUT = {OTHERS: 2, NO_ANSWER: 1, FAILED: 1, CACHED: 1, UNFINISHED: 1, INCOMPLETE: 1, REPEATED: 1}
OTEL_SCORES_LEFT_OUT = {
    NO_CALL: 1,
    "of a trace or a response with no imported call": 1,
    "no numbers: labels alone, or evaluations that failed": 1,
    "of no span and no response": 1,
}
LOGS = {
    "litellm": (LITELLM, LITELLM_LEFT_OUT),
    "langfuse": (LANGFUSE, LANGFUSE_LEFT_OUT),
    "otel": (OTEL, OTEL_LEFT_OUT),
}
