"""The demo: the paper's experiment at scale small, with the truth beside it, and what it leaves."""

import csv
import json
import re
from pathlib import Path

import pytest
from tests.support.commands import warmstart, warmstart_process

import warmstart as ws


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = warmstart_process("demo", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "warmstart-demo", done.stdout


@pytest.fixture(scope="module")
def lines(ran):
    found = json.loads((ran[0] / "results.json").read_text(encoding="utf-8"))["lines"]
    return {(line["method"], line["propensities"], line["tau"]): line for line in found}


@pytest.mark.parametrize("tau", [0.01, 0.05])
def test_learned_is_above_random_with_intervals_apart(lines, tau):
    for name in ("learned", "learned-paper"):
        learned, uniform = lines[name, "counts", tau], lines["uniform", "counts", tau]
        assert learned["lower"] > uniform["upper"]
        assert learned["gain_lower"] > uniform["gain_upper"]
        assert learned["truth"] > uniform["truth"]


@pytest.mark.parametrize("tau", [0.01, 0.05])
def test_naive_is_near_zero_by_estimate_because_its_choices_were_not_shown(lines, tau):
    naive = lines["naive", "counts", tau]
    assert naive["supported"] < 0.15
    assert naive["estimate"] < 0.4 * lines["uniform", "counts", tau]["estimate"]
    assert naive["truth"] > 3 * naive["estimate"]


def test_no_certified_end_is_above_the_truth_and_estimates_are_of_what_they_should_be(lines):
    for line in lines.values():
        assert line["certified_lower"] <= line["truth"]
        if line["propensities"] == "counts":
            assert line["lower"] <= line["visible"] <= line["upper"]
            assert line["estimate"] == pytest.approx(line["visible"], rel=0.12)


def test_the_papers_weights_overestimate(lines):
    for name in ("learned", "learned-paper", "uniform"):
        for tau in (0.01, 0.05):
            line = lines[name, "all", tau]
            assert line["estimate"] > 1.1 * line["visible"]


def test_the_safe_policy_is_better_than_logging_and_departs_from_it_on_a_part(lines):
    safe, logging = lines["safe", "counts", 0.01], lines["logging", "counts", 0.01]
    assert logging["truth"] < safe["truth"] < lines["learned", "counts", 0.01]["truth"]
    assert safe["gain_lower"] > 0


def test_what_is_printed_is_what_was_found(ran, lines):
    _, printed = ran
    learned = lines["learned", "counts", 0.01]
    assert f"{learned['estimate']:.4f}  [{learned['lower']:.4f}, {learned['upper']:.4f}]" in printed
    assert printed.count("CONCLUSION: ") == 3
    assert printed.count("The log: ") == 3


def test_the_readme_shows_what_is_printed(ran):
    """The last digit may differ on another machine: sums in another order teach a slightly different model."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```\n(.*?)```", readme, flags=re.DOTALL)
    shown = next(block for block in blocks if block.startswith("The paper's table")).splitlines()
    printed = ran[1].splitlines()[: len(shown)]
    assert printed[0] == shown[0]
    assert printed[1].split() == shown[1].split()
    for mine, theirs in zip(printed[3:], shown[3:], strict=True):
        assert mine.split()[:2] == theirs.split()[:2]
        without_shares = (re.sub(r"[\d.]+ %", "", line) for line in (mine, theirs))
        numbers = [[float(n) for n in re.findall(r"[-+]?\d*\.\d+", line)] for line in without_shares]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.003)


def test_what_it_leaves_can_be_used(ran):
    folder, _ = ran
    assert {path.name for path in folder.iterdir()} == {
        *("month", "policies", "results.json", "results.csv", "audit.html", "evaluation.html", ".warmstart-demo"),
    }
    assert len(list(csv.DictReader((folder / "results.csv").open(encoding="utf-8")))) == 22
    policy = ws.load_policy(folder / "policies" / "learned")
    assert policy.decisions.num_rows > 10_000
    stages = json.loads((folder / "results.json").read_text(encoding="utf-8"))["stages"]
    assert all(stage["seconds"] > 0 for stage in stages)


def test_it_replaces_what_it_left_and_nothing_else(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    refused = warmstart("demo", "--out", "mine", cwd=tmp_path)
    assert refused.returncode == 2
    assert "holds something else" in refused.stderr
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    assert warmstart("demo", "--out", "mine/thesis.txt", cwd=tmp_path).returncode == 2
    assert warmstart("demo", "--scale", "huge", "--out", "new", cwd=tmp_path).returncode == 2
