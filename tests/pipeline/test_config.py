"""warmstart.toml: every key and type is checked, what is wrong is named with its line, and the schema says the same."""

import importlib.util
import json
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import warmstart as ws
from warmstart.pipeline import SECTIONS, config_schema

ROOT = Path(__file__).parents[2]
STORED = ROOT / "docs" / "schema" / "warmstart.schema.json"
WHOLE = """# A comment.
version = 1

[log]
events = ["days/*.parquet", "postgres://reader@host/shop"]
context = ["page", "hour"]
action = "ad"
reward = "click"
time = "at"
minimize = "cost"
also = ["cost"]
engine = "duckdb"
threads = 2

[log.ranges]
cost = [0, 0.02]

[windows]
test_from = 2026-10-20

[evaluate]
tau = ["auto", 0.05, 1]
guards = "cost<=+2%"
contexts = "pages.parquet"
coarser = [["page"]]
live = false
until = 2026-10-21T06:00:00Z
trained_until = "never"

[policies]
new = "decisions.csv"
always = "constant:a"
shadow = "column:other"
wide = "naive:policy"

[check]
verdict = ["better", "same"]
gain_lower = 0
min_events = 1000
"""


def written(folder, text):
    (folder / "warmstart.toml").write_text(text)
    return folder / "warmstart.toml"


def test_every_table_is_read_into_the_settings_that_commands_take(tmp_path):
    config = ws.read_config(written(tmp_path, WHOLE))
    assert config.log.context == ["page", "hour"]
    assert config.log.ranges == {"cost": (0.0, 0.02)}
    assert config.log.minimize == ["cost"]
    assert (config.engine.engine, config.engine.threads, config.engine.memory_limit) == ("duckdb", 2, None)
    assert str(config.windows.test_from) == "2026-10-20"
    assert config.evaluate.tau == ["auto", 0.05, 1.0]
    assert config.evaluate.guards == ["cost<=+2%"]
    assert config.evaluate.coarser == [["page"]]
    assert not config.evaluate.live
    assert config.check.verdict == ["better", "same"]
    assert (config.check.gain_lower, config.check.min_events, config.check.keep_guards) == (0.0, 1000, True)


def test_paths_are_those_beside_the_file_and_addresses_stay(tmp_path):
    config = ws.read_config(written(tmp_path, WHOLE))
    assert config.log.events == [f"{tmp_path}/days/*.parquet", "postgres://reader@host/shop"]
    assert config.evaluate.contexts == tmp_path / "pages.parquet"
    assert config.policies == {
        "new": f"{tmp_path}/decisions.csv",
        "always": "constant:a",
        "shadow": "column:other",
        "wide": f"naive:{tmp_path}/policy",
    }


LOG = 'version = 1\n[log]\nevents = "log.csv"\ncontext = ["page"]\naction = "ad"\nreward = "click"\n'


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("version = 2\n", 1, "version is 2, which this version of warmstart cannot read"),
        ("\n\nversion = '1'\n", 3, "version is '1'"),
        ("version = true\n", 1, "version is True"),
        (f"{LOG}acton = 'x'\n", 7, "there is no log.acton. Did you mean action?"),
        (f"{LOG}\n[evalate]\ndelta = 1\n", 8, "there is no evalate. Did you mean evaluate?"),
        (f"{LOG}time = 3\n", 7, r"log.time is a number \(3\), not text"),
        (f"{LOG}unit = [\n  'user',\n  4,\n]\n", 7, "log.unit is a list, not text or a list of text"),
        (f"{LOG}drop_nulls = 'yes'\n", 7, "log.drop_nulls is text .'yes'., not true or false"),
        (f"{LOG}threads = 0\n", 7, "log.threads is 0, and must be 1 or more"),
        (f"{LOG}threads = 1.5\n", 7, "not a whole number"),
        ("[check]\nsupport = 7\n", 2, "check.support is 7.0, and must be 1 or less"),
        ("[check]\n\ngain_lower = nan\n", 3, "check.gain_lower is nan, and must be a finite number"),
        (f"{LOG}[log.ranges]\nclick = [0]\n", 7, r"log.ranges is a table, not a table of \[lowest, highest\]"),
        (f"{LOG}[evaluate]\ntau = 'much'\n", 8, "evaluate.tau is text"),
        (f"{LOG}[evaluate]\ninterval = 'betz'\n", 8, "'betz' is none of bets, kl"),
        (f"{LOG}[evaluate]\n\n# here\nestimators = ['dr', 'mine']\n", 10, "'mine' is none of"),
        (f"{LOG}[windows]\ntest_from = 2026-10-01\ntest_fraction = 0.5\n", 9, "exclude each other"),
        (f"{LOG}[policies]\nnew = 3\n", 8, "the policy 'new' is no text"),
        (f"{LOG}[policies]\n'a=b' = 'uniform'\n", 8, "is no name of a policy"),
        ("log = 3\n", 1, "log is no table"),
        (f"{LOG}time =\n", None, r"it is no TOML: Invalid value \(at line 7"),
        (f"{LOG}action = 'ad'\n", None, r"Cannot overwrite a value \(at line 7"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, text, line, message):
    with pytest.raises(ws.SettingsError, match=message) as refused:
        ws.read_config(written(tmp_path, text))
    assert (refused.value.line, refused.value.exit_code, refused.value.code) == (line, 2, "WS302")
    assert line is None or f"warmstart.toml, line {line}: " in str(refused.value)


def test_a_file_that_is_absent_not_text_or_incomplete_is_refused(tmp_path):
    with pytest.raises(ws.SettingsError, match="No such file"):
        ws.read_config(tmp_path / "absent.toml")
    (tmp_path / "bytes.toml").write_bytes(b"version = 1\n# \xff\n")
    with pytest.raises(ws.SettingsError, match="line 2: this is no UTF-8"):
        ws.read_config(tmp_path / "bytes.toml")
    config = ws.read_config(written(tmp_path, "[log]\nevents = 'log.csv'\n"))
    with pytest.raises(ws.SettingsError, match=r"\[log\] lacks context"):
        config.log.open()


def test_the_stored_schema_is_what_the_script_writes_and_knows_every_key():
    spec = importlib.util.spec_from_file_location("schema_script", ROOT / "scripts" / "schema.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.CONFIG == STORED
    assert script.config_text() == STORED.read_text(), "run: python scripts/schema.py"
    Draft202012Validator.check_schema(config_schema())
    for name, kinds in SECTIONS.items():
        keys = {one.name for kind in kinds for one in fields(kind)}
        assert keys == set(config_schema()["properties"][name]["properties"])


def test_the_schema_agrees_with_the_reader(tmp_path):
    validator = Draft202012Validator(json.loads(STORED.read_text()))

    def faults(text):
        data = json.loads(json.dumps(tomllib.loads(text), default=lambda moment: moment.isoformat()))
        return [error.json_path for error in validator.iter_errors(data)]

    assert not faults(WHOLE)
    wrong = ["acton = 'x'", "time = 3", "drop_nulls = 'yes'", "threads = 0", "[log.ranges]\nclick = [0]"]
    wrong += ["[evaluate]\ntau = 'much'", "[evaluate]\ninterval = 'betz'", "[policies]\nnew = 3", "[evalate]\n"]
    for text in wrong:
        assert faults(f"{LOG}{text}\n"), text
        with pytest.raises(ws.SettingsError):
            ws.read_config(written(tmp_path, f"{LOG}{text}\n"))


def test_policies_that_are_words_are_no_files_beside_the_settings(tmp_path):
    from warmstart.pipeline.config import WORDS
    from warmstart.policy.parse import KEYWORDS

    assert WORDS == KEYWORDS
    text = "version = 1\n[policies]\n" + "".join(f'"{word}" = "{word}"\n' for word in WORDS)
    (tmp_path / "warmstart.toml").write_text(text)
    assert ws.read_config(tmp_path / "warmstart.toml").policies == {word: word for word in WORDS}
