"""Results read back: the same type and the same text, or an error that names the file and the field."""

import copy
import json
from dataclasses import replace

import pytest
from tests.support.commands import warmstart
from tests.support.logs import random_log, table
from tests.support.saved_results import MAKERS, saved

import warmstart as ws
from warmstart.report.page import page_of
from warmstart.results import ComparedSource, change_parts
from warmstart.results.forms import kinds

every_result = pytest.mark.parametrize("name", MAKERS)


def stored(tmp_path, told):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(told))
    return path


@every_result
def test_what_is_loaded_is_what_was_saved(tmp_path, name):
    result = saved(name)
    loaded = ws.load_result(result.save(tmp_path / "result.json"))
    assert type(loaded) is type(result)
    assert loaded.to_dict() == result.to_dict()
    assert loaded.to_json() == result.to_json()
    assert str(loaded) == str(result)
    assert loaded._repr_html_() == result._repr_html_()
    assert loaded.to_arrow().equals(result.to_arrow())


def test_every_kind_of_result_was_tried():
    assert {saved(name).kind() for name in MAKERS} == set(kinds())


@pytest.mark.parametrize("ending", [".parquet", ".html"])
def test_only_json_is_read_back(tmp_path, ending):
    path = saved("selection").save(tmp_path / f"rows{ending}") if ending == ".parquet" else tmp_path / "page.html"
    if ending == ".html":
        path.write_text("<!doctype html>")
    with pytest.raises(
        ws.SavedFileError, match=f"ends in {ending}: of saved results only .json is read back"
    ) as refused:
        ws.load_result(path)
    assert "Save the result as .json too" in refused.value.hint


def test_what_was_selected_stands_on_the_page_of_what_is_loaded(tmp_path):
    selecting = replace(saved("evaluation with outcomes"), with_selection=True)
    told = selecting.to_dict()
    assert told["selected"] == ws.select(selecting).to_dict()
    loaded = ws.load_result(selecting.save(tmp_path / "result.json"))
    assert loaded == selecting
    assert loaded.to_json() == selecting.to_json()
    assert page_of(loaded).cards[0].label == page_of(selecting, ws.select(selecting)).cards[0].label == "Selected"
    assert all(card.label != "Selected" for card in page_of(saved("evaluation with outcomes")).cards)


def test_the_json_has_the_bars_of_the_waterfall():
    evaluation = saved("evaluation")
    bars = [(one.kind, one.start, one.end) for one in change_parts(evaluation)]
    assert bars
    assert [tuple(one.values()) for one in evaluation.to_dict()["waterfall"]] == bars


def test_a_loaded_evaluation_is_one(tmp_path):
    result = saved("evaluation with outcomes")
    loaded = ws.load_result(result.save(tmp_path / "result.json"))
    assert loaded == result
    assert ws.select(loaded) == ws.select(result)
    assert (len(loaded.others), len(loaded.segments)) == (len(result.others), len(result.segments))
    assert loaded.of_outcome("cost") == result.of_outcome("cost")


def test_an_infinite_number_comes_back_as_one(tmp_path):
    result = ws.PropensityComparison((ComparedSource("x", float("inf"), 0.5),), 7)
    assert ws.load_result(result.save(tmp_path / "result.json")) == result


def test_what_the_command_prints_loads_with_its_selection(tmp_path):
    from pyarrow import parquet

    parquet.write_table(table(random_log(1)), tmp_path / "log.parquet")
    columns = ["--context", "context", "--action", "action", "--reward", "reward", "--policy", "uniform"]
    ran = warmstart("evaluate", "log.parquet", *columns, "--select", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    (tmp_path / "found.json").write_text(ran.stdout)
    told = json.loads(ran.stdout)
    loaded = ws.load_result(tmp_path / "found.json")
    assert isinstance(loaded, ws.Evaluation)
    assert ws.select(loaded).to_dict() == told["selected"]
    assert ws.load_result(stored(tmp_path, told["selected"])) == ws.select(loaded)
    assert loaded.to_dict() == told


def test_a_file_of_an_earlier_version_lacks_what_has_a_default(tmp_path):
    told = saved("evaluation").to_dict()
    del told["by"], told["policies"][0]["withheld"]
    assert ws.load_result(stored(tmp_path, told)) == saved("evaluation")


def test_what_a_later_version_adds_is_ignored(tmp_path):
    told = {**saved("evaluation").to_dict(), "later": {"field": [1]}}
    assert ws.load_result(stored(tmp_path, told)) == saved("evaluation")


def changed(told, place, value):
    """The same with another value at a place, or without it."""
    told = copy.deepcopy(told)
    *inside, last = place
    part = told
    for step in inside:
        part = part[step]
    if value is KeyError:
        del part[last]
    else:
        part[last] = value
    return told


BROKEN = {
    "another schema": (["schema"], 2, "schema is 2"),
    "no schema": (["schema"], KeyError, "schema is missing"),
    "a schema that is true": (["schema"], True, "schema is True"),
    "an unknown kind": (["kind"], "horoscope", "kind is 'horoscope'"),
    "a kind that is a list": (["kind"], ["audit"], "kind is"),
    "no kind": (["kind"], KeyError, "kind is missing"),
    "another kind": (["kind"], "audit", r"log\.reward_rate is missing"),
    "no tau": (["policies", 0, "tau"], KeyError, r"policies\[0\]\.tau is missing"),
    "text for a number": (["policies", 1, "tau"], "0.1", r"policies\[1\]\.tau is text \('0.1'\), not a number"),
    "null for a number": (["policies", 1, "tau"], None, r"policies\[1\]\.tau is null, not a number"),
    "true for a number": (["policies", 1, "events"], True, r"policies\[1\]\.events is true or false"),
    "a fraction for a count": (["log", "events"], 1.5, r"log\.events is a number \(1.5\), not a whole number"),
    "a list for an object": (["log"], [], "log is a list, not an object"),
    "an object for a list": (["policies"], {}, "policies is an object, not a list"),
    "a word that is none": (["policies", 0, "guarantee"], "sure", r"policies\[0\]\.guarantee .* one of finite-sample"),
    "a time that is none": (["windows", "evaluated", "from"], "soon", r"windows\.evaluated\.from .* not a time"),
    "a time as a number": (["windows", "evaluated", "from"], 7, r"windows\.evaluated\.from .* not a time"),
    "NaN": (["policies", 0, "value"], float("nan"), r"policies\[0\]\.value is not a finite number"),
    "infinity": (
        ["policies", 0, "gain", "certified", "upper"],
        float("inf"),
        r"gain\.certified\.upper is not a finite",
    ),
    "a huge number": (["policies", 0, "events"], 10**400, r"policies\[0\]\.events is not a finite number"),
    "one end": (["reward_range"], [0.0], "reward_range has 1 values, not 2"),
    "no outcomes": (["outcomes"], [], "incomplete"),
    "no policies": (["policies"], [], "do not belong together"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_wrong_is_named_with_its_file_and_field(tmp_path, what):
    place, value, message = BROKEN[what]
    path = stored(tmp_path, changed(saved("evaluation").to_dict(), place, value))
    with pytest.raises(ws.DataError, match=message) as error:
        ws.load_result(path)
    assert "result.json" in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "nonsense", "\x00"])
def test_a_file_that_is_not_json_is_a_source_error(tmp_path, text):
    (tmp_path / "broken.json").write_text(text)
    with pytest.raises(ws.SourceError, match=r"broken\.json"):
        ws.load_result(tmp_path / "broken.json")


@pytest.mark.parametrize("told", [[], 7, "text", None])
def test_json_that_is_no_object_is_refused(tmp_path, told):
    with pytest.raises(ws.DataError, match="an object"):
        ws.load_result(stored(tmp_path, told))


def test_other_files_are_source_errors(tmp_path):
    with pytest.raises(ws.SourceError, match=r"absent\.json"):
        ws.load_result(tmp_path / "absent.json")
    with pytest.raises(ws.SourceError):
        ws.load_result(tmp_path)
    (tmp_path / "rows.json").write_bytes(b"PAR1\xff\xfe")
    with pytest.raises(ws.SourceError, match="is not JSON"):
        ws.load_result(tmp_path / "rows.json")


def test_text_of_a_file_is_not_obeyed(tmp_path):
    told = changed(saved("evaluation").to_dict(), ["policies", 0, "tau"], "\x1b[31mred")
    with pytest.raises(ws.DataError) as error:
        ws.load_result(stored(tmp_path, told))
    assert "\x1b" not in str(error.value)
