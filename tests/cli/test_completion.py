"""Shell completion: the words are those that the rooms take, bash gets them, and asking loads nothing heavy."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import typer

import warmstart as ws
from warmstart import pipeline
from warmstart.cli import completion
from warmstart.cli.app import app
from warmstart.pipeline.settings import ENGINES, EPOCHS

BIN = Path(sys.executable).parent
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


def test_the_words_are_those_that_the_rooms_take():
    from warmstart.core import CODES
    from warmstart.core.names import WINDOW_NAMES
    from warmstart.engine import connect
    from warmstart.estimators import ESTIMATORS
    from warmstart.interop import ExportFormat, ModelName, Prompts, Scores, VWFormat
    from warmstart.pipeline.compare import ALL
    from warmstart.pipeline.trained import NEVER
    from warmstart.policy.parse import KEYWORDS
    from warmstart.results import Duplicates, Evidence, IntervalName, Repeated, SourceName, WithoutOutcome
    from warmstart.results import Kind as Kind_
    from warmstart.reward import MODELS
    from warmstart.reward.product import LossName
    from warmstart.simulation import SCALES
    from warmstart.simulation.learners import Kind
    from warmstart.simulation.users import Sticky

    learn_from = get_type_hints(ws.fit)["learn_from"]
    taken = {
        "POLICIES": KEYWORDS,
        "PASSES": get_args(learn_from),
        "AUTO": ("auto",),
        "NEVER": (NEVER,),
        "INTERVALS": get_args(IntervalName),
        "PROPENSITIES": ("auto", *get_args(SourceName)),
        "SOURCES": ALL,
        "ESTIMATORS": ESTIMATORS,
        "WINDOWS": WINDOW_NAMES,
        "LOSSES": get_args(LossName),
        "MODELS": ("auto", *MODELS),
        "SCALES": SCALES,
        "STICKY": get_args(Sticky),
        "LEARNERS": get_args(Kind),
        "EXPORTS": get_args(ExportFormat),
        "IMPORTS": ("auto", *get_args(VWFormat)),
        "PROMPTS": get_args(Prompts),
        "MODEL_NAMES": get_args(ModelName),
        "SCORES": get_args(Scores),
        "WITHOUT_OUTCOME": get_args(WithoutOutcome),
        "DUPLICATES": get_args(Duplicates),
        "REPEATED": get_args(Repeated),
        "CODES": CODES,
        "KINDS": get_args(Kind_),
        "EVIDENCE": get_args(Evidence)[:2],
    }
    of_settings = {"AUTO", "NEVER", "INTERVALS", "PROPENSITIES", "ESTIMATORS", "WINDOWS", "KINDS", "EVIDENCE"}
    for name, words in taken.items():
        home = pipeline if name in of_settings else completion
        assert sorted(getattr(home, name)) == sorted(words), name
    declared = {name for name, value in vars(completion).items() if isinstance(value, tuple)}
    assert declared == set(taken) - of_settings
    with pytest.raises(ws.UsageError) as refused:
        connect("no such engine")
    assert all(f"'{name}'" in refused.value.hint for name in ENGINES)


OPTIONS = {
    ("evaluate", "--interval"): pipeline.INTERVALS,
    ("evaluate", "--propensities"): pipeline.PROPENSITIES,
    ("evaluate", "--estimator"): pipeline.ESTIMATORS,
    ("evaluate", "--feasible-from"): pipeline.WINDOWS,
    ("evaluate", "--policy"): completion.POLICIES,
    ("evaluate", "--tau"): pipeline.AUTO,
    ("compare-propensities", "--source"): completion.SOURCES,
    ("evaluate", "--epoch"): EPOCHS,
    ("fit", "--learn-from"): completion.PASSES,
    ("fit", "--loss"): completion.LOSSES,
    ("fit", "--fit-tau"): pipeline.AUTO,
    ("join", "--duplicates"): completion.DUPLICATES,
    ("join", "--repeated"): completion.REPEATED,
    ("join", "--without-outcome"): completion.WITHOUT_OUTCOME,
    ("export", "--to"): completion.EXPORTS,
    ("simulate", "--scale"): completion.SCALES,
    ("demo", "--scale"): completion.SCALES,
    ("import vw", "--format"): completion.IMPORTS,
    ("import predictions", "--scores"): completion.SCORES,
    ("import otel", "--prompts"): completion.PROMPTS,
    ("import otel", "--model"): completion.MODEL_NAMES,
    **{(name, "--engine"): ENGINES for name in ("join", "audit", "compare-propensities", "evaluate", "fit", "export")},
}


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_an_option_completes_its_words(command, option):
    found = typer.main.get_command(app)
    for name in command.split():
        found = found.commands[name]
    param = next(param for param in found.params if option in param.opts)
    context = found.make_context(command, [], resilient_parsing=True)
    assert tuple(item.value for item in param.shell_complete(context, "")) == OPTIONS[command, option]
    first = OPTIONS[command, option][0]
    assert first in [item.value for item in param.shell_complete(context, first[:2])]
    assert not param.shell_complete(context, "no such word")


BASH = """
eval "$(warmstart --show-completion bash)"
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _warmstart_completion warmstart; printf '%s\\n' "${COMPREPLY[*]}"; }
IFS=' '
ask warmstart j
ask warmstart evaluate log.parquet --interval be
ask warmstart fit log.parquet --engine ''
ask warmstart choose policy --exp
"""


def test_bash_gets_commands_options_and_words(tmp_path):
    ran = subprocess.run(
        ["bash", "-c", BASH], cwd=tmp_path, capture_output=True, text=True, env=ENVIRONMENT, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["join", "bets bernstein", "duckdb spark", "--explore"]


def test_completion_installs_itself(tmp_path):
    # Typer looks which shell it was started from; under make or CI that may be any.
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    ran = subprocess.run(
        [str(BIN / "warmstart"), "--install-completion", "bash"],
        capture_output=True,
        text=True,
        env={**ENVIRONMENT, **named, "HOME": str(tmp_path)},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    script = tmp_path / ".bash_completions" / "warmstart.sh"
    assert "complete" in script.read_text()
    assert str(script) in (tmp_path / ".bashrc").read_text()


def test_completing_loads_nothing_heavy():
    code = """
import json, os, sys
sys.argv = ["warmstart"]
os.environ |= {"_WARMSTART_COMPLETE": "complete_bash", "COMP_CWORD": "3"}
os.environ["COMP_WORDS"] = "warmstart evaluate --interval b"
from warmstart.cli import main
try: main()
except SystemExit: pass
print(json.dumps(sorted(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *words, loaded = ran.stdout.splitlines()
    assert words == ["bets", "bernstein", "bootstrap"]
    assert not set(json.loads(loaded)) & {"numpy", "pandas", "pyarrow", "duckdb", "ibis", "numba", "scipy"}
