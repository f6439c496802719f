"""The JSON of a result says what the first screen of its page says."""

import re

import pytest
from tests.support.saved_results import MAKERS, saved

from warmstart.core import UsageError
from warmstart.report.page import page_of


def strings(value):
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)
    elif isinstance(value, str):
        yield value


def plain(text):
    return re.sub(r"\s+", " ", text).casefold()


def missing(result, page):
    """The sentences of the first screen, or their parts, that the JSON lacks."""
    said = plain("\n".join(strings(result.to_dict())))
    texts = [page.headline.title, *page.headline.texts] if page.headline else []
    texts += [card.text for card in page.cards]
    parts = [part.rstrip(".:;") for text in texts for part in re.split(r"(?<=[.:;]) ", plain(text))]
    assert parts
    return [part for part in parts if part not in said]


@pytest.mark.parametrize("name", MAKERS)
def test_the_json_has_the_title_and_the_texts_of_the_first_screen(name):
    result = saved(name)
    try:
        page = page_of(result)
    except UsageError:
        assert result.kind() not in ("evaluation", "audit", "joined", "learned", "monitor", "plan", "progressive")
        return
    assert not missing(result, page)
