"""``make bench-check``: measure at a small size; exit 1 where a ratio is a quarter worse than the last or best record.

A benchmark that seems slower is measured once more, and only what is slower both times counts. A ratio without a
record of the same settings fails too (exit 2): ``python -m benchmarks.check --record`` adds one. A slow-down that is
wanted is recorded with ``--accept WHY``: the best is counted from there on.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.records import Record, Rows
from benchmarks.suite import Benchmark, small
from benchmarks.tables import TABLES, cell, print_table, publish

QUARTER = 0.25
# What is relative to a floor or a peer, or stands for itself; larger is worse. Ratios of ours to ours (audit to
# evaluate, events to cells) get worse when the other one gets better, and are left out.
COMPARED = (
    *("time / floor", "CPU / floor", "peak memory, MB"),
    *("time / VW --sgd", "time / VW pass"),
)


@dataclass(frozen=True)
class Finding:
    """One ratio now, as it was recorded last, and the best recorded with its commit; nothing recorded is None."""

    row: str
    column: str
    now: float
    before: float | None
    best: tuple[float, str] | None = None

    @property
    def change(self) -> float | None:
        return None if self.before is None else self.now / self.before - 1

    @property
    def change_of_best(self) -> float | None:
        return None if self.best is None else self.now / self.best[0] - 1

    def is_worse(self, tolerance: float) -> bool:
        return any(change is not None and change >= tolerance for change in (self.change, self.change_of_best))


def compare(measured: Rows, recorded: list[Record], settings: dict[str, Any]) -> list[Finding]:
    """Return what was measured of the compared columns, each beside its last and its best recorded value."""
    last = records.last(recorded, settings)
    known = last["rows"] if last else {}
    return [
        Finding(
            name, column, row[column], known.get(name, {}).get(column), records.best(recorded, settings, name, column)
        )
        for name, row in measured.items()
        for column in COMPARED
        if column in row
    ]


def better_of(first: Rows, second: Rows) -> Rows:
    """Return the smaller of two measurements of each compared number: a busy machine only ever makes it larger."""

    def one(name: str, column: str, value: Any) -> Any:
        return min(value, second[name][column]) if column in COMPARED else value

    return {name: {column: one(name, column, value) for column, value in row.items()} for name, row in first.items()}


def findings(
    tables: dict[str, Rows], settings: dict[str, Any], folder: Path = records.RESULTS
) -> dict[str, list[Finding]]:
    """Return the findings of a benchmark's tables against the records of the same settings."""
    return {name: compare(rows, records.read(name, folder), settings) for name, rows in tables.items()}


def measure(benchmark: Benchmark, tolerance: float, folder: Path = records.RESULTS) -> dict[str, Rows]:
    """Run a benchmark; run it again where something is worse than it was."""
    tables = benchmark.run()
    compared = findings(tables, benchmark.settings, folder)
    if any(one.is_worse(tolerance) for found in compared.values() for one in found):
        print("something is slower than it was: measuring again", file=sys.stderr)
        again = benchmark.run()
        tables = {name: better_of(rows, again[name]) for name, rows in tables.items()}
    return tables


def print_findings(name: str, found: list[Finding], tolerance: float) -> None:
    lines = [["", "", "now", "last", "change", "best", "change", "", ""]]
    for one in found:
        change, of_best = ("no record" if of is None else f"{of:+.0%}" for of in (one.change, one.change_of_best))
        best, commit = one.best or (None, "")
        now, last, best_now = (cell(value, TABLES[name].form(one.column)) for value in (one.now, one.before, best))
        verdict = "WORSE" if one.is_worse(tolerance) else ""
        lines.append([one.row, one.column, now, last, change, best_now, of_best, commit, verdict])
    print_table(name, lines)


def status(found: list[Finding], tolerance: float) -> int:
    """Return the exit status: 1 for something worse, else 2 for something without a record, else 0."""
    if any(one.is_worse(tolerance) for one in found):
        return 1
    return 2 if any(one.before is None for one in found) or not found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=list(small()), help=f"of {', '.join(small())}; all by default")
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3, help="interleaved runs; medians are compared")
    parser.add_argument("--tolerance", type=float, default=QUARTER)
    parser.add_argument("--record", action="store_true", help="keep the results, and compare with nothing")
    parser.add_argument("--accept", metavar="WHY", help="with --record: why what is measured may be slower than before")
    options = parser.parse_args()
    if options.accept and not options.record:
        parser.error("--accept is for --record")
    everything: list[Finding] = []
    for name, benchmark in small(options.events, options.runs).items():
        if name not in options.what:
            continue
        if options.record:
            for table, rows in benchmark.run().items():
                publish(table, rows, benchmark.settings, record=True, accepted=options.accept)
            continue
        for table, found in findings(measure(benchmark, options.tolerance), benchmark.settings).items():
            if found:
                print_findings(table, found, options.tolerance)
            everything += found
    if options.record:
        return 0
    result = status(everything, options.tolerance)
    worse = sum(one.is_worse(options.tolerance) for one in everything)
    unknown = sum(one.before is None for one in everything)
    print(f"\n{len(everything)} ratios: {worse} at least {options.tolerance:.0%} worse, {unknown} without a record.")
    if unknown:
        print("To record what is measured now: python -m benchmarks.check --record")
    return result


if __name__ == "__main__":
    sys.exit(main())
