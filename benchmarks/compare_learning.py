"""``python -m benchmarks.compare_learning OLD_SRC NEW_SRC``: learning and the naive policy, new relative to old.

Each is the folder that has ``warmstart`` in it, as for ``benchmarks.compare``. A process of a tree does everything
once, the two trees in turn; shown are medians over rounds of new / old, and whether they found the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare import environment
from benchmarks.measure import CPU, TIME, Run, interleave, median_ratio, run_child, timed
from benchmarks.tables import print_table, ratio, setting

SIZES = {"events": 500_000, "n_contexts": 20_000, "n_actions": 200_000}
EXAMPLES, CONTEXTS = 60_000, 256
BITS = {22: (13, 9), 24: (14, 10)}
PAPER_RATES = (0.2, 0.1, 0.05, 0.02, 0.01)


def cases(folder: Path) -> Iterator[tuple[str, Any, Any]]:
    """Yield names, calls, and what turns the result of a call into numbers that trees must agree on."""
    import pyarrow.parquet as pq

    import warmstart as ws
    from benchmarks.learning import NAMES, Month, sample
    from warmstart.events import open_cells
    from warmstart.reward import Examples
    from warmstart.reward.product import Stream, learn

    world = ws.AdWorld.open(folder / "month")
    events = ws.read_events(world.events_path, **NAMES)
    with open_cells(events) as cells:
        month = Month(world, events, events, *Examples.of_cells(cells))
    for bits, sides in BITS.items():
        x, a = month.rows(sides, words_only=True)
        stream = sample(month, np.random.default_rng(0), EXAMPLES)
        few = Stream(*(array[:10] for array in vars(stream).values()))
        for rates in (PAPER_RATES, (0.05,)):
            for threads in (1, 2):
                options: dict[str, Any] = {"bits": sides, "rates": rates, "threads": threads}
                options["racing"] = len(rates) == 1 and threads > 1
                learn(few, x, a, **options)
                name = f"2^{bits} weights, {setting('rates', len(rates))}, {setting('threads', threads)}"
                yield name, lambda o=options, x=x, a=a, s=stream: learn(s, x, a, **o), lambda m: m.training_loss
    policy = ws.fit(events, contexts=world.contexts_path, actions=world.actions_path, fit_tau=1.0)
    pages = pq.read_table(world.contexts_path).slice(0, CONTEXTS)
    policy.choose_table(pages.slice(0, 1))
    yield "naive", lambda: policy.choose_table(pages), lambda table: float(np.sum(table["score"].to_numpy()))


def child(folder: Path) -> None:
    """Measure every case once; print the seconds and the numbers by case."""
    found = {}
    for name, call, number in cases(folder):
        cpu = time.process_time()
        seconds, result = timed(call)
        found[name] = {TIME: seconds, CPU: time.process_time() - cpu, "value": number(result)}
    print(json.dumps({"cases": found, "source": sys.modules["warmstart"].__file__}))


def compare(folder: Path, sources: dict[str, Path], rounds: int) -> dict[str, list[Run]]:
    """Return the measurements of both trees, in turn."""
    trees = {tree: environment(source, folder / tree) for tree, source in sources.items()}

    def measured(tree: str) -> Run:
        run = run_child("benchmarks.compare_learning", "--child", folder, settings=trees[tree])
        if not Path(run["source"]).resolve().is_relative_to(sources[tree].resolve()):
            raise SystemExit(f"{tree} was measured with {run['source']}.")
        return run

    return interleave({tree: partial(measured, tree) for tree in trees}, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    import warmstart as ws

    with tempfile.TemporaryDirectory() as name:
        ws.simulate(Path(name) / "month", seed=0, **SIZES)
        results = compare(Path(name), {"old": options.old, "new": options.new}, options.runs)
    lines = [["", "time", "CPU", "values"]]
    for case in results["new"][0]["cases"]:
        old, new = ([run["cases"][case] for run in results[tree]] for tree in ("old", "new"))
        gap = max(abs(one["value"] - two["value"]) / abs(one["value"]) for one, two in zip(old, new, strict=True))
        ratios = [ratio(median_ratio(new, old, kind)) for kind in (TIME, CPU)]
        lines.append([case, *ratios, f"differ by {gap:.0e}" if gap else "same"])
    print_table(f"new / old, {EXAMPLES:,} examples, medians of {options.runs} rounds", lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(Path(sys.argv[2]))
    else:
        main()
