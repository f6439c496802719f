"""What the README names exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_two_commands_are_targets():
    makefile = (ROOT / "Makefile").read_text()
    assert "make demo" in (ROOT / "README.md").read_text()
    for target in ("demo", "test", "test-slow", "check", "bench", "docs"):
        assert re.search(rf"^{target}:.*##", makefile, flags=re.MULTILINE), target
    assert "make test" in (ROOT / ".ci" / "run").read_text()
