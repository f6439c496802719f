"""What the README shows is what the commands print."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_demos_output_is_as_printed(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "warmstart", "demo", "--out", str(tmp_path)], capture_output=True, text=True, check=True
    )
    blocks = re.findall(r"```\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    shown = next(block for block in blocks if block.startswith("Value per event"))
    assert shown in ran.stdout + "\n"


def test_the_two_commands_are_targets():
    makefile = (ROOT / "Makefile").read_text()
    assert "make demo" in (ROOT / "README.md").read_text()
    for target in ("demo", "test", "test-slow", "check", "bench", "docs"):
        assert re.search(rf"^{target}:.*##", makefile, flags=re.MULTILINE), target
    assert "make test" in (ROOT / ".ci" / "run").read_text()
