"""The month that the demo evaluates: a log, and decisions learned from its first days by plain averages."""

from __future__ import annotations

from pathlib import Path

from warmstart.core.files import whole_file
from warmstart.worlds import TableWorld

TRAIN_DAYS = 19


def write_month(out: Path, *, seed: int) -> TableWorld:
    """Draw the log and write it with the decisions."""
    import pyarrow.parquet as pq
    from pyarrow import csv

    world = TableWorld.month(seed=seed)
    log = world.draw(seed=seed)
    with whole_file(out / "events.parquet") as path:
        pq.write_table(log, path)
    early = log.slice(0, TRAIN_DAYS * world.events_per_day)
    means = early.group_by(["context", "action"]).aggregate([("reward", "mean"), ("reward", "count")])
    often = means.filter([n >= 30 for n in means["reward_count"].to_pylist()])
    ranked = often.sort_by([("context", "ascending"), ("reward_mean", "descending"), ("action", "ascending")])
    best: dict[str, str] = {}
    for context, action in zip(ranked["context"].to_pylist(), ranked["action"].to_pylist(), strict=True):
        best.setdefault(context, action)
    import pyarrow as pa

    with whole_file(out / "decisions.csv") as path:
        csv.write_csv(pa.table({"context": list(best), "action": list(best.values())}), path)
    return world
