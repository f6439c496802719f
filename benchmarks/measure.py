"""Time, CPU time and peak memory of child processes, interleaved, as medians of ratios to a floor."""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# The real data sets, and the logs that are made here.
DATA = Path(os.environ.get("WARMSTART_DATA", ROOT.parent / "shared" / "data"))
MADE = Path(__file__).parent / "data"

Run = dict[str, Any]
TIME, CPU, MEMORY = "seconds", "cpu_seconds", "peak_mb"


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that a call takes, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def clocked(work: Callable[[], Any]) -> Callable[[], Run]:
    """Return a call that measures the time of another in this process, and keeps its result."""

    def run() -> Run:
        seconds, result = timed(work)
        return {TIME: seconds, "result": result}

    return run


def peak_mb() -> float:
    """Return the peak memory of this process; what getrusage says may be that of the process that started it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return float(line.split()[1]) / 1024
    raise SystemExit("No VmHWM in /proc/self/status: this needs Linux.")


def print_run(work: Callable[[], Run]) -> None:
    """Call, and print time, CPU time, peak memory and the result as JSON: the last line of a measured process."""
    cpu = time.process_time()
    seconds, result = timed(work)
    source = getattr(sys.modules.get("warmstart"), "__file__", None)
    print(json.dumps({TIME: seconds, CPU: time.process_time() - cpu, MEMORY: peak_mb(), "source": source, **result}))


def preload(*modules: str) -> None:
    """Import what is not to be measured."""
    for module in modules:
        importlib.import_module(module)


def preload_warmstart() -> None:
    """Import the library with what its front door imports on first use."""
    preload("ibis.backends.duckdb", "pyarrow.compute", "pyarrow.parquet", "warmstart.engine")
    library = importlib.import_module("warmstart")
    for name in ("read_events", "evaluate", "audit"):
        getattr(library, name)


def start_child(
    module: str, *arguments: object, settings: Mapping[str, str] | None = None, quiet: bool = False
) -> subprocess.Popen[str]:
    """Start ``python -m module`` in the repository.

    Args:
        module: what to run.
        *arguments: its command line.
        settings: further environment variables.
        quiet: throw its messages away, where nobody reads them until it ends and they may be many.
    """
    # Python keeps its compiled modules, as it does wherever nobody forbids it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", module, *map(str, arguments)]
    messages = subprocess.DEVNULL if quiet else subprocess.PIPE
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": messages, "text": True}
    return subprocess.Popen(command, cwd=ROOT, env={**environment, **(settings or {})}, **pipes)


def finish_child(child: subprocess.Popen[str]) -> Run:
    """Wait for a measured process and return what it printed last."""
    out, err = child.communicate()
    if child.returncode:
        raise SystemExit(f"{' '.join(map(str, child.args))} failed:\n{err or ''}")  # type: ignore[arg-type]
    run: Run = json.loads(out.splitlines()[-1])
    return run


def run_child(module: str, *arguments: object, settings: Mapping[str, str] | None = None) -> Run:
    """Run one measurement in a process of its own."""
    return finish_child(start_child(module, *arguments, settings=settings))


def interleave(cases: Mapping[str, Callable[[], Run]], runs: int) -> dict[str, list[Run]]:
    """Run every case once in each round, every other round backwards, so that a slow minute falls on all of them."""
    results: dict[str, list[Run]] = {name: [] for name in cases}
    for i in range(runs):
        for name in list(cases)[:: 1 if i % 2 == 0 else -1]:
            results[name].append(cases[name]())
            print(f"round {i + 1} of {runs}: {name}", file=sys.stderr)
    return results


def median(runs: Iterable[Run], name: str) -> float:
    return statistics.median(run[name] for run in runs)


def median_ratio(runs: Iterable[Run], floors: Iterable[Run], name: str) -> float:
    """Return the median over rounds of what a case took, relative to its floor in the same round."""
    return statistics.median(run[name] / floor[name] for run, floor in zip(runs, floors, strict=True))


def relative(runs: list[Run], floors: list[Run]) -> dict[str, float]:
    """Return the columns of a table of costs: time and CPU time relative to a floor, peak memory in MB."""
    return {
        "time / floor": round(median_ratio(runs, floors, TIME), 3),
        "CPU / floor": round(median_ratio(runs, floors, CPU), 3),
        "peak memory, MB": round(median(runs, MEMORY)),
    }


def compared(
    module: str, log: Path, names: Sequence[str], cases: tuple[str, str], *, runs: int, words: str
) -> dict[str, dict[str, Any]]:
    """Return a table: what one case of every name costs, relative to another.

    Args:
        module: The benchmark, which measures ``NAME|CASE`` on a log in a process of its own.
        log: The log.
        names: The rows of the table.
        cases: What is measured, and what it is relative to.
        runs: How many interleaved runs.
        words: What the table calls the other case.
    """
    work = {
        f"{name}|{case}": partial(run_child, module, f"{name}|{case}", log)
        for name in names
        for case in reversed(cases)
    }
    results = interleave(work, runs)
    rows: dict[str, dict[str, Any]] = {}
    for name in names:
        row = relative(*(results[f"{name}|{case}"] for case in cases))
        rows[name] = {key.replace("floor", words): value for key, value in row.items()}
    return rows
