"""A plan as a page: what to do first, then what each share takes, and where to explore."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import counted, percent, shortened
from warmstart.report import charts
from warmstart.report.epoch_pages import FOOTER
from warmstart.report.page import Card, Headline, Page, Section

if TYPE_CHECKING:
    from warmstart.results import Kind, Plan

WORDS = (
    (
        "Explore",
        "Show a choice of the policy instead of what would have been shown, for a share of the events at random.",
    ),
    ("Share", "The chance with which an event of such a context explores."),
    ("New events", "All events that must follow this log, explored or not, before the question is asked again."),
    ("Supported", "The part of the policy's traffic on which the new events have enough examples of its choices."),
    ("Tau", "How often an action must be shown in a context to be taken at face value; to be passed to evaluate."),
    ("Exploring earns", "What exploration adds per event of all traffic, if the policy is as good as assumed."),
    ("At worst", "The same, if the policy's choices earn the least possible."),
    ("Chance (power)", "How often the certified gain of the new events will be above 0, if the gain is as assumed."),
)


def plan_page(plan: Plan) -> Page:
    """Say what to do, then compare the shares and name the contexts."""
    _, *texts, about = plan.headline
    (what, why), possible = plan.decision, plan.recommended is not None
    kind: Kind = "cannot-tell" if not possible else "same" if plan.is_open else "better"
    label = "What to do" if plan.is_open else "Decided"
    headline = Headline(kind, None, what, [f"{why[:1].upper()}{why[1:]}."], label=label)
    cards = [Card("Now", text) for text in texts]
    then = plan.recommended is not None and plan.is_open
    if then:
        cards.append(Card("Then", plan.notes[0]))
    others = plan.notes[1:] if then else plan.notes
    sections = [*_shares(plan), *_contexts(plan), Section("What this rests on", others)]
    return Page(
        title=f"What would decide about {shortened(plan.policy, 30)}",
        source=about,
        cards=cards,
        sections=[section for section in sections if section.texts or section.chart or section.tables],
        glossary=WORDS,
        headline=headline,
        footer=FOOTER.format(version=plan.version),
    )


def _shares(plan: Plan) -> list[Section]:
    possible = [option for option in plan.options if option.events is not None]
    if not possible:
        return []
    rows = [{"share": percent(option.share), "events": option.events} for option in possible]
    titles = {"x_title": "share of events that explore", "y_title": "new events"}
    chart = charts.bars(rows, x="share", y="events", order=[str(row["share"]) for row in rows], shares=False, **titles)
    text = (
        "A larger share decides sooner. Up to about a fifth, the number of events that explore until then hardly "
        "depends on it, so that a small share spreads the same cost over a longer time."
    )
    subject = "it takes" if plan.is_open else "a second proof would take"
    one = f"{subject[:1].upper()}{subject[1:]} about {counted(possible[0].events or 0, 'event')}"
    title = f"How long {subject}" if len(possible) > 1 else one
    return [Section(title, [text] if len(possible) > 1 else [], chart, [plan.options_table], plot="events")]


def _contexts(plan: Plan) -> list[Section]:
    option = plan.recommended
    if option is None or not plan.rows:
        return []
    where = f"{counted(option.contexts, 'context')}, {percent(option.traffic)} of the events"
    title = f"Explore in {where}" if plan.is_open else f"For a second proof, explore in {where}"
    text = "The busiest of them, with the policy's choice there; the table of probabilities (--out) has them all."
    return [Section(title, [text], None, [plan.contexts_table])]
