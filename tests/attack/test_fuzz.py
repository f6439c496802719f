"""Whatever is written where something is parsed: a value, or a typed error; never a traceback."""

import json
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.attack.fuzzing import fuzzed, grammar
from tests.support.saved_results import saved

import warmstart as ws
from warmstart.core.window import microseconds
from warmstart.events.epochs import Epochs
from warmstart.events.read import parse_ranges
from warmstart.events.utility import Utility
from warmstart.policy.parse import parse_policies
from warmstart.results.guards import Guard

PARSERS = {
    "range": (lambda text: parse_ranges([text]), grammar("cost", "=", ":", "0", "-1", "1e308", "nan", "inf", ".")),
    "guard": (
        lambda text: Guard.parse(text, ["cost", "a b"]),
        grammar("cost", "`a b`", "<=", ">=", "<", "+", "-", "2", "%", "1e999", "inf", "nan", " "),
    ),
    "utility": (
        Utility.parse,
        grammar("quality", "`a b`", "+", "-", "*", "/", "(", ")", "50", "1e400", " ", "__import__", "**", ".", "[0]"),
    ),
    "time": (microseconds, grammar("2026-10-21", "T", "06:00", "+02:00", "Z", "0000", "9999", "-", "W", "inf")),
    "policy": (
        lambda text: parse_policies([text]),
        grammar("p", "=", "naive:", "constant:", "column:", "/", "~", ".."),
    ),
    "epoch": (Epochs.parse, grammar("day", "hour", ":", "column", "auto", "week")),
}


@pytest.mark.parametrize("name", PARSERS)
def test_words_of_options_are_values_or_typed_errors(name, tmp_path, monkeypatch):
    parse, texts = PARSERS[name]
    monkeypatch.chdir(tmp_path)

    @fuzzed
    @given(texts)
    def attack(text):
        with suppress(ws.WarmstartError):
            parse(text)

    attack()


LINES = {
    "cb": grammar(
        "1:", "-1", ":0.5", " | ", "a", ":", "|n", "^", "'tag", "%ED%A0%80", "%", "nan", "\n", "shared", "\r", "\t"
    ),
    "cb_adf": grammar("shared", " | ", "0:", "1:0.5", "a", "\n", "\n\n", "|n:2", "'t", "%C3", "1e999"),
    "dsjson": some.recursive(
        some.none() | some.booleans() | some.floats() | some.integers() | some.text(max_size=5),
        lambda inner: (
            some.lists(inner, max_size=3)
            | some.dictionaries(
                some.sampled_from(
                    ["c", "_multi", "a", "p", "_label_cost", "_labelIndex", "Timestamp", "EventId", "_tag", "x"]
                ),
                inner,
                max_size=6,
            )
        ),
        max_leaves=20,
    ).map(json.dumps),
}


@pytest.mark.parametrize("format_", LINES)
def test_logs_of_vowpal_wabbit_are_read_or_refused_by_line(format_):
    @fuzzed
    @given(LINES[format_], some.booleans(), some.booleans())
    def attack(text, skip, exported):
        with tempfile.TemporaryDirectory() as folder, suppress(ws.WarmstartError):
            (Path(folder) / "log").write_bytes(text.encode("utf-8", "surrogatepass"))
            options = {"format": format_, "skip_malformed": skip, "from_export": exported}
            ws.import_vw(Path(folder) / "log", Path(folder) / "out", **options)

    attack()


@pytest.mark.parametrize("format_", ["litellm", "langfuse", "otel"])
def test_logs_of_routers_are_read_or_refused_by_line(format_):
    names = "id request_id model spend startTime endTime status metadata observations usage data resourceSpans spans"
    names += " scopeSpans attributes key value stringValue intValue name startTimeUnixNano cache_hit messages response"

    @fuzzed
    @given(
        some.recursive(
            some.none() | some.booleans() | some.floats() | some.integers() | some.text(max_size=5),
            lambda inner: (
                some.lists(inner, max_size=3) | some.dictionaries(some.sampled_from(names.split()), inner, max_size=6)
            ),
            max_leaves=25,
        ).map(json.dumps),
        some.booleans(),
    )
    def attack(text, skip):
        with tempfile.TemporaryDirectory() as folder, suppress(ws.WarmstartError):
            (Path(folder) / "log.jsonl").write_text(text + "\n")
            ws.import_calls(Path(folder) / "log.jsonl", Path(folder) / "out", format=format_, skip_malformed=skip)

    attack()


KINDS = ("audit", "plan", "selection", "checked", "comparison")
KINDS += ("monitor", "joined", "grouped", "learned", "propensity-comparison", "proposal", "progressive")


@pytest.mark.parametrize(
    "name", ["evaluation with outcomes", *(pytest.param(one, marks=pytest.mark.slow) for one in KINDS)]
)
def test_saved_results_are_loaded_or_refused(name):
    whole = json.loads(saved(name).to_json())
    values = some.sampled_from([None, True, -1, 10**400, 1.5, "", "word", [], {}, [[]], float("nan")])

    def places(value, path=()):
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in items:
            yield (*path, key)
            yield from places(inner, (*path, key))

    @fuzzed
    @given(some.sampled_from(sorted(places(whole), key=str)), values)
    def attack(path, value):
        changed = json.loads(json.dumps(whole))
        inside = changed
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = value
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "result.json").write_text(json.dumps(changed))
            with suppress(ws.WarmstartError):
                result = ws.load_result(Path(folder) / "result.json")
                str(result)
                result._repr_html_()

    attack()
