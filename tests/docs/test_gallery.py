"""The gallery: every page's program runs and prints what the page shows, a verdict and the truth beside it."""

import re

import pytest
from scripts.gallery import GALLERY, PAGES, PAIR, with_output

QUESTIONS = 8
VERDICTS = ("Use '", "Keep what was shown", "Not proven")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_prints_what_it_shows(page, tmp_path):
    text = page.read_text()
    assert with_output(text, tmp_path) == text, "run python scripts/gallery.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_asks_a_question_and_ends_with_a_verdict_and_the_truth(page):
    text = page.read_text()
    assert re.match(r"# .*(\?|more orders, no more people who leave)\n", text)
    (pair,) = PAIR.finditer(text)
    assert any(words in pair["output"] for words in VERDICTS)
    assert "truth" in pair["output"]
    assert "**On your log**" in text
    assert text.count("```python") == text.count("```output") == 1


def test_the_first_page_links_every_question():
    first = (GALLERY / "index.md").read_text()
    assert re.findall(r"\]\(([\w-]+\.md)\)", first) == [
        *("deterministic-logger.md", "users-repeat.md", "contexts-never-repeat.md", "learning-logger.md"),
        *("two-goals.md", "late-clicks.md", "warehouse.md", "which-model.md"),
    ]
    assert len(PAGES) == QUESTIONS


def test_a_page_that_prints_something_else_is_found(tmp_path):
    page = "# Q?\n\n```python\nprint(1 + 1)\n```\n\n```output\n3\n```\n"
    assert with_output(page, tmp_path) == page.replace("3", "2")
