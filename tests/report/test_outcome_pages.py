"""The parts of an evaluation's page about outcomes, guards, trade-offs, segments, and what was selected."""

import json
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.support.browser import HOSTILE, Visit

import warmstart as ws
from warmstart.report.evaluation_page import evaluation_page

NAMES = {"country": "country", "cost": "cost", "late": "late", "better": "better", "dear": "dear", "IT": "IT"}
ODD = {
    "country": HOSTILE["x1"],
    "cost": HOSTILE["x0"],
    "late": HOSTILE["x5"].replace("\0", ""),
    "better": HOSTILE["x2"],
}
ODD |= {"dear": HOSTILE["x4"], "IT": HOSTILE["x0"]}


def evaluated(names=NAMES, *, n=6_000, reward="click", tau="auto", **asked):
    """Of two ads, 'new' is clicked more in two of three countries, and costs more; 'late' is unknown in some events."""
    rng = np.random.default_rng(3)
    country = rng.choice(["DE", "FR", names["IT"]], n, p=[0.4, 0.3, 0.3])
    ad = rng.choice(["old", "new", "gold"], n)
    chance = 0.3 + 0.3 * (ad != "old") * np.where(country == names["IT"], -0.9, 1)
    late = np.where(rng.random(n) < 0.1, np.nan, rng.random(n) < 0.2)
    log = {"page": ["p"] * n, names["country"]: country, "ad": ad, "click": (rng.random(n) < chance).astype(int)}
    log[names["cost"]] = np.where(ad == "gold", 0.9, np.where(ad == "new", 0.2, 0.1)) * rng.uniform(0.5, 1, n)
    log[names["late"]] = pa.array(late, from_pandas=True)
    also = [name for name in ("click", names["cost"], names["late"]) if name != reward]
    events = ws.read_events(
        pa.table(log),
        context=["page", names["country"]],
        action="ad",
        reward=reward,
        also=also,
        minimize=[names["cost"], names["late"]],
    )
    policies = {names["better"]: "constant:new", names["dear"]: "constant:gold", "logging": "logging"}
    return ws.evaluate(policies, events, tau=tau, **asked)


@pytest.fixture(scope="module")
def result():
    return evaluated(guards=["cost<=+0", "late<=+50%", "cost<=+0.8"], by="country")


@pytest.fixture(scope="module")
def visit(browser, result, tmp_path_factory):
    """The page of the result, wide and light, with what was selected."""
    path = tmp_path_factory.mktemp("outcomes") / "page.html"
    with Visit(browser, ws.save_report(result, path, selection=ws.select(result))) as visit:
        yield path, visit


def guarded(result, *texts):
    """The same as if only these guards, or none, had been asked for."""
    kept = (replace(one, guards=tuple(guard for guard in one.guards if guard.guard in texts)) for one in result)
    return replace(result, policies=tuple(kept))


def titled(page, start):
    return [section for section in page.sections if section.title.startswith(start)]


def layers(section, field):
    """The data of a chart's layers that have a field."""
    return [rows for rows in section.chart["datasets"].values() if field in rows[0]]


def test_what_was_selected_stands_first_and_only_if_asked_for(result, tmp_path):
    kept = guarded(result, "cost<=+0.8")
    chosen = ws.select(guarded(result))
    assert chosen.segments == (("DE",), ("FR",))
    first, *others = evaluation_page(kept, chosen).cards
    assert (first.label, first.wide, first.warning) == ("Selected", True, False)
    assert "in 'DE', 'FR'" in first.text
    page, selected = evaluation_page(kept), ws.select(kept).policy
    rest = [name for name in ("better", "dear") if name != selected]
    assert [card.label for card in others] == [card.label for card in page.cards] == rest
    assert (page.headline.kind, page.headline.evidence) == ("better", "certified")
    assert page.headline.title.startswith(f"Use '{selected}'")
    assert titled(evaluation_page(kept), "All guards are proven to hold for better, dear")
    none = ws.select(result)
    assert none.policy is None
    text = ws.save_report(result, tmp_path / "page.html", selection=none).read_text(encoding="utf-8")
    assert "None. &#39;dear&#39; is certifiably better (confidence 95" in text
    log = pa.table({"c": ["a", "a"], "a": ["x", "y"], "r": [0, 1]})
    audit = ws.audit(ws.read_events(log, context="c", action="a", reward="r"))
    with pytest.raises(ws.UsageError, match="shown with the evaluation"):
        ws.save_report(audit, tmp_path / "audit.html", selection=none)


def test_guards_are_told_in_words_with_what_tells_them(result):
    [section] = titled(evaluation_page(result), "No policy is proven to keep all guards")
    [table] = section.tables
    told = {(row[0], row[2]): row[3] for row in table.rows}
    assert told["dear", "cost<=+0"] == "FAILS"
    assert told["better", "late<=+50%"] == "cannot tell"
    page = evaluation_page(result)
    [dear] = page.cards
    assert "Guard 'cost<=+0' is broken" in dear.text
    assert dear.warning
    assert page.headline.title == "Do not use 'better' yet: a guard is not proven to hold"
    assert page.headline.forbidden
    assert "Guard 'cost<=+0' holds" in page.headline.texts[0]


def test_trade_offs_have_logging_the_policies_and_the_line_of_the_best(result):
    [section, _] = titled(evaluation_page(result), "click against")
    [points] = layers(section, "gain_lower")
    assert [row["policy"] for row in points] == ["better", "dear"]
    for row in points:
        assert row["gain_lower"] < row["gain"] < row["gain_upper"]
        assert row["rise_lower"] < row["rise"] < row["rise_upper"]
    [line] = [rows for rows in layers(section, "gain") if "policy" not in rows[0] and len(rows) > 1]
    # Logging is worse than 'better' on both, so no price makes it the best.
    assert line == [{"gain": row["gain"], "rise": row["rise"]} for row in points]
    assert [{"rise": 0, "gain": 0, "name": "logging"}] in layers(section, "gain")


def test_segments_have_both_gains_the_drawn_one_and_the_whole_as_lines(result):
    better, dear = titled(evaluation_page(result), "better by country") + titled(evaluation_page(result), "dear by")
    assert better.title == "better by country: proven better in DE, FR; proven worse in IT"
    assert dear.title.startswith("dear by country")
    [rows] = layers(better, "segment")
    assert {row["kind"] for row in rows} == {"certified", "estimated", "drawn"}
    assert len(rows) == 9
    # Charts and tables are in the unit of the verdict, per 1,000 events.
    shown = {row["kind"]: row["value"] for row in layers(better, "what")[0]}
    whole = result["better"].gain
    differences = {"certified": whole.certified.difference, "estimated": whole.estimated.difference}
    assert shown == pytest.approx({kind: 1_000 * difference for kind, difference in differences.items()})
    assert [row[0] for row in better.tables[0].rows] == ["better"] * 3


def test_a_reward_that_should_be_small_is_better_when_less_of_it_is_spent():
    costs = evaluated(reward="cost")
    page = evaluation_page(costs, ws.select(costs))
    cards = {card.label: card for card in page.cards}
    assert (page.headline.kind, page.headline.title[:12]) == ("better", "Use 'better'")
    assert "it lowers 'cost' by at least" in page.headline.texts[0]
    assert "it raises 'cost' by at least" in cards["dear"].text
    assert cards["dear"].warning
    assert "'cost': less is better" in page.source
    assert titled(page, "Proven better than what was shown: better")
    [against] = titled(page, "cost against click")
    assert against.title.startswith("cost against click, proven worth it: better at any price")
    [points] = layers(against, "gain_lower")
    assert points[0]["gain"] < 0 < points[0]["rise"]


def test_outcomes_say_what_is_proven_of_them_and_how_much_is_known(result):
    page = evaluation_page(result)
    [cost], [late] = titled(page, "cost: "), titled(page, "late: ")
    assert cost.title == "cost: proven to rise under dear; proven to fall under better"
    assert "known" not in " ".join(cost.texts).lower()
    assert late.title == "late: no change is proven"
    assert "Known in 90 % of events." in " ".join(late.texts)
    assert "Less of it is better." in late.texts[0]


def check_page(visit, path, *, width):
    page = visit.page
    assert visit.said == []
    assert visit.asked == [path.as_uri()]
    charts = page.evaluate("[...document.querySelectorAll('.chart svg')].map(s => s.getBoundingClientRect().width)")
    assert len(charts) == 11
    assert all(width / 4 < box < width for box in charts)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.query_selector("#planted") is None
    assert page.query_selector("main img") is None
    assert page.query_selector("main script:not(.spec)") is None
    assert page.title() == "What other policies would have earned"
    for spec in re.findall(r'class="spec"[^>]*>(.*?)</script>', path.read_text(encoding="utf-8"), flags=re.DOTALL):
        assert json.loads(spec)
        assert "<" not in spec


def test_the_page_is_drawn(visit):
    check_page(visit[1], visit[0], width=1280)


@pytest.mark.slow
def test_the_page_is_drawn_on_a_small_screen(browser, visit):
    with Visit(browser, visit[0], width=390) as small:
        check_page(small, visit[0], width=390)


def test_the_page_is_drawn_with_hostile_names_too(browser, tmp_path):
    found = evaluated(ODD, by=ODD["country"], guards=[f"{ODD['cost']}<=+0"])
    path = ws.save_report(found, tmp_path / "page.html", selection=ws.select(found))
    with Visit(browser, path, width=390, scheme="dark") as visit:
        check_page(visit, path, width=390)
        visit.change(width=1280)
        check_page(visit, path, width=1280)


def test_a_point_of_the_trade_off_tells_its_numbers(result, visit):
    page = visit[1].page
    chart = page.locator("section", has_text="click against cost").locator(".chart svg").first
    chart.locator(".mark-symbol.role-mark path").last.hover()
    page.wait_for_selector("#vg-tooltip-element.visible")
    said = page.inner_text("#vg-tooltip-element")
    assert "gain" in said
    assert "rise" in said
    assert f"{result.of_outcome('cost')['dear'].gain.estimated.difference:+.4g}" in said
