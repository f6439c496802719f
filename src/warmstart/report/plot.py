"""Charts of results for notebooks: those of their pages, as Altair charts."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from warmstart.core import UsageError, quoted
from warmstart.report.page import Section, Step, page_of

if TYPE_CHECKING:
    import altair as alt

# A page gives a chart all its room; a notebook gives it so many pixels, and its title so many letters a line.
WIDTH, LETTERS = 560, 80
# What an evaluation is drawn by, unless something else is asked for.
FIRST = "gain"


def plot(result: object, what: str | None = None) -> alt.Chart | alt.LayerChart | alt.VConcatChart:
    """Return a chart of a result's page, or several below each other, to show in a notebook or to save.

    Args:
        result: What has a page.
        what: Which chart; by default that of the gain if there is one, else the first of the page.
    """
    import altair as alt

    sections = [section for section in page_of(result).sections if _drawn(section)]
    names = list(dict.fromkeys(section.plot for section in sections))
    if not names:
        raise UsageError(f"This {quoted(type(result).__name__)} has nothing to draw.", "Print it: its tables say why.")
    if what is None:
        what = FIRST if FIRST in names else names[0]
    if what not in names:
        raise UsageError(f"There is no chart {quoted(what)} of this result.", f"There are {', '.join(names)}.")
    steps = [step for section in sections if section.plot == what for step in _drawn(section)]
    drawn = [_titled(step) for step in steps]
    specification = drawn[0] if len(drawn) == 1 else _below_each_other(drawn)
    chart: alt.Chart | alt.LayerChart | alt.VConcatChart = alt.Chart.from_dict(specification)
    return chart


def _drawn(section: Section) -> list[Step]:
    """Return what a section draws: one chart, or one for each place of its slider."""
    if not section.plot:
        return []
    return [step for step in (section, *section.steps) if step.chart is not None]


def _titled(step: Step) -> dict[str, Any]:
    chart = dict(step.chart or {})
    return chart | {"width": WIDTH, "title": {"text": wrap(step.title, LETTERS), "anchor": "start"}}


def _below_each_other(charts: list[dict[str, Any]]) -> dict[str, Any]:
    """Put charts into one, with what Vega-Lite wants once, at the top: data, selections and configuration."""
    whole: dict[str, Any] = {"$schema": charts[0]["$schema"], "config": charts[0].get("config", {}), "datasets": {}}
    parameters: list[dict[str, Any]] = []
    for chart in charts:
        whole["datasets"] |= chart.get("datasets", {})
        parameters += [one for one in chart.get("params", []) if one not in parameters]
    own = [
        {name: part for name, part in chart.items() if name not in ("$schema", "config", "datasets", "params")}
        for chart in charts
    ]
    return whole | ({"params": parameters} if parameters else {}) | {"vconcat": own}
