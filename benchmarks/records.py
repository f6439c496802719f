"""Results in the repository: ``benchmarks/results/NAME.json``, a list of records, newest last."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT

RESULTS = Path(__file__).parent / "results"
# What may differ between two measurements of the same thing.
NOISE = ("runs", "seeds")

Rows = dict[str, dict[str, Any]]
Record = dict[str, Any]


def read(name: str, folder: Path = RESULTS) -> list[Record]:
    """Return the records of a benchmark, oldest first; none where it was never recorded."""
    path = folder / f"{name}.json"
    records: list[Record] = json.loads(path.read_text()) if path.exists() else []
    return records


def last(records: list[Record], settings: Mapping[str, Any]) -> Record | None:
    """Return the newest record measured with these settings, whatever its other settings and the number of runs."""
    matching = _alike(records, settings)
    return matching[-1] if matching else None


def best(records: list[Record], settings: Mapping[str, Any], row: str, column: str) -> tuple[float, str] | None:
    """Return the smallest value of a row's column that was recorded with these settings, and its commit.

    Counted from the last record whose slow-down was accepted, if there is one.
    """
    matching = _alike(records, settings)
    since = max((i for i, record in enumerate(matching) if record.get("accepted")), default=0)
    values = [(record["rows"].get(row, {}).get(column), record["commit"]) for record in matching[since:]]
    return min(((value, commit) for value, commit in values if value is not None), default=None)


def _alike(records: list[Record], settings: Mapping[str, Any]) -> list[Record]:
    wanted = {name: value for name, value in settings.items() if name not in NOISE}
    return [record for record in records if wanted.items() <= record["settings"].items()]


def append(
    name: str, rows: Rows, settings: Mapping[str, Any], folder: Path = RESULTS, *, accepted: str | None = None
) -> Path:
    """Add what was measured just now to a benchmark's file; ``accepted``: why it may be slower than all before."""
    record = {
        "commit": commit(),
        **({"accepted": accepted} if accepted else {}),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "settings": dict(settings),
        "rows": rows,
    }
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(text([*read(name, folder), record]))
    return path


def text(records: list[Record]) -> str:
    """Return records as JSON with one line a row, so that a difference between two versions can be read."""
    parts = []
    for record in records:
        fields = [f"    {json.dumps(name)}: {json.dumps(value)}" for name, value in record.items() if name != "rows"]
        rows = ",\n".join(f"      {json.dumps(name)}: {json.dumps(row)}" for name, row in record["rows"].items())
        parts.append("  {\n" + ",\n".join([*fields, f'    "rows": {{\n{rows}\n    }}']) + "\n  }")
    return "[\n" + ",\n".join(parts) + "\n]\n"


def commit() -> str:
    """Return the short hash of the measured code, with "dirty" where it was changed since."""
    try:
        head = _git("rev-parse", "--short=7", "HEAD")
        changed = _git("status", "--porcelain", "--", "src", "benchmarks", ":!benchmarks/results")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head}, dirty" if changed else head


def machine() -> str:
    """Return the processor, its cores, the memory and the versions of Python and DuckDB, in words."""
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    model = models[0].split(":", 1)[1].strip() if models else platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} cores, {memory:.0f} GB, Python {platform.python_version()}, DuckDB {version('duckdb')}"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()
