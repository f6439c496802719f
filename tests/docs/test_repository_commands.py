"""Programs of the repository that pages name exist, with the options and the parts that pages name."""

import re
from pathlib import Path

import pytest
from benchmarks.suite import full

ROOT = Path(__file__).parents[2]
PAGES = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
NAMED = re.compile(r"python (?:-m ((?:benchmarks|studies)[\w.]*)|(scripts/\w+\.py))([^`\n]*)")


def named():
    """Programs that pages name, each with what they give to it."""
    texts = [path.read_text().replace("\\\n", " ") for path in PAGES]
    # A line of prose may break within a command.
    texts = [re.sub(r"(?<!`)\n(?=[^`\n]*`)", " ", text) for text in texts] + texts
    return sorted({match for text in texts for match in NAMED.findall(text)})


def source_of(module, script):
    """The source of a program with what it imports from its folder."""
    path = ROOT / (script or f"{module.replace('.', '/')}.py")
    path = path if path.is_file() else ROOT / module / "__main__.py"
    assert path.is_file(), f"{module or script} is named, and is no program"
    text = path.read_text()
    parts = re.findall(r"from (benchmarks|studies)\.(\w+) import", text)
    return text + "".join((ROOT / folder / f"{part}.py").read_text() for folder, part in parts)


@pytest.mark.parametrize(("module", "script", "words"), named())
def test_a_program_that_pages_name_exists_with_its_options(module, script, words):
    source = source_of(module, script)
    own = re.split(r" -- |[|(,;]| #", words)[0].split()
    unknown = [word for word in own if word.startswith("--") and f'"{word}"' not in source]
    assert not unknown
    if module == "benchmarks":
        assert {word for word in own if re.fullmatch(r"[a-z][a-z-]+", word)} <= set(full())


def test_programs_are_named():
    modules = {module for module, _, _ in named()}
    assert {"benchmarks.doubly_robust", "benchmarks.blocks", "benchmarks.learning", "benchmarks.obd"} <= modules
