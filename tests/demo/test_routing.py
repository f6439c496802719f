"""The demo of a router: its sample, the month it writes, and, slowly, what it says beside the truth."""

import json
from pathlib import Path

import pytest
from tests.support.commands import warmstart

import warmstart as ws
from warmstart.demo import routing_month
from warmstart.demo.routing_month import LARGE, MODELS, SMALL, questions, write_month

SAMPLE = Path(routing_month.__file__).parent / "routing_sample"


def test_the_sample_is_small_and_has_its_licences_beside_it():
    asked = questions()
    assert (len(asked), len({question.subject for question in asked})) == (1_961, 22)
    assert all(question.cost[LARGE] == pytest.approx(15 * question.cost[SMALL]) for question in asked)
    rates = [sum(question.right[model] for question in asked) / len(asked) for model in MODELS]
    assert 0.7 < rates[0] < 0.75 < 0.8 < rates[1] < 0.82
    assert (SAMPLE / "questions.csv.gz").stat().st_size < 200_000
    notice = (SAMPLE / "NOTICE").read_text()
    assert all(name in notice for name in ("MMLU", "RouteLLM", "LICENSE-MIT", "LICENSE-APACHE", "Changed:"))
    assert "Dan Hendrycks" in (SAMPLE / "LICENSE-MIT").read_text()
    assert "Apache License" in (SAMPLE / "LICENSE-APACHE").read_text()


def test_the_month_is_a_log_as_litellm_writes_it_without_a_probability(tmp_path, monkeypatch):
    monkeypatch.setattr(routing_month, "CALLS", 400)
    files = write_month(tmp_path / "month", seed=1)
    result = ws.import_calls(files.spend, tmp_path / "imported", format="litellm")
    about = result.about
    assert about["read"] == 400
    assert set(about["dropped"]) == {"answers from a cache", "failed calls"}
    assert set(about["models"]) == set(MODELS)
    assert "propensity" not in about["columns"]
    again = write_month(tmp_path / "again", seed=1)
    assert [path.read_bytes() for path in files.__dict__.values()] == [
        path.read_bytes() for path in again.__dict__.values()
    ]


def test_a_scale_is_for_the_other_demo(tmp_path):
    ran = warmstart("demo", "--llm", "--scale", "paper", cwd=tmp_path)
    assert ran.returncode == 2
    assert "--scale is for the paper's experiment" in ran.stderr


@pytest.mark.slow
def test_the_log_says_what_is_true_and_the_learned_router_beats_the_mixture_of_its_cost(tmp_path):
    ran = warmstart("demo", "--llm", "--out", "routing", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("CONCLUSION: ") == 2
    folder = tmp_path / "routing"
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    lines = {(line["router"], line["by"]): line for line in found["lines"]}
    assert {name for name, by in lines if by == "subject"} == {*MODELS, "learned", "safe", "logging"}
    # By prompt propensities are modelled, and nothing is certified.
    assert {name for name, by in lines if by == "prompt"} == set(MODELS)
    assert {line["at_least"] for line in lines.values() if line["by"] == "prompt"} == {None}
    logging = lines["logging", "subject"]["truth"]
    for line in lines.values():
        assert line["estimate"] == pytest.approx(line["truth"], abs=0.025)
        assert line["at_least"] is None or line["at_least"] <= line["truth"] - logging
    for name in ("learned", "safe"):
        assert lines[name, "subject"]["truth"] > lines[name, "subject"]["same_cost"]
    assert lines["safe", "subject"]["truth"] > logging
    assert "routing.html" in {path.name for path in folder.iterdir()}
    prompts = [question.prompt for question in questions()]
    said = ran.stdout + ran.stderr + (folder / "routing.html").read_text() + json.dumps(found, ensure_ascii=False)
    assert not [prompt for prompt in prompts if prompt in said]
