"""``python -m benchmarks.obd``: hide the propensities of the Open Bandit Dataset, estimate them, compare with the true.

Open Bandit Dataset (Saito et al., arXiv:2008.07146), 10,000-row samples of the campaign "all", Apache-2.0.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

import warmstart as ws
from benchmarks.measure import DATA
from benchmarks.records import Rows
from benchmarks.tables import print_table, publish
from warmstart.core.names import ACTION, FOLD
from warmstart.events import open_cells, open_strata
from warmstart.propensity.backoff import best_strengths
from warmstart.propensity.classifier import learn_propensity
from warmstart.propensity.compare import CountedRows
from warmstart.propensity.quality import calibration, log_loss, shown_propensity

ACTIONS = 80
# Thompson sampling changed through the week: the hour since its start tells how far it had learned.
KEYS = {
    "the position": ["position"],
    "position and hour": ["position", "hours"],
    "position and day": ["position", "day"],
}


def read(name: str) -> pa.Table:
    rows = csv.read_csv(DATA / "obd" / f"{name}_all.csv.gz")
    start = pc.min(rows["timestamp"])
    hours = pc.divide(pc.cast(pc.microseconds_between(start, rows["timestamp"]), pa.int64()), 3_600_000_000)
    rows = rows.append_column("hours", hours).append_column("day", pc.divide(hours, 24))
    return rows.append_column("row", pa.array(np.arange(rows.num_rows)))


def estimated(log: pa.Table, where: str, context: list[str]) -> dict[str, Any]:
    """Held-out propensities of what was shown, by every source, in the order of rows."""
    events = ws.read_events(log, context=["row", *context], action="item_id", reward="click")
    sources = {}
    with open_cells(events) as cells, open_strata(cells) as strata:
        rows = events.engine.fetch_arrow(strata.table.order_by("context_0"))
        keys = [f"context_{i + 1}" for i in range(len(context))]
        contexts, actions = rows.select(keys), rows[ACTION]
        n, folds = rows["n"].to_numpy(), rows[FOLD].to_numpy().astype(np.int64)
        strengths, _ = best_strengths(cells.engine, strata.table, [keys])
        models = {
            "an item's share": CountedRows.learn(contexts, actions, n, folds, levels=[], strengths=()),
            f"counts by {where}, with back-off": CountedRows.learn(
                contexts, actions, n, folds, levels=[keys], strengths=strengths
            ),
            f"model of {where}": learn_propensity(contexts, actions, n, folds),
        }
        for name, model in models.items():
            p = shown_propensity(model, contexts, actions, folds)
            sources[name] = (p, log_loss(p, n), calibration(model, contexts, actions, n, folds))
    return sources


def compared(log: pa.Table) -> Rows:
    truth = log["propensity_score"].to_numpy()
    rows: Rows = {"the true scores": {"log-loss": float(-np.log(truth).mean())}}
    sources: dict[str, Any] = {"uniform": (np.full(len(truth), 1 / ACTIONS), None, None)}
    for name, context in KEYS.items():
        sources |= estimated(log, name, context)
    for name, (p, loss, fit) in sources.items():
        alike = np.corrcoef(np.log(p), np.log(truth))[0, 1] if p.std() > 0 and truth.std() > 0 else None
        rows[name] = {
            "log-loss": float(-np.log(p).mean()) if loss is None else loss.log_loss,
            "miscalibrated": None if fit is None else fit.error,
            "by chance": None if fit is None else fit.noise,
            "log ratio": float(np.abs(np.log(p / truth)).mean()),
            "correlation": None if alike is None else float(alike),
        }
    return {
        name: {key: None if number is None or np.isnan(number) else round(number, 4) for key, number in row.items()}
        for name, row in rows.items()
    }


def values(log: pa.Table) -> list[list[str]]:
    """The value of uniform over all 80 items, whose full data say .0035."""
    lines = []
    names: dict[str, Any] = {"action": "item_id", "reward": "click", "event_id": "row"}
    logged = ws.read_events(log, context=["position", "hours"], propensity="propensity_score", **names)
    hidden = ws.read_events(log, context=["position", "hours"], **names)
    for what, events, source in (("true", logged, "logged"), ("hidden: model", hidden, "model")):
        found = ws.evaluate("uniform-all", events, propensities=source)["uniform-all"]
        point = found.best
        span = f"[{found.lower:.4f}, {found.upper:.4f}]"
        best = "-" if point is None else f"{point.value:.4f} [{point.lower:.4f}, {point.upper:.4f}]"
        lines.append([what, f"{found.tau:g}", f"{found.value:.4f}", span, best])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="keep the results in benchmarks/results")
    options = parser.parse_args()
    for name in ("bts", "random"):
        log = read(name)
        publish("obd", compared(log), {"events": log.num_rows, "log": name}, record=options.record)
        head = ["propensities", "tau", "value", "interval, approx.", "best estimate (snips)"]
        print_table(f"Open Bandit Dataset, {name}: the value of random (full data: .0035)", [head, *values(log)])


if __name__ == "__main__":
    main()
