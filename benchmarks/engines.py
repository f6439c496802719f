"""Which engine when: the cost of ``evaluate`` and ``audit`` against the number of events, on DuckDB and on Spark.

    python -m benchmarks.engines [--events 1000000 10000000 54000000 200000000] [--spark-up-to 54000000]

Every measurement is a process of its own, Spark's Java included. Costs are shown as multiples of what DuckDB takes for
the smallest log, measured in the same run; memory is that of Python and of Java together.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import Run, finish_child, print_run, start_child
from benchmarks.paper_log import paper_log

EVENTS = (1_000_000, 10_000_000, 54_000_000, 200_000_000)
CORES = 2


def job(verb: str, engine: str, log: str, memory: str) -> None:
    """Do it, in this process, and print the time that it took without the start of the engine."""
    import warmstart as ws
    from warmstart.engine import connect

    connected = connect(engine, memory_limit=memory, threads=CORES)
    names: dict[str, Any] = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}

    def work() -> Run:
        events = ws.read_events(log, **names, engine=connected)
        if verb == "audit":
            ws.audit(events)
        else:
            train, test = events.split(fraction=0.65)
            ws.evaluate(["logging", "uniform"], test, train=train, tau=0.05)
        return {}

    print_run(work)


def measure(verb: str, engine: str, log: Path, memory: str) -> Run:
    """Run a job, and watch how much memory its processes have together."""
    child = start_child("benchmarks.engines", "--job", verb, engine, log, memory, quiet=True)
    peak = 0.0
    while child.poll() is None:
        peak = max(peak, sum(_resident(pid) for pid in _family(child.pid)))
        time.sleep(0.1)
    return {**finish_child(child), "peak": peak}


def _family(pid: int) -> list[int]:
    pids = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            pids += [one for child in task.read_text().split() for one in _family(int(child))]
        except OSError:
            continue
    return pids


def _resident(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**30
    except OSError:
        return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="+", default=EVENTS)
    parser.add_argument("--spark-up-to", type=int, default=54_000_000, help="larger logs on DuckDB only")
    parser.add_argument("--memory", default="4GB", help="each engine's memory limit")
    parser.add_argument("--job", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        job(*options.job)
        return
    floors: dict[str, float] = {}
    print(f"{'verb':10}{'events':>14}{'engine':>9}{'cost':>9}{'memory':>11}{'Spark / DuckDB':>17}")
    for verb in ("evaluate", "audit"):
        for events in options.events:
            log, seconds = paper_log(events), {}
            for engine in ("duckdb", "spark"):
                if engine == "spark" and events > options.spark_up_to:
                    continue
                run = measure(verb, engine, log, options.memory)
                floor = floors.setdefault(verb, run["seconds"])
                seconds[engine] = run["seconds"]
                ratio = f"{seconds['spark'] / seconds['duckdb']:.1f}" if engine == "spark" else ""
                cost = run["seconds"] / floor
                print(
                    f"{verb:10}{events:>14,}{engine:>9}{cost:>9.1f}{run['peak']:>8.2f} GB{ratio:>17}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
