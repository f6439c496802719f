"""Which name of a model is the action of an imported call."""

import pyarrow.parquet as pq
import pytest
from tests.support import router_logs as logs

import warmstart as ws


def otel(tmp_path, *spans, **more):
    path = logs.written(tmp_path / "otel.jsonl", [logs.traces(*spans)])
    result = ws.import_calls(path, tmp_path / "out", format="otel", **more)
    return result, pq.read_table(result.events).to_pylist()


def span(i, asked, answered, **changed):
    values = {"gen_ai.operation.name": "chat", "gen_ai.request.model": asked, "gen_ai.response.model": answered}
    values = {name: value for name, value in values.items() if value is not None}
    return logs.span(f"{i:016x}", i, {**values, **changed.pop("values", {})}, **changed)


ROUTED = [
    span(1, "auto", "gpt-4o-2024-08-06"),
    span(2, "auto", "gpt-4o-mini"),
    span(3, "auto", "gpt-4o-mini"),
    # Versions of one name are that name, and a name without an answer is itself.
    span(4, "gpt-4o", "gpt-4o-2024-05-13"),
    span(5, "openai/gpt-4o", "gpt-4o-2024-08-06"),
    span(6, "gpt-4o", "gpt-4o-2024-08-06"),
    span(7, "auto", None),
    span(8, "auto", None, status={"code": 2}),
]
VERSIONS = ["gpt-4o-2024-05-13", "gpt-4o-2024-08-06", "gpt-4o-2024-08-06"]
NAMES = ["gpt-4o", "openai/gpt-4o", "gpt-4o"]
ANSWERED = ["gpt-4o-2024-08-06", "gpt-4o-mini", "gpt-4o-mini"]
BY = {
    "auto": [*ANSWERED, *NAMES, "auto"],
    "request": ["auto", "auto", "auto", *NAMES, "auto"],
    "response": [*ANSWERED, *VERSIONS, "auto"],
}
ASKED = {
    "auto": ["auto", "auto", "auto", None, None, None, None],
    "request": [None] * 7,
    "response": ["auto", "auto", "auto", *NAMES, None],
}


@pytest.mark.parametrize("by", ["auto", "request", "response"])
def test_where_a_router_answers_under_its_name_the_action_is_the_model_that_answered(tmp_path, by):
    result, rows = otel(tmp_path, *ROUTED, model=by)
    assert [row["model"] for row in rows] == BY[by]
    asked = [row.get("requested_model") for row in rows]
    assert asked == ASKED[by]
    assert result.about["aliases"] == {"auto": {"gpt-4o-mini": 2, "gpt-4o-2024-08-06": 1}}
    (line,) = [note for note in result.notes if "WS221" in note]
    assert line.startswith("WARNING: Several models answered to the name 'auto' (gpt-4o-mini 2, gpt-4o-2024-08-06 1)")
    assert ("is 'auto'" in line) == (by == "request")
    assert "auto 1 of 4" in "\n".join(result.notes)


def test_a_span_without_an_operation_is_an_answer_unless_its_model_makes_embeddings(tmp_path):
    models = ["gpt-4o", "text-embedding-3-small", "openai/embed-v4", "voyage-3", "BAAI/bge-m3", "rerank-v3.5"]
    spans = [
        logs.span(f"{i:016x}", i, {"gen_ai.system": "x", "gen_ai.request.model": m}) for i, m in enumerate(models, 1)
    ]
    result, rows = otel(tmp_path, *spans)
    assert [row["model"] for row in rows] == ["gpt-4o"]
    assert result.about["dropped"] == {"no answers to prompts: embeddings, tools, other steps": 5}


def test_spaces_are_no_part_of_a_name_and_names_that_are_alike_are_told(tmp_path):
    models = ["gpt-4o", "openai/gpt-4o", "GPT-4o ", "gpt-4o-mini", " gpt-4o"]
    path = logs.written(tmp_path / "spend.jsonl", [logs.spend(f"r{i}", model=m) for i, m in enumerate(models)])
    result = ws.import_calls(path, tmp_path / "out", format="litellm")
    assert result.about["models"] == {"gpt-4o": 2, "openai/gpt-4o": 1, "GPT-4o": 1, "gpt-4o-mini": 1}
    (line,) = [note for note in result.notes if "WS222" in note]
    assert line.startswith("WARNING: 'gpt-4o', 'openai/gpt-4o', 'GPT-4o' differ by provider or case alone, and are 3")


def test_only_logs_with_both_names_can_be_asked_for_one(tmp_path):
    path = logs.written(tmp_path / "spend.jsonl", [logs.spend("r1")])
    with pytest.raises(ws.UsageError, match="name one model a call"):
        ws.import_calls(path, tmp_path / "out", format="litellm", model="response")
    with pytest.raises(ws.UsageError, match="no name of a model"):
        ws.import_calls(path, tmp_path / "out", format="otel", model="alias")
