"""``make bench``: the paper's size, as ratios to floors measured in the same run, kept in benchmarks/results."""

from __future__ import annotations

import argparse

from benchmarks.paper_log import PAPER_EVENTS
from benchmarks.suite import full
from benchmarks.tables import publish


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=list(full()), help=f"of {', '.join(full())}; all by default")
    parser.add_argument("--events", type=int, default=PAPER_EVENTS)
    parser.add_argument("--runs", type=int, default=3, help="interleaved runs; medians are shown")
    parser.add_argument("--record", action="store_true", help="keep the results in benchmarks/results")
    options = parser.parse_args()
    for name, benchmark in full(options.events, options.runs).items():
        if name in options.what:
            for table, rows in benchmark.run().items():
                publish(table, rows, benchmark.settings, record=options.record)


if __name__ == "__main__":
    main()
