"""LiteLLM's spend logs: rows of the table LiteLLM_SpendLogs, or pages of /spend/logs/v2."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    truth,
    unfolded,
)
from warmstart.interop.routers.calls import (
    CACHED,
    FAILED,
    FALLBACK,
    INCOMPLETE,
    INTERNAL,
    NO_ANSWER,
    Call,
    Dropped,
    Item,
)

# Types of calls in which a model answers a prompt; LiteLLM also logs embeddings, images, files, batches, tools...
ANSWERS = (
    *("completion", "acompletion", "text_completion", "atext_completion", "responses", "aresponses"),
    *("anthropic_messages", "aanthropic_messages", "generate_content", "agenerate_content"),
    *("generate_content_stream", "agenerate_content_stream"),
)
# Flags in the metadata of calls that answered nobody's request.
ITS_OWN = ("internal_call_origin", "is_silent_experiment", "litellm_roi_estimator")
UNKNOWN_MODEL = "unknown-model"
# How ids of answers from a cache end; some have that and no ``cache_hit``.
OF_CACHE = re.compile(r"_cache_hit\d+(\.\d+)?$")


def read_litellm(row: Record) -> Iterator[Item]:
    """Read a row of the spend logs."""
    metadata = inside(row, "metadata")
    model = stripped(row, "model")
    why = _why_not(row, metadata, model)
    if why is not None:
        yield why
        return
    start, end = moment(row, "startTime"), moment(row, "endTime")
    request = text(row, "request_id")
    if request is None or start is None or model is None:
        yield Dropped(INCOMPLETE)
        return
    milliseconds, decision = number(row, "request_duration_ms"), inside(metadata, "routing_decision")
    first = moment(row, "completionStartTime")
    yield Call(
        request,
        start,
        model,
        provider=text(row, "custom_llm_provider"),
        requested_model=text(row, "model_group"),
        operation=text(row, "call_type"),
        user=text(row, "user"),
        end_user=text(row, "end_user"),
        session=text(row, "session_id"),
        team=text(row, "team_id"),
        organization=text(row, "organization_id"),
        tags=as_set(row.get("request_tags")),
        cost=number(row, "spend"),
        latency=seconds_between(start, end) if milliseconds is None else milliseconds / 1_000,
        # Of a call that was not streamed the first token comes with the last.
        first_token=None if first == end else seconds_between(start, first),
        input_tokens=count(row, "prompt_tokens"),
        output_tokens=count(row, "completion_tokens"),
        retries=count(metadata, "attempted_retries"),
        route_tier=text(decision, "tier"),
        route_cause=text(decision, "cause"),
        route_type=text(decision, "request_type"),
        route_score=number(decision, "score"),
        route_version=text(decision, "router_config_fingerprint"),
        # What callers and hooks of the proxy add to a row of the log.
        propensity=number(inside(metadata, "spend_logs_metadata"), "propensity"),
        response_id=text(row, "litellm_call_id"),
        prompt=_prompt(row),
    )


def _why_not(row: Record, metadata: Record, model: str | None) -> Dropped | None:
    """Return why a row is no event: the model that was chosen did not answer somebody's prompt."""
    if truth(row, "cache_hit") or OF_CACHE.search(text(row, "request_id") or ""):
        return Dropped(CACHED)
    if (text(row, "call_type") or "acompletion") not in ANSWERS:
        return Dropped(NO_ANSWER)
    if any(metadata.get(name) for name in ITS_OWN):
        return Dropped(INTERNAL)
    if truth(metadata, "billed_retry_attempt") or "failure" in (row.get("status"), metadata.get("status")):
        return Dropped(FAILED, model)
    if (count(metadata, "attempted_fallbacks") or 0) > 0:
        return Dropped(FALLBACK, text(metadata, "original_model_group"))
    return Dropped(INCOMPLETE) if model in (None, UNKNOWN_MODEL) else None


def _prompt(row: Record) -> Any:
    """Return the prompt, if LiteLLM stores prompts: in the request it got, or among the messages."""
    request = unfolded(row.get("proxy_server_request"))
    return first_of(
        {"request": request or None, "messages": unfolded(row.get("messages")) or None}, "request", "messages"
    )
