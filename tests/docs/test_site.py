"""The documentation builds without a warning, and its reference has what users import, under the names they import."""

import html
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import warmstart as ws

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


def text_of(page):
    """The words of a built page, on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_the_reference_shows_functions_and_classes_under_their_public_names(site):
    page = (site / "reference.html").read_text()
    names = re.findall(r"^::: (warmstart\.[\w.]+)$", (ROOT / "docs" / "reference.md").read_text(), flags=re.MULTILINE)
    assert len(names) >= 60
    parts = re.split(r'<h[34] id="(warmstart\.[\w.]+)"', page)
    shown = dict(zip(parts[1::2], parts[2::2], strict=True))
    for name in names:
        if name.count(".") == 1:
            first, *_ = inspect.getdoc(getattr(ws, name.removeprefix("warmstart."))).split("\n\n")
            words = re.sub(r"[`\s]+", " ", first).strip()
            assert words in text_of(shown[name]).replace("` ", " "), name
    assert "The hall:" not in text_of(page)


def test_examples_of_docstrings_are_shown_as_code(site):
    page = (site / "reference.html").read_text()
    assert page.count("<strong>Examples:</strong>") + page.count("Examples:") >= 25
    assert "<blockquote>" not in page  # what Markdown makes of >>>
    assert "&gt;&gt;&gt; import" not in text_of(page)
    assert ">>> import pyarrow as pa" in text_of(page)


def test_formulas_are_mathml_and_fetch_nothing(site):
    page = (site / "concepts" / "methods.html").read_text()
    assert page.count('<math display="block"') >= 12
    assert "```math" not in page
    assert "$<code>" not in page
    fetched = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', page)
    assert not fetched


def test_llms_txt_lists_every_page_and_names_what_exists(site):
    text = (site / "llms.txt").read_text()
    pages = re.findall(r"^- \[[^]]+\]\(([\w/.-]+)\): \S", text, flags=re.MULTILINE)
    assert all((site / page).is_file() for page in pages)
    parts = ("guides", "gallery", "concepts")
    built = {str(page.relative_to(site)) for part in parts for page in (site / part).glob("*.html")}
    assert built <= set(pages)
    assert set(re.findall(r"`ws\.(\w+)|= ws\.(\w+)\(", text))
    for name in re.findall(r"\bws\.(\w+)", text):
        assert name in ws.__all__, name
