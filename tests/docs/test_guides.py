"""The guides' programs and commands run as they are written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
MADE = {
    "late-rewards.md": "joined.parquet",
    "log-propensities.md": "day.parquet",
    "outcomes.md": "routes.html",
    "segments.md": "segments.html",
}
# Guides whose plain blocks are what their commands print, line by line.
PRINTED = {"outcomes.md": 5, "segments.md": 2}


@pytest.mark.parametrize("name", MADE)
def test_a_guide_runs_as_written(name, tmp_path):
    text = (GUIDES / name).read_text()
    blocks = re.findall(r"^```(python|bash)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert {language for language, _ in blocks} == {"python", "bash"}
    said = []
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for language, code in blocks:
        command = [sys.executable, "-c", code] if language == "python" else ["bash", "-euc", code]
        ran = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False
        )
        assert ran.returncode == 0, ran.stderr
        said += ran.stdout.splitlines()
    assert (tmp_path / MADE[name]).is_file()
    shown = re.findall(r"^```\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    if name in PRINTED:
        assert len(shown) == PRINTED[name]
        assert not {line for block in shown for line in block.splitlines()} - set(said)


def test_policies_of_the_guide_run_as_written(tmp_path):
    """The one program of the guide that needs nothing but itself."""
    text = (GUIDES / "evaluate.md").read_text()
    section = text.split("## Policies as you have them")[1].split("\n## ")[0]
    (program,) = re.findall(r"^```python\n(.*?)^```$", section, flags=re.DOTALL | re.MULTILINE)
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "shadow" in ran.stdout
