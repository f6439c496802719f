"""The published schema: up to date, valid, fulfilled by real results, and not by broken ones."""

import copy
import importlib.util
import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from tests.support.saved_results import MAKERS, saved

import warmstart as ws
from warmstart.results.forms import FORMS, keys_of, kinds
from warmstart.results.schema import result_schema

ROOT = Path(__file__).parents[2]
STORED = ROOT / "docs" / "schema" / "result.schema.json"


@pytest.fixture(scope="module")
def validator():
    return Draft202012Validator(json.loads(STORED.read_text()))


def faults(validator, told):
    return [error.json_path for error in validator.iter_errors(told)]


def test_the_stored_schema_is_what_the_command_writes():
    spec = importlib.util.spec_from_file_location("schema_script", ROOT / "scripts" / "schema.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.SCHEMA == STORED
    assert script.text() == STORED.read_text(), "run: python scripts/schema.py"


def test_it_is_a_schema(validator):
    Draft202012Validator.check_schema(result_schema())
    assert result_schema()["$schema"].endswith("2020-12/schema")
    assert result_schema()["properties"]["kind"]["enum"] == list(kinds())


@pytest.mark.parametrize("name", MAKERS)
def test_real_results_fulfil_it(validator, name):
    assert not faults(validator, json.loads(saved(name).to_json()))


def test_an_evaluation_with_its_selection_fulfils_it(validator):
    evaluation = saved("evaluation with outcomes")
    told = {**evaluation.to_dict(), "selected": ws.select(evaluation).to_dict()}
    assert not faults(validator, told)
    told["selected"]["looks"] = "many"
    assert faults(validator, told)


@pytest.mark.parametrize("name", MAKERS)
def test_no_key_of_a_result_can_be_renamed(validator, name):
    told = saved(name).to_dict()
    # An import tells what its log was, beside the folder.
    keys = {"schema", "kind", *(key.name for key in keys_of(type(saved(name))))} & set(told)
    for key in keys:
        renamed = {name: value for name, value in told.items() if name != key}
        assert faults(validator, {**renamed, f"{key}_renamed": told[key]}), key


def test_all_that_results_write_at_the_top_is_described():
    for name in MAKERS:
        told = set(saved(name).to_dict()) - {"schema", "kind"}
        if not saved(name).kind().startswith("imported"):
            assert told <= {key.name for key in keys_of(type(saved(name)))}, name


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("policies", 0, "tau"), "0.1"),
        (("policies", 0, "tau"), None),
        (("policies", 0, "guarantee"), "sure"),
        (("policies", 0, "support", "clipped"), "none"),
        (("log", "events"), 1.5),
        (("reward_range",), [0.0]),
        (("kind",), "horoscope"),
        (("schema",), 2),
    ],
)
def test_a_wrong_value_is_found_where_it_is(validator, place, value):
    told = copy.deepcopy(saved("evaluation").to_dict())
    part = told
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value
    path = "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    assert path in faults(validator, told)


def test_forms_name_fields_that_exist():
    for record, form in FORMS.items():
        names = set(record.__dataclass_fields__)
        assert {*form.names, *form.types, *form.moved} <= names
        assert set(form.optional) <= set(form.derived) | names


def test_the_reference_names_every_key_of_an_evaluation():
    page = (ROOT / "docs" / "reference.md").read_text()
    [section] = re.findall(r"^## The JSON of `evaluate`\n(.*?)^## ", page, flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"`\.?(\w+)(?:\[\])?`", section))
    parts = ("Evaluation", "ValueEstimate", "GuardResult", "Doubt", "DoubtedLimit", "Verdict")
    told = {key for part in parts for key in result_schema()["$defs"][part]["properties"]}
    assert told - named == {"warmstart_version"}
