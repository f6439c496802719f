"""Charts as Vega-Lite specifications. Names from the log are values in the data, never part of a specification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

HEIGHT = 260
Rows = Sequence[dict[str, Any]]
# Distinguishable for the colour-blind, on light and on dark (Okabe and Ito).
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999"]
GOOD, PLAIN, ALERT = COLOURS[2], COLOURS[0], COLOURS[5]
SHADES = [GOOD, COLOURS[1], ALERT, COLOURS[6]]


def bars(rows: Rows, *, x: str, y: str, x_title: str, y_title: str, order: Sequence[str]) -> dict[str, Any]:
    """Bars of shares, in a given order."""
    chart = alt.Chart(_data(rows)).mark_bar(color=COLOURS[0], cornerRadiusEnd=2)
    chart = chart.encode(
        x=alt.X(x, type="nominal", sort=list(order), title=x_title, axis=alt.Axis(labelAngle=0)),
        y=alt.Y(y, type="quantitative", title=y_title, axis=alt.Axis(format="%")),
        tooltip=[_tip(x, x_title), _tip(y, y_title, ".2%")],
    )
    return _whole(chart)


def share_lines(rows: Rows, *, x: str, x_title: str, y_title: str, mark: float) -> dict[str, Any]:
    """Lines of shares against tau, with a rule at one tau."""
    base = alt.Chart(_data(rows)).encode(
        x=alt.X(
            x,
            type="quantitative",
            title=x_title,
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(values=sorted({row[x] for row in rows}), format="~g", labelOverlap=True),
        ),
        y=alt.Y("share", type="quantitative", title=y_title, axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("what", type="nominal", title=None, scale=alt.Scale(range=COLOURS)),
        tooltip=[_tip("what", "what"), _tip(x, x_title, "g"), _tip("share", y_title, ".1%")],
    )
    rule = alt.Chart(_data([{x: mark}])).mark_rule(strokeDash=[4, 3]).encode(x=alt.X(x, type="quantitative"))
    return _whole(base.mark_line(point=True) + rule)


def days(rows: Rows, *, y_title: str) -> dict[str, Any]:
    """A share by day."""
    chart = alt.Chart(_data(rows)).mark_bar(color=COLOURS[0])
    chart = chart.encode(
        x=alt.X(
            "day",
            type="temporal",
            timeUnit="utcyearmonthdate",
            title="day (UTC)",
            axis=alt.Axis(format="%b %d", labelOverlap=True),
        ),
        y=alt.Y("share", type="quantitative", title=y_title, axis=alt.Axis(format="%")),
        tooltip=[_tip("day", "day"), _tip("share", y_title, ".1%"), _tip("contexts", "contexts", ",")],
    )
    return _whole(chart)


def effects(rows: Rows, *, x_title: str, x_format: str = "+%") -> dict[str, Any]:
    """Points with intervals, one a row, against zero."""
    base = alt.Chart(_data(rows)).encode(y=alt.Y("what", type="nominal", sort=None, title=None))
    tips = [_tip("what", "what"), _tip("value", x_title, x_format), _tip("lower", "from", x_format)]
    tips.append(_tip("upper", "to", x_format))
    colour = alt.Color("colour", type="nominal", title=None, legend=None, scale=None)
    line = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("lower", type="quantitative", title=x_title, axis=alt.Axis(format=x_format)),
        x2="upper",
        color=colour,
        tooltip=tips,
    )
    point = base.mark_point(filled=True, size=80).encode(
        x=alt.X("value", type="quantitative", title=x_title), color=colour, tooltip=tips
    )
    zero = alt.Chart(_data([{"zero": 0}])).mark_rule(strokeDash=[4, 3])
    zero = zero.encode(x=alt.X("zero", type="quantitative", title=x_title))
    return _whole(zero + line + point, height=max(90, 34 * len(rows)))


def more_log(rows: Rows, *, targets: Rows) -> dict[str, Any]:
    """The smallest provable gain against the size of the log, with rules at gains people ask for."""
    line = (
        alt.Chart(_data(rows))
        .mark_line(color=COLOURS[0])
        .encode(
            x=alt.X("times", type="quantitative", title="times this log", scale=alt.Scale(type="log", nice=False)),
            y=alt.Y(
                "gain",
                type="quantitative",
                title="smallest provable gain over logging",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(type="log", nice=True),
            ),
            tooltip=[_tip("times", "times this log", ".3~g"), _tip("gain", "smallest provable gain", ".1%")],
        )
    )
    rule = alt.Chart(_data(targets)).mark_rule(strokeDash=[4, 3]).encode(y=alt.Y("gain", type="quantitative"))
    return _whole(line + rule)


def values_by_tau(rows: Rows, *, logging: float | None, y_title: str) -> dict[str, Any]:
    """Values against tau with intervals, a colour for every policy; logging as a rule."""
    pick = alt.selection_point(fields=["policy"], bind="legend")
    base = alt.Chart(_data(rows)).encode(
        x=alt.X("tau", type="nominal", sort=None, title="tau", axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("policy", type="nominal", sort=None),
        color=alt.Color("policy", type="nominal", sort=None, title=None, scale=alt.Scale(range=COLOURS)),
        opacity=alt.condition(pick, alt.value(1), alt.value(0.15)),
        tooltip=[
            *(_tip("policy", "policy"), _tip("tau", "tau"), _tip("value", "value", ".4~g")),
            *(_tip("lower", "from", ".4~g"), _tip("upper", "to", ".4~g")),
        ],
    )
    line = base.mark_rule(strokeWidth=2).encode(y=alt.Y("lower", type="quantitative", title=y_title), y2="upper")
    point = base.mark_point(filled=True, size=70).encode(y=alt.Y("value", type="quantitative", title=y_title))
    layers = line + point.add_params(pick)
    if logging is not None:
        rule = alt.Chart(_data([{"logging": logging}])).mark_rule(strokeDash=[4, 3])
        layers = layers + rule.encode(y=alt.Y("logging", type="quantitative", title=y_title))
    return _whole(layers)


def errors_by_tau(rows: Rows, *, y_title: str) -> dict[str, Any]:
    """Expected errors against tau, a line a policy, a dot at the tau in use."""
    base = alt.Chart(_data(rows)).encode(
        x=alt.X(
            "tau", type="quantitative", title="tau", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="~g")
        ),
        y=alt.Y("error", type="quantitative", title=y_title, axis=alt.Axis(format="~g")),
        color=alt.Color("policy", type="nominal", sort=None, title=None, scale=alt.Scale(range=COLOURS)),
        tooltip=[_tip("policy", "policy"), _tip("tau", "tau"), _tip("error", "expected error", ".3~g")],
    )
    dots = base.transform_filter("datum.chosen").mark_point(filled=True, size=110, opacity=1)
    return _whole(base.mark_line(strokeWidth=2) + dots)


def stacked(rows: Rows, *, x_title: str, order: Sequence[str]) -> dict[str, Any]:
    """Shares that sum to one, a bar a row."""
    chart = alt.Chart(_data(rows)).mark_bar()
    chart = chart.encode(
        y=alt.Y("what", type="nominal", sort=None, title=None),
        x=alt.X("share", type="quantitative", title=x_title, axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("kind", type="nominal", title=None, scale=alt.Scale(domain=list(order), range=SHADES)),
        order=alt.Order("place", type="quantitative"),
        tooltip=[_tip("what", "what"), _tip("kind", "which"), _tip("share", x_title, ".2%")],
    )
    names = {row["what"] for row in rows}
    return _whole(chart, height=max(90, 34 * len(names)))


def _data(rows: Rows) -> alt.InlineData:
    return alt.InlineData(values=list(rows))


def _tip(name: str, title: str, shape: str | None = None) -> alt.Tooltip:
    if shape is None:
        return alt.Tooltip(name, type="nominal", title=title)
    return alt.Tooltip(name, type="quantitative", title=title, format=shape)


def _whole(chart: alt.Chart | alt.LayerChart, *, height: int = HEIGHT) -> dict[str, Any]:
    specification: dict[str, Any] = chart.properties(width="container", height=height).to_dict()
    return specification
