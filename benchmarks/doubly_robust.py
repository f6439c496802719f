"""``python -m benchmarks.doubly_robust``: doubly robust beside Open Bandit Pipeline's, on a log without propensities.

200,000 events (or ``--events``), 500 contexts with 8 features, 50 actions; every day another deterministic model
chooses. Each tool estimates the value of a policy from the log alone, in a process of its own: its error against the
truth, its time after imports, its peak memory. OBP has logistic regressions for propensities and rewards, or, with
``--boosted``, gradient boosting for rewards too. It needs the package ``obp``; without it only ours is shown.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

CONTEXTS, FEATURES, ACTIONS, DAYS = 500, 8, 50, 30
CONTEXT = [f"x{i}" for i in range(FEATURES)]


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


def peak() -> float:
    """Return this program's largest memory; what getrusage says may be that of the process that started it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return float(line.split()[1]) / 1024
    raise SystemExit("No VmHWM in /proc/self/status: this needs Linux.")


def ours(path: Path, policy: Path) -> float:
    import warmstart as ws

    events = ws.read_events(str(path), context=CONTEXT, action="action", reward="reward", event_id="id")
    found = ws.evaluate({"policy": str(policy)}, events, tau=0.001, estimators=["dr"])["policy"]
    return found.estimates[0].value


def obps(data: dict[str, Any], *, boosted: bool) -> float:
    from obp.ope import DoublyRobust, RegressionModel
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    x, events = data["features"][data["context"]], len(data["context"])
    pscore = (
        LogisticRegression(max_iter=1000).fit(x, data["action"]).predict_proba(x)[np.arange(events), data["action"]]
    )
    target = data["policy"][data["context"]][:, :, None]
    position = np.zeros(events, dtype=int)
    rewards = HistGradientBoostingClassifier() if boosted else LogisticRegression(max_iter=1000)
    model = RegressionModel(n_actions=ACTIONS, len_list=1, base_model=rewards)
    expected = model.fit_predict(
        context=x,
        action=data["action"],
        reward=data["reward"],
        position=position,
        pscore=pscore,
        action_dist=target,
        n_folds=3,
        random_state=0,
    )
    return float(
        DoublyRobust().estimate_policy_value(
            reward=data["reward"],
            action=data["action"],
            position=position,
            pscore=pscore,
            action_dist=target,
            estimated_rewards_by_reg_model=expected,
        )
    )


def measure(tool: str, seed: int, events: int, folder: Path) -> None:
    if tool == "warmstart":
        import ibis.backends.duckdb
        import pyarrow.compute
        import pyarrow.parquet

        import warmstart.pipeline

        assert ibis.backends.duckdb
        assert pyarrow.compute
        assert pyarrow.parquet
        assert warmstart.pipeline
        truth = json.loads((folder / "truth.json").read_text())
        start = time.perf_counter()
        value = ours(folder / "log.parquet", folder / "policy.parquet")
    else:
        import obp.ope
        import sklearn.ensemble
        import sklearn.linear_model

        assert obp.ope
        assert sklearn.ensemble
        assert sklearn.linear_model
        data = world(seed, events)
        truth = data["truth"]
        start = time.perf_counter()
        value = obps(data, boosted=tool == "obp boosted")
    seconds = time.perf_counter() - start
    print(json.dumps({"error": value / truth - 1, "seconds": seconds, "megabytes": peak()}))


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
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--boosted", action="store_true")
    parser.add_argument("--tool", default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    if options.tool is not None and options.folder is not None:
        measure(options.tool, options.seed, options.events, options.folder)
        return
    others = ["obp", *(["obp boosted"] if options.boosted else [])]
    tools = ["warmstart", *(others if importlib.util.find_spec("obp") else [])]
    rows: dict[str, list[dict[str, float]]] = {tool: [] for tool in tools}
    with tempfile.TemporaryDirectory() as name:
        for seed in range(options.seeds):
            write(seed, options.events, Path(name))
            for tool in tools:
                command = [sys.executable, "-m", "benchmarks.doubly_robust", "--tool", tool, "--seed", str(seed)]
                command += ["--events", str(options.events), "--folder", name]
                ran = subprocess.run(command, check=True, capture_output=True, text=True)
                rows[tool].append(json.loads(ran.stdout.splitlines()[-1]))
    from benchmarks.learning import table

    ours_, shown = rows["warmstart"], []
    for tool, found in rows.items():
        times = np.median([row["seconds"] / mine["seconds"] for row, mine in zip(found, ours_, strict=True)])
        memory = np.median([row["megabytes"] / mine["megabytes"] for row, mine in zip(found, ours_, strict=True)])
        errors = ", ".join(f"{row['error']:+.2%}" for row in found)
        shown.append([tool, errors, f"{times:.1f}", f"{memory:.1f}", f"{found[0]['megabytes']:.0f} MB"])
    table("Doubly robust, propensities hidden", ["", "errors", "time / ours", "memory / ours", "peak"], shown)


if __name__ == "__main__":
    main()
