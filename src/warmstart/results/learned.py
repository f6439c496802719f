"""What ``fit`` learned: from which events, how it was chosen, and where it departs from logging."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal

from warmstart.core import Window, minute, percent, quoted, shortened
from warmstart.results.display import Fact, Result, TextTable, fields_of, plain
from warmstart.results.safe import SafeImprovement, about_safety, safe_facts, safe_tables

MOST_ACTIONS = 15
MUCH_SHARED = 0.25
# Below this share of the traffic a policy departs on that "only".
FEW = 0.5
# Kinds of model for those who never heard of them.
PLAIN_KINDS = {
    "product": "A linear model of pairs of features",
    "low-rank": "A model of groups of contexts and of actions",
    "logistic": "A logistic regression for every action",
    "trees": "Decision trees",
    "cells": "Averages by context and action, without features",
    "blend": "A blend of several kinds of model",
}
DRIVERS = {
    "action": "the action in general",
    "match": "its fit to the context",
    "record": "its record in the context",
}


@dataclass(frozen=True)
class ActionShare:
    """How often logging showed an action, and on how much of the same traffic the policy chooses it.

    ``factor``: actual over expected rewards of the action (shrunk): what the model's features do not explain of it.
    """

    action: str
    logging: float
    policy: float
    factor: float


@dataclass(frozen=True)
class Driver:
    """A part of what is expected of a policy's choices, over what is expected of the actions shown most.

    ``name``: "action", what the action gets on average over its contexts; "match", how the model says that it fits this
    context; "record", what it got in this very context. ``factor``: the mean ratio (geometric, by traffic, where the
    policy departs); the three multiply to the whole. ``largest``: the share of that traffic on which it is the largest.
    """

    name: Literal["action", "match", "record"]
    factor: float
    largest: float


@dataclass(frozen=True)
class Departure:
    """Where the best actions of a policy are not what logging showed most; shares are of the training window's events.

    ``same``: events in which logging showed what the policy chooses. ``departs``: events of contexts in which it
    chooses another action than the one shown most, of which there are ``contexts``. ``one_action``: events of contexts
    with a single action. ``undecided``: events of contexts without a feasible action. ``expected``,
    ``expected_of_logging``: the model's own expectation of what is chosen and of what was shown, where the policy
    decides, as a share of the reward's range; the first is too high, as the best of several guesses is.
    ``mean_reward``: what logging earned there. ``actions``: those whose shares differ most. ``drivers``: what more is
    expected of the choices by, where the policy departs.
    """

    same: float
    departs: float
    contexts: int
    one_action: float
    undecided: float
    expected: float
    expected_of_logging: float
    mean_reward: float
    actions: tuple[ActionShare, ...]
    drivers: tuple[Driver, ...] = ()


@dataclass(frozen=True)
class ModelTried:
    """A kind of reward model on the end of the window: clipped value, log-loss, seconds; ``why`` it was not learned."""

    value: float | None
    loss: float | None
    seconds: float
    why: str | None = None


@dataclass(frozen=True, repr=False)
class Learned(Result):
    """What a learned policy rests on. ``contexts``, ``actions``: their features; ``fit_taus_tried``: values by tau.

    ``model``: the kind of reward model, None for one of the user's own; ``shares``: of the kinds in a blend.
    ``models_tried``: what was found of each kind, if they were compared, by "value" or "loss"
    (``models_compared_by``). ``halves``: the expected rewards at which the factors of an action, a context and a cell
    are shrunk half way to 1. ``safe``: what was proven, of a safe fit.
    ``departure`` is None for policies that a cluster learned, and for those of earlier versions.
    """

    columns: dict[str, Any]
    window: Window
    events: int
    cells: int
    contexts: dict[str, Any]
    actions: dict[str, Any]
    learned_from: str
    fit_tau: float
    fit_taus_tried: dict[str, float]
    rate: float | None
    training_loss: float | None
    seed: int
    sources: dict[str, str | None]
    version: str
    minimized: bool = False
    departure: Departure | None = None
    halves: dict[str, float] = field(default_factory=dict)
    model: str | None = None
    shares: dict[str, float] = field(default_factory=dict)
    models_compared_by: str | None = None
    models_tried: dict[str, ModelTried] = field(default_factory=dict)
    safe: SafeImprovement | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dictionaries; non-finite numbers are None."""
        parts = fields_of(self)
        version = parts.pop("version")
        said = {"headline": self.headline, "facts": plain(self.facts), "explanations": self.notes}
        return {**self._head(), **parts, **said, "warmstart_version": version}

    @property
    def headline(self) -> list[str]:
        """Return what to do: evaluate the policy first, unless its departures are proven."""
        later, safe = "later events than those it learned from", self.safe
        if self.window.last is not None:
            last = f"step {self.window.last:,}" if self.window.steps else f"{minute(self.window.last)} UTC"
            later = f"events after {last}, where its training ends"
        evaluate = f"evaluate it on {later}: warmstart evaluate, with --policy and its folder."
        if safe is None:
            title = "Learned, not evaluated: nothing here says what the policy would earn"
            return [title, f"Before it is used, {evaluate}"]
        if not safe.contexts:
            return ["Keep what was shown: no departure from it is proven to gain"]
        few = " only" if safe.departs < FEW else ""
        departs = f"it departs from that on {percent(safe.departs)} of the traffic{few}"
        proved = "That is about the traffic that proved it. To know by how much it gains later"
        return [f"Proven no worse than what was shown: {departs}", f"{proved}, {evaluate}"]

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Return from what the policy was learned, where it departs from logging, and with which model."""
        known = f"{self.contexts['known']:,} contexts, {self.actions['known']:,} actions"
        facts = [Fact("Learned from", f"{self.window}: {known}.")]
        if self.safe is not None:
            facts += safe_facts(self.safe)
        elif self.departure is not None:
            other = f"{percent(self.departure.departs)} of the traffic, in {self.departure.contexts:,} contexts"
            text = f"{other}: there it chooses another action than the one shown most."
            facts.append(Fact("Departs from logging on", text))
        return (*facts, Fact("Model", self._model_in_short))

    @property
    def _model_in_short(self) -> str:
        """Say in plain words which kind of model it is and how it was chosen; the numbers stand elsewhere."""
        kind = PLAIN_KINDS.get(self.kind_of_model or "", self.kind_of_model or "Your own")
        compared = sum(one.loss is not None for one in self.models_tried.values())
        if compared < 2:
            return f"{kind}; no others were compared."
        best = f"of {compared} kinds tried on events held out, it predicted rewards best"
        among = " among those whose choices earned most" if self.models_compared_by == "value" else ""
        return f"{kind}: {best}{among}."

    @property
    def kind_of_model(self) -> str | None:
        """Return the kind of model, None for one's own; clusters and earlier versions did not say, and had one."""
        return self.model or ("product" if self.rate is not None else None)

    @property
    def tables(self) -> list[TextTable]:
        """Return the models and the taus tried, what drives the choices, and the actions whose shares change most."""
        every = models_table(self), taus_table(self), drivers_table(self), actions_table(self)
        return [*(safe_tables(self.safe) if self.safe else ()), *(table for table in every if table is not None)]

    @property
    def notes(self) -> list[str]:
        """Say what was learned from what, and where it departs from logging."""
        return [*about_learning(self), *(about_safety(self.safe) if self.safe else about_departure(self))]


def models_table(learned: Learned) -> TextTable | None:
    """Show what the kinds of model that were compared earned, and lost, on the end of the window."""
    rows = []
    for name, tried in learned.models_tried.items():
        value, loss = ("-" if number is None else f"{number:.4g}" for number in (tried.value, tried.loss))
        rows.append(
            (name, value, loss, f"{tried.seconds:.1f} s", "chosen" if name == learned.model else tried.why or "")
        )
    title = "Models compared (values as shares of the reward's range)"
    return TextTable(title, ("model", "value", "log-loss", "time", ""), rows, left=1) if rows else None


def taus_table(learned: Learned) -> TextTable | None:
    """Show what the policies of all fit taus that were tried earned on the end of the window."""
    rows = [
        (f"{float(tau):g}", f"{value:.4g}", "chosen" if float(tau) == learned.fit_tau else "")
        for tau, value in learned.fit_taus_tried.items()
    ]
    return (
        TextTable("Fit taus tried (values as shares of the reward's range)", ("fit tau", "value", ""), rows)
        if rows
        else None
    )


def drivers_table(learned: Learned) -> TextTable | None:
    """Show what more is expected of the choices by, than of what was shown most."""
    if learned.departure is None or not learned.departure.drivers:
        return None
    drivers = learned.departure.drivers
    rows = [(DRIVERS[one.name], f"x {one.factor:.3f}", percent(one.largest)) for one in drivers]
    rows.append(("all of it", f"x {prod(one.factor for one in drivers):.3f}", ""))
    title = "Expected of its choices over what is expected of the actions shown most, where it departs"
    return TextTable(title, ("part", "expected", "the largest part, of that traffic"), rows, left=1)


def actions_table(learned: Learned) -> TextTable | None:
    """Show the actions whose shares of the traffic change most."""
    if learned.departure is None or not learned.departure.actions:
        return None
    rows = [
        (shortened(one.action, 40), f"{one.logging:.1%}", f"{one.policy:.1%}", f"{one.factor:.2f}")
        for one in learned.departure.actions
    ]
    title = "Actions whose shares of the traffic change most"
    return TextTable(title, ("action", "logging", "policy", "own factor"), rows, left=1)


def about_learning(learned: Learned) -> list[str]:
    """Say what was learned from what."""
    lines = [f"Learned from {learned.events:,} events in {learned.cells:,} cells ({learned.learned_from})."]
    lines += [
        _features(side, numbers) for side, numbers in (("contexts", learned.contexts), ("actions", learned.actions))
    ]
    tried = f", chosen among {', '.join(learned.fit_taus_tried)}" if learned.fit_taus_tried else ""
    rate = "" if learned.rate is None else f"; learning rate {learned.rate}"
    lines.append(f"Fit tau {learned.fit_tau:g}{tried}{rate}; seed {learned.seed}.")
    lines += about_model(learned)
    if learned.minimized:
        reward = quoted(learned.columns["reward"])
        lines.append(f"It makes {reward} small: a score is what is left of its range, 0 to 1.")
    return lines


def about_model(learned: Learned) -> list[str]:
    """Say which kind of model was learned and, if several were compared, by how much it won, and what was left out."""
    if not learned.models_tried:
        return [f"Model: {learned.model}."] if learned.model not in (None, "product") else []
    lacking = [f"{name} ({one.why.rstrip('.')})" for name, one in learned.models_tried.items() if one.why]
    return [_winner(learned), *([f"Not compared: {'; '.join(lacking)}."] if lacking else [])]


def _winner(learned: Learned) -> str:
    found = {name: one for name, one in learned.models_tried.items() if one.loss is not None}
    parts = " and ".join(f"{name} ({share:.0%})" for name, share in learned.shares.items())
    line = f"Model: {learned.model} of {parts}" if parts else f"Model: {learned.model}"
    own = found.get(learned.model or "")
    if own is None:
        return f"{line}."
    others = [(one.loss or 0.0, name) for name, one in found.items() if name != learned.model]
    if learned.models_compared_by != "value":
        second = f", next {min(others)[1]} {min(others)[0]:.4g}" if others else ""
        how = f"the least log-loss on held-out events (contexts do not come back): {own.loss:.4g}{second}"
        return f"{line}, with {how}."
    best = max(found, key=lambda name: found[name].value or 0.0)
    how = f"the least log-loss on held-out events, {own.loss:.4g}"
    highest = "the highest" if best == learned.model else f"highest {found[best].value or 0.0:.4g} by {best}"
    among = "of the kinds whose clipped value there is not clearly below the highest"
    return f"{line}, with {how}, {among} (its own {own.value or 0.0:.4g}, {highest})."


def _features(side: str, numbers: dict[str, Any]) -> str:
    columns = ", ".join(map(quoted, numbers["columns"])) or "no columns"
    line = f"{numbers['known']:,} {side}; features from {columns}"
    if numbers["without_features"]:
        line += f"; {numbers['without_features']:,} without a row, known by their id alone"
    if numbers["features"]:
        shared = f"{numbers['sharing_a_bucket']:.0%} share a bucket"
        if numbers["sharing_a_bucket"] >= MUCH_SHARED:
            shared += "; if many are equally frequent, --weight-bits (weight_bits=) for more buckets is worth a try"
        estimated = "about " if numbers.get("estimated") else ""
        line += f"; {estimated}{numbers['features']:,} features in {numbers['buckets']:,} buckets ({shared})"
    if numbers["left_out"]:
        line += f"; left out: {', '.join(map(quoted, numbers['left_out']))}"
    return line + "."


def about_departure(learned: Learned) -> list[str]:
    """Say where the policy departs from logging, and what the model expects of that; nothing if it is not known."""
    departure = learned.departure
    if departure is None:
        return []
    where = (
        f"On {percent(departure.departs)} of the training traffic ({departure.contexts:,} contexts) it chooses another "
        f"action than the one logging showed most; in {percent(departure.same)} of the events logging showed its "
        f"choice. {percent(departure.one_action)} of the traffic is in contexts with a single action, where the two "
        "cannot differ."
    )
    lines = [where]
    if departure.undecided > 0:
        lines.append(f"On {percent(departure.undecided)} of the traffic no action is feasible, and it says nothing.")
    lines.append(
        "In percent of the reward's range, from its lowest to its highest, the model expects "
        f"{_of_range(departure.expected)} of its choices and {_of_range(departure.expected_of_logging)} of what was "
        f"shown, where logging earned {_of_range(departure.mean_reward)}. That is no estimate of a gain: the best of "
        "several guesses is too high. Evaluate the policy on later events."
    )
    return lines


def _of_range(share: float) -> str:
    return f"{100 * share:.3g} %"
