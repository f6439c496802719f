"""A join as a page: what matched, what did not, how late; in a browser and with hostile names."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.browser import HOSTILE, Visit, drawn
from tests.support.saved_results import saved

import warmstart as ws
from warmstart.report.join_page import join_page
from warmstart.results import Impressions, Outcomes


@pytest.fixture(scope="module")
def joined():
    return saved("joined")


def test_it_counts_what_matched_and_what_did_not(joined):
    page, came = join_page(joined), joined.outcomes
    assert (came.read, came.rewarding, came.duplicates, came.never_shown, came.outside_window) == (4, 1, 1, 1, 1)
    assert page.cards[0].text == "2 (50 %) of 4 outcomes."
    assert page.cards[1].text == "1 (25 %) of the outcomes."
    assert page.headline.title == "1 (33 %) of 3 impressions have an outcome within 3 days"
    assert "1 (25 %) of the outcomes came after the window" in page.headline.texts[-1]
    shares = {row["what"]: row["value"] for row in drawn(page.sections[0].chart)}
    assert shares == {"rewarding": 0.25, "further ones": 0.25, "after the window": 0.25, "of no impression": 0.25}
    assert "Window: 3 days. Outcomes are known until" in page.source
    assert (
        page.sections[0].title == "50 % of the outcomes count: they came within 3 days after an impression in the log"
    )
    assert page.sections[1].title == "33 % of the impressions have an outcome within 3 days"
    assert page.sections[1].texts == ["The others have reward 0."]
    assert page.sections[2].title == "Of the rewards within 3 days, half or more come within 1 hour"
    assert "1 outcome came after the window" in page.sections[2].texts[0]


def test_what_is_left_out_for_want_of_an_outcome_is_counted_among_the_impressions(joined):
    few = replace(joined, impressions=replace(joined.impressions, written=1, without_outcome=2))
    page = join_page(replace(few, without_outcome="leave-out"))
    assert page.headline.title == "1 (33 %) of 3 impressions have an outcome within 3 days"
    assert "The others, 2 impressions, are left out of the log" in page.headline.texts[0]
    assert page.sections[1].texts[0].startswith("The others, 2 impressions, are left out")
    assert not any("reward 0" in text for section in page.sections for text in section.texts)


@pytest.mark.parametrize(
    ("window", "words"), [(None, ""), (90_000_000, " within 90 seconds"), (1_500_000, " within 1.5 s")]
)
def test_the_window_is_said_in_words_and_no_delay_is_longer(joined, window, words):
    other = replace(joined, window=window, delays=(ws.results.Delay(3600, 2),))
    assert other.within.startswith(words)
    assert other.delay_words(other.delays[0]) == (other.within.strip() or "within 1 hour")


def test_without_times_it_says_nothing_of_delays():
    page = join_page(saved("joined without times"))
    assert not any("come within" in section.title for section in page.sections)


def test_keys_that_never_match_are_a_warning():
    nothing = ws.Joined(Path("x.parquet"), Impressions(5, 0, 0, 5, 0), Outcomes(4, 0, 4, 0, 0, 0, 0, 0), "max")
    page = join_page(nothing)
    assert [card.warning for card in page.cards] == [True, True, True]
    assert page.headline.kind == "cannot-tell"
    assert "Are the keys of both tables the same?" in page.cards[-1].text
    none = replace(nothing, outcomes=Outcomes(0, 0, 0, 0, 0, 0, 0, 0))
    assert join_page(none).sections[0].chart is None


def test_it_draws_and_fetches_nothing(browser, joined, tmp_path):
    path = joined.save(tmp_path / "join.html")
    with Visit(browser, path) as visit:
        for width in (1280, 390):
            if width == 390:
                visit.change(width=width)
            assert not visit.said
            assert visit.asked == [path.as_uri()]
            assert visit.page.locator(".chart svg, .chart canvas").count() == 2
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_name_is_shown_not_obeyed(browser, joined, tmp_path):
    path = ws.save_report(replace(joined, path=Path(HOSTILE["x0"])), tmp_path / "join.html")
    with Visit(browser, path) as visit:
        assert visit.page.title() == "Impressions and what came of them"
        assert not visit.said
