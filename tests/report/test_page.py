"""The page, in a real browser: drawn, silent, asking nobody for anything, and unmoved by hostile names."""

import json
import re

import pyarrow as pa
import pytest
from tests.support.browser import HOSTILE, Visit
from tests.support.logs import moment, random_log, read, table

import warmstart as ws


def renamed(log):
    columns = {
        name: [HOSTILE.get(value, value.replace("a", HOSTILE["x0"])) for value in log[name].to_pylist()]
        for name in ("context", "action")
    }
    names = list(HOSTILE.values()) * 100
    alone = len(names)
    return pa.table(
        {
            HOSTILE["x1"]: [*columns["context"], *(f"{name} alone" for name in names)],
            HOSTILE["x5"].replace("\0", ""): [*columns["action"], *names],
            "reward": pa.concat_arrays([*log["reward"].chunks, pa.array([0.5] * alone)]),
            "time": pa.concat_arrays([*log["time"].chunks, log["time"].combine_chunks()[-alone:]]),
        }
    )


def pages(log, folder):
    context, action, reward, time = log.column_names
    events = ws.read_events(log, context=context, action=action, reward=reward, time=time)
    early, late = events.split(at=moment(4))
    odd = {HOSTILE["x0"]: "uniform", "logging": "logging", HOSTILE["x4"]: "constant:" + log[action][0].as_py()}
    found = {
        "audit": ws.audit(events),
        "evaluate": ws.evaluate(odd, late, train=early, tau=[0.05, 0.1], contributions=5),
    }
    return {name: ws.save_report(what, folder / f"{name}.html") for name, what in found.items()}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return pages(table(random_log(1, events=600)), tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return pages(renamed(table(random_log(1, events=600))), tmp_path_factory.mktemp("hostile"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(("name", "charts"), [("audit", 5), ("evaluate", 3)])
def test_charts_are_drawn_without_a_word_or_a_request(browser, plain, name, charts, width, scheme):
    with Visit(browser, plain[name], width=width, scheme=scheme) as visit:
        assert visit.said == []
        assert visit.asked == [plain[name].as_uri()]
        boxes = visit.page.evaluate(
            "[...document.querySelectorAll('.chart svg')].map(s => s.getBoundingClientRect().width)"
        )
        marks = visit.page.evaluate(
            "[...document.querySelectorAll('.chart svg')].map(s => s.querySelectorAll('.mark-group path').length)"
        )
        assert len(boxes) == charts
        assert all(width / 4 < box < width for box in boxes)
        assert all(number > 0 for number in marks)
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        assert visit.page.evaluate("document.body.dataset.drawn") == scheme


def test_light_and_dark_differ_and_both_can_be_read(browser, plain):
    seen = {}
    for scheme in ("light", "dark"):
        with Visit(browser, plain["audit"], scheme=scheme) as visit:
            seen[scheme] = visit.page.evaluate(
                "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,"
                " getComputedStyle(document.querySelector('.chart .role-axis-label text')).fill]"
            )
    brightness = {
        scheme: [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in found] for scheme, found in seen.items()
    }
    assert all(brightness["light"][0] - ink > 200 for ink in brightness["light"][1:])
    assert all(ink - brightness["dark"][0] > 200 for ink in brightness["dark"][1:])


@pytest.mark.parametrize("name", ["audit", "evaluate"])
def test_hostile_names_are_inert(browser, hostile, name):
    with Visit(browser, hostile[name], width=390) as visit:
        page = visit.page
        assert visit.said == []
        assert visit.asked == [hostile[name].as_uri()]
        assert page.title() in ("What this log can tell about other policies", "What other policies would have earned")
        assert page.query_selector("#planted") is None
        assert page.query_selector("main img") is None
        assert page.query_selector("main script:not(.spec)") is None
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        text = page.inner_text("main")
        assert "<script>" in text
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_the_table_behind_a_chart_opens_and_tooltips_answer(browser, plain):
    with Visit(browser, plain["audit"]) as visit:
        page = visit.page
        assert not page.is_visible("details table")
        page.click("summary >> nth=0")
        assert "3 to 5" in page.inner_text("details table >> nth=0")
        page.hover(".chart svg .mark-rect path >> nth=2")
        page.wait_for_selector("#vg-tooltip-element.visible")
        assert "share of traffic" in page.inner_text("#vg-tooltip-element")


def test_a_printed_page_shows_the_numbers(browser, plain):
    with Visit(browser, plain["audit"]) as visit:
        visit.page.emulate_media(media="print")
        visit.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert visit.page.is_visible("details table >> nth=0")
        assert len(visit.page.pdf()) > 20_000


def test_a_page_is_small_and_says_what_it_found(plain):
    for path in plain.values():
        assert path.stat().st_size < 3_000_000
    text = plain["audit"].read_text(encoding="utf-8")
    assert "How to read this" in text
    assert "Propensity" in text


def test_a_page_without_times_or_choice_says_so(tmp_path):
    events = read([("p", "a", 0.0, 0), ("q", "b", 1.0, 0)], "duckdb", time=False)
    text = ws.save_report(ws.audit(events), tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "Without times, nothing is known" in text
    assert "This log can prove no gain over logging" in text


def test_specifications_are_data_that_no_name_can_leave(hostile):
    text = hostile["audit"].read_text(encoding="utf-8")
    for spec in re.findall(r'class="spec"[^>]*>(.*?)</script>', text, flags=re.DOTALL):
        assert json.loads(spec)["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
        assert "<" not in spec


def test_what_cannot_be_a_page_is_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(ws.UsageError, match="no page for"):
        ws.save_report("nothing", tmp_path / "x.html")
    audit = ws.audit(read(random_log(1), "duckdb", time=False))
    with pytest.raises(ws.UsageError, match="no folder"):
        ws.save_report(audit, tmp_path / "gone" / "x.html")
    for name in ("audit.json", "audit", "audit.html.gz"):
        with pytest.raises(ws.UsageError, match=r"does not end in \.html") as refused:
            ws.save_report(audit, tmp_path / name)
        assert "to_json()" in refused.value.hint
    assert list(tmp_path.iterdir()) == []
    assert ws.save_report(audit, tmp_path / "page.HTM").is_file()


def test_the_glossary_has_the_words_of_the_field_and_of_the_log():
    from warmstart.report.glossary import glossary

    bare, mine = glossary(), glossary({"context": ["page", "hour"], "action": "ad", "reward": "click"})
    text = " ".join(f"{term}: {meaning}" for term, meaning in bare)
    for word in ("off-policy evaluation", "behaviour policy", "importance weight", "overlap", "confidence interval"):
        assert word in text
    assert "{" not in text
    assert [term for term, _ in bare][1:4] == ["Context", "Action", "Reward"]
    assert [term for term, _ in mine][1] == "Context (here: page, hour)"


def test_the_page_shows_how_tau_was_chosen_and_the_estimates(duckdb, tmp_path):
    rows = random_log(1)
    early, late = read(rows, duckdb).split(at=moment(5))
    found = ws.evaluate(["uniform", "logging"], late, train=early, estimators=["snips", "dr"])
    ws.save_report(found, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"tau was chosen: {found['uniform'].tau:g} for uniform" in text
    assert "Best estimates of all traffic" in text
    ws.save_report(ws.evaluate("uniform", late, train=early, tau=0.05), tmp_path / "fixed.html")
    assert "tau was chosen" not in (tmp_path / "fixed.html").read_text(encoding="utf-8")
