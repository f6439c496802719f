"""``make bench``: the paper's size, as ratios to a bare DuckDB floor measured in the same run."""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.paper_log import PAPER_EVENTS, paper_log

SMALL_EVENTS = 1_000_000
CASES = [("warmstart", "none"), ("warmstart", "split"), ("warmstart-live", "none"), ("warmstart-live", "split")]
NAMES = {
    ("warmstart", "none"): "whole log",
    ("warmstart", "split"): "65 % split, --no-live",
    ("warmstart-live", "none"): "whole log, daily live actions",
    ("warmstart-live", "split"): "65 % split, daily live actions (default)",
}


def measure(what: str, log: Path, split: str) -> dict[str, Any]:
    """Run one measurement in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.paper_scale", what, str(log), split]
    # Python keeps its compiled modules, as it does wherever nobody forbids it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=PAPER_EVENTS)
    parser.add_argument("--runs", type=int, default=5, help="interleaved runs; medians are shown")
    options = parser.parse_args()
    log = paper_log(options.events)
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for _ in range(options.runs):
        for split in ("none", "split"):
            for what in ("floor", "warmstart", "warmstart-live", *(["audit"] if split == "none" else [])):
                runs.setdefault((what, split), []).append(measure(what, log, split))
    median = {
        case: {name: statistics.median(run[name] for run in found) for name in found[0]} for case, found in runs.items()
    }
    print(f"evaluate, uniform and logging, tau .01 and .05; {options.events:,} events; medians of {options.runs} runs")
    print(f"{median['warmstart', 'none']['cells']:,.0f} cells")
    print(f"{'':44}{'time / floor':>14}{'CPU / floor':>14}{'peak memory':>14}")
    for case in CASES:
        ours, floor = median[case], median["floor", case[1]]
        time, cpu = ours["seconds"] / floor["seconds"], ours["cpu_seconds"] / floor["cpu_seconds"]
        print(f"{NAMES[case]:44}{time:>14.2f}{cpu:>14.2f}{ours['peak_mb'] / 1024:>11.2f} GB")
    audit, live = median["audit", "none"], median["warmstart-live", "none"]
    print(f"audit / evaluate: {audit['seconds'] / live['seconds']:.2f}, peak {audit['peak_mb'] / 1024:.2f} GB")
    agree = abs(median["warmstart", "split"]["value"] - median["floor", "split"]["value"]) < 1e-9
    print(f"value agrees with the floor's: {'yes' if agree else 'NO'}")
    if options.events > SMALL_EVENTS:
        small = statistics.median(
            measure("warmstart", paper_log(SMALL_EVENTS), "none")["cpu_seconds"] for _ in range(options.runs)
        )
        ratio = median["warmstart", "none"]["cpu_seconds"] / small
        exponent = math.log(ratio) / math.log(options.events / SMALL_EVENTS)
        print(f"CPU time grows as events^{exponent:.2f} from {SMALL_EVENTS:,} to {options.events:,} events")


if __name__ == "__main__":
    main()
