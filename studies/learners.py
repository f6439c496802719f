"""Loggers that learn while they log: counts over the whole window, and within epochs.

A part of ``studies.assumptions``. The error is against the true value on the traffic that the estimate can see.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import warmstart as ws

TAU = 0.01
EFFECT = "learner"
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "learners.svg"
KINDS = ("thompson", "epsilon-greedy", "greedy", "nightly")
NAMES: dict[str, Any] = {"context": "context", "action": "action", "reward": "reward", "time": "time"}
READ: dict[str, dict[str, Any]] = {"whole window": {}, 'epoch="day"': {"epoch": "day"}}


def measure(place: int, seed: int) -> list[dict[str, Any]]:
    """Evaluate two fixed policies on one log of a learner, counted over the window and within days."""
    kind = KINDS[place]
    made = ws.TableWorld.learning(kind, seed=seed)
    log = made.draw(seed=seed)
    means = made.reward_means
    best = (means == means.max(axis=1, keepdims=True)).astype(float)
    arrays = {"best": best, "uniform": np.full_like(means, 1 / means.shape[1])}
    policies = {name: made.policy_from_array(h) for name, h in arrays.items()}
    counts = counts_by_day(made, log)
    rows = []
    for read, options in READ.items():
        events = ws.read_events(log, **NAMES, **options)
        evaluation = ws.evaluate(policies, events, tau=TAU, estimators=(), trained_until="never")
        within = counts if options else counts.sum(axis=0, keepdims=True)
        for name, h in arrays.items():
            truth, found = value_seen(h * means, within), evaluation[name]
            error = (found.value or 0.0) / truth - 1
            row = {"effect": EFFECT, "level": f"{kind}, {name}", "place": place, "policy": read}
            row |= {"error": error, "square": error**2}
            rows.append(row | {"above": (found.lower or 0.0) > truth, "below": (found.upper or 1.0) < truth})
    return rows


def counts_by_day(made: ws.TableWorld, log: pa.Table) -> NDArray[np.float64]:
    """Count events by day, context and action."""
    counts = np.zeros((made.days, *made.reward_means.shape))
    day = (log["time"].to_numpy() - log["time"].to_numpy().min()).astype("timedelta64[D]").astype(int)
    context, action = (
        np.array([names.index(name) for name in log[column].to_pylist()])
        for column, names in (("context", made.contexts), ("action", made.actions))
    )
    np.add.at(counts, (day, context, action), 1.0)
    return counts


def value_seen(earned: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
    """Return the mean over events of probability * mean reward * min(1, propensity / tau)."""
    traffic = counts.sum(axis=2, keepdims=True)
    share = counts / np.maximum(traffic, 1.0)
    return float((traffic * earned * np.minimum(1, share / TAU)).sum() / counts.sum())


def draw(rows: list[dict[str, Any]]) -> None:
    """Draw the error of the estimate, and how often its interval misses, before and after."""
    import altair as alt

    order = list(dict.fromkeys(row["level"] for row in rows))
    color = alt.Color("policy:N", title=None, sort=list(READ), legend=alt.Legend(orient="top", columnPadding=40))
    y = alt.Y("level:N", sort=order, title=None)
    values = [{**row, "missed": row["above"] + row["below"]} for row in rows]
    offset = alt.YOffset("policy:N", sort=list(READ))
    panels = []
    for name, title, rule in (
        ("error", "Mean error of the value, on supported traffic", 0.0),
        ("missed", "95 % intervals of the value that miss", 0.05),
    ):
        x = alt.X(f"{name}:Q", title=None, axis=alt.Axis(format="%"))
        bars = alt.Chart(alt.Data(values=values)).mark_bar().encode(x, y, color, offset)
        line = alt.Chart(alt.Data(values=[{name: rule}])).mark_rule(strokeDash=[4, 4]).encode(x)
        panels.append((bars + line).properties(title=title, width=300, height=230))
    FIGURE.parent.mkdir(exist_ok=True)
    alt.concat(*panels, columns=2, background="white").save(str(FIGURE))
