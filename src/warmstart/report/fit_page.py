"""What was learned, as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmstart.core import percent, quoted, shortened
from warmstart.report import charts
from warmstart.report.epoch_pages import FOOTER
from warmstart.report.glossary import glossary
from warmstart.report.page import Card, Headline, Page, Section
from warmstart.results import (
    DRIVERS,
    Learned,
    TextTable,
    about_departure,
    about_learning,
    about_model,
    about_safety,
    actions_table,
    drivers_table,
    models_table,
    safe_tables,
    taus_table,
)

if TYPE_CHECKING:
    from warmstart.policy import FittedPolicy
    from warmstart.results import Departure

MODELS = {
    "product": "The model is linear in the products of context and action features, which are hashed into buckets: it "
    "can say which columns it knows, not which of their values weigh most.",
    "low-rank": "The model puts contexts and actions into groups by their features, and knows a factor for each pair "
    "of groups.",
    "logistic": "The model is a logistic regression of the context's features for every action; features of actions "
    "do not enter.",
    "trees": "The model is boosted trees on the numbers and categories of contexts and actions together.",
    "cells": "The model knows no features: it is the mean reward, and all else are the factors of actions, contexts "
    "and their pairs.",
    None: "The model is one of your own; it is not kept with the policy.",
}
FACTORS = (
    "An action's own factor is what its features do not explain: actual over expected rewards, drawn towards 1 where "
    "there are few events."
)
DRIVEN = (
    "Where it departs, its choice is expected to earn more than the action that logging showed most. That ratio is the "
    "product of three: what the action gets on average over its contexts (in general), how the model says that it fits "
    "this one by its features, and what it earned in this very context (its record). Means are geometric, by traffic. "
    "Expectations of what was chosen for them are too high: this says what the choices go by, not what they gain."
)
MODELS_COMPARED = (
    "Kinds of model were learned from a part of the window and compared on held-out events: its last fifth or, without "
    "times, random ones. 'value' is what their policies would have earned there, clipped, as a share of the reward's "
    "range; 'log-loss' is how badly they predict rewards; 'time' is what each cost. Of those whose value is not "
    "clearly below the highest, the one with the least loss was taken: this is a choice, no evaluation."
)
NOT_COUNTED = "Where this policy departs from logging was not counted: a cluster learned it, or an earlier version."
EXPLAINED = (
    ("As logging", "Its choice is the action that was shown most in the context."),
    ("Departs", "Its choice is another one."),
    ("Undecided", "No action is feasible in the context: each was shown too rarely."),
    ("One action", "The log has a single action in the context, so that there is no choice."),
)
KINDS = ("as logging", "departs", "undecided", "one action")


def fit_page(result: Learned | FittedPolicy) -> Page:
    """Say what was learned and where it departs from logging, then how it was chosen and from what."""
    learned = result if isinstance(result, Learned) else result.learned
    departure = learned.departure
    if learned.safe is not None:
        sections = [
            Section("What is proven, and what is not", about_safety(learned.safe), None, safe_tables(learned.safe))
        ]
    else:
        sections = [Section(NOT_COUNTED)] if departure is None else _departure(learned, departure)
    sections += [*_models(learned), *_tau(learned), _features(learned), _sources(learned)]
    better = f"{quoted(learned.columns['reward'])}: {'less' if learned.minimized else 'more'} is better"
    return Page(
        title="What was learned from this log",
        source=f"{better}. Log: {shortened(learned.sources.get('log') or 'a table', 120)}.",
        cards=[Card(one.label, one.text) for one in learned.facts],
        sections=sections,
        glossary=glossary(learned.columns),
        headline=_headline(learned),
        footer=FOOTER.format(version=learned.version),
    )


def _headline(learned: Learned) -> Headline:
    """Colour what to do by what is proven."""
    title, *texts = learned.headline
    if learned.safe is None:
        return Headline("cannot-tell", None, title, texts, label="Not evaluated")
    if not learned.safe.contexts:
        return Headline("cannot-tell", None, title, texts, label="Nothing is proven")
    return Headline("better", "certified", title, texts)


def _departure(learned: Learned, departure: Departure) -> list[Section]:
    one = min(departure.one_action, 1 - departure.departs - departure.undecided)
    shares = (1 - departure.departs - departure.undecided - one, departure.departs, departure.undecided, one)
    rows: list[dict[str, Any]] = [
        {"what": "traffic", "kind": kind, "share": max(share, 0.0), "place": place}
        for place, (kind, share) in enumerate(zip(KINDS, shares, strict=True))
    ]
    table = TextTable(
        "Training traffic",
        ("contexts", "share"),
        [(r["kind"], percent(r["share"])) for r in rows],
        1,
    )
    title = f"It departs from logging on {percent(departure.departs)} of the traffic"
    chart = charts.stacked(rows, x_title="share of the training window's events", order=KINDS)
    sections = [Section(title, about_departure(learned), chart, [table], EXPLAINED, plot="departure")]
    sections += _drivers(learned)
    if (changes := actions_table(learned)) is not None:
        points = [
            {
                "what": shortened(one.action, 24),
                "value": one.policy - one.logging,
                "lower": min(one.policy - one.logging, 0.0),
                "upper": max(one.policy - one.logging, 0.0),
                "colour": charts.PLAIN if one.policy >= one.logging else charts.ALERT,
            }
            for one in departure.actions
        ]
        chart = charts.effects(points, x_title="share of the traffic: policy less logging")
        texts = ["How an action's share of the traffic would change if the policy chose in the place of logging."]
        sections.append(Section("Actions that it shows more, and less", texts, chart, [changes], plot="actions"))
    return sections


def _drivers(learned: Learned) -> list[Section]:
    table = drivers_table(learned)
    if table is None or learned.departure is None:
        return []
    drivers = learned.departure.drivers
    rows = [
        {
            "what": DRIVERS[one.name],
            "value": one.factor - 1,
            "lower": min(one.factor - 1, 0.0),
            "upper": max(one.factor - 1, 0.0),
            "colour": charts.PLAIN if one.factor >= 1 else charts.ALERT,
        }
        for one in drivers
    ]
    chart = charts.effects(rows, x_title="expected of its choice, against what was shown most", x_format="+.3~%")
    most = max(drivers, key=lambda one: one.largest)
    return [Section(f"What drives it: mostly {DRIVERS[most.name]}", [DRIVEN], chart, [table], plot="drivers")]


def _models(learned: Learned) -> list[Section]:
    table = models_table(learned)
    if table is None:
        return []
    return [Section(f"How it was chosen: {learned.model}", [*about_model(learned), MODELS_COMPARED], None, [table])]


def _tau(learned: Learned) -> list[Section]:
    table = taus_table(learned)
    if table is None:
        text = f"Importance weights are 1 / max(propensity, {learned.fit_tau:g}). No other fit tau was tried."
        return [Section(f"Fit tau {learned.fit_tau:g}", [text])]
    text = (
        "Importance weights are 1 / max(propensity, fit tau). Policies learned from the first four fifths of the "
        "window were valued on the last fifth, as shares of the reward's range; the largest fit tau whose value is not "
        "clearly beaten was taken."
    )
    if len(set(learned.fit_taus_tried.values())) == 1:
        text += " All earned the same: this kind of model does not use the weights."
    return [Section(f"How it was chosen: fit tau {learned.fit_tau:g}", [text], None, [table])]


def _features(learned: Learned) -> Section:
    return Section(
        "What it knows contexts and actions by", [*about_learning(learned)[1:3], MODELS[learned.kind_of_model], FACTORS]
    )


def _sources(learned: Learned) -> Section:
    settings = {
        "learned from": learned.learned_from,
        "events": f"{learned.events:,}",
        "cells": f"{learned.cells:,}",
        "learning rate": "-" if learned.rate is None else f"{learned.rate:g}",
        "loss in the first pass": "-" if learned.training_loss is None else f"{learned.training_loss:.5g}",
        "seed": str(learned.seed),
        **{f"table of {name}" if name != "log" else name: source or "-" for name, source in learned.sources.items()},
    }
    table = TextTable("Settings and tables", ("what", "value"), [(k, shortened(v, 60)) for k, v in settings.items()], 2)
    return Section("From what, and with which settings", (), None, [table])
