"""Logs with policies whose value on the traffic of the log is known exactly, for ``studies.best_estimate``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import warmstart as ws

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GOOD, NULL = "good", "null"
MONDAY = datetime(2026, 10, 5, tzinfo=UTC).timestamp()
DAY = 86_400
# What a policy may choose where its support is to be known: actions that at least so much of the traffic was shown.
SHOWN = 0.099


@dataclass(frozen=True, eq=False)
class Drawn:
    """A log of rewards 0 and 1, and two policies.

    ``good`` chooses by noisy knowledge of what actions earn; ``null`` at random. Arrays have a row an event.

    Args:
        columns: The context columns, and what else the log has.
        context: The names of the context columns.
        means: The expected reward of every action.
        propensity: The logging policy's probability of every action, over the whole window.
        shown: The action shown.
        chosen: The action that each policy chooses.
        rewards: The rewards.
        names: Further arguments of ``read_events``.
        options: Arguments of ``evaluate``.
    """

    columns: dict[str, Any]
    context: list[str]
    means: Floats
    propensity: Floats
    shown: Ints
    chosen: dict[str, Ints]
    rewards: Floats
    names: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def evaluate(self, **options: Any) -> ws.Evaluation:
        """Value both policies in one call."""
        log = pa.table({**self.columns, "a": self.shown, "r": self.rewards, "i": np.arange(len(self.shown))})
        event_id = None if self.options.get("propensities") == "counts" else "i"
        names = {"context": self.context, "action": "a", "reward": "r", "event_id": event_id, **self.names}
        return ws.evaluate(self.decisions, ws.read_events(log, **names), live=False, **{**self.options, **options})

    @property
    def decisions(self) -> dict[str, pa.Table]:
        """Return the policies as tables: each context once."""
        contexts = {name: self.columns[name] for name in self.context}
        tables = {name: pa.table({**contexts, "a": chosen}) for name, chosen in self.chosen.items()}
        return {name: table.group_by(table.column_names).aggregate([]) for name, table in tables.items()}

    def value(self, policy: str) -> float:
        """Return what a policy is expected to earn per event of this traffic."""
        return float(_of(self.means, self.chosen[policy]).mean())

    def gain(self, policy: str) -> float:
        """Return the same less what the actions that were shown are expected to earn."""
        return self.value(policy) - float(_of(self.means, self.shown).mean())

    def standard_error(self, policy: str) -> float | None:
        """Return that of dr with the true propensities and the true expected rewards; None without full support.

        With counts it is that of this traffic; otherwise that of events drawn with their contexts.
        """
        mean, p = (_of(array, self.chosen[policy]) for array in (self.means, self.propensity))
        if p.min() <= 0:
            return None
        of_contexts = 0.0 if self.options.get("propensities") == "counts" else float(mean.var())
        return float(np.sqrt((of_contexts + (mean * (1 - mean) / p).mean()) / len(mean)))


def _of(array: Floats, actions: Ints) -> Floats:
    values: Floats = array[np.arange(len(array)), actions]
    return values


def _sigmoid(x: Floats, rate: float) -> Floats:
    """Return probabilities around a rate."""
    return np.asarray(1 / (1 + np.exp(-x) * (1 / rate - 1)))


def _draw(p: Floats, rng: np.random.Generator) -> Ints:
    return np.asarray((p.cumsum(axis=1) > rng.random((len(p), 1)) * p.sum(axis=1, keepdims=True)).argmax(axis=1))


def _best(scores: Floats, among: NDArray[np.bool_]) -> Ints:
    return np.asarray(np.where(among, scores, -np.inf).argmax(axis=1))


def cells(seed: int, rate: float, support: str, *, events: int = 8_000) -> Drawn:
    """Draw a log of 40 contexts and 12 actions; both policies choose what was never shown in 30 % of the contexts.

    Args:
        seed: Of the world and of the log.
        rate: About what actions earn.
        support: Which actions a context was shown: "all"; else 70 % of them, "random", those whose "action" earns
            most, by and large, or those whose "cell" earns most beyond what its action and context do.
        events: The size of the log.
    """
    rng = np.random.default_rng([seed, 1])
    contexts, actions = 40, 12
    of_context, of_action = rng.normal(0, 0.4, (contexts, 1)), rng.normal(0, 0.4, (1, actions))
    of_cell = rng.normal(0, 0.3, (contexts, actions))
    logits = of_context + of_action + of_cell
    noise = rng.normal(0, 0.6, (contexts, actions))
    order = {"all": noise, "random": noise, "action": of_action + noise, "cell": of_cell}[support]
    least = np.quantile(order, 0 if support == "all" else 0.3, axis=1, keepdims=True)
    allowed = order >= least
    p = 0.7 * rng.gamma(1.0, size=(contexts, actions)) * allowed
    p = 0.7 * p / p.sum(axis=1, keepdims=True) + 0.3 * allowed / allowed.sum(axis=1, keepdims=True)
    beyond = (rng.permutation(contexts) < 0.3 * contexts)[:, None] & (support != "all")
    among = np.where(beyond, ~allowed, allowed)
    guesses = {GOOD: logits + rng.normal(0, 0.3, logits.shape), NULL: rng.random(logits.shape)}
    x = rng.choice(contexts, events, p=rng.dirichlet(np.full(contexts, 10.0)))
    means, shown = _sigmoid(logits, rate)[x], _draw(p[x], rng)
    return Drawn(
        {"page": np.array([f"p{i}" for i in range(contexts)])[x]},
        ["page"],
        means,
        p[x],
        shown,
        {name: _best(scores, among)[x] for name, scores in guesses.items()},
        _rewards(means, shown, rng),
        options={"propensities": "counts", "allow_unknown_actions": True},
    )


def _rewards(means: Floats, shown: Ints, rng: np.random.Generator) -> Floats:
    return np.asarray((rng.random(len(shown)) < _of(means, shown)).astype(float))


def _numbers(rng: np.random.Generator, rate: float, events: int, actions: int) -> tuple[Floats, Floats, Floats]:
    """Return contexts of four numbers, what decides rewards linearly, and the expected rewards, not quite logistic."""
    x = rng.normal(size=(events, 4))
    slopes = np.vstack([0.5 * rng.normal(size=(4, actions)), 0.3 * rng.normal(size=(1, actions))])
    logits = np.column_stack([x, np.ones(events)]) @ slopes + 0.2 * x[:, :1] * x[:, 1:2]
    return x, slopes, _sigmoid(logits, rate)


def without_effect(drawn: Drawn, seed: int) -> Drawn:
    """Return the log with rewards that go by the context alone, so that the true gain of every policy is 0."""
    means = np.repeat(drawn.means.mean(axis=1, keepdims=True), drawn.means.shape[1], axis=1)
    return replace(drawn, means=means, rewards=_rewards(means, drawn.shown, np.random.default_rng([seed, 5])))


def times(seconds: Floats) -> pa.Array:
    """Return seconds since 1970 as timestamps."""
    return pa.array((seconds * 1e6).astype(np.int64), pa.timestamp("us", "UTC"))


def changing(seed: int, rate: float, source: str, *, epoch: str = "day", events: int = 6_000) -> Drawn:
    """Draw contexts that never repeat under a deterministic logger that is refitted every day (10) or week (4).

    Args:
        seed: Of the world and of the log.
        rate: About what actions earn.
        source: Of propensities: mixture or model.
        epoch: How often the logger changes: day or week.
        events: The size of the log.
    """
    rng = np.random.default_rng([seed, 2])
    actions, epochs, days = 5, *{"day": (10, 1), "week": (4, 7)}[epoch]
    x, slopes, means = _numbers(rng, rate, events, actions)
    wide = np.column_stack([x, np.ones(events)])
    rules = slopes + 0.5 * rng.normal(size=(epochs, *slopes.shape))
    votes = np.einsum("td,edk->tek", wide, rules).argmax(axis=2)
    of = np.arange(events) * epochs // events
    p = np.asarray((votes[:, :, None] == np.arange(actions)).mean(axis=1))
    shown = votes[np.arange(events), of]
    at = MONDAY + np.arange(events) * (epochs * days * DAY / events)
    guess = wide @ (slopes + 0.25 * rng.normal(size=slopes.shape))
    scores = {GOOD: guess, NULL: rng.random(p.shape)}
    return Drawn(
        {
            **{f"x{i}": x[:, i] for i in range(4)},
            "at": pa.array((at * 1e6).astype(np.int64), pa.timestamp("us", "UTC")),
        },
        [f"x{i}" for i in range(4)],
        means,
        p,
        shown,
        {name: _best(score, p > SHOWN) for name, score in scores.items()},
        _rewards(means, shown, rng),
        names={"time": "at", "epoch": epoch if source == "mixture" else None},
        options={"propensities": source},
    )


def randomised(seed: int, rate: float, source: str, *, events: int = 6_000) -> Drawn:
    """Draw contexts that never repeat under a logger that draws actions; its propensities are logged, or modelled."""
    rng = np.random.default_rng([seed, 3])
    actions = 5
    x, slopes, means = _numbers(rng, rate, events, actions)
    wide = np.column_stack([x, np.ones(events)])
    p = np.exp(wide @ (slopes + 0.5 * rng.normal(size=slopes.shape)))
    p = 0.9 * p / p.sum(axis=1, keepdims=True) + 0.1 / actions
    shown = _draw(p, rng)
    guess = wide @ (slopes + 0.25 * rng.normal(size=slopes.shape))
    logged = {"propensity": "p"} if source == "logged" else {}
    return Drawn(
        {**{f"x{i}": x[:, i] for i in range(4)}, **({"p": _of(p, shown)} if logged else {})},
        [f"x{i}" for i in range(4)],
        means,
        p,
        shown,
        {GOOD: np.asarray(guess.argmax(axis=1)), NULL: rng.integers(0, actions, events)},
        _rewards(means, shown, rng),
        names=logged,
        options={"propensities": source},
    )


def grouped(seed: int, rate: float, *, events: int = 6_000) -> Drawn:
    """Draw users with about four events each, in 6 groups; the logger goes by the group, rewards by user and group."""
    rng = np.random.default_rng([seed, 4])
    users, groups, actions = events // 4, 6, 5
    group = rng.integers(0, groups, users)
    logits = rng.normal(0, 0.4, (groups, actions))[group] + rng.normal(0, 0.4, (users, 1))
    logits = logits + rng.normal(0, 0.3, (users, actions))
    p = 0.8 * rng.dirichlet(np.ones(actions), groups) + 0.2 / actions
    user = rng.integers(0, users, events)
    means, of = _sigmoid(logits, rate)[user], p[group[user]]
    shown = _draw(of, rng)
    guesses = {GOOD: logits + rng.normal(0, 0.5, logits.shape), NULL: rng.random(logits.shape)}
    return Drawn(
        {"user": np.array([f"u{i}" for i in range(users)])[user], "group": np.array([*"abcdef"])[group[user]]},
        ["user", "group"],
        means,
        of,
        shown,
        {name: np.asarray(score.argmax(axis=1))[user] for name, score in guesses.items()},
        _rewards(means, shown, rng),
        options={"propensities": "back-off", "coarser": [["group"]]},
    )


WORLDS: dict[str, Callable[[int, float], Drawn]] = {
    "counts, all supported": lambda seed, rate: cells(seed, rate, "all"),
    "counts, support random": lambda seed, rate: cells(seed, rate, "random"),
    "counts, support by action": lambda seed, rate: cells(seed, rate, "action"),
    "counts, support by cell": lambda seed, rate: cells(seed, rate, "cell"),
    "back-off to groups": grouped,
    "mixture, refitted daily": lambda seed, rate: changing(seed, rate, "mixture"),
    "mixture, refitted weekly": lambda seed, rate: changing(seed, rate, "mixture", epoch="week"),
    "one model, refitted daily": lambda seed, rate: changing(seed, rate, "model"),
    "one model, refitted weekly": lambda seed, rate: changing(seed, rate, "model", epoch="week"),
    "model, randomised": lambda seed, rate: randomised(seed, rate, "model"),
    "logged, randomised": lambda seed, rate: randomised(seed, rate, "logged"),
}
# Worlds in which no action has an effect, for every source that is not counts; one model has no wrong propensities
# where the logger draws, and wrong ones where it is refitted.
NO_EFFECT: dict[str, Callable[[int, float], Drawn]] = {
    name: lambda seed, rate, draw=WORLDS[name]: without_effect(draw(seed, rate), seed)  # type: ignore[misc]
    for name in (
        "back-off to groups",
        "model, randomised",
        "mixture, refitted daily",
        "logged, randomised",
        "one model, refitted daily",
    )
}
