"""``python -m benchmarks.choose_tau``: the tau that is chosen, against the best fixed one in hindsight.

The error of an estimate is taken against the truth on supported traffic (what was shown at all in the window), over
draws; a line says how much larger the root mean square is with ``tau="auto"`` than with the best of all candidates.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import warmstart as ws
from benchmarks import uci, upworthy
from benchmarks.records import Rows
from benchmarks.tables import publish
from warmstart.estimators.tau import CANDIDATES
from warmstart.simulation import TableWorld

Errors = dict[str, dict[str, float]]


def errors_of(found: ws.Evaluation, truths: dict[str, float]) -> Errors:
    errors: Errors = defaultdict(dict)
    for estimate in found:
        which = "auto" if estimate.tau_choice is not None else f"{estimate.tau:g}"
        errors[estimate.policy][which] = estimate.value - truths[estimate.policy]
    return errors


def months(draws: int, events_per_day: int) -> Iterator[Errors]:
    for seed in range(draws):
        world = TableWorld.month(contexts=60, actions=24, events_per_day=events_per_day, seed=seed)
        log = world.draw(seed=seed)
        events = ws.read_events(log, context="context", action="action", reward="reward", time="time")
        train, test = events.split(fraction=0.65)
        counts = []
        for window in (train, test):
            n = np.zeros_like(world.reward_means)
            rows = window.table.group_by("context_0", "action").agg(n=window.table.count())
            for row in events.engine.fetch(rows):
                n[world.contexts.index(row["context_0"]), world.actions.index(row["action"])] = row["n"]
            counts.append(n)
        feasible = counts[0] > 0
        arrays = {
            "uniform": feasible / np.maximum(feasible.sum(axis=1, keepdims=True), 1),
            "best": np.eye(feasible.shape[1])[np.where(feasible, world.reward_means, -1).argmax(axis=1)],
        }
        n_x = counts[1].sum(axis=1, keepdims=True)
        truths = {
            name: float((n_x * h * world.reward_means * (counts[1] > 0)).sum() / n_x.sum())
            for name, h in arrays.items()
        }
        policies = {name: world.policy_from_array(h) for name, h in arrays.items()}
        yield errors_of(ws.evaluate(policies, test, train=train, tau=["auto", *CANDIDATES]), truths)


def real_months(draws: int) -> Iterator[Errors]:
    archive = upworthy.read_archive(0)
    first = upworthy.FIRST_DAY + upworthy.TRAIN_DAYS
    for seed in range(draws):
        log = upworthy.draw(archive, 300, np.random.default_rng(seed))
        train, test = ws.read_events(log, **upworthy.NAMES).split(at=np.datetime64(first, "D").item())
        later = log.filter(
            pc.greater_equal(log["shown_at"], pa.scalar(first * upworthy.MICROSECONDS, pa.timestamp("us")))
        )
        rows = ws.policy_table("uniform", test, train=train)
        truths = {"uniform": upworthy.truth(archive, rows, later, 1e-9)}
        yield errors_of(ws.evaluate("uniform", test, train=train, tau=["auto", *CANDIDATES]), truths)


def classified(name: str, draws: int) -> Iterator[Errors]:
    """A logger that prefers some classes, propensities logged; the policy is learned on the other half."""
    from sklearn.linear_model import LogisticRegression

    x, y = uci.read(name)
    kinds = int(y.max()) + 1
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        train, test = uci.halves(x, rng)
        chosen = LogisticRegression(max_iter=500).fit(x[train], y[train]).predict(x[test])
        scores = x[test] @ rng.normal(size=(x.shape[1], kinds))
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p = 0.05 / kinds + 0.95 * p
        shown = (p.cumsum(axis=1) > rng.random((len(test), 1))).argmax(axis=1)
        columns: dict[str, Any] = {**uci.columns(x[test]), "a": shown, "r": (shown == y[test]).astype(float)}
        columns |= {"p": p[np.arange(len(test)), shown], "i": np.arange(len(test))}
        events = ws.read_events(
            pa.table(columns), context=[*uci.columns(x)], action="a", reward="r", propensity="p", event_id="i"
        )
        policy = uci.distinct({**uci.columns(x[test]), "a": chosen})
        truths = {name: float((chosen == y[test]).mean())}
        yield errors_of(ws.evaluate({name: policy}, events, tau=["auto", *CANDIDATES]), truths)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--record", action="store_true", help="keep the results in benchmarks/results")
    options = parser.parse_args()
    worlds: dict[str, Iterator[Errors]] = {
        "simulated month, 6 k events": months(options.draws, 200),
        "simulated month, 60 k events": months(options.draws, 2000),
        "upworthy": real_months(options.draws),
    }
    worlds |= {f"uci {name}": classified(name, options.draws) for name in uci.SETS}
    rows: Rows = {}
    for world, runs in worlds.items():
        by_policy: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for run in runs:
            for policy, by_tau in run.items():
                for tau, error in by_tau.items():
                    by_policy[policy][tau].append(error)
        for policy, errors_by_tau in by_policy.items():
            rmse = {tau: float(np.sqrt(np.mean(np.square(errors)))) for tau, errors in errors_by_tau.items()}
            auto = rmse.pop("auto")
            best = min(rmse, key=rmse.__getitem__)
            numbers = {"RMSE, auto": auto, "RMSE, best": rmse[best], "ratio": auto / rmse[best]}
            name = world if policy in world else f"{world}: {policy}"
            rows[name] = {key: round(number, 5) for key, number in numbers.items()} | {"best tau": best.lstrip("0")}
    publish("choose-tau", rows, {"draws": options.draws}, record=options.record)
    ratios = [row["ratio"] for row in rows.values()]
    print(f"\nmedian ratio {statistics.median(ratios):.2f}, largest {max(ratios):.2f}")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
