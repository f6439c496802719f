"""``python -m studies.assumptions``: how wrong do estimates get when what they rest on does not hold?

Prints the table and writes docs/figures/assumptions.svg, users.svg and learners.svg; with --only, the one that it
measured all of.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import warmstart as ws
from studies import learners, users
from studies.months import NAMES, best_seen, markdown, month, supported

TAU = 0.01
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "assumptions.svg"
LEVELS: dict[str, tuple[float, ...]] = {
    "reaction": (0, 25, 50, 100, 200),
    "click_budget": (0, 100, 30, 10, 3),
    "drift": (0, 0.2, 0.4, 0.6, 0.8),
    "hidden": (0, 0.1, 0.2, 0.4, 0.8),
}
TITLES = {
    "reaction": "The logger follows clicks",
    "click_budget": "Ads stop after so many clicks",
    "drift": "Click probabilities drift",
    "hidden": "A segment that the log lacks",
    users.EFFECT: "Users come back",
    learners.EFFECT: "The logger learns",
}
FIRST_SEED = 100
WORLD = {"events": 400_000, "n_contexts": 2_000, "n_actions": 500, "churn": False, "random_share": 0.1}


def measure(effect: str, level: float, seed: int) -> list[dict[str, Any]]:
    """Compare estimates with the true value on the traffic that they can see: of two policies, on two windows."""
    with month(**{**WORLD, effect: level}, seed=FIRST_SEED + seed) as drawn:
        whole = ws.read_events(drawn.world.events_path, **NAMES)
        policies = {
            "uniform, whole month": (ws.policy_table("uniform", whole, live=False), whole),
            "best seen, later third": (best_seen(drawn), drawn.test),
        }
        rows = []
        for name, (table, window) in policies.items():
            truth = drawn.world.true_value(supported(table, window, TAU), events=window)
            found = ws.evaluate({"it": table}, window, tau=TAU, interval="gamma")["it"]
            error = found.value / truth - 1
            row = {"effect": effect, "level": f"{level:g}", "policy": name, "error": error, "square": error**2}
            row["place"] = LEVELS[effect].index(level)
            rows.append({**row, "above": found.lower > truth, "below": found.upper < truth})
        return rows


def jobs(effects: list[str], seeds: int) -> Iterator[tuple[Any, ...]]:
    for effect in effects:
        if effect == users.EFFECT:
            yield from ((users.measure, place, seed) for place in range(len(users.LEVELS)) for seed in range(seeds))
        elif effect == learners.EFFECT:
            yield from (
                (learners.measure, place, seed) for place in range(len(learners.KINDS)) for seed in range(seeds)
            )
        else:
            yield from ((measure, effect, level, seed) for level in LEVELS[effect] for seed in range(seeds))


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["effect"], row["level"], row["policy"]), []).append(row)
    found = []
    for (effect, level, policy), runs in groups.items():
        errors = np.array([run["error"] for run in runs])
        half = 2 * errors.std(ddof=1) / np.sqrt(len(errors))
        row = {"effect": effect, "level": level, "place": runs[0]["place"], "policy": policy}
        row |= {
            "size": float(np.sqrt(np.mean([run["square"] for run in runs]))),
            "error": errors.mean(),
            "low": errors.mean() - half,
            "high": errors.mean() + half,
        }
        sides = [side for side in ("above", "below", "selected") if side in runs[0]]
        found.append(row | {side: float(np.mean([run[side] for run in runs])) for side in sides})
    return found


def draw(rows: list[dict[str, Any]]) -> None:
    import altair as alt

    panels = []
    for effect in LEVELS:
        data = alt.Data(values=[row for row in rows if row["effect"] == effect])
        order = [row["level"] for row in rows if row["effect"] == effect and row["policy"].startswith("uniform")]
        x = alt.X("level:N", sort=order, title=None, axis=alt.Axis(labelAngle=0))
        color = alt.Color("policy:N", title=None, legend=alt.Legend(orient="top", labelLimit=300, columnPadding=40))
        y = alt.Y("error:Q", title="error of the estimate", axis=alt.Axis(format="+%"))
        line = alt.Chart(data).mark_line(point=True).encode(x, y, color)
        bars = alt.Chart(data).mark_rule().encode(x, alt.Y("low:Q", title=""), alt.Y2("high:Q"), color)
        panels.append((line + bars).properties(title=TITLES[effect], width=260, height=170))
    FIGURE.parent.mkdir(exist_ok=True)
    alt.concat(*panels, columns=2, background="white").save(str(FIGURE))


def table(rows: list[dict[str, Any]]) -> str:
    head = ["what", "level", "policy, or how the log is read", "mean error", "+- 2 standard errors", "root mean square"]
    head += ["lower end above truth", "upper end below", "null policy certified"]
    lines = []
    for row in rows:
        line = [TITLES[row["effect"]], row["level"], row["policy"], f"{row['error']:+.1%}"]
        line += [f"{row['high'] - row['error']:.1%}", f"{row['size']:.1%}"]
        line += [f"{row['above']:.1%}", f"{row['below']:.1%}"]
        lines.append([*line, f"{row['selected']:.0%}" if "selected" in row else ""])
    return markdown(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", choices=list(TITLES), help="the only assumption to break")
    options = parser.parse_args()
    effects = list(TITLES) if options.only is None else [options.only]
    with ProcessPoolExecutor(options.processes) as pool:
        waiting = [pool.submit(*job) for job in jobs(effects, options.seeds)]
        rows = summary([row for job in waiting for row in job.result()])
    print(table(rows))
    if set(LEVELS) <= set(effects):
        draw([row for row in rows if row["effect"] in LEVELS])
    for study in (users, learners):
        if study.EFFECT in effects:
            study.draw([row for row in rows if row["effect"] == study.EFFECT])


if __name__ == "__main__":
    main()
