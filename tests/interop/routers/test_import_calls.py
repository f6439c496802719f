"""Logs of routers, in the form that LiteLLM, Langfuse and OpenTelemetry write them, with what is odd in real ones."""

import gzip
import json

import pyarrow.parquet as pq
import pytest
from tests.support import router_logs as logs
from tests.support.commands import warmstart

import warmstart as ws
from warmstart.interop.routers import calls as names


def imported(tmp_path, records, format_, **more):
    """The result of importing records, and the rows of its events."""
    path = logs.written(tmp_path / f"{format_}.jsonl", records)
    result = ws.import_calls(path, tmp_path / "out", format=format_, **more)
    return result, pq.read_table(result.events).to_pylist()


def test_every_record_is_an_event_or_counted_by_its_reason(tmp_path):
    for name, (records, left_out) in logs.LOGS.items():
        folder = tmp_path / name
        folder.mkdir()
        result, rows = imported(folder, records, name)
        about = result.about
        assert about["dropped"] == left_out, name
        assert about["read"] == len(rows) + sum(left_out.values()) == about["events"] + sum(left_out.values()), name
        assert sum(about["models"].values()) == len(rows)
        for reason in left_out:
            assert reason in "\n".join(result.notes)


def test_a_call_of_litellm_has_its_model_cost_latency_and_who_asked(tmp_path):
    result, rows = imported(tmp_path, logs.LITELLM, "litellm")
    assert rows[0] == {
        "request_id": "chatcmpl-1",
        "time": logs.at(0),
        "model": "gpt-4o-mini",
        "provider": "openai",
        "requested_model": "auto",
        "operation": "acompletion",
        "user": "ann",
        "session": "s1",
        "team": "core",
        "tags": '["a", "b"]',
        "cost": 0.00025,
        "latency": 2.5,
        "first_token": 0.5,
        "input_tokens": 100,
        "output_tokens": 50,
        "retries": 0,
        **dict.fromkeys(("route_tier", "route_cause", "route_type", "route_score", "route_version", "propensity")),
        "response_id": "call-chatcmpl-1",
    }
    by_id = {row["request_id"]: row for row in rows}
    # Not streamed: the first token came with the last. No duration: the times say it. Metadata as text.
    assert (by_id["chatcmpl-2"]["first_token"], by_id["chatcmpl-2"]["latency"]) == (None, 2.5)
    retried = by_id["chatcmpl-retried"]
    assert retried["retries"] == 2
    # What its automatic router went by, which belongs into the context, and the version of it, which is an epoch.
    told = ("route_tier", "route_cause", "route_type", "route_score", "route_version", "propensity")
    assert [retried[name] for name in told] == ["SIMPLE", "heuristic_scorer", "analytical", -0.25, "f1", 0.95]
    assert result.about["failed"] == {"gpt-4o": 2, "auto": 1}
    assert "--context COLUMN --action model" in result.next_command
    folder = tmp_path / "without-old-rows"
    folder.mkdir()
    result, _ = imported(folder, logs.LITELLM[:-1], "litellm")
    assert result.next_command.endswith("--reward cost --range cost=0:0.004 --time time")
    ran = warmstart(*result.next_command.split()[1:])
    assert ran.returncode == 0, ran.stderr


def test_scores_of_langfuse_find_the_observation_or_the_one_call_of_their_trace(tmp_path):
    result, rows = imported(tmp_path, logs.LANGFUSE, "langfuse")
    assert {row["request_id"] for row in rows} == {"o1", "o2", "o3", "o4", "o-older"}
    first = next(row for row in rows if row["request_id"] == "o1")
    told = ("model", "name", "trace_name", "user", "session", "tags", "cost", "latency", "first_token")
    assert [first[name] for name in told] == ["gpt-4o", "answer", "chat", "ann", "s1", '["beta"]', 0.003, 2.5, 0.5]
    assert (first["input_tokens"], first["output_tokens"]) == (100, 50)
    scores = {name: pq.read_table(path).to_pylist() for name, path in result.scores.items()}
    assert [(row["request_id"], row["score"]) for row in scores["quality"]] == [("o1", 0.9), ("o2", 0.25), ("o4", 1.0)]
    assert [(row["request_id"], row["score"]) for row in scores["is it/right?"]] == [("o1", 1.0), ("o2", 0.0)]
    assert result.scores["is it/right?"].name == "is it%2Fright%3F.parquet"
    dropped = result.about["scores"]["dropped"]
    assert dropped == logs.LANGFUSE_SCORES_LEFT_OUT
    assert result.about["scores"]["read"] == sum(dropped.values()) + 5


def test_scores_whose_names_differ_by_case_have_files_that_do_too(tmp_path):
    named = ["quality", "Quality", "quality-2", "QUALITY"]
    scores = [
        logs.span(f"{i:016x}", i, logs.CHAT, events=[{**logs.evaluation(0.5, **{"gen_ai.evaluation.name": name})}])
        for i, name in enumerate(named, 1)
    ]
    for one in scores:
        one["events"][0]["name"] = "gen_ai.evaluation.result"
    result, _ = imported(tmp_path, [logs.traces(*scores)], "otel")
    assert list(result.scores) == named
    assert len({path.name.casefold() for path in result.scores.values()}) == 4
    assert all(pq.read_metadata(path).num_rows == 1 for path in result.scores.values())


def test_what_an_observation_lacks_is_that_of_its_trace(tmp_path):
    result, rows = imported(tmp_path, logs.LANGFUSE, "langfuse")
    by_id = {row["request_id"]: row for row in rows}
    told = ("user", "session", "trace_name", "tags")
    assert [by_id["o-older"][name] for name in told] == ["bob", "s2", "chat", '["x", "y"]']
    assert [by_id["o1"][name] for name in told] == ["ann", "s1", "chat", '["beta"]']
    assert [by_id["o2"][name] for name in told] == [None] * 4
    # The older API's name of the cost that Langfuse worked out.
    assert by_id["o-older"]["cost"] == 0.0035
    assert by_id["o-older"]["input_tokens"] == 100
    assert result.about["traces"] == {"read": 4, "calls": 1}
    assert result.about["columns"]["user"] == 2
    assert "1 call took user, session, name or tags from their traces; 4 traces read." in result.notes
    # Nothing else is left in the folder.
    assert sorted(path.name for path in result.folder.iterdir()) == ["about.json", "events.parquet", "scores"]


def test_evaluations_of_opentelemetry_find_their_span_or_their_response(tmp_path):
    result, rows = imported(tmp_path, logs.OTEL, "otel")
    first, second = rows
    told = ("provider", "service", "session", "cost", "latency", "first_token", "input_tokens", "response_model")
    assert [first[name] for name in told] == ["openai", "shop", "c1", 0.004, 2.5, 0.25, 100, "gpt-4o-2024-08-06"]
    assert (second["provider"], second["input_tokens"], second["cost"]) == ("mistral_ai", 7, None)
    assert first["request_id"] == f"{logs.TRACE}-{logs.SPANS[0]}"
    (path,) = result.scores.values()
    of_call = {row["request_id"]: row["score"] for row in pq.read_table(path).to_pylist()}
    assert of_call == {first["request_id"]: 0.75, second["request_id"]: 0.5}
    assert result.about["scores"]["dropped"] == logs.OTEL_SCORES_LEFT_OUT


def test_the_next_command_joins_late_judgements_and_leaves_out_what_nobody_judged(tmp_path):
    result, _ = imported(tmp_path, logs.LANGFUSE, "langfuse")
    assert "quality" in result.next_command
    ran = warmstart(*result.next_command.split()[1:], cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    rows = pq.read_table(tmp_path / "judged.parquet").to_pylist()
    assert sorted((row["model"], row["reward"]) for row in rows) == [
        ("gpt-4o", 0.9),
        ("mixtral", 0.25),
        ("mixtral", 1.0),
    ]


@pytest.mark.parametrize("format_", logs.LOGS)
def test_prompts_are_stored_only_if_asked_for(tmp_path, format_):
    records, _ = logs.LOGS[format_]
    for prompts in ("none", "hash", "text"):
        folder = tmp_path / prompts
        folder.mkdir()
        result, rows = imported(folder, records, format_, prompts=prompts)
        stored = b"".join(path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file())
        assert (logs.SECRET in str(rows)) == (prompts == "text")
        assert logs.SECRET.encode() not in stored or prompts == "text"
        assert ("prompt_hash" in rows[0]) == (prompts != "none")
        assert {"none": "No prompt", "hash": "hashes", "text": "as text"}[prompts] in result.notes[-1]


def test_lines_may_be_records_lists_or_pages_and_files_gzipped(tmp_path):
    one, three = logs.spend("r0"), logs.spend("r2")
    plain = tmp_path / "a.jsonl"
    two = logs.listed("r1")
    page = {"data": [two], "total": 1, "page": 1, "page_size": 50, "total_pages": 1}
    plain.write_text("\n\n".join(json.dumps(value) for value in ([one], page)))
    packed = tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(three).encode() + b"\r\n"))
    result = ws.import_calls([plain, packed], tmp_path / "out", format="litellm")
    assert pq.read_table(result.events)["request_id"].to_pylist() == ["r0", "r1", "r2"]


BAD = {
    "rubbish": "it is no JSON",
    '{"request_id": ': "it is no JSON",
    "[" * 100_000: "nested too deeply",
    "[1, 2]": "something else than objects",
    '{"data": [3]}': "something else than objects",
    json.dumps(logs.spend("r", startTime="yesterday")): "the startTime 'yesterday' is no time",
    json.dumps(logs.spend("r", startTime=17)): "the startTime 17 is no time",
    json.dumps(logs.spend("r", model=["gpt"])): "'model' is no text",
    json.dumps(logs.spend("r", spend="free")): "'spend' is no number",
    json.dumps(logs.spend("r", spend=True)): "'spend' is not finite|'spend' is no number",
    json.dumps(logs.spend("r", spend=float("nan"))): "'spend' is no",
    json.dumps(logs.spend("r", prompt_tokens=-1)): "'prompt_tokens' is no count",
    json.dumps(logs.spend("\ud800")): "lone surrogate",
    "\x1b[31m": "it is no JSON",
}


@pytest.mark.parametrize("line", BAD, ids=range(len(BAD)))
def test_a_bad_line_is_an_error_with_its_number_or_counted(tmp_path, line):
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps(logs.spend('r1'))}\n{line}\n{json.dumps(logs.spend('r2'))}\n")
    with pytest.raises(ws.MalformedLineError, match=BAD[line]) as caught:
        ws.import_calls(path, tmp_path / "out", format="litellm")
    assert caught.value.line == 2
    assert "\x1b" not in str(caught.value)
    assert not (tmp_path / "out").exists()
    result = ws.import_calls(path, tmp_path / "out", format="litellm", skip_malformed=True)
    assert (result.about["events"], result.about["malformed"]["lines"]) == (2, 1)
    assert any("1 malformed line" in note for note in result.notes)


OTHER = {
    "langfuse": ['{"a": 1}', "neither an observation nor a score"],
    "otel": ['{"resourceSpans": 3}', "no resourceSpans"],
}
DEEP_OTEL = '{"arrayValue":{"values":[' * 300 + '{"stringValue":"x"}' + "]}}" * 300


@pytest.mark.parametrize("format_", OTHER)
def test_a_log_of_another_kind_is_told(tmp_path, format_):
    line, message = OTHER[format_]
    path = tmp_path / "a.jsonl"
    path.write_text(line)
    with pytest.raises(ws.MalformedLineError, match=message):
        ws.import_calls(path, tmp_path / "out", format=format_)


def test_deep_attributes_are_read_or_refused_never_a_crash(tmp_path):
    path = tmp_path / "a.jsonl"
    spans = [{"attributes": [{"key": "x", "value": "DEEP"}]}]
    line = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).replace('"DEEP"', DEEP_OTEL)
    path.write_text(line)
    with pytest.raises((ws.MalformedLineError, ws.SourceError)):
        ws.import_calls(path, tmp_path / "out", format="otel")


def test_a_log_without_an_answered_call_says_what_was_left_out(tmp_path):
    path = logs.written(tmp_path / "a.jsonl", [logs.spend("r", cache_hit="True")])
    with pytest.raises(ws.SourceError, match=f"1 {names.CACHED}"):
        ws.import_calls(path, tmp_path / "out", format="litellm")
    for wrong in ({"format": "vw"}, {"format": "otel", "prompts": "all"}):
        with pytest.raises(ws.UsageError, match="There is no"):
            ws.import_calls(path, tmp_path / "out", **wrong)


def test_ids_repeat_across_batches_and_the_first_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(names, "BATCH_ROWS", 3)
    records = [logs.spend(f"r{i % 5}", spend=float(i)) for i in range(11)]
    result, rows = imported(tmp_path, records, "litellm")
    assert [(row["request_id"], row["cost"]) for row in rows] == [(f"r{i}", float(i)) for i in range(5)]
    assert result.about["dropped"] == {names.REPEATED: 6}


def test_the_command_says_what_it_left_out_and_what_to_run_next(tmp_path):
    logs.written(tmp_path / "log.jsonl", logs.LANGFUSE)
    ran = warmstart("import", "langfuse", "log.jsonl", "out", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "Left out: " in ran.stdout
    assert "\nNext: warmstart join out/events.parquet" in ran.stdout
    ran = warmstart("import", "langfuse", "log.jsonl", "again", "--json", cwd=tmp_path)
    about = json.loads(ran.stdout)
    assert (about["kind"], about["from"], about["prompts"]) == ("imported-calls", "langfuse", "none")
    saved = ws.ImportedCalls(tmp_path / "out", about).save(tmp_path / "saved.json")
    assert ws.load_result(saved).about["events"] == about["events"]
    assert warmstart("import", "otel", "log.jsonl", cwd=tmp_path).returncode == 2
