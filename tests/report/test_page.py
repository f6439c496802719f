"""The page, in a real browser: drawn, silent, asking nobody for anything, and unmoved by hostile names."""

import json
import re
from importlib.resources import files

import pyarrow as pa
import pytest
from tests.support.browser import HOSTILE, Visit, contrast, shown
from tests.support.logs import moment, random_log, read, table

import warmstart as ws
from warmstart.report import charts
from warmstart.report.page import Card, Headline, Section, Step
from warmstart.results import TextTable

CHARTS = [("audit", 5), ("evaluate", 4), ("monitor", 3), ("progressive", 1)]
TITLES = {
    "What this log can tell about other policies",
    "What other policies would have earned",
    "Policies on a growing log",
    "Learning and evaluation on the same log",
}


def renamed(log):
    columns = {
        name: [HOSTILE.get(value, value.replace("a", HOSTILE["x0"])) for value in log[name].to_pylist()]
        for name in ("context", "action")
    }
    names = [HOSTILE[f"x{i}"] for i in range(6)] * 100
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
    odd[HOSTILE["x6"]] = "uniform-all"
    by_day = ws.read_events(log, context=context, action=action, reward=reward, time=time, epoch="day")
    found = {
        "audit": ws.audit(events),
        "evaluate": ws.evaluate(odd, late, train=early, tau=[0.05, 0.1], contributions=5),
        "monitor": ws.monitor(odd, by_day, folder / "monitor.jsonl", tau=0.05),
        "progressive": ws.evaluate_progressively(by_day, fit=lambda _: "uniform", tau=0.05, every=4),
    }
    return {name: ws.save_report(what, folder / f"{name}.html") for name, what in found.items()}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return pages(table(random_log(1, events=600)), tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return pages(renamed(table(random_log(1, events=600))), tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def audit_visit(browser, plain):
    """The audit's page, wide and light; tests leave it so."""
    with Visit(browser, plain["audit"]) as visit:
        yield visit


@pytest.fixture(scope="module", params=dict(CHARTS))
def hostile_visit(request, browser, hostile):
    """Every page with hostile names, on a small screen; tests leave it so."""
    with Visit(browser, hostile[request.param], width=390) as visit:
        yield request.param, visit


def check_charts(visit, path, charts, *, width, scheme):
    """All charts are drawn and fit, without a word or a request."""
    assert visit.said == []
    assert visit.asked == [path.as_uri()]
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


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (390, "dark"),
        *(pytest.param(*look, marks=pytest.mark.slow) for look in ((1280, "light"), (1280, "dark"), (390, "light"))),
    ],
)
@pytest.mark.parametrize(("name", "charts"), CHARTS)
def test_charts_are_drawn_without_a_word_or_a_request(browser, plain, name, charts, width, scheme):
    with Visit(browser, plain[name], width=width, scheme=scheme) as visit:
        check_charts(visit, plain[name], charts, width=width, scheme=scheme)
        if scheme == "dark" and width == 390:
            visit.change(width=1280)
            check_charts(visit, plain[name], charts, width=1280, scheme=scheme)


def test_light_and_dark_differ_and_both_can_be_read_on_every_screen(audit_visit, plain):
    seen = {}
    looks = [(1280, "light", {}), (1280, "dark", {"scheme": "dark"}), (390, "dark", {"width": 390})]
    looks += [(390, "light", {"scheme": "light"}), (1280, "light", {"width": 1280})]
    for width, scheme, change in looks:
        if change:
            audit_visit.change(**change)
        check_charts(audit_visit, plain["audit"], dict(CHARTS)["audit"], width=width, scheme=scheme)
        seen[width, scheme] = audit_visit.page.evaluate(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,"
            " getComputedStyle(document.querySelector('.chart .role-axis-label text')).fill]"
        )
    for (_, scheme), colours in seen.items():
        paper, *inks = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
        assert all((paper - ink if scheme == "light" else ink - paper) > 200 for ink in inks)


def test_hostile_names_are_inert(hostile_visit, hostile):
    name, visit = hostile_visit
    page = visit.page
    assert visit.said == []
    assert visit.asked == [hostile[name].as_uri()]
    assert page.title() in TITLES
    assert page.query_selector("#planted") is None
    assert page.query_selector("main img") is None
    assert page.query_selector("main script:not(.spec)") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    text = page.inner_text("main")
    assert "<script>" in text or name == "progressive"
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_every_chart_is_told_in_words_and_has_its_numbers(hostile_visit, hostile):
    name, visit = hostile_visit
    told = visit.page.evaluate(
        """[...document.querySelectorAll('.chart')].map(chart => [
            chart.getAttribute('role'), chart.getAttribute('aria-label').length > 5,
            chart.getAttribute('aria-describedby').split(' ').every(id => document.getElementById(id)),
            chart.closest('section').querySelectorAll('details td, .step td').length > 0])"""
    )
    assert len(told) >= 1
    assert all(one == ["img", True, True, True] for one in told)
    text = re.sub(r"<script.*?</script>", "", hostile[name].read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not re.search(r"<[^>]*\s(style|on\w+)=", text.replace("&#34;", ""))


def test_the_table_behind_a_chart_opens_and_tooltips_answer(audit_visit):
    page = audit_visit.page
    assert not page.is_visible("details table")
    page.click("summary >> nth=0")
    assert "3 to 5" in page.inner_text("details table >> nth=0")
    page.hover(".chart svg .mark-rect path >> nth=2")
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert "share of traffic" in page.inner_text("#vg-tooltip-element")
    page.click("summary >> nth=0")


def test_a_printed_page_shows_the_numbers(audit_visit):
    page = audit_visit.page
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.is_visible("details table >> nth=0")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0
    assert len(page.pdf()) > 20_000
    page.emulate_media(media="screen")


def test_the_first_screen_of_an_audit_names_the_reward_and_says_what_its_words_mean(audit_visit):
    page = audit_visit.page
    shown = page.evaluate(
        "[...document.querySelectorAll('.source, .headline, .card')].map(part => [part.innerText,"
        " part.getBoundingClientRect().bottom])"
    )
    assert all(bottom < 800 for _, bottom in shown)
    text = " ".join(part for part, _ in shown)
    assert "'reward': what was shown got" in text
    assert ("tau =" in text) == ("Tau is how large a part of" in text)
    assert ("probably" in text) == ("with a chance of 80" in text)


def test_a_page_is_small_and_says_what_it_found(plain):
    for path in plain.values():
        assert path.stat().st_size < 1_500_000
    text = plain["audit"].read_text(encoding="utf-8")
    assert "How to read this" in text
    assert "Propensity" in text
    assert "BSD-3-Clause" in text


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


@pytest.mark.parametrize("kind", ["better", "worse", "same", "cannot-tell"])
def test_the_headline_stands_first_in_words_and_in_a_colour(browser, tmp_path, kind):
    headline = Headline(kind, "certified", f"It is {HOSTILE['x0']}", ["By much.", "On all traffic."])
    with Visit(browser, shown(tmp_path, headline=headline, cards=[Card("label", "a card")])) as visit:
        block = visit.page.locator(f".headline.{kind}")
        said = block.inner_text().lower()
        for text in (kind.replace("-", " "), "certified", HOSTILE["x0"], "by much.", "on all traffic."):
            assert text.lower() in said
        assert block.bounding_box()["y"] < visit.page.locator(".card").bounding_box()["y"]


def test_what_a_guard_forbids_is_not_green(browser, tmp_path):
    headline = Headline("better", "certified", "Do not use it", ["It raises much."], forbidden=True)
    with Visit(browser, shown(tmp_path, headline=headline)) as visit:
        assert visit.page.locator(".headline.better").count() == 0
        said = visit.page.locator(".headline.cannot-tell .kind").inner_text()
        assert said == "Better, but a guard is not proven to hold"


def test_words_are_explained_right_under_the_table(browser, tmp_path):
    section = Section("A finding", tables=[TextTable("t", ("a",), [("1",)])], explained=[("a", HOSTILE["x1"])])
    with Visit(browser, shown(tmp_path, sections=[section])) as visit:
        assert visit.page.inner_text("table + dl.explained, .scroll + dl.explained") == f"a\n{HOSTILE['x1']}"


def stepped(name="tau"):
    """A section with three steps, whose numbers differ."""
    steps = []
    for tau, gain in ((0.02, 0.31), (0.05, 0.21), (0.1, 0.11)):
        rows = [{"what": name, "value": gain, "lower": gain - 0.2, "upper": gain + 0.2, "colour": charts.PLAIN}]
        chart = charts.effects(rows, x_title="gain", x_format="+.4~g", span=(-0.2, 0.6))
        numbers = TextTable("Gains", ("policy", "gain"), [(name, f"+{gain}")], left=1)
        steps.append(Step(f"{name} {tau:g}", [f"At {tau:g}."], chart, [numbers]))
    return Section("Gains", steps=steps, slider=name, start=1, exploratory="All taus share delta.")


def test_a_slider_is_moved_by_keyboard_and_shows_the_numbers_of_its_step(browser, tmp_path):
    with Visit(browser, shown(tmp_path, sections=[stepped()])) as visit:
        page, slider = visit.page, visit.page.get_by_role("slider", name="tau")
        seen = []
        slider.focus()
        for key in ("", "ArrowRight", "ArrowRight", "Home", "ArrowRight", "End"):
            if key:
                page.keyboard.press(key)
            page.wait_for_function("[...document.querySelectorAll('.step:not([hidden]) svg')].length === 1")
            assert slider.get_attribute("aria-valuetext") == page.inner_text("output")
            assert page.locator("td:visible").count() == 2
            seen.append((page.inner_text("output"), page.locator("td:visible").nth(1).inner_text()))
        low, middle, high = ("tau 0.02", "+0.31"), ("tau 0.05", "+0.21"), ("tau 0.1", "+0.11")
        assert seen == [middle, high, high, low, middle, high]
        assert page.locator(".step svg").count() == 1
        assert page.locator(".exploratory").inner_text() == "exploratory All taus share delta."
        visit.change(scheme="dark")
        page.keyboard.press("Home")
        page.wait_for_function("[...document.querySelectorAll('.step:not([hidden]) svg')].length === 1")
        assert (page.inner_text("output"), page.locator("td:visible").nth(1).inner_text()) == low
        assert page.locator(".step svg").count() == 1
        assert visit.said == []


def test_without_scripts_and_on_paper_every_step_is_a_table(browser, tmp_path):
    drawn = Section(
        "Drawn", (), charts.bars([{"x": "a", "y": 0.5}], x="x", y="y", x_title="x", y_title="y", order=["a"])
    )
    path = shown(tmp_path, sections=[stepped(), drawn])
    for scripts in (False, True):
        with Visit(browser, path, scripts=scripts) as visit:
            if scripts:
                assert visit.page.locator("table:visible").count() == 1
                visit.page.emulate_media(media="print")
                visit.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
            assert visit.page.locator("table:visible caption").all_inner_texts() == [*["Gains"] * 3, "What is drawn"]
            assert visit.page.locator("h3:visible").all_inner_texts() == ["tau 0.02", "tau 0.05", "tau 0.1"]
            assert visit.page.locator("input:visible").count() == 0
            assert visit.page.locator(".step .chart:visible").count() == 0
            assert visit.page.locator(".chart:visible").count() == int(scripts)


def test_what_is_not_our_own_is_stopped_and_heard(browser, tmp_path):
    """The tests above would hear of it."""
    planted = {
        "script-src": "document.head.append(Object.assign(document.createElement('script'), {text: 'window.x = 1'}))",
        "style-src": "document.body.setAttribute('style', 'color: red')",
        "style-src-elem": "document.head.append(Object.assign(document.createElement('style'), {textContent: 'p {}'}))",
        "img-src": "document.body.append(Object.assign(new Image(), {src: 'https://example.org/x.png'}))",
        "connect-src": "fetch('https://example.org/').catch(() => 0)",
    }
    path = shown(tmp_path)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', path.read_text(encoding="utf-8")).group(1)
    assert "unsafe" not in policy
    with Visit(browser, path) as visit:
        for directive, code in planted.items():
            visit.said.clear()
            visit.page.evaluate(code + "; new Promise(done => setTimeout(done, 100))")
            assert any(said.startswith(f"violates {directive}") for said in visit.said)
            assert not visit.page.evaluate("'x' in window")


def test_colours_of_text_have_contrast_in_every_scheme():
    style = (files("warmstart.report") / "templates" / "page.css").read_text()
    schemes = [
        dict(re.findall(r"--([\w-]+): #(\w{6})", block)) for block in re.findall(r":root \{(.*?)\}", style, re.S)
    ]
    assert len(schemes) == 3
    for scheme in schemes:
        colours = {name: bytes.fromhex(value) for name, value in scheme.items()}
        backs = {name for name in colours if name.endswith("-back")} | {"paper", "card"}
        pairs = [(text, back) for text in ("ink", "soft", "accent", "warn") for back in ("paper", "card")]
        pairs += [("ink", back) for back in backs] + [
            (back.removesuffix("-back"), back) for back in backs - {"paper", "card"}
        ]
        for text, back in pairs:
            assert contrast(colours[text], colours[back]) >= 4.5, (text, back)


def test_colours_of_charts_have_contrast_on_light_and_on_dark():
    """WCAG 1.4.11: 3:1 for what has to be seen to understand a chart."""
    templates = files("warmstart.report") / "templates"
    papers = re.findall(r"--paper: #(\w{6})", (templates / "page.css").read_text())[:2]
    pairs = re.findall(r'"#(\w{6})": "#(\w{6})"', (templates / "page.js").read_text())
    assert [f"#{day}" for day, _ in pairs] == charts.COLOURS
    for paper, colours in zip(papers, zip(*pairs, strict=True), strict=True):
        assert all(contrast(bytes.fromhex(colour), bytes.fromhex(paper)) >= 3 for colour in colours)


def test_a_dark_page_has_its_own_colours_and_names_keep_their_text(browser, tmp_path):
    with Visit(browser, shown(tmp_path, sections=[stepped(charts.PLAIN)]), scheme="dark") as visit:
        drawn = visit.page.inner_html(".step:not([hidden]) .chart")
        assert 'fill="#0072b2"' in drawn
        assert f'"{charts.PLAIN}"' not in drawn
        assert f">{charts.PLAIN}<" in drawn


@pytest.mark.parametrize("kind", ["better", "cannot-tell"])
def test_all_text_on_a_page_has_contrast(browser, tmp_path, kind):
    parts = {
        "headline": Headline(kind, "estimated", "It is so", ["By much."]),
        "cards": [Card("label", "a card", warning=True)],
    }
    explained = Section("Told", ["A text."], stepped().steps[0].chart, explained=[("word", "meaning")])
    path = shown(tmp_path, sections=[stepped(), explained], glossary=[("word", "meaning")], footer="end", **parts)
    with Visit(browser, path) as visit:
        light = visit.inks()
        visit.change(scheme="dark")
        dark = visit.inks()
    for seen in (light, dark):
        assert {"exploratory", "label", "estimated", "end", "gain", "+0.21"} <= {text for text, *_ in seen}
        for text, ink, back in seen:
            assert contrast(ink, back) >= 4.5, text
    assert {back for *_, back in light}.isdisjoint(back for *_, back in dark)


def test_the_keyboard_skips_to_the_findings_and_shows_where_it_is(browser, plain):
    with Visit(browser, plain["audit"], reduced_motion="reduce") as visit:
        page = visit.page
        page.keyboard.press("Tab")
        focus = "(() => { const on = document.activeElement, box = on.getBoundingClientRect();"
        focus += " return [on.className, box.left, getComputedStyle(on).outlineStyle] })()"
        assert page.evaluate(focus) == ["skip", 0, "solid"]
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('#findings') !== null")
        assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
        page.emulate_media(reduced_motion="no-preference")
        assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "smooth"


def test_on_a_small_screen_rows_of_wide_tables_are_lists_of_named_cells(browser, tmp_path):
    header, cells = ("policy", "verdict", "supported", "everywhere"), ("mine", "better, certified", "67 %", "+28.4")
    wide = TextTable("Wide", header, [cells] * 2, left=1)
    path = shown(tmp_path, sections=[Section("Told", tables=[wide, TextTable("Small", ("a", "b"), [("1", "2")])])])
    rows = "[...document.querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.getBoundingClientRect().top))"
    named = "getComputedStyle(document.querySelectorAll('td')[2], '::before').content"
    with Visit(browser, path, width=390) as visit:
        first, second, small = visit.page.evaluate(rows)
        assert first == sorted(set(first))
        assert max(first) < min(second)
        assert len(set(small)) == 1
        assert "supported" in visit.page.evaluate(f"document.querySelectorAll('td')[2].dataset.column + {named}")
        visit.change(width=1280)
        assert [len(set(row)) for row in visit.page.evaluate(rows)] == [1, 1, 1]


def test_options_dates_and_percentages_are_not_broken(browser, tmp_path):
    text = "Evaluate it, with --policy <b> on 5 % of --it, from 2026-10-01 12:00 on"
    with Visit(browser, shown(tmp_path, sections=[Section("Told", [text])])) as visit:
        assert visit.page.inner_text("#text-1") == text.replace(" %", "\u00a0%")
        assert visit.page.locator("span.whole").all_inner_texts() == ["--policy", "--it", "2026-10-01"]


def test_wide_tables_fit_on_paper(browser, tmp_path):
    """A4 without its margins is 718 pixels wide."""
    header = (
        "policy",
        "tau",
        "verdict",
        "where supported",
        "at least",
        "supported",
        "guards kept",
        "everywhere",
        "best",
    )
    cells = ("a-rather-long-name-of-a-policy", "0.05", "better, certified", "+17.5", "+5.02", "67 %", "0 of 1")
    rows = [(*cells, "+28.4 [+15.6, +43.0]", "95.8 [82.4, 111]")]
    path = shown(tmp_path, sections=[Section("Told", tables=[TextTable("t", header, rows, left=1)])])
    with Visit(browser, path, width=718) as visit:
        visit.page.emulate_media(media="print")
        assert visit.page.evaluate("document.querySelector('table').getBoundingClientRect().right") <= 718
