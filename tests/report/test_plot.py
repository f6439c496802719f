"""Charts for notebooks: every chart of a page can be had by a word, is valid, and can be drawn."""

import json

import pytest
from tests.support.logs import moment, random_log, read

import warmstart as ws
from warmstart.report import plot
from warmstart.report.page import page_of


@pytest.fixture(scope="module")
def split():
    return read(random_log(1), "duckdb").split(at=moment(4))


@pytest.fixture(scope="module")
def several(split):
    early, late = split
    return ws.evaluate(["logging", "uniform", "constant:a0"], late, train=early, tau=[0.05, 0.1], doubt=1.5)


@pytest.fixture(scope="module")
def audit(split):
    return ws.audit(split[1])


def words(chart):
    return json.dumps(chart.to_dict())


def test_every_chart_of_a_page_has_a_word(several, audit):
    for result in (several, audit):
        drawn = [one for one in page_of(result).sections if one.chart or any(step.chart for step in one.steps)]
        assert len(drawn) > 3
        assert all(section.plot for section in drawn)


def test_the_gain_comes_first_with_the_finding_as_title(split):
    chart = ws.evaluate(["uniform", "constant:a0"], split[1], tau=0.05).plot()
    assert chart.to_dict()["title"]["text"] == ["None is proven better than what was shown"]
    assert "certified: uniform" in words(chart)
    assert chart.to_dict()["width"] == 560


def test_several_taus_stand_below_each_other_and_are_drawn(several, tmp_path):
    whole = several.plot().to_dict()
    assert [part["title"]["text"] for part in whole["vconcat"]] == [["tau = 0.05"], ["tau = 0.1"]]
    assert all("datasets" not in part and "width" in part for part in whole["vconcat"])
    several.plot().save(tmp_path / "gain.png")
    assert (tmp_path / "gain.png").read_bytes().startswith(b"\x89PNG")


def test_what_selects_in_one_chart_selects_where_it_stands(several):
    drawn = several.plot("value").to_dict()
    views = {view for one in drawn["params"] for view in one["views"]}
    assert views <= {layer.get("name") for layer in drawn["layer"]}


def test_what_is_not_there_is_refused_with_what_is(audit, several):
    with pytest.raises(ws.UsageError, match="no chart 'waterfall'") as refused:
        audit.plot("waterfall")
    assert refused.value.hint == "There are actions, support, calendar, drift, power."
    with pytest.raises(ws.UsageError, match="no page for a 'Selection'"):
        ws.select(several).plot()


def test_an_evaluation_of_logging_alone_has_nothing_to_draw(split):
    alone = ws.evaluate("logging", split[1], tau=0.05)
    with pytest.raises(ws.UsageError, match="nothing to draw") as refused:
        plot(alone)
    assert "Print it" in refused.value.hint
