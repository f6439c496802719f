"""``python -m studies.repeating --out FOLDER``: best estimates as contexts repeat less and less, by propensity source.

Contexts of three numbers under a deterministic logger that is refitted daily, ten times. Writes
docs/figures/repeating.svg and prints the table behind it. What is done is kept in FOLDER and not done again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from studies.best_estimate import Row, held, judge, moments, publish, read, scores, share
from studies.truths import DAY, GOOD, MONDAY, NULL, Drawn, times

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "repeating.svg"
EVENTS, EPOCHS, ACTIONS, RATE = 5_000, 10, 5, 0.3
A_CONTEXT = (1000, 100, 10, 3, 1)
SOURCES: dict[str, dict[str, Any]] = {
    "counts": {},
    "back-off": {"coarser": [["group"]]},
    "model": {},
    "mixture": {},
}


def draw(seed: int, a_context: int, source: str) -> Drawn:
    """Draw a log with so many events a context; ``group`` says which numbers are positive."""
    rng = np.random.default_rng([seed, 5])
    contexts = EVENTS // a_context
    x = rng.normal(size=(contexts, 3))
    x = np.column_stack([x, np.ones(contexts)])
    slopes = 0.5 * rng.normal(size=(4, ACTIONS))
    means = 1 / (1 + np.exp(-x @ slopes) * (1 / RATE - 1))
    rules = slopes + 0.5 * rng.normal(size=(EPOCHS, 4, ACTIONS))
    votes = np.einsum("xd,edk->xek", x, rules).argmax(axis=2)
    p = np.asarray((votes[:, :, None] == np.arange(ACTIONS)).mean(axis=1))
    of = np.arange(EVENTS) * EPOCHS // EVENTS
    # Every context occurs equally often, in random order.
    context = rng.permutation(np.arange(EVENTS) % contexts)
    shown = votes[context, of]
    guesses = {GOOD: x @ (slopes + 0.25 * rng.normal(size=slopes.shape)), NULL: rng.random(p.shape)}
    chosen = {name: np.where(p > 0, guess, -np.inf).argmax(axis=1)[context] for name, guess in guesses.items()}
    rewards = (rng.random(EVENTS) < means[context, shown]).astype(float)
    at = MONDAY + np.arange(EVENTS) * (EPOCHS * DAY / EVENTS)
    group = np.array(["".join("+" if value > 0 else "-" for value in row) for row in x[:, :3]])
    columns = {**{f"x{i}": x[context, i] for i in range(3)}, "group": group[context]}
    columns["at"] = times(at)
    names = {"time": "at", "epoch": "day" if source == "mixture" else None}
    options = {"propensities": source, "allow_unknown_actions": True, **SOURCES[source]}
    named = ["x0", "x1", "x2", "group"]
    return Drawn(columns, named, means[context], p[context], shown, chosen, rewards, names, options)


def weight(row: Row) -> float:
    """Return the mean weight, which should be 1; of counts, the share of the traffic that weights stand for."""
    return 1 - float(row["on_model"]) if row["mean_weight"] is None else float(row["mean_weight"])


def summary(rows: list[Row]) -> list[Row]:
    """Return error and coverage of every source and number of events a context, both policies together."""
    found = []
    for a_context in A_CONTEXT:
        for source in SOURCES:
            some = [row for row in rows if (row["a_context"], row["source"]) == (a_context, source)]
            if not some:
                continue
            errors = np.array([row["value"] - row["truth"] for row in some])
            inside = held(some)
            enough = len(inside) >= len(some) / 2
            found.append(
                {
                    "events a context": str(a_context),
                    "source": source,
                    "logs": len(some) // 2,
                    "bias": float(errors.mean()),
                    "size": float(np.sqrt((errors**2).mean())),
                    "held": float(np.mean(inside)) if enough else None,
                    "coverage": share(inside),
                    "none": sum(row["lower"] is None for row in some) / len(some),
                    "withheld": sum(row["withheld"] is not None for row in some) / len(some),
                    "z": moments(scores(some)),
                    "weight": float(np.mean([weight(row) for row in some])),
                }
            )
    return found


def picture(rows: list[Row]) -> None:
    """Draw the error, how many intervals held the truth, and the mean weight."""
    import altair as alt

    order = [str(number) for number in A_CONTEXT]
    x = alt.X("events a context:N", sort=order, title="events a context", axis=alt.Axis(labelAngle=0))
    color = alt.Color("source:N", title=None, sort=list(SOURCES), legend=alt.Legend(orient="top"))
    drawn = (
        ("size", "Error of the best estimate (root mean square)", alt.Axis(), alt.Scale(), None),
        ("held", "95 % intervals that hold the truth", alt.Axis(format="%"), alt.Scale(domain=[0.7, 1]), 0.95),
        ("weight", "Mean weight (1 if propensities are right)", alt.Axis(), alt.Scale(zero=False), 1.0),
    )
    panels = []
    for name, title, axis, scale, due in drawn:
        y = alt.Y(f"{name}:Q", title=None, axis=axis, scale=scale)
        known = [row for row in rows if row[name] is not None]
        panel = alt.layer(alt.Chart(alt.Data(values=known)).mark_line(point=True).encode(x, y, color))
        if due is not None:
            panel += alt.Chart(alt.Data(values=[{name: due}])).mark_rule(strokeDash=[4, 4]).encode(y)
        panels.append(panel.properties(title=title, width=270, height=190))
    FIGURE.parent.mkdir(exist_ok=True)
    alt.concat(*panels, columns=3, background="white").save(str(FIGURE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the folder of results, which are added to")
    parser.add_argument("--logs", type=int, default=100, help="how many logs for each number of events a context")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so many seconds")
    parser.add_argument("--record", action="store_true", help="keep the table in benchmarks/results")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    path, until = options.out / "repeating.jsonl", time.monotonic() + options.seconds
    done = {(row["seed"], row["a_context"], row["source"]) for row in read(path)}
    jobs = ((seed, number, source) for seed in range(options.logs) for number in A_CONTEXT for source in SOURCES)
    for seed, number, source in jobs:
        if (seed, number, source) in done or time.monotonic() > until:
            continue
        found = judge(draw(seed, number, source))
        texts = [json.dumps({"seed": seed, "a_context": number, "source": source, **row}) for row in found]
        with path.open("a") as file:
            file.write("".join(f"{text}\n" for text in texts))
    rows = summary(read(path))
    lines = {
        f"{row['events a context']}, {row['source']}": {
            "bias": f"{row['bias']:+.4f}",
            "root mean square error": f"{row['size']:.4f}",
            "95 % intervals that hold": row["coverage"],
            "z": row["z"],
            "mean weight": f"{row['weight']:.2f}",
            "no interval": f"{row['none']:.0%}",
            "ips withheld": f"{row['withheld']:.0%}",
        }
        for row in rows
    }
    settings = {"logs": min(row["logs"] for row in rows), "events": EVENTS}
    publish("repeating", lines, settings, record=options.record)
    picture(rows)


if __name__ == "__main__":
    main()
