"""``python -m benchmarks.blocks``: full-information sets behind a deterministic logger that changes by block.

satimage (UCI, 6,435 events) in 20 blocks and scikit-learn's digits (1,797) in 8: bias of a classifier's estimated
accuracy, with propensities from a mixture over the blocks, from one model, and with the true ones: the share of
blocks that would show an action. Open Bandit Pipeline's estimators on the same propensities, where the package
``obp`` is installed. With --out, what is done is kept there and not done again. With --cost: what learning the mixture
costs, relative to one model.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import warmstart as ws
from benchmarks import beside_obp
from benchmarks.records import Rows
from benchmarks.tables import publish
from benchmarks.uci import Floats, Numbers, block_votes, columns, distinct, read

SETS = {"satimage": 20, "digits": 8}
# The smallest tau that is ever chosen: it clips nothing here, and hides nothing.
TAUS: tuple[Any, ...] = ("auto", 0.0005)
MIXTURE, MODEL, TRUE = "mixture", "one model", "true propensities"
SOURCES: dict[str, tuple[str, dict[str, str]]] = {
    MIXTURE: ("mixture", {"epoch": "block"}),
    MODEL: ("model", {}),
    TRUE: ("logged", {"propensity": "p"}),
}
# Events in the order of the file have different contexts in different blocks, which takes a classifier of the block.
FILES, SHUFFLED = "contexts differ", "contexts alike"

OBP = {"OBP ips": beside_obp.IPS, "OBP snips": beside_obp.SNIPS, "OBP dr": beside_obp.DR}


def load(name: str) -> tuple[Floats, Numbers]:
    """Return standardised features and labels."""
    if name != "digits":
        return read(name)
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    spread = x.std(axis=0)
    return (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1), y


def errors(name: str, seed: int) -> list[dict[str, Any]]:
    """Return the errors of dr and ips with every source, for a classifier learned from half of the labels."""
    from sklearn.linear_model import LogisticRegression

    x, y = load(name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(x))
    x, y = x[order], y[order]
    votes = block_votes(x, y, rng, SETS[name])
    rows = np.arange(len(x))
    block = rows * SETS[name] // len(x)
    shown = votes[block, rows]
    classifier = LogisticRegression(max_iter=300).fit(x[::2], y[::2])
    chosen = classifier.predict(x)
    truth = float((chosen == y).mean())
    log = {**columns(x), "a": shown, "r": (shown == y).astype(float), "i": rows, "block": block}
    log["p"] = (votes == shown).mean(axis=0)
    policy = distinct({**columns(x), "a": chosen})
    names: dict[str, Any] = {"context": [*columns(x)], "action": "a", "reward": "r", "event_id": "i"}
    found = []
    for source, (propensities, how) in SOURCES.items():
        events = ws.read_events(pa.table(log), **names, **how)
        result = ws.evaluate({"h": policy}, events, tau=TAUS, propensities=propensities, estimators=["dr", "ips"])
        row: dict[str, Any] = {"set": name, "seed": seed, "source": source, "truth": truth}
        row["unsupported"] = float(((votes == chosen).mean(axis=0) == 0).mean())
        if beside_obp.installed():
            row |= {kind: value - truth for kind, value in obps(events, propensities, classifier).items()}
        for tau, one in zip(TAUS, result, strict=True):
            points = {point.estimator: point for point in one.estimates}
            row |= {f"{kind}, {tau}": point.value - truth for kind, point in points.items()}
            row |= {"mean_weight": one.mean_weight, "withheld": one.withheld}
            if tau == "auto":
                ends = points["dr"]
                row["held"] = None if ends.lower is None else ends.lower <= truth <= ends.upper
                row["on_model"] = ends.on_model
        found.append(row)
    return found


def cost(name: str, order: str, runs: int = 5) -> dict[str, float]:
    """Return the processor time of learning a mixture over the blocks, relative to one model of all of them."""
    from warmstart.propensity.classifier import learn_propensity
    from warmstart.propensity.mixture import learn_mixture

    x, y = load(name)
    rng = np.random.default_rng(0)
    if order == SHUFFLED:
        shuffled = rng.permutation(len(x))
        x, y = x[shuffled], y[shuffled]
    votes = block_votes(x, y, rng, SETS[name])
    rows = np.arange(len(x))
    block = rows * SETS[name] // len(x)
    given = pa.table(columns(x)), pa.array(votes[block, rows]), np.ones(len(x)), rng.integers(0, 5, len(x))
    spent = np.empty((runs, 2))
    for run in range(runs):
        for i, learn in enumerate((lambda: learn_propensity(*given), lambda: learn_mixture(*given, block))):
            start = time.process_time()
            learn()
            spent[run, i] = time.process_time() - start
    whole = float(np.median(spent[:, 1] / spent[:, 0]))
    return {"all blocks together": whole - 1, "and the one model that they lean on": whole}


def obps(events: ws.Events, source: Any, classifier: Any) -> dict[str, float]:
    """Return the estimates of OBP with the propensities of a source; events without one are left out."""
    from sklearn.linear_model import LogisticRegression

    from warmstart.events import open_cells, open_strata
    from warmstart.pipeline.sources import with_propensities

    with open_cells(events) as cells, open_strata(cells, by_propensity=source == "logged") as strata:
        weighed, _ = with_propensities(strata, source, "")
        known = weighed.table.filter(weighed.table.propensity.notnull())
        fetched = cells.engine.fetch_arrow(known)
        rows = {name: fetched[name].to_numpy() for name in fetched.column_names}
    each = np.repeat(np.arange(len(rows["n"])), rows["n"].astype(int))
    x = np.column_stack([rows[key] for key in cells.columns.context_keys])[each]
    first = np.diff(each, prepend=-1) > 0
    within = np.arange(len(each)) - np.flatnonzero(first)[np.cumsum(first) - 1]
    reward = (within < rows["reward_sum"][each]).astype(float)
    target = (classifier.predict(x)[:, None] == classifier.classes_).astype(float)
    action, p = rows["action"][each], rows["propensity"][each]
    model = LogisticRegression(max_iter=1000)
    found = beside_obp.values(x, action, reward, p, target=target, model=model, names=tuple(OBP.values()))
    return {kind: found[name] for kind, name in OBP.items()}


def summary(runs: list[dict[str, Any]]) -> Rows:
    """Return a row for every set and source: means over draws."""
    rows: Rows = {}
    for name in SETS:
        for source in SOURCES:
            some = [run for run in runs if (run["set"], run["source"]) == (name, source)]
            if not some:
                continue

            def bias(kind: str, some: list[dict[str, Any]] = some) -> list[float] | None:
                values = np.array([run[kind] for run in some if kind in run])
                if not len(values):
                    return None
                return [round(float(values.mean()), 4), round(float(values.std(ddof=1) / np.sqrt(len(values))), 4)]

            ended = [run["held"] for run in some if run["held"] is not None]
            rows[f"{name}, {source}"] = {
                "dr": bias("dr, auto"),
                "dr, tau .0005": bias("dr, 0.0005"),
                "ips": bias("ips, auto"),
                "ips, tau .0005": bias("ips, 0.0005"),
                **{kind: bias(kind) for kind in OBP},
                "mean weight": round(float(np.mean([run["mean_weight"] for run in some])), 3),
                "ips withheld": f"{sum(run['withheld'] is not None for run in some)} of {len(some)}",
                "dr's 95 % interval holds": f"{sum(ended)} of {len(ended)}",
                "left to the model": round(float(np.mean([run["on_model"] for run in some])), 3),
                "never shown": round(float(np.mean([run["unsupported"] for run in some])), 3),
            }
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--out", type=Path, help="a folder of results, which are added to")
    parser.add_argument("--record", action="store_true", help="keep the results in benchmarks/results")
    parser.add_argument("--cost", action="store_true", help="compare the CPU time of learning only")
    options = parser.parse_args()
    if options.cost:
        named = {f"{name}, {SETS[name]} blocks": name for name in options.sets}
        rows = {f"{row}, {order}": cost(name, order) for row, name in named.items() for order in (FILES, SHUFFLED)}
        publish("blocks-cost", rows, {"runs": 5}, record=options.record)
        return
    path = options.out and options.out / "blocks.jsonl"
    runs = [json.loads(line) for line in path.read_text().splitlines()] if path and path.exists() else []
    done = {(run["set"], run["seed"]) for run in runs}
    for seed in range(options.seeds):
        for name in options.sets:
            if (name, seed) in done:
                continue
            new = errors(name, seed)
            runs += new
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("a") as file:
                    file.write("".join(json.dumps(run) + "\n" for run in new))
    publish("blocks", summary(runs), {"seeds": options.seeds}, record=options.record)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
