"""``python -m studies.best_estimate --out FOLDER``: how often do intervals of the best estimate hold the truth?

Every log is valued with ``evaluate``; two policies, of which one chooses at random, in the same call. The truth is
the expected reward on the traffic of the log. What is done is kept in FOLDER and not done again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.records import Rows
from benchmarks.tables import TABLES, grid

from benchmarks import records
from studies.months import markdown
from studies.truths import GOOD, NULL, WORLDS, Drawn

RATES = (0.02, 0.5)
# Normal quantiles of intervals for 95 % and 50 %.
WIDE, HALF = 1.959964, 0.674490

Row = dict[str, Any]
Worlds = Mapping[str, Callable[[int, float], Drawn]]


def judge(drawn: Drawn) -> Iterator[Row]:
    """Yield the best estimate and the estimated gain of both policies, and their truths."""
    found = drawn.evaluate()
    for policy in (GOOD, NULL):
        one = found[policy]
        best, gain = one.best, one.gain.estimated
        assert best is not None
        assert gain is not None
        yield {
            "policy": policy,
            "truth": drawn.value(policy),
            **{name: getattr(best, name) for name in ("value", "lower", "upper", "on_model")},
            "gain_truth": drawn.gain(policy),
            **{f"gain_{name}": getattr(gain, name) for name in ("lower", "upper")},
            "gain_value": gain.difference,
            "tau": one.tau,
            "mean_weight": one.mean_weight,
            "withheld": one.withheld,
            "known": drawn.standard_error(policy),
        }


def standard_error(row: Row, of: str = "") -> float:
    """Return what an interval takes for the standard error; its ends may be cut at the range of rewards."""
    value, lower, upper = (float(row[f"{of}{name}"]) for name in ("value", "lower", "upper"))
    return max(upper - value, value - lower) / WIDE


def scores(rows: Sequence[Row], of: str = "") -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the errors of estimates with intervals, in standard errors."""
    ended = [row for row in rows if row["lower"] is not None]
    errors = [(row[f"{of}value"] - row[f"{of}truth"]) / max(standard_error(row, of), 1e-12) for row in ended]
    return np.array(errors, dtype=np.float64)


def held(rows: Sequence[Row], of: str = "") -> list[bool]:
    """Tell which intervals hold the truth."""
    names = (f"{of}lower", f"{of}truth", f"{of}upper")
    return [row[names[0]] <= row[names[1]] <= row[names[2]] for row in rows if row["lower"] is not None]


def share(values: Sequence[bool]) -> str:
    """Show a share and its standard error."""
    if not len(values):
        return ""
    p, n = float(np.mean(values)), len(values)
    return f"{100 * p:.1f} % ({100 * np.sqrt(p * (1 - p) / n):.1f})"


def moments(z: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    """Show the mean and the standard deviation."""
    return f"{z.mean():+.2f}, {z.std():.2f}" if len(z) else ""


def line(rows: Sequence[Row]) -> dict[str, Any]:
    """Return one line of the table: a world at one reward rate."""
    by_policy = {policy: [row for row in rows if row["policy"] == policy] for policy in (GOOD, NULL)}
    known = [standard_error(row) / row["known"] for row in rows if row["known"] and row["lower"] is not None]
    return {
        "logs": len(rows) // 2,
        **{f"value, {policy}": share(held(some)) for policy, some in by_policy.items()},
        **{f"gain, {policy}": share(held(some, "gain_")) for policy, some in by_policy.items()},
        "50 %: gain": share(list(np.abs(scores(rows, "gain_")) <= HALF)),
        "z of value": moments(scores(rows)),
        "z of gain": moments(scores(rows, "gain_")),
        "no interval": sum(row["lower"] is None for row in rows),
        "ips withheld": sum(row["withheld"] is not None for row in rows),
        "width / known": f"{np.median(known):.2f}" if known else None,
    }


def summary(rows: Sequence[Row], worlds: Worlds, line: Callable[[Sequence[Row]], dict[str, Any]]) -> Rows:
    """Return the lines of the table that were measured."""
    lines: Rows = {}
    for world in worlds:
        for rate in RATES:
            some = [row for row in rows if (row["world"], row["rate"]) == (world, rate)]
            if some:
                lines[f"{world}; rate {rate:g}".replace(" 0.", " .")] = line(some)
    return lines


def publish(name: str, lines: Rows, settings: Mapping[str, Any], *, record: bool) -> None:
    """Print a table of the page on benchmarks; keep it where asked to."""
    head, *texts = grid(TABLES[name], lines)
    print(markdown(head, texts))
    if record:
        records.append(name, lines, settings)


def read(path: Path) -> list[Row]:
    """Return what was measured before."""
    return [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []


def parsed(about: str | None, worlds: Worlds, *, logs: int) -> argparse.Namespace:
    """Return the options of a study of worlds."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--out", type=Path, required=True, help="the folder of results, which are added to")
    parser.add_argument("--logs", type=int, default=logs, help="how many logs of every world")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first log")
    parser.add_argument("--worlds", nargs="*", default=list(worlds), choices=list(worlds), metavar="WORLD")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so many seconds")
    parser.add_argument("--record", action="store_true", help="keep the table in benchmarks/results")
    return parser.parse_args()


def measured(worlds: Worlds, options: argparse.Namespace, name: str) -> list[Row]:
    """Return a row a policy of every log, of which those that were measured before are read."""
    options.out.mkdir(parents=True, exist_ok=True)
    path, until = options.out / f"{name}.jsonl", time.monotonic() + options.seconds
    done = {(row["world"], row["rate"], row["seed"]) for row in read(path)}
    seeds = range(options.first, options.first + options.logs)
    jobs = ((world, rate, seed) for seed in seeds for world in options.worlds for rate in RATES)
    for world, rate, seed in jobs:
        if (world, rate, seed) in done or time.monotonic() > until:
            continue
        start = time.monotonic()
        rows = list(judge(worlds[world](seed, rate)))
        seconds = round(time.monotonic() - start, 2)
        texts = [json.dumps({"world": world, "rate": rate, "seed": seed, **row, "seconds": seconds}) for row in rows]
        with path.open("a") as file:
            file.write("".join(f"{text}\n" for text in texts))
    return read(path)


def main() -> None:
    options = parsed(__doc__, WORLDS, logs=500)
    lines = summary(measured(WORLDS, options, "best_estimate"), WORLDS, line)
    publish("best-estimate", lines, {"logs": min(one["logs"] for one in lines.values())}, record=options.record)


if __name__ == "__main__":
    main()
