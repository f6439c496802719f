"""``python -m benchmarks.models [worlds] [uci]``: the models of ``fit`` beside other learners, in the same run.

``worlds``: four simulated worlds (``benchmarks.worlds``); true values from uniform over the feasible actions (0) to
the best feasible (1). ``uci``: accuracy on full-information sets behind the deterministic logger of ``benchmarks.uci``.
A model that ``fit`` does not know, or that does not suit the log, is left out.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa

import warmstart as ws
from benchmarks.blocks import load
from benchmarks.peers import OF_CELLS, OF_NUMBERS, VW_TYPES, CellRows, wabbit
from benchmarks.records import Rows
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


def in_world(world: World, models: Iterable[str]) -> Scores:
    """Return where our models and their peers are on the world's scale."""
    found = policies(models, world.read(), contexts=world.contexts, actions=world.actions)
    if world.unseen is None:
        chosen = {name: policy.decisions for name, policy in found.items()}
        values = {f"ours: {name}": world.truth(decisions) for name, decisions in chosen.items()}
        cells = CellRows.of(world.events, world.contexts, world.actions)
        for name, peer in OF_CELLS.items():
            values[name] = max(world.truth(cells.decisions(scores)) for scores in peer(cells))
    else:
        assert world.contexts is not None
        chosen = choices(found, world.unseen, "action")
        x, new = (_standard(table.drop_columns("context"), world.contexts) for table in (world.contexts, world.unseen))
        a, r = world.events["action"].to_numpy(), world.events["reward"].to_numpy()
        chosen |= of_numbers(x, new, a=a, r=r, kinds=world.means.shape[1])
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


def on_set(name: str, seed: int, models: Iterable[str]) -> Scores:
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
    chosen |= of_numbers(x[:half], x[half:], a=a, r=r, kinds=kinds)
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
    error = float(np.std(numbers, ddof=1) / len(numbers) ** 0.5) if len(numbers) > 1 else 0.0
    return [round(float(np.mean(numbers)), 4), round(error, 4)]


def table(names: Iterable[str], seeds: int, measure: Callable[[str, int], Scores]) -> Rows:
    """Return a row for every name; what a seed gave is said as it comes."""
    rows: Rows = {}
    for name in names:
        runs = []
        for seed in range(seeds):
            runs.append(measure(name, seed))
            said = ", ".join(f"{key} {score:.3f}" for key, score in runs[-1].items())
            print(f"{name}, seed {seed}: {said}", file=sys.stderr, flush=True)
        rows[name] = summary(runs)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["worlds", "uci"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--models", default=",".join(MODELS), help="models of fit, with commas between")
    parser.add_argument("--only", default=",".join((*WORLDS, *ALL_SETS)), help="worlds and sets, with commas between")
    parser.add_argument("--record", action="store_true", help="keep the results in benchmarks/results")
    options = parser.parse_args()
    models, only = options.models.split(","), options.only.split(",")
    work: dict[str, tuple[Iterable[str], Callable[[str, int], Scores]]] = {
        "worlds": (WORLDS, lambda name, seed: in_world(WORLDS[name](seed), models)),
        "uci": (ALL_SETS, lambda name, seed: on_set(name, seed, models)),
    }
    for what, (names, measure) in work.items():
        wanted = [name for name in names if name in only]
        if what in options.what and wanted:
            rows = table(wanted, options.seeds, measure)
            publish(f"models-{what}", rows, {"seeds": options.seeds}, record=options.record)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
