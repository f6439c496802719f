"""``python -m benchmarks.compare OLD_SRC NEW_SRC``: two source trees of the library, new relative to old.

Each is the folder that has ``warmstart`` in it. Every case runs in a process of its own, the two trees in turn; shown
are medians over rounds of new / old, for time, CPU time and peak memory, and whether the values agree.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import doubly_robust, paper_scale
from benchmarks.measure import CPU, MEMORY, ROOT, TIME, Run, interleave, median_ratio
from benchmarks.paper_log import paper_log
from benchmarks.tables import print_table, ratio


def environment(source: Path, caches: Path) -> dict[str, str]:
    """Return variables under which a process imports the library from a tree, and writes nothing into it."""
    if not (source / "warmstart" / "__init__.py").is_file():
        raise SystemExit(f"{source} has no warmstart/__init__.py: give the folder that has the package in it.")
    caches.mkdir()
    path = os.pathsep.join([str(source.resolve()), str(ROOT)])
    return {"PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(caches / "python"), "NUMBA_CACHE_DIR": str(caches / "numba")}


def calls(trees: dict[str, dict[str, str]], events: int, folder: Path) -> dict[str, dict[str, Callable[[], Run]]]:
    """Return what is measured by case and tree."""
    log = paper_log(events)
    result: dict[str, dict[str, Callable[[], Run]]] = {}
    for case in paper_scale.cases(floors=False):
        name = paper_scale.case_name(*case).replace("`", "")
        result[name] = {
            tree: paper_scale.measure(case[0], log, *case[1:], settings=settings) for tree, settings in trees.items()
        }
    size = doubly_robust.EVENTS
    doubly_robust.write(0, size, folder)
    result[f"doubly robust, {size:,} events"] = {
        tree: doubly_robust.measure("warmstart", 0, size, folder, settings=settings) for tree, settings in trees.items()
    }
    return result


def lines(results: dict[str, list[Run]], cases: list[str]) -> list[list[str]]:
    """Return a table of new / old, and of whether the two found the same."""
    table = [["", "time", "CPU", "memory", "values"]]
    for case in cases:
        old, new = results[f"{case}: old"], results[f"{case}: new"]
        ratios = [ratio(median_ratio(new, old, kind)) for kind in (TIME, CPU, MEMORY)]
        table.append([case, *ratios, difference(old[0], new[0])])
    return table


def difference(old: Run, new: Run) -> str:
    gap = max(abs(new[name] - old[name]) for name in ("value", "error", "cells") if name in old)
    return "same" if gap < 1e-9 else f"differ by {gap:.2g}"


def check_source(results: dict[str, list[Run]], sources: dict[str, Path]) -> None:
    """Stop where a process imported the library from elsewhere."""
    for name, runs in results.items():
        wanted = sources[name.rsplit(": ", 1)[1]].resolve()
        for run in runs:
            if not Path(run["source"]).resolve().is_relative_to(wanted):
                raise SystemExit(f"{name} was measured with {run['source']}, not with {wanted}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=5, help="rounds; in each, every case runs once with either tree")
    parser.add_argument("--only", default="", help="only cases whose name has this in it")
    options = parser.parse_args()
    sources = {"old": options.old, "new": options.new}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trees = {tree: environment(source, folder / tree) for tree, source in sources.items()}
        cases = {case: by for case, by in calls(trees, options.events, folder).items() if options.only in case}
        if not cases:
            raise SystemExit(f"No case has {options.only!r} in its name.")
        for tree, settings in trees.items():
            print(f"warming up: {tree}", file=sys.stderr)
            paper_scale.warm_up(settings)
        flat: dict[str, Any] = {f"{case}: {tree}": call for case, by in cases.items() for tree, call in by.items()}
        results = interleave(flat, options.runs)
    check_source(results, sources)
    print_table(f"new / old, {options.events:,} events, medians of {options.runs} rounds", lines(results, list(cases)))


if __name__ == "__main__":
    main()
