"""Charts as Vega-Lite specifications. Names from the log are values in the data or titles of axes, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import altair as alt

from warmstart.results import TextTable

HEIGHT, MOST_NUMBERS = 260, 100
Rows = Sequence[dict[str, Any]]
# Distinguishable for the colour-blind, and 3:1 on white (WCAG 1.4.11); page.js has those of Okabe and Ito for the dark.
COLOURS = ["#005a92", "#c98300", "#008f68", "#c25c9a", "#3f97d4", "#a23200", "#6a6a6a"]
GOOD, PLAIN, ALERT = COLOURS[2], COLOURS[0], COLOURS[5]
SHADES = [GOOD, COLOURS[1], ALERT, COLOURS[6]]
DASHES: dict[str, Any] = {"strokeDash": [4, 3]}
LOG = alt.Scale(type="log", nice=False)
WHOLE = alt.Scale(domain=[0, 1])
SHARES, PLAIN_NUMBERS, UPRIGHT = alt.Axis(format="%"), alt.Axis(format=".6~g"), alt.Axis(labelAngle=0)
# Lines between the groups of a nominal axis, so that a place inside a group is not read as a number.
BETWEEN = alt.Axis(labelAngle=0, grid=True, tickBand="extent")


def bars(
    rows: Rows, *, x: str, y: str, x_title: str, y_title: str, order: Sequence[str], shares: bool = True
) -> dict[str, Any]:
    """Bars of shares, or of counts, in a given order."""
    axis, shape = (SHARES, ".2%") if shares else (alt.Axis(format="~s"), ",.2r")
    chart = (
        _chart(rows)
        .mark_bar(color=COLOURS[0], cornerRadiusEnd=2)
        .encode(
            x=alt.X(x, type="nominal", sort=list(order), title=x_title, axis=UPRIGHT),
            y=alt.Y(y, type="quantitative", title=y_title, axis=axis),
            tooltip=[_tip(x, x_title), _tip(y, y_title, shape)],
        )
    )
    return _whole(chart)


def share_lines(rows: Rows, *, x: str, x_title: str, y_title: str, mark: float) -> dict[str, Any]:
    """Lines of shares against tau, with a rule at one tau."""
    axis = alt.Axis(values=sorted({row[x] for row in rows}), format=".6~g", labelOverlap=True)
    base = _chart(rows).encode(
        x=alt.X(x, type="quantitative", title=x_title, scale=LOG, axis=axis),
        y=alt.Y("share:Q", title=y_title, axis=SHARES, scale=WHOLE),
        color=alt.Color("what:N", title=None, scale=alt.Scale(range=COLOURS)),
        tooltip=[_tip("what", "what"), _tip(x, x_title, "g"), _tip("share", y_title, ".1%")],
    )
    rule = _chart([{x: mark}]).mark_rule(**DASHES).encode(x=alt.X(x, type="quantitative"))
    return _whole(base.mark_line(point=True) + rule)


def days(rows: Rows, *, y_title: str) -> dict[str, Any]:
    """A share by day."""
    axis = alt.Axis(format="%b %d", labelOverlap=True)
    chart = (
        _chart(rows)
        .mark_bar(color=COLOURS[0])
        .encode(
            x=alt.X("day:T", timeUnit="utcyearmonthdate", title="day (UTC)", axis=axis),
            y=alt.Y("share:Q", title=y_title, axis=SHARES),
            tooltip=[_tip("day", "day"), _tip("share", y_title, ".1%"), _tip("contexts", "contexts", ",")],
        )
    )
    return _whole(chart)


def effects(rows: Rows, *, x_title: str, x_format: str = "+%", span: Sequence[float] = ()) -> dict[str, Any]:
    """Points with intervals, one a row, against zero; on a scale that spans given numbers too, if any."""
    base = _chart(rows).encode(
        y=alt.Y("what:N", sort=None, title=None),
        color=alt.Color("colour:N", title=None, legend=None, scale=None),
        tooltip=[_tip("what", "what"), _tip("value", x_title, x_format), *_ends(x_format)],
    )
    scale = alt.Scale(domainMin=min(0, *span), domainMax=max(0, *span)) if span else alt.Undefined
    ends = alt.X("lower:Q", title=x_title, axis=alt.Axis(format=x_format, labelOverlap=True, tickCount=8), scale=scale)
    line = base.mark_rule(strokeWidth=2).encode(x=ends, x2="upper")
    point = base.mark_point(filled=True, size=80, opacity=1).encode(x=alt.X("value:Q", title=x_title))
    zero = _chart([{"zero": 0}]).mark_rule(**DASHES).encode(x=alt.X("zero:Q", title=x_title))
    return _whole(zero + line + point, height=max(90, 34 * len(rows)))


def more_log(rows: Rows, *, targets: Rows) -> dict[str, Any]:
    """The smallest provable gain against the size of the log, with rules at gains people ask for."""
    y_title, y_scale = "smallest provable gain over logging", alt.Scale(type="log", nice=True)
    line = (
        _chart(rows)
        .mark_line(color=COLOURS[0])
        .encode(
            x=alt.X("times:Q", title="times this log", scale=LOG),
            y=alt.Y("gain:Q", title=y_title, axis=SHARES, scale=y_scale),
            tooltip=[_tip("times", "times this log", ".3~g"), _tip("gain", "smallest provable gain", ".1%")],
        )
    )
    return _whole(line + _chart(targets).mark_rule(**DASHES).encode(y="gain:Q"))


def values_by_tau(rows: Rows, *, logging: float | None, y_title: str) -> dict[str, Any]:
    """Values against tau with intervals, a colour for every policy; logging as a rule."""
    pick = alt.selection_point(fields=["policy"], bind="legend")
    base = _chart(rows).encode(
        x=alt.X("tau:N", sort=None, title="tau", axis=BETWEEN),
        xOffset=alt.XOffset("policy:N", sort=None),
        color=_policies(),
        opacity=alt.condition(pick, alt.value(1), alt.value(0.15)),
        tooltip=[_tip("policy", "policy"), _tip("tau", "tau"), _tip("value", "value", ".4~g"), *_ends(".4~g")],
    )
    line = base.mark_rule(strokeWidth=2).encode(y=alt.Y("lower:Q", title=y_title), y2="upper")
    point = base.mark_point(filled=True, size=70).encode(y=alt.Y("value:Q", title=y_title))
    layers = line.add_params(pick) + point
    if logging is not None:
        layers += _chart([{"logging": logging}]).mark_rule(**DASHES).encode(y=alt.Y("logging:Q", title=y_title))
    return _whole(layers)


def errors_by_tau(rows: Rows, *, y_title: str) -> dict[str, Any]:
    """Expected errors against tau, a line a policy, a dot at the tau in use."""
    base = _chart(rows).encode(
        x=alt.X("tau:Q", title="tau", scale=LOG, axis=PLAIN_NUMBERS),
        y=alt.Y("error:Q", title=y_title, axis=PLAIN_NUMBERS),
        color=_policies(),
        tooltip=[_tip("policy", "policy"), _tip("tau", "tau"), _tip("error", "expected error", ".3~g")],
    )
    dots = base.transform_filter("datum.chosen").mark_point(filled=True, size=110, opacity=1)
    return _whole(base.mark_line(strokeWidth=2) + dots)


def over_epochs(rows: Rows, *, order: Sequence[str], x: str = "epoch:O", x_title: str, y_title: str) -> dict[str, Any]:
    """Values by epoch with intervals of their own, and the average so far with a band that holds at all epoch ends."""
    pick = alt.selection_point(fields=["policy"], bind="legend")
    along = alt.X(x, sort=list(order), title=x_title, axis=alt.Axis(labelOverlap=True, labelAngle=-40))
    base = _chart(rows).encode(
        x=along if x.endswith(":O") else alt.X(x, title=x_title, axis=alt.Axis(format="~s")),
        color=_policies(),
        opacity=alt.condition(pick, alt.value(1), alt.value(0.1)),
    )
    tips = [_tip("policy", "policy"), _tip("epoch", "epoch"), _tip("value", "value", ".4~g"), *_ends(".4~g")]
    so_far = [_tip("so_far", "so far", ".4~g"), *_ends(".4~g", "_so_far")]
    band = base.mark_area(opacity=0.18).encode(
        y=alt.Y("lower_so_far:Q", title=y_title),
        y2="upper_so_far",
        opacity=alt.condition(pick, alt.value(0.18), alt.value(0.02)),
    )
    line = base.mark_line(strokeWidth=2).encode(y=alt.Y("so_far:Q", title=y_title), tooltip=[*tips[:2], *so_far])
    own = base.mark_rule(strokeWidth=1).encode(y=alt.Y("lower:Q", title=y_title), y2="upper", tooltip=tips)
    point = base.mark_point(filled=True, size=35).encode(y=alt.Y("value:Q", title=y_title), tooltip=tips)
    return _whole(own.add_params(pick) + band + point + line)


def support_over_epochs(rows: Rows, *, order: Sequence[str]) -> dict[str, Any]:
    """The supported share of every policy by epoch."""
    axis = alt.Axis(labelOverlap=True, labelAngle=-40)
    base = _chart(rows).encode(
        x=alt.X("epoch:O", sort=list(order), title="epoch", axis=axis),
        y=alt.Y("share:Q", title="supported share of traffic", axis=SHARES, scale=WHOLE),
        color=alt.Color("what:N", sort=None, title=None, scale=alt.Scale(range=COLOURS)),
        tooltip=[_tip("what", "policy"), _tip("epoch", "epoch"), _tip("share", "supported", ".1%")],
    )
    return _whole(base.mark_line(point=True))


def stacked(rows: Rows, *, x_title: str, order: Sequence[str]) -> dict[str, Any]:
    """Shares that sum to one, a bar a row."""
    chart = (
        _chart(rows)
        .mark_bar(style="part")
        .encode(
            y=alt.Y("what:N", sort=None, title=None),
            x=alt.X("share:Q", title=x_title, axis=SHARES, scale=WHOLE),
            color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=list(order), range=SHADES)),
            order=alt.Order("place:Q"),
            tooltip=[_tip("what", "what"), _tip("kind", "which"), _tip("share", x_title, ".2%")],
        )
    )
    return _whole(chart, height=max(90, 34 * len({row["what"] for row in rows})))


def trade_off(rows: Rows, *, frontier: Rows, x_title: str, y_title: str) -> dict[str, Any]:
    """Gains against rises with both intervals, logging at the origin, and the line of what is best at some price."""
    gains, rises = ("gain", "gain_lower", "gain_upper"), ("rise", "rise_lower", "rise_upper")
    words = ("gain", "from", "to", "rise", "from", "to")
    tips = [_tip(name, word, "+.4~g") for name, word in zip((*gains, *rises), words, strict=True)]
    base = _chart(rows).encode(color=_policies(), tooltip=[_tip("policy", "policy"), *tips])
    axis = alt.Axis(format="+.6~g", labelOverlap=True, tickCount=6)
    x, y = alt.X("rise:Q", title=x_title, axis=axis), alt.Y("gain:Q", title=y_title, axis=axis)
    across = base.mark_rule(strokeWidth=2).encode(x=alt.X("rise_lower:Q", title=x_title), x2="rise_upper", y=y)
    upwards = base.mark_rule(strokeWidth=2).encode(x=x, y=alt.Y("gain_lower:Q", title=y_title), y2="gain_upper")
    points = base.mark_point(filled=True, size=90, opacity=1).encode(x=x, y=y)
    hull = _chart(frontier).mark_line(color=COLOURS[6], strokeWidth=1.5, **DASHES).encode(x=x, y=y)
    origin = _chart([{"rise": 0, "gain": 0, "name": "logging"}]).encode(x=x, y=y)
    tip = [_tip("name", "policy")]
    mark = origin.mark_point(shape="diamond", filled=True, size=130, color=COLOURS[6], opacity=1).encode(tooltip=tip)
    name = origin.mark_text(align="left", dx=9, dy=-9).encode(text="name:N")
    return _whole(hull + across + upwards + mark + name + points, height=320)


def waterfall(rows: Rows, *, x_title: str, good: bool) -> dict[str, Any]:
    """Bars from start to end, one after the other, against zero; the last may reach beyond the picture.

    Args:
        rows: The bars.
        x_title: What they show.
        good: Whether what is certified is a change for the better.
    """
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    inside = [end for row in rows[:4] for end in (row["start"], row["end"]) if row["kind"] != "left open"] or [0.0]
    room = 0.35 * (max(*inside, 0.0) - min(*inside, 0.0)) or 1.0
    scale = alt.Scale(domain=[min(*inside, 0.0) - room, max(*inside, 0.0) + room])
    shades = {
        "certified": GOOD if good else ALERT,
        "measured, not certified": COLOURS[4],
        "a model's guess": COLOURS[1],
    }
    shades["together"] = PLAIN
    colours = alt.Scale(domain=kinds, range=[shades.get(kind, COLOURS[6]) for kind in kinds])
    base = _chart(rows).encode(y=alt.Y("what:N", sort=None, title=None))
    bars = base.mark_bar(clip=True, cornerRadius=2).encode(
        x=alt.X("start:Q", title=x_title, scale=scale, axis=alt.Axis(format="+.6~g", tickCount=8)),
        x2="end",
        color=alt.Color("kind:N", title=None, scale=colours),
        tooltip=[_tip("what", "part"), _tip("start", "from", "+.3~g"), _tip("end", "to", "+.3~g")],
    )
    zero = _chart([{"zero": 0}]).mark_rule(**DASHES).encode(x=alt.X("zero:Q", title=x_title))
    return _whole(bars + zero, height=34 * len(rows) + 10)


def by_segment(rows: Rows, *, wholes: Rows, x_title: str) -> dict[str, Any]:
    """Gains by segment, certified and estimated, with rules at zero and at those of all traffic."""
    kinds = ["certified", "estimated", "drawn"]
    colours = alt.Scale(domain=kinds, range=[COLOURS[0], COLOURS[1], COLOURS[3]])
    colour = alt.Color("kind:N", title=None, scale=colours)
    shapes = alt.Scale(domain=kinds, range=["circle", "square", "triangle-up"])
    x = alt.X("value:Q", title=x_title, axis=alt.Axis(format="+.6~g", tickCount=8))
    base = _chart(rows).encode(
        y=alt.Y("segment:N", sort=None, title=None),
        yOffset=alt.YOffset("kind:N", sort=kinds),
        color=colour,
        tooltip=[
            *(_tip("segment", "segment"), _tip("kind", "gain"), _tip("value", "gain over logging", "+.4~g")),
            *(*_ends("+.4~g"), _tip("share", "share of traffic", ".1%"), _tip("proven", "proven")),
        ],
    )
    lines = base.mark_rule(strokeWidth=2).encode(x=alt.X("lower:Q", title=x_title), x2="upper")
    shape = alt.Shape("kind:N", title=None, scale=shapes)
    points = base.mark_point(filled=True, size=60, opacity=1).encode(x=x, shape=shape)
    rule = _chart(wholes).mark_rule(strokeWidth=1.5, opacity=0.8)
    whole = rule.encode(x=x, color=colour, tooltip=[_tip("what", "what")])
    zero = _chart([{"zero": 0}]).mark_rule(**DASHES).encode(x=alt.X("zero:Q", title=x_title))
    return _whole(zero + whole + lines + points, height=max(120, 46 * len({row["segment"] for row in rows})))


def numbers(chart: dict[str, Any]) -> TextTable:
    """Return the data that a chart is drawn from as a table: its longest series, or the first rows of that."""
    rows = max(chart["datasets"].values(), key=len)
    names = [name for name in rows[0] if name not in ("colour", "place")]
    cells = [[_shown(row.get(name)) for name in names] for row in rows[:MOST_NUMBERS]]
    left = len(list(takewhile(lambda name: isinstance(rows[0][name], str), names)))
    title = "What is drawn" if len(cells) == len(rows) else f"What is drawn, the first {len(cells)} of {len(rows)} rows"
    return TextTable(title, [name.replace("_", " ") for name in names], cells, left=left)


def _shown(cell: object) -> str:
    if cell is None or isinstance(cell, bool):
        return "-" if cell is None else "yes" if cell else "no"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _chart(rows: Rows) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=list(rows)))


def _policies() -> alt.Color:
    return alt.Color("policy:N", sort=None, title=None, scale=alt.Scale(range=COLOURS))


def _ends(shape: str, which: str = "") -> list[alt.Tooltip]:
    return [_tip(f"lower{which}", "from", shape), _tip(f"upper{which}", "to", shape)]


def _tip(name: str, title: str, shape: str | None = None) -> alt.Tooltip:
    if shape is None:
        return alt.Tooltip(name, type="nominal", title=title)
    return alt.Tooltip(name, type="quantitative", title=title, format=shape)


def _whole(chart: alt.Chart | alt.LayerChart, *, height: int = HEIGHT) -> dict[str, Any]:
    specification: dict[str, Any] = chart.properties(width="container", height=height).to_dict()
    return specification
