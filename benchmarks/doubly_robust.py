"""``python -m benchmarks.doubly_robust``: doubly robust beside Open Bandit Pipeline's, on a log without propensities.

200,000 events (or ``--events``), 500 contexts with 8 features, 50 actions; every day another deterministic model
chooses. Each tool estimates the value of a policy from the log alone, in a process of its own: its error against the
truth, its time after imports, its peak memory. The floor is the same estimate by a plain script: a DuckDB GROUP BY
of the file and a scikit-learn logistic regression for each action; nothing checked, no folds, no interval. OBP has
logistic regressions for propensities and rewards, or, with ``--boosted``, gradient boosting for rewards too. It needs
the package ``obp``; without it only ours and the floor are shown.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import beside_obp
from benchmarks.measure import (
    MEMORY,
    TIME,
    Run,
    interleave,
    median_ratio,
    preload,
    preload_warmstart,
    print_run,
    relative,
    run_child,
)
from benchmarks.records import Rows
from benchmarks.tables import publish

CONTEXTS, FEATURES, ACTIONS, DAYS = 500, 8, 50, 30
CONTEXT = [f"x{i}" for i in range(FEATURES)]
TAU = 0.001
EVENTS = 200_000
NAMES = {
    "warmstart": "warmstart, `--estimator dr`",
    "obp": "OBP, logistic regressions",
    "obp boosted": "OBP, rewards boosted",
    "floor": "floor: DuckDB and scikit-learn",
}


def world(seed: int, events: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(CONTEXTS, FEATURES))
    scores = features @ rng.normal(size=(FEATURES, ACTIONS)) / np.sqrt(FEATURES)
    means = 1 / (1 + np.exp(3 - scores))
    context = rng.integers(CONTEXTS, size=events)
    day = np.arange(events) * DAYS // events
    daily = np.empty((DAYS, CONTEXTS), dtype=np.int64)
    for d in range(DAYS):
        noisy = scores + rng.normal(scale=1.0, size=scores.shape)
        daily[d] = noisy.argmax(axis=1)
    action = daily[day, context]
    reward = (rng.random(events) < means[context, action]).astype(np.int64)
    probability = np.exp(2 * scores) / np.exp(2 * scores).sum(axis=1, keepdims=True)
    truth = float((probability * means)[context].sum(axis=1).mean())
    return {
        "features": features,
        "context": context,
        "action": action,
        "reward": reward,
        "day": day,
        "policy": probability,
        "truth": truth,
    }


def ours(folder: Path) -> float:
    import warmstart as ws

    log, policy = str(folder / "log.parquet"), str(folder / "policy.parquet")
    events = ws.read_events(log, context=CONTEXT, action="action", reward="reward", event_id="id")
    estimate: Any = ws.evaluate({"policy": policy}, events, tau=TAU, estimators=["dr"])["policy"]
    # An earlier version called them guesses.
    points = estimate.estimates if hasattr(estimate, "estimates") else estimate.guesses
    return float(points[0].value)


def floor(folder: Path) -> float:
    """The doubly robust value from counts, with one logistic regression of the rewards for each action."""
    import duckdb
    from sklearn.linear_model import LogisticRegression

    connection = duckdb.connect()
    keys = ", ".join(CONTEXT)
    query = f"SELECT {keys}, action, count(*) AS n, sum(reward) AS s FROM '{{}}' GROUP BY ALL ORDER BY ALL"
    cells = connection.execute(query.format(folder / "log.parquet")).fetchnumpy()
    policy = connection.execute(f"SELECT * FROM '{folder / 'policy.parquet'}' ORDER BY {keys}, action").fetchnumpy()
    # Every context has all actions in the policy's table, so that its rows are a matrix.
    features = np.column_stack([policy[name] for name in CONTEXT])[::ACTIONS]
    probability = policy["probability"].reshape(-1, ACTIONS)
    rows = np.column_stack([cells[name] for name in CONTEXT])
    place = {row.tobytes(): i for i, row in enumerate(features)}
    context = np.array([place[row.tobytes()] for row in rows])
    n, s = np.zeros_like(probability), np.zeros_like(probability)
    n[context, cells["action"]], s[context, cells["action"]] = cells["n"], cells["s"].astype(float)
    expected = np.full_like(probability, s.sum() / n.sum())
    for action in np.flatnonzero((s.sum(axis=0) > 0) & (s.sum(axis=0) < n.sum(axis=0))):
        shown = n[:, action] > 0
        x, hits, misses = features[shown], s[shown, action], (n - s)[shown, action]
        target = np.repeat([1, 0], len(x))
        model = LogisticRegression(max_iter=1000).fit(np.vstack([x, x]), target, np.concatenate([hits, misses]))
        expected[:, action] = model.predict_proba(features)[:, 1]
    traffic = n.sum(axis=1, keepdims=True)
    weight = probability / np.maximum(n / np.maximum(traffic, 1), TAU)
    return float((traffic * probability * expected + weight * (s - n * expected)).sum() / n.sum())


def obps(data: dict[str, Any], *, boosted: bool) -> float:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    x, action = data["features"][data["context"]], data["action"]
    pscore = LogisticRegression(max_iter=1000).fit(x, action).predict_proba(x)[np.arange(len(action)), action]
    rewards = HistGradientBoostingClassifier() if boosted else LogisticRegression(max_iter=1000)
    target = data["policy"][data["context"]]
    return beside_obp.values(x, action, data["reward"], pscore, target=target, model=rewards, names=(beside_obp.DR,))[
        beside_obp.DR
    ]


def job(tool: str, seed: int, events: int, folder: Path) -> None:
    """Measure one tool in this process, imports and the making of arrays aside."""
    truth = json.loads((folder / "truth.json").read_text())
    if tool == "warmstart":
        preload_warmstart()
        work: Callable[[], float] = partial(ours, folder)
    elif tool == "floor":
        preload("duckdb", "sklearn.linear_model")
        work = partial(floor, folder)
    else:
        preload("obp.ope", "sklearn.ensemble", "sklearn.linear_model")
        work = partial(obps, world(seed, events), boosted=tool == "obp boosted")
    print_run(lambda: {"error": work() / truth - 1})


def measure(
    tool: str, seed: int, events: int, folder: Path, *, settings: Mapping[str, str] | None = None
) -> Callable[[], Run]:
    """Return a call that measures one tool, in a process with further environment variables."""
    arguments = ["--tool", tool, "--seed", seed, "--events", events, "--folder", folder]
    return partial(run_child, "benchmarks.doubly_robust", *arguments, settings=settings)


def costs(events: int, seeds: int, *, boosted: bool = False) -> dict[str, Rows]:
    """Return the table of errors, and of time, CPU time and memory relative to the floor, over worlds."""
    others = ["obp", *(["obp boosted"] if boosted else [])]
    tools = ["floor", "warmstart", *(others if beside_obp.installed() else [])]
    results: dict[str, list[Run]] = {tool: [] for tool in tools}
    with tempfile.TemporaryDirectory() as name:
        for seed in range(seeds):
            write(seed, events, Path(name))
            calls = {tool: measure(tool, seed, events, Path(name)) for tool in tools}
            for tool, runs in interleave(calls, 1).items():
                results[tool] += runs
    errors = {tool: {"errors": [round(run["error"], 4) for run in results[tool]]} for tool in tools}
    first = {NAMES[tool]: errors[tool] | relative(results[tool], results["floor"]) for tool in ("warmstart", "floor")}
    if len(tools) == 2:
        return {"doubly-robust": first}
    beside: Rows = {}
    for tool in tools[1:]:
        ratios = {kind: round(median_ratio(results[tool], results["warmstart"], kind), 3) for kind in (TIME, MEMORY)}
        beside[NAMES[tool]] = errors[tool] | {"time / ours": ratios[TIME], "memory / ours": ratios[MEMORY]}
    return {"doubly-robust": first, "doubly-robust-obp": beside}


def write(seed: int, events: int, folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = world(seed, events)

    def features(contexts: Any) -> dict[str, Any]:
        return dict(zip(CONTEXT, data["features"][contexts].T, strict=True))

    log = {**features(data["context"]), "action": data["action"], "reward": data["reward"], "id": np.arange(events)}
    pq.write_table(pa.table(log), folder / "log.parquet")
    x, a = np.indices(data["policy"].shape)
    rows = {**features(x.ravel()), "action": a.ravel(), "probability": data["policy"].ravel()}
    pq.write_table(pa.table(rows), folder / "policy.parquet")
    (folder / "truth.json").write_text(json.dumps(data["truth"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--boosted", action="store_true")
    parser.add_argument("--record", action="store_true", help="keep the result in benchmarks/results")
    parser.add_argument("--tool", default=None, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tool is not None and options.folder is not None:
        job(options.tool, options.seed, options.events, options.folder)
        return
    for name, rows in costs(options.events, options.seeds, boosted=options.boosted).items():
        publish(name, rows, {"events": options.events, "seeds": options.seeds}, record=options.record)


if __name__ == "__main__":
    main()
