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
