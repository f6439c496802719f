"""``python -m benchmarks.uci``: full-information sets, where the value of every policy is known exactly.

glass, satimage, vehicle, yeast (UCI). ``estimators``: bias and RMSE of the estimators as in Dudik, Langford and Li
(2011): a policy learned on half of a set is valued on the other half, shown at random, propensities known and hidden.
``learning``: labels hidden behind a deterministic logger that changes by block; ours and Vowpal Wabbit's contextual
bandits, which are given the propensities that we estimate, since it cannot.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

import warmstart as ws
from benchmarks.measure import DATA
from benchmarks.peers import VW_TYPES, wabbit
from benchmarks.records import Rows
from benchmarks.tables import publish

SETS = ("glass", "satimage", "vehicle", "yeast")
# RMSE of IPS, DR, DM, read off the paper's figure.
DUDIK = {
    "glass": ".193, .141, .146",
    "satimage": ".021, .018, .173",
    "vehicle": ".062, .058, >=.28",
    "yeast": ".099, .075, .192",
}
ESTIMATORS = ("ips", "snips", "dm", "dr", "switch-dr", "shrunk-dr")
BLOCKS, WEAK = 20, 30

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


def read(name: str) -> tuple[Floats, Numbers]:
    rows = csv.read_csv(DATA / "uci" / f"{name}.csv.gz")
    x = np.column_stack([rows[column].to_numpy() for column in rows.column_names if column != "y"]).astype(np.float64)
    y = np.unique(np.array(rows["y"].to_pylist()), return_inverse=True)[1]
    spread = x.std(axis=0)
    return (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1), y


def halves(x: Floats, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    order = rng.permutation(len(x))
    return order[: len(x) // 2], order[len(x) // 2 :]


def columns(x: Floats) -> dict[str, Floats]:
    return {f"x{i}": x[:, i] for i in range(x.shape[1])}


def distinct(rows: dict[str, Any]) -> pa.Table:
    """Decisions, each once: examples with the same features are one context."""
    found = pa.table(rows)
    return found.group_by(found.column_names).aggregate([])


def runs(name: str, seeds: int) -> Iterator[dict[tuple[str, str], float]]:
    """The errors of every estimator, propensities known and hidden, one dictionary a split."""
    from sklearn.linear_model import LogisticRegression

    x, y = read(name)
    kinds = int(y.max()) + 1
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        train, test = halves(x, rng)
        chosen = LogisticRegression(max_iter=500).fit(x[train], y[train]).predict(x[test])
        truth = float((chosen == y[test]).mean())
        shown = rng.integers(kinds, size=len(test))
        log = {**columns(x[test]), "a": shown, "r": (shown == y[test]).astype(float), "i": np.arange(len(test))}
        log["p"] = np.full(len(test), 1 / kinds)
        policy = distinct({**columns(x[test]), "a": chosen})
        names: dict[str, Any] = {"context": [*columns(x)], "action": "a", "reward": "r", "event_id": "i"}
        errors = {}
        for what, propensity, source in (("known", "p", "logged"), ("hidden", None, "model")):
            events = ws.read_events(pa.table(log), **names, propensity=propensity)
            found = ws.evaluate({"h": policy}, events, tau=0.01, propensities=source, estimators=ESTIMATORS)["h"]
            errors |= {(what, point.estimator): point.value - truth for point in found.estimates}
        yield errors


def bias_and_rmse(errors: Any) -> list[float]:
    """Return the mean and the root mean square of errors."""
    errors = np.asarray(errors)
    return [round(float(errors.mean()), 4), round(float(np.sqrt((errors**2).mean())), 4)]


def estimators(seeds: int) -> dict[str, Rows]:
    rows: Rows = {}
    for name in SETS:
        splits = list(runs(name, seeds))
        for what in ("known", "hidden"):
            row: dict[str, Any] = {
                estimator: bias_and_rmse([errors[what, estimator] for errors in splits]) for estimator in ESTIMATORS
            }
            rows[f"{name}, {what}"] = {**row, "that paper: ips, dr, dm": DUDIK[name] if what == "known" else None}
    return {"uci-estimators": rows}


def block_votes(x: Floats, y: Numbers, rng: np.random.Generator, blocks: int) -> Numbers:
    """What each block's logger would show of every row, [block, row]: each a weak classifier of few labels."""
    from sklearn.linear_model import LogisticRegression

    votes = np.empty((blocks, len(x)), dtype=np.int64)
    for block in range(blocks):
        few = rng.choice(len(x), WEAK, replace=False)
        labels = np.where(rng.random(WEAK) < 0.5, y[few], rng.integers(y.max() + 1, size=WEAK))
        if len(np.unique(labels)) < 2:
            votes[block] = labels[0]
        else:
            votes[block] = LogisticRegression(max_iter=200).fit(x[few], labels).predict(x)
    return votes


def hidden_log(x: Floats, y: Numbers, rng: np.random.Generator) -> Numbers:
    """Actions of a logger that is deterministic inside a block."""
    votes = block_votes(x, y, rng, BLOCKS)
    parts = np.array_split(np.arange(len(x)), BLOCKS)
    return np.concatenate([votes[block, rows] for block, rows in enumerate(parts)])


def ours(x: Floats, a: Numbers, r: Floats, new: Floats) -> Numbers:
    ids = np.arange(len(x))
    events = ws.read_events(pa.table({"i": ids, "a": a, "r": r}), context="i", action="a", reward="r")
    policy = ws.fit(events, contexts=pa.table({"i": ids, **columns(x)}), weight_bits=16)
    chosen = policy.choose_table(pa.table({"i": np.arange(len(new)) + len(x), **columns(new)}))
    return chosen["a"].to_numpy().astype(np.int64)


def learned(name: str, seed: int) -> dict[str, float]:
    """Accuracy of what was learned from the first half, and the error of its value estimated on the second."""
    x, y = read(name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(x))
    x, y = x[order], y[order]
    shown = hidden_log(x, y, rng)
    r = (shown == y).astype(float)
    half, kinds = len(x) // 2, int(y.max()) + 1
    log = pa.table({"i": np.arange(len(x)), **columns(x), "a": shown, "r": r})
    names: dict[str, Any] = {"context": [*columns(x)], "action": "a", "reward": "r", "event_id": "i"}
    p = estimated(ws.read_events(log.slice(0, half), **{**names, "context": ["i", *columns(x)], "event_id": None}))
    found = {"logging": float(r[half:].mean())}
    policies = {"warmstart": ours(x[:half], shown[:half], r[:half], x[half:])}
    for kind in VW_TYPES:
        policies[f"VW {kind}"] = wabbit(kind, x[:half], x[half:], a=shown[:half], r=r[:half], p=p, kinds=kinds)
    later = ws.read_events(log.slice(half), **names)
    for method, chosen in policies.items():
        found[method] = float((chosen == y[half:]).mean())
    decisions = distinct({**columns(x[half:]), "a": policies["warmstart"]})
    valued = ws.evaluate({"h": decisions}, later, propensities="model", estimators=["snips", "dr"])["h"]
    found |= {f"error {point.estimator}": point.value - found["warmstart"] for point in valued.estimates}
    found["error ips"] = valued.value - found["warmstart"]
    return found


def estimated(events: ws.Events) -> Floats:
    """The propensities of what was shown, by a model that did not see the event, in the order of rows."""
    from warmstart.events import open_cells, open_strata
    from warmstart.propensity import modelled_propensity

    with open_cells(events) as cells, open_strata(cells) as strata:
        weighed = modelled_propensity(strata)
        rows = events.engine.fetch_arrow(weighed.table.order_by("context_0"))
    p: Floats = rows["propensity"].to_numpy(zero_copy_only=False).astype(np.float64)
    return np.nan_to_num(p, nan=1.0)


def learning(seeds: int) -> dict[str, Rows]:
    accuracy: Rows = {}
    values: Rows = {}
    peers = [f"VW {kind}" for kind in VW_TYPES]
    for name in SETS:
        splits = [learned(name, seed) for seed in range(seeds)]
        means = {method: statistics.mean(run[method] for run in splits) for method in ("logging", "warmstart", *peers)}
        row: dict[str, Any] = {method: round(mean, 4) for method, mean in means.items()}
        row["ours - best VW"] = round(means["warmstart"] - max(means[peer] for peer in peers), 4)
        row["at least as good"] = sum(run["warmstart"] >= max(run[peer] for peer in peers) for run in splits)
        accuracy[name] = row
        values[name] = {
            kind: bias_and_rmse([run[f"error {kind}"] for run in splits]) for kind in ("ips", "snips", "dr")
        }
    return {"uci-learning": accuracy, "uci-values": values}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["estimators", "learning"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--record", action="store_true", help="keep the results in benchmarks/results")
    options = parser.parse_args()
    for name, work in (("estimators", estimators), ("learning", learning)):
        if name in options.what:
            for table, rows in work(options.seeds).items():
                publish(table, rows, {"seeds": options.seeds}, record=options.record)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
