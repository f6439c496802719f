"""Files with anything in them: logs and decisions as text, settings, predictions, what a monitor wrote."""

import json
import tempfile
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.attack.fuzzing import fuzzed, grammar

import warmstart as ws

LOG = pa.table({"page": ["p", "q"] * 40, "ad": ["a", "b", "b", "a"] * 20, "click": [0, 1, 1] * 26 + [0, 1]})
NAMES = {"context": "page", "action": "ad", "reward": "click"}
VALUES = ("p", "q", "a", "b", "1", "0", "0.5", "-1", "1e999", "nan", "", '"', "'", ",", ";", "\n", "\r", "\t", " ", "é")
CELLS = grammar(*VALUES, ",", ",", "\n", "\n")


@pytest.mark.parametrize("ending", [pytest.param(".csv", marks=pytest.mark.slow), ".json", ".jsonl", ".parquet"])
def test_logs_in_files_are_read_or_refused(ending):
    objects = some.dictionaries(
        some.sampled_from(["page", "ad", "click", "x"]),
        some.none()
        | some.booleans()
        | some.integers()
        | some.floats()
        | some.text(max_size=4)
        | some.lists(some.none()),
    )
    lines = some.lists(objects.map(json.dumps), max_size=5).map("\n".join)
    text = {".csv": CELLS.map("page,ad,click\n{}".format), ".parquet": CELLS}.get(ending, lines | CELLS)

    @fuzzed
    @given(text)
    def attack(text):
        with tempfile.TemporaryDirectory() as folder, suppress(ws.WarmstartError):
            path = Path(folder) / f"log{ending}"
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            ws.read_events(str(path), **NAMES)

    attack()


@pytest.mark.slow
def test_decisions_in_files_are_read_or_refused():
    events = ws.read_events(LOG, **NAMES)
    heads = some.sampled_from(["page,ad,probability", "page,ad", "ad,page", "page;ad;probability", "page,ad,ad"])

    @fuzzed
    @given(heads, CELLS)
    def attack(head, text):
        with tempfile.TemporaryDirectory() as folder, suppress(ws.WarmstartError):
            path = Path(folder) / "decisions.csv"
            path.write_bytes(f"{head}\n{text}".encode("utf-8", "surrogatepass"))
            ws.policy_table({"mine": str(path)}, events)

    attack()


def test_settings_are_read_or_refused_by_line():
    words = ("version = 1\n", "[log]\n", "[evaluate]\n", "[policies]\n", "[windows]\n", "[check]\n", "[x]\n")
    words += ("events = ", '"log.csv"', "context = ", '["page"]', "action = ", "reward = ", "tau = ", "delta = ")
    words += ("[0.1, 'auto']", "1e999", "nan", "-1", "true", "2026-10-21", "new = ", "{a = 1}", "\n", "=", "#", "by = ")

    @fuzzed
    @given(grammar(*words))
    def attack(text):
        with tempfile.TemporaryDirectory() as folder, suppress(ws.WarmstartError):
            path = Path(folder) / "warmstart.toml"
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            config = ws.read_config(path)
            for part in ("log", "engine", "windows", "evaluate", "check", "policies"):
                with suppress(ws.WarmstartError):
                    getattr(config, part)

    attack()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    ws.export(ws.read_events(LOG, **NAMES), folder / "train.vw", to="vw-cb", tau=0.1)
    return folder / "train.vw"


def test_predictions_are_read_or_refused_by_line(exported):
    lines = grammar("0", "1", "2", "-1", ":", ":0.5", ",", "1:0.5,2:0.5", " ", " x0", "\n", "\n", "nan", "1e999")

    @fuzzed
    @given(lines, some.sampled_from([None, "costs", "probabilities"]), some.sampled_from([None, 0, 1]))
    def attack(text, scores, first):
        with tempfile.TemporaryDirectory() as folder, suppress(ws.WarmstartError):
            path = Path(folder) / "predictions"
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            ws.import_predictions(path, exported, Path(folder) / "out", scores=scores, first_number=first)

    attack()


def test_keys_of_an_export_that_are_not_these_are_refused(exported):
    other = some.sampled_from(["contexts.parquet", "actions.parquet"])
    columns = some.dictionaries(
        some.sampled_from(["page", "ad", "feasible", "x"]), some.sampled_from([[1], ["p"], [None]])
    )

    @fuzzed
    @given(other, columns.map(pa.table) | some.binary(max_size=20))
    def attack(name, changed):
        with tempfile.TemporaryDirectory() as folder, suppress(ws.WarmstartError):
            place = Path(folder)
            for file in exported.parent.iterdir():
                (place / file.name).write_bytes(file.read_bytes())
            if isinstance(changed, bytes):
                (place / f"train.{name}").write_bytes(changed)
            else:
                pq.write_table(changed, place / f"train.{name}")
            (place / "predictions").write_text("1\n2\n")
            ws.import_predictions(place / "predictions", place / "train.vw", place / "out", first_number=1)

    attack()


@pytest.mark.slow
def test_what_a_monitor_wrote_is_read_or_refused():
    columns = {**LOG.to_pydict(), "at": [f"2026-10-{1 + i // 20:02} 12:00" for i in range(80)]}
    events = ws.read_events(pa.table(columns), **NAMES, time="at", epoch="day")
    with tempfile.TemporaryDirectory() as folder:
        ws.monitor(["constant:a"], events, out=Path(folder) / "lines.jsonl")
        written = (Path(folder) / "lines.jsonl").read_text()

    @fuzzed
    @given(some.integers(0, len(written) - 1), grammar("{", "}", "[", "1", '"', ",", "null", "-", "\n", "1e999"))
    def attack(place, other):
        with tempfile.TemporaryDirectory() as folder, suppress(ws.WarmstartError):
            path = Path(folder) / "lines.jsonl"
            text = written[:place] + other + written[place + len(other) :]
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            ws.monitor(["constant:a"], events, out=path)

    attack()


@pytest.mark.parametrize("format_", ["litellm", "langfuse", "otel"])
def test_scores_and_prompts_of_routers_are_read_or_refused(format_):
    """Records that are nearly right: each has all its fields, one of which is anything."""
    whole = {"request_id": "r", "model": "m", "spend": 0.1, "startTime": "2026-10-01T00:00:00Z", "status": "success"}
    whole |= {"endTime": "2026-10-01T00:00:01Z", "messages": [{"role": "user", "content": "x"}], "id": "r"}
    whole |= {"type": "GENERATION", "input": "x", "traceId": "t", "name": "good", "value": 1, "observationId": "r"}
    anything = some.recursive(
        some.none() | some.booleans() | some.floats() | some.integers() | some.text(max_size=4),
        lambda inner: some.lists(inner, max_size=2) | some.dictionaries(some.text(max_size=3), inner, max_size=2),
        max_leaves=6,
    )

    @fuzzed
    @given(some.sampled_from(sorted(whole)), anything, some.sampled_from(["none", "hash", "text"]), some.booleans())
    def attack(field, value, prompts, skip):
        with tempfile.TemporaryDirectory() as folder, suppress(ws.WarmstartError):
            path = Path(folder) / "log.jsonl"
            path.write_text("\n".join(map(json.dumps, (whole, {**whole, "id": "s", field: value}))))
            out = Path(folder) / "out"
            ws.import_calls(path, out, format=format_, prompts=prompts, skip_malformed=skip)

    attack()
