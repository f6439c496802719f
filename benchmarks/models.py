"""``python -m benchmarks.models [worlds] [uci]``: the models of ``fit`` beside other learners, in the same run.

``worlds``: four simulated worlds (``benchmarks.worlds``); true values from uniform over the feasible actions (0) to
the best feasible (1). ``uci``: accuracy on full-information sets behind the deterministic logger of ``benchmarks.uci``.
A model that ``fit`` does not know, or that does not suit the log, is left out. With --out, what was measured is kept
there with its commit, and not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import warmstart as ws
from benchmarks.blocks import load
from benchmarks.peers import OF_CELLS, OF_NUMBERS, VW_TYPES, CellRows, wabbit
from benchmarks.records import Rows, commit
from benchmarks.tables import publish
from benchmarks.uci import SETS, Floats, Numbers, columns, estimated, hidden_log
from benchmarks.worlds import WORLDS, World

MODELS = ("product", "low-rank", "logistic", "trees", "cells", "auto")
ALL_SETS = (*SETS, "digits")

Scores = dict[str, float]


def policies(models: Iterable[str], events: ws.Events, **tables: Any) -> dict[str, ws.FittedPolicy]:
    """Return what each model learns, without those that ``fit`` refuses."""
    found = {}
    for model in models:
        try:
            found[model] = ws.fit(events, **tables, model=model)
        except ws.UsageError:
            if model == "product":
                found[model] = ws.fit(events, **tables)
    return found


def in_world(world: World, models: Iterable[str], *, peers: bool) -> Scores:
    """Return where our models and, if asked for, their peers are on the world's scale."""
    found = policies(models, world.read(), contexts=world.contexts, actions=world.actions)
    if world.unseen is None:
        chosen = {name: policy.decisions for name, policy in found.items()}
        values = {f"ours: {name}": world.truth(decisions) for name, decisions in chosen.items()}
        cells = CellRows.of(world.events, world.contexts, world.actions)
        for name, peer in OF_CELLS.items() if peers else ():
            values[name] = max(world.truth(cells.decisions(scores)) for scores in peer(cells))
    else:
        assert world.contexts is not None
        chosen = choices(found, world.unseen, "action")
        x, new = (_standard(table.drop_columns("context"), world.contexts) for table in (world.contexts, world.unseen))
        a, r = world.events["action"].to_numpy(), world.events["reward"].to_numpy()
        chosen |= of_numbers(x, new, a=a, r=r, kinds=world.means.shape[1]) if peers else {}
        ids = world.unseen["context"]
        values = {name: world.truth(pa.table({"context": ids, "action": each})) for name, each in chosen.items()}
    return {name: world.scaled(value) for name, value in values.items()}


def _standard(table: pa.Table, known: pa.Table) -> Floats:
    """Return a table's columns in the units of the known ones: their mean is 0 and their spread 1."""
    seen = {name: known[name].to_numpy() for name in table.column_names}
    return np.column_stack([(table[name].to_numpy() - one.mean()) / one.std() for name, one in seen.items()])


def choices(found: dict[str, ws.FittedPolicy], new: pa.Table, action: str) -> dict[str, Numbers]:
    """Return what policies choose in new contexts, without those that cannot."""
    chosen = {}
    for name, policy in found.items():
        try:
            chosen[f"ours: {name}"] = policy.choose_table(new)[action].to_numpy().astype(np.int64)
        except ws.UsageError:
            continue
    return chosen


def of_numbers(x: Floats, new: Floats, *, a: Numbers, r: Floats, kinds: int) -> dict[str, Numbers]:
    """Return the choices of the peers that learn from numbers; Vowpal Wabbit is given estimated propensities."""
    log = pa.table({"i": np.arange(len(x)), **columns(x), "a": a, "r": r})
    p = estimated(ws.read_events(log, context=["i", *columns(x)], action="a", reward="r"))
    chosen = {f"VW {kind}": wabbit(kind, x, new, a=a, r=r, p=p, kinds=kinds) for kind in VW_TYPES}
    return chosen | {name: peer(x, new, a=a, r=r, kinds=kinds) for name, peer in OF_NUMBERS.items()}


def on_set(name: str, seed: int, models: Iterable[str], *, peers: bool) -> Scores:
    """Return accuracies on the second half of a set of what was learned from the first."""
    x, y = load(name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(x))
    x, y = x[order], y[order]
    shown = hidden_log(x, y, rng)
    half, kinds = len(x) // 2, int(y.max()) + 1
    a, r = shown[:half], (shown == y)[:half].astype(float)
    tables = pa.table({"i": np.arange(len(x)), **columns(x)})
    log = pa.table({"i": np.arange(half), "a": a, "r": r})
    events = ws.read_events(log, context="i", action="a", reward="r")
    chosen = choices(policies(models, events, contexts=tables.slice(0, half)), tables.slice(half), "a")
    chosen |= of_numbers(x[:half], x[half:], a=a, r=r, kinds=kinds) if peers else {}
    return {name: float((each == y[half:]).mean()) for name, each in chosen.items()}


def summary(runs: list[Scores]) -> dict[str, Any]:
    """Return means and standard errors over seeds, and of ours (auto, where it is there) less the best peer."""
    row: dict[str, Any] = {name: _mean_and_error([run[name] for run in runs]) for name in runs[0]}
    mine = [name for name in row if name.startswith("ours: ")]
    best = max((name for name in row if name not in mine), key=lambda name: row[name][0])
    if mine:
        ours = "ours: auto" if "ours: auto" in mine else mine[0]
        row["ours - best peer"] = _mean_and_error([run[ours] - run[best] for run in runs])
    return {**row, "best peer": best}


def _mean_and_error(numbers: list[float]) -> list[float]:
    mean = round(float(np.mean(numbers)), 4)
    # One seed says nothing of its error.
    return [mean] if len(numbers) == 1 else [mean, round(float(np.std(numbers, ddof=1) / len(numbers) ** 0.5), 4)]


def measured(path: Path | None, models: Iterable[str], measure: Callable[[list[str], bool], Scores]) -> dict[str, Any]:
    """Return scores with the commits at which they were measured: those that are kept, and what they lack."""
    kept: dict[str, Any] = json.loads(path.read_text()) if path and path.exists() else {}
    missing = [model for model in models if f"ours: {model}" not in kept]
    peers = all(name.startswith("ours: ") for name in kept)
    if missing or peers:
        found: dict[str, float | None] = dict.fromkeys(f"ours: {model}" for model in missing)
        kept |= {name: [score, commit()] for name, score in {**found, **measure(missing, peers)}.items()}
    if path:
        path.write_text(json.dumps(kept))
    return kept


def table(
    names: Iterable[str], seeds: int, models: list[str], measure: Callable[..., Scores], out: Path | None
) -> tuple[Rows, str]:
    """Return a row for every name, and the commits at which it was measured; what a seed gave is said as it comes."""
    rows, commits = Rows(), set[str]()
    for name in names:
        runs = []
        for seed in range(seeds):
            path = out and out / f"{name}-{seed}.json"
            kept = measured(path, models, lambda some, peers, at=(name, seed): measure(*at, some, peers=peers))
            wanted = {of: one for of, one in kept.items() if of.removeprefix("ours: ") in models or "ours: " not in of}
            runs.append({of: score for of, (score, _) in wanted.items() if score is not None})
            commits |= {at for _, at in wanted.values()}
            said = ", ".join(f"{key} {score:.3f}" for key, score in runs[-1].items())
            print(f"{name}, seed {seed}: {said}", file=sys.stderr, flush=True)
        rows[name] = summary(runs)
    if len(rows) > 1:
        both = [name for name in next(iter(rows.values())) if all(name in row for row in rows.values())]
        numbers = [name for name in both if name not in ("best peer", "ours - best peer")]
        rows["mean"] = {of: [round(float(np.mean([row[of][0] for row in rows.values()])), 4)] for of in numbers}
    return rows, ", ".join(sorted(commits))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["worlds", "uci"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--models", default=",".join(MODELS), help="models of fit, with commas between")
    parser.add_argument("--only", default=",".join((*WORLDS, *ALL_SETS)), help="worlds and sets, with commas between")
    parser.add_argument("--out", type=Path, help="a folder of what was measured, which is added to")
    parser.add_argument("--record", action="store_true", help="keep the results in benchmarks/results")
    options = parser.parse_args()
    models, only = options.models.split(","), options.only.split(",")
    if options.out:
        options.out.mkdir(exist_ok=True, parents=True)
    work: dict[str, tuple[Iterable[str], Callable[..., Scores]]] = {
        "worlds": (WORLDS, lambda name, seed, some, *, peers: in_world(WORLDS[name](seed), some, peers=peers)),
        "uci": (ALL_SETS, on_set),
    }
    for what, (names, measure) in work.items():
        wanted = [name for name in names if name in only]
        if what in options.what and wanted:
            rows, commits = table(wanted, options.seeds, models, measure, options.out)
            settings = {"seeds": options.seeds, **({"measured at": commits} if commits != commit() else {})}
            publish(f"models-{what}", rows, settings, record=options.record)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
