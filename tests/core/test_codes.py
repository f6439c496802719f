"""The registry of codes: complete, used, and the same in the source, the errors and the page."""

import ast
import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

import warmstart
from warmstart.core import CODES, FAMILIES, WarmstartError

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "warmstart"
PATTERN = re.compile(r"\bWS\d{3}\b")


def used_in_the_source():
    """Codes that occur in the source, outside of the registry."""
    registry = {PACKAGE / "core" / name for name in ("codes.py", "assumption_codes.py")}
    files = [path for path in PACKAGE.rglob("*.py") if path not in registry]
    return {code for path in files for code in PATTERN.findall(path.read_text(encoding="utf-8"))}


def kinds_of_errors():
    """All error classes, wherever they are defined."""
    for module in pkgutil.walk_packages([str(PACKAGE)], "warmstart."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    known = [WarmstartError]
    for kind in known:
        known += [one for one in kind.__subclasses__() if one not in known]
    return known


def test_every_code_in_the_source_is_in_the_registry_and_the_other_way_round():
    assert used_in_the_source() == set(CODES)


def texts_in_the_source():
    """Every text of the source, with what is filled in left out, and where it stands."""
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in (one for one in ast.walk(tree) if id(one) not in inner):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            texts = [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            if texts:
                yield f"{path.name}:{node.lineno}", "".join(texts)


def test_every_warning_names_its_code():
    """All but those that are made of an assumption, which names its own."""
    warnings = {
        place: text
        for place, text in texts_in_the_source()
        if re.match(r"(WARNING|Drift|Lost support|Reaction): .", text)
    }
    assert len(warnings) >= 11
    assert {place for place, text in warnings.items() if not PATTERN.search(text)} == set()


def test_codes_that_programs_know_keep_their_meaning():
    words = {
        "WS103": "fixed before",
        "WS104": "overlap",
        "WS105": "mean of a policy's importance weights",
        "WS106": "other contexts than the traffic",
        "WS107": "names none",
        "WS108": "have events outside of it",
        "WS109": "come back in later epochs",
        "WS110": "began before others had ended",
        "WS201": "differs in more than 90 %",
        "WS202": "actions that the log never shows",
        "WS203": "less than a fifth of its range",
        "WS204": "known in some of the events",
        "WS205": "its name suggests the contrary",
        "WS206": "joined it for this evaluation",
    }
    for code, text in words.items():
        assert text in CODES[code].meaning, code


def test_every_entry_is_whole_and_in_order():
    assert list(CODES) == sorted(CODES)
    for code, entry in CODES.items():
        assert PATTERN.fullmatch(code)
        assert (entry.code, entry.code[:3] in FAMILIES) == (code, True)
        assert not entry.title.endswith(".")
        for text in (entry.meaning, entry.why, entry.remedy):
            assert text[0].isupper() or text.startswith("dr"), text
            assert text.endswith("."), text
    assert len({entry.title for entry in CODES.values()}) == len(CODES)


def test_every_kind_of_error_has_a_code_of_its_own_family():
    kinds = kinds_of_errors()
    assert len(kinds) >= 15
    for kind in kinds:
        assert kind.code in CODES, kind
        assert (kind.exit_code == 2) == kind.code.startswith("WS3"), kind
    # DataError is the general kind; every other one has a code of its own.
    own = [kind.code for kind in kinds if kind is not WarmstartError]
    assert len(set(own)) == len(own)


@pytest.mark.parametrize("name", ["SavedFileError", "LaterVersionError"])
def test_saved_files_are_sources(name):
    assert issubclass(getattr(warmstart, name), warmstart.SourceError)
    assert getattr(warmstart, name).code.startswith("WS5")


def test_options_that_texts_name_exist():
    from tests.support.commands import warmstart as run

    commands = ("evaluate", "join", "audit", "fit")
    helps = " ".join(run(command, "--help").stdout for command in commands)
    for entry in CODES.values():
        for option in re.findall(r"--[a-z][a-z-]+", " ".join((entry.meaning, entry.why, entry.remedy))):
            assert option in helps or option == "--help", (entry.code, option)


def test_the_page_is_what_the_script_writes():
    spec = importlib.util.spec_from_file_location("codes_script", ROOT / "scripts" / "codes.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.PAGE == ROOT / "docs" / "codes.md"
    assert script.text() == script.PAGE.read_text(), "run: python scripts/codes.py"
    for code in CODES:
        assert f"### {code}\n" in script.text()


def test_codes_that_the_documents_name_exist():
    for page in (ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")):
        assert set(PATTERN.findall(page.read_text(encoding="utf-8"))) <= set(CODES), page
