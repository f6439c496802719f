"""The guides' commands and programs run as they are written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDES = Path(__file__).parents[2] / "docs" / "guides"


@pytest.mark.parametrize("name", ["from-vowpal-wabbit.md", "from-obp.md"])
def test_a_guide_runs_as_written(name, tmp_path):
    text = (GUIDES / name).read_text()
    commands = "\n".join(re.findall(r"^```bash\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE))
    programs = "\n".join(re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE))
    assert programs
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in (["bash", "-euc", commands], [sys.executable, "-c", programs]):
        ran = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False
        )
        assert ran.returncode == 0, ran.stderr
    if commands:
        assert (tmp_path / "vw.parquet").is_file()
        assert (tmp_path / "again.vw").is_file()
