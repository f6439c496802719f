"""What hidden segments could do to the gains, as part of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmstart.core import shortened
from warmstart.report import charts
from warmstart.report.outcome_pages import in_amounts, is_better, named
from warmstart.report.page import Section, Step
from warmstart.results import Amounts, TextTable, doubt_table, left_out_table

if TYPE_CHECKING:
    from warmstart.results import Evaluation

TITLE = "How large a hidden segment would have to be to overturn this"
MEANING = (
    "No log can test that its context columns hold everything that the logging policy used. A doubt says how many "
    "times as much events that were shown an action could earn as the others of their context would have earned with "
    "it, because of what the columns lack; and the same of how far rewards stay below the largest. Where a gain tips, "
    "its sign is no longer sure."
)
SLIDER = (
    "Bounds hold at every doubt for itself: there is one that is true of this log, and nobody knows it. The gain at a "
    "doubt that is picked because it looks best is no finding."
)


def doubt_section(evaluation: Evaluation) -> list[Section]:
    """Show where conclusions tip and, if a doubt was asked for, the certified gains at several, by a slider."""
    found = [table for table in (doubt_table(evaluation), left_out_table(evaluation)) if table is not None]
    if not found:
        return []
    rows = _points(evaluation)
    factors = sorted({row["factor"] for row in rows})
    if not factors:
        return [Section(TITLE, [MEANING], None, found)]
    x_title = f"certified gain, {shortened(evaluation.reward.name, 30)} {Amounts.of(evaluation).unit}"
    span = [row[end] for row in rows for end in ("lower", "upper")]
    steps, times = [], Amounts.of(evaluation).times
    for factor in factors:
        own = [row for row in rows if row["factor"] == factor]
        texts = [
            (row["what"], *(evaluation.number(row[end] / times, signed=True) for end in ("lower", "upper")))
            for row in own
        ]
        table = TextTable(
            f"{x_title[:1].upper()}{x_title[1:]}, at a doubt of {factor:g}", ("policy", "from", "to"), texts, left=1
        )
        chart = charts.effects(own, x_title=x_title, x_format="+.4~g", span=span)
        steps.append(Step(f"doubt = {factor:g}", (), chart, [table]))
    start = factors.index(evaluation.doubt) if evaluation.doubt in factors else 0
    return [
        Section(
            TITLE, [MEANING], None, found, steps=steps, slider="doubt", start=start, exploratory=SLIDER, plot="doubt"
        )
    ]


def _points(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return the certified gains of all policies at all doubts of their curves, to draw."""
    rows = []
    for estimate in evaluation:
        certified, doubt = estimate.gain.certified, estimate.doubt
        if doubt is None or certified is None:
            continue
        for point in doubt.curve:
            better = is_better(evaluation.reward, point.lower, point.upper)
            row = {"what": named(evaluation, estimate.policy, estimate.tau, ", "), "factor": point.factor}
            row |= in_amounts(Amounts.of(evaluation), certified.difference, point.lower, point.upper)
            rows.append({**row, "colour": charts.GOOD if better else charts.PLAIN})
    return rows
