"""The guides' programs and commands run as they are written."""

import contextlib
import csv
import io
import os
import shlex
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.support.commands import warmstart
from tests.support.pages import MADE, blocks_of

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
# Guides whose plain blocks are what their commands print, line by line.
PRINTED = {"doubt.md": 2, "llm-routers.md": 7, "outcomes.md": 6, "plan.md": 1, "segments.md": 2}


def run_program(program, folder, names):
    """Run a program in this process; what it printed."""
    said = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(said):
        exec(compile(program, "<guide>", "exec"), names)
    return said.getvalue()


def is_ours(line):
    return line.startswith("warmstart ")


def run_commands(commands, folder):
    """Run our commands in this process and leave the others to a shell; what they printed."""
    said = []
    for ours, lines in groupby(commands.replace("\\\n", " ").splitlines(), is_ours):
        if ours:
            ran = [warmstart(*shlex.split(line, comments=True)[1:], cwd=folder) for line in lines]
        else:
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            words = ["bash", "-euc", "\n".join(lines)]
            env = {**os.environ, "PATH": path}
            ran = [subprocess.run(words, cwd=folder, capture_output=True, text=True, env=env, check=False)]
        for one in ran:
            assert one.returncode == 0, one.stderr
            said += [one.stdout, one.stderr]
    return "".join(said)


@pytest.mark.parametrize("name", MADE)
def test_a_guide_runs_as_written(name, tmp_path):
    blocks = blocks_of((GUIDES / name).read_text())
    assert "python" in dict(blocks)
    said, names = "", {"__name__": "__main__"}
    for language, code in blocks:
        if language == "python":
            said += run_program(code, tmp_path, names)
        elif language == "bash":
            said += run_commands(code, tmp_path)
    for made in MADE[name]:
        assert (tmp_path / made).is_file()
    shown = [block for language, block in blocks if not language]
    if name in PRINTED:
        assert len(shown) == PRINTED[name]
        assert not {line for block in shown for line in block.splitlines() if line} - set(said.splitlines())
    if name == "pipeline.md":
        settings = next(block for language, block in blocks if language == "toml")
        assert not set(settings.splitlines()) - set((tmp_path / "warmstart.toml").read_text().splitlines())
    if name == "llm-routers.md":
        no_prompt_is_anywhere(tmp_path, said)


def no_prompt_is_anywhere(folder, said):
    """Prompts are in the table they came in, and nowhere else: not in logs, pages, JSON or messages."""
    prompts = {row["prompt"] for row in csv.DictReader((folder / "prompts.csv").open())}
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "prompts.csv"]
    assert {".parquet", ".html", ".json", ".npy"} <= {path.suffix for path in files}
    texts = [
        str(pq.read_table(p).to_pydict()) if p.suffix == ".parquet" else p.read_bytes().decode(errors="ignore")
        for p in files
    ]
    every = "\n".join([said, *texts])
    assert len(prompts) > 5_000
    assert not [prompt for prompt in prompts if prompt in every]


def test_policies_of_the_guide_run_as_written(tmp_path):
    """The one program of the guide that needs nothing but itself."""
    section = (GUIDES / "evaluate.md").read_text().split("## Policies as you have them")[1].split("\n## ")[0]
    (program,) = (code for language, code in blocks_of(section) if language == "python")
    assert "shadow" in run_program(program, tmp_path, {"__name__": "__main__"})
