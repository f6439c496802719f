"""Charts as specifications, and the tables of their numbers."""

from tests.support.browser import HOSTILE, Visit, shown

from warmstart.report import charts
from warmstart.report.page import Section


def effect(what, value):
    return {"what": what, "value": value, "lower": value - 0.5, "upper": None, "colour": charts.PLAIN}


def test_the_numbers_of_a_chart_are_a_table_without_what_only_draws():
    table = charts.numbers(charts.effects([effect("a", 0.123456), effect("b", 2.0)], x_title="gain"))
    assert table.header == ["what", "value", "lower", "upper"]
    assert table.rows == [["a", "0.1235", "-0.3765", "-"], ["b", "2", "1.5", "-"]]
    assert (table.title, table.left) == ("What is drawn", 1)


def test_numbers_that_are_answers_are_words():
    chart = charts.errors_by_tau([{"policy": "a", "tau": 0.1, "error": 1e-9, "chosen": True}], y_title="error")
    assert charts.numbers(chart).rows == [["a", "0.1", "1e-09", "yes"]]


def test_many_numbers_are_cut_and_the_title_says_so():
    table = charts.numbers(charts.effects([effect(f"a{i}", 0.1) for i in range(300)], x_title="gain"))
    assert len(table.rows) == charts.MOST_NUMBERS
    assert table.title == "What is drawn, the first 100 of 300 rows"


def test_effects_can_share_a_scale_which_always_has_zero():
    def ends(**asked):
        [line] = [
            layer
            for layer in charts.effects([effect("a", 1.0)], x_title="x", **asked)["layer"]
            if "x2" in layer["encoding"]
        ]
        return line["encoding"]["x"].get("scale")

    assert ends() is None
    assert ends(span=(0.5, 2)) == {"domainMin": 0, "domainMax": 2}
    assert ends(span=(-3, -2)) == {"domainMin": -3, "domainMax": 0}


def test_a_click_on_the_legend_singles_a_policy_out(browser, tmp_path):
    so_far = {"so_far": 0.5, "lower_so_far": 0.4, "upper_so_far": 0.6}
    ends = {"value": 0.5, "lower": 0.4, "upper": 0.6}
    rows = [{"policy": name, "tau": "0.1", "epoch": "e", **ends, **so_far} for name in (HOSTILE["x6"], "other")]
    values = charts.values_by_tau(rows, logging=0.4, y_title="y")
    epochs = charts.over_epochs(rows, order=["e"], x_title="x", y_title="y")
    sections = [Section("Values", (), values), Section("Epochs", (), epochs)]
    with Visit(browser, shown(tmp_path, sections=sections)) as visit:
        for chart in visit.page.locator(".chart").all():
            symbols = chart.locator(".role-legend-symbol path")
            assert [float(one.get_attribute("opacity")) for one in symbols.all()] == [1, 1]
            symbols.first.click()
            chart.locator(".role-legend-symbol path[opacity='0.35']").wait_for()
            points = chart.locator(".mark-symbol.role-mark path").all()
            first, second = (float(one.get_attribute("opacity")) for one in points)
            assert first == 1
            assert second < 0.2
        assert visit.page.locator(".chart").count() == 2
        assert visit.said == []


def test_a_legend_of_long_names_stays_inside_the_page(browser, tmp_path):
    rows = [{"policy": f"{i} {'m' * 28}", "tau": 0.1, "error": i / 10, "chosen": True} for i in range(7)]
    section = Section("Drawn", (), charts.errors_by_tau(rows, y_title="error"))
    with Visit(browser, shown(tmp_path, sections=[section])) as visit:
        for width in (1280, 390):
            if width == 390:
                visit.change(width=width)
            legend = visit.page.locator(".role-legend").bounding_box()
            assert legend["x"] + legend["width"] <= width
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
