"""What the README names exists, and its three commands print what it shows."""

import re
import shlex
from pathlib import Path

from tests.support.commands import warmstart

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_two_commands_are_targets():
    makefile = (ROOT / "Makefile").read_text()
    assert "make demo" in README
    for target in ("demo", "test", "test-slow", "check", "bench", "docs", "release"):
        assert re.search(rf"^{target}:.*##", makefile, flags=re.MULTILINE), target
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_every_file_it_links_to_is_there():
    for link in re.findall(r"\]\(([^)#:]+)", README):
        assert (ROOT / link).exists(), link


def test_three_commands_lead_from_a_csv_to_the_verdict_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    guide = (ROOT / "docs" / "guides" / "pipeline.md").read_text()
    exec(re.search(r"^```python\n(.*?)^```$", guide, flags=re.DOTALL | re.MULTILINE)[1], {})
    section = README.split("## From a CSV to a verdict")[1]
    commands, shown, *_ = re.findall(r"^```\n(.*?)^```$", section, flags=re.DOTALL | re.MULTILINE)
    for line in commands.splitlines():
        ran = warmstart(*shlex.split(line, comments=True)[1:])
        assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(shown)
    assert len(commands.splitlines()) == 3


def test_hooks_check_what_make_check_checks():
    recipe = (ROOT / "Makefile").read_text().split("\ncheck:")[1].split("\n\n")[0]
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    checks = re.findall(r"^\t\$\(BIN\)/(.+)$", recipe, flags=re.MULTILINE)
    assert [f".venv/bin/{one}" for one in checks] == re.findall(r"entry: (.+)", hooks)
    assert len(checks) == 4


def test_versions_of_the_citation_agree():
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE)[1]
    citation = (ROOT / "CITATION.cff").read_text()
    assert set(re.findall(r"^ *version: (.+)$", citation, flags=re.MULTILINE)) == {version}
