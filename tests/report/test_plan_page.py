"""A plan as a page: what to do first, shares compared, where to explore; in a browser and with hostile names."""

from dataclasses import replace

import pytest
from tests.support.browser import HOSTILE, Visit
from tests.support.saved_results import saved

import warmstart as ws
from warmstart.report.plan_page import plan_page


@pytest.fixture(scope="module")
def plan():
    return saved("plan")


def test_it_says_what_to_do_first(plan):
    page = plan_page(plan)
    said = f"{page.headline.title}: {page.headline.texts[0]}"
    assert said.lower() == plan.verdict.lower()
    assert page.headline.kind == "same"
    assert page.source == plan.headline[-1] == plan.about
    assert page.source.startswith("'reward': more is better; what was shown got ")
    assert "Then evaluate the new events alone" in page.cards[-1].text
    [rows] = page.sections[0].chart["datasets"].values()
    assert [row["events"] for row in rows] == [plan.recommended.events]
    assert page.sections[1].tables[0].rows[0][0] == str(plan.rows[0][0])


def test_a_plan_for_what_is_proven_already_orders_nothing(plan):
    page = plan_page(replace(plan, certified_lower=0.01))
    assert page.headline.title.startswith("Nothing is open: this log already proves a gain of at least 10.0 per 1,000")
    assert page.headline.texts[0].startswith("No further log is needed. A second proof")
    [now] = page.cards
    assert now.label == "Now"
    assert "exploration would aim at" in now.text
    assert page.sections[0].title.startswith("A second proof would take about ")
    assert page.sections[1].title.startswith("For a second proof, explore in ")


def test_a_plan_without_a_gain_has_a_warning_and_no_chart():
    page = plan_page(saved("plan without a gain"))
    assert page.headline.kind == "cannot-tell"
    assert page.headline.title == "There is no gain to prove"
    assert not any(section.chart for section in page.sections)


def test_it_draws_and_fetches_nothing(browser, plan, tmp_path):
    path = plan.save(tmp_path / "plan.html")
    with Visit(browser, path) as visit:
        for width in (1280, 390):
            if width == 390:
                visit.change(width=width)
            assert not visit.said
            assert visit.asked == [path.as_uri()]
            assert visit.page.locator(".chart svg, .chart canvas").count() == 1
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width


def test_names_are_shown_not_obeyed(browser, plan, tmp_path):
    rows = tuple((name, name, 3, 0.1) for name in HOSTILE.values())
    path = ws.save_report(replace(plan, policy=HOSTILE["x0"], rows=rows), tmp_path / "plan.html")
    with Visit(browser, path) as visit:
        assert visit.page.title().startswith("What would decide about <script>")
        assert not visit.said
        assert visit.page.locator("#planted").count() == 0
