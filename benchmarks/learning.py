"""Learning: speed and quality beside Vowpal Wabbit, on simulated months, as ratios measured in the same run."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import warmstart as ws
from benchmarks.measure import MADE, TIME, clocked, interleave, median_ratio, timed
from benchmarks.records import Rows
from benchmarks.tables import publish
from warmstart.events import open_cells
from warmstart.features import FeatureRows, KeyEncoder, read_features
from warmstart.reward import Examples
from warmstart.reward.learner import cell_stream
from warmstart.reward.product import PAPER_RATES, ProductModel, Stream, learn

NAMES: dict[str, Any] = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
# The month of the quality table: the prototype's size, so that its numbers can be compared.
MONTH = {"events": 3_000_000, "n_contexts": 60_000, "n_actions": 8_000}
TRAIN_SHARE = 35 / 54
VW_SGD_RATE = 0.02
VW_UPDATES = ("VW --sgd", "VW default")
# Bits of the weights: of the context's features and of the action's.
BITS = (13, 9)
PAPER_ACTIONS = 880_000


class Month(NamedTuple):
    world: ws.AdWorld
    train: ws.Events
    test: ws.Events
    examples: Examples
    contexts: KeyEncoder
    actions: KeyEncoder

    def rows(self, bits: tuple[int, int], *, words_only: bool = False) -> tuple[FeatureRows, FeatureRows]:
        """Read the words of both sides."""
        options: dict[str, Any] = {"cross_only": words_only, "strict": True}
        engine = self.train.engine
        pages, ads = self.world.contexts_path, self.world.actions_path
        x = read_features(engine, pages, {"context_0": "page"}, self.contexts, bits=bits[0], what="pages", **options)
        a = read_features(engine, ads, {"action": "ad"}, self.actions, bits=bits[1], what="ads", **options)
        return x.rows, a.rows

    def decisions(self, scores: NDArray[Any]) -> pa.Table:
        """Choose the best-scored cell of every context."""
        cells = self.examples
        order = np.lexsort((cells.actions, -scores, cells.contexts))
        first = np.append(True, cells.contexts[order][1:] != cells.contexts[order][:-1])
        best = order[first]
        pages = self.contexts.keys["context_0"].take(cells.contexts[best])
        return pa.table({"page": pages, "ad": self.actions.keys["action"].take(cells.actions[best])})

    def value(self, policy: pa.Table) -> float:
        """Return the true value of a policy on the test window's traffic."""
        return self.world.true_value(policy, events=self.test)


def open_month(folder: Path, seed: int, **numbers: int) -> Month:
    world = ws.simulate(folder / f"month-{seed}", seed=seed, **{**MONTH, **numbers})
    train, test = ws.read_events(world.events_path, **NAMES).split(fraction=TRAIN_SHARE)
    with open_cells(train) as cells:
        return Month(world, train, test, *Examples.of_cells(cells))


class Wabbit:
    """The same examples for Vowpal Wabbit, in its cache file."""

    def __init__(self, folder: Path, stream: Stream, x: FeatureRows, a: FeatureRows) -> None:
        self.text, self.cache = folder / "examples.txt", folder / "examples.cache"
        self.cache.unlink(missing_ok=True)
        self.size = len(stream)
        left, right = self._sides(x), self._sides(a)
        with self.text.open("w") as file:
            for c, d, y, w in zip(stream.contexts, stream.actions, stream.targets, stream.importance, strict=True):
                file.write(f"{y:.6g} {w:.6g} |x {left[c]} |a {right[d]}\n")
        self.run("--sgd -b 18")

    def _sides(self, rows: FeatureRows) -> list[str]:
        pairs = [f"{b}:{v:.5g}" for b, v in zip(rows.buckets, rows.values, strict=True)]
        return [" ".join(pairs[rows.starts[i] : rows.starts[i + 1]]) for i in range(len(rows))]

    def run(self, options: str, predictions: Path | None = None) -> float:
        """Pass once over the cache; return the progressive loss."""
        from vowpalwabbit import Workspace

        out = f"-p {predictions}" if predictions else ""
        vw = Workspace(f"-d {self.text} --cache_file {self.cache} -q xa --noconstant --quiet {options} {out}")
        loss = float(vw.get_sum_loss() / vw.get_weighted_examples())
        vw.finish()
        return loss

    def predict(self, options: str) -> NDArray[np.float64]:
        """Train once, then score the same examples with what was learned."""
        model, found = self.text.with_suffix(".model"), self.text.with_suffix(".predictions")
        self.run(f"{options} -f {model}")
        self.run(f"-t -i {model}", found)
        return np.loadtxt(found, ndmin=1)[-self.size :]


def _ways(
    wabbit: Wabbit, stream: Stream, x: FeatureRows, a: FeatureRows, bits: tuple[int, int]
) -> dict[str, Callable[[], float]]:
    """Both learn with a rate at which they predict well: a peer that diverges skips its updates, and looks quick."""
    size = sum(bits)

    def ours(**options: Any) -> float:
        return learn(stream, x, a, bits=bits, rates=(0.05,), **options).training_loss

    return {
        "VW --sgd": lambda: wabbit.run(f"--sgd -l {VW_SGD_RATE} -b {size}"),
        "VW default": lambda: wabbit.run(f"-b {size}"),
        "one thread": ours,
        "two threads": lambda: ours(threads=2, racing=True),
    }


def speed(month: Month, folder: Path, *, runs: int, examples: int) -> Rows:
    """One learning rate, words only, the same examples in the same order; times relative to Vowpal Wabbit's."""
    rng = np.random.default_rng(0)
    rows: Rows = {}
    for bits in (BITS, (14, 10)):
        x, a = month.rows(bits, words_only=True)
        stream = sample(month, rng, examples)
        ways = _ways(Wabbit(folder, stream, x, a), stream, x, a, bits)
        ways["one thread"](), ways["two threads"]()
        results = interleave({name: clocked(way) for name, way in ways.items()}, runs)
        losses = {f"progressive loss, {name}": results[name][-1]["result"] for name in VW_UPDATES}
        for name in ("one thread", "two threads"):
            ratios = {f"time / {vw}": round(median_ratio(results[name], results[vw], TIME), 3) for vw in VW_UPDATES}
            loss = results[name][-1]["result"]
            row = {**ratios, "progressive loss": loss, **losses}
            rows[f"2^{sum(bits)} weights, {name}"] = {key: float(f"{value:.4g}") for key, value in row.items()}
    return rows


def rates(month: Month, folder: Path, *, runs: int, examples: int) -> Rows:
    """The paper's five learning rates in one pass, relative to a pass each, and to a pass of Vowpal Wabbit each."""
    rows: Rows = {}
    for bits in (BITS, (14, 10)):
        x, a = month.rows(bits, words_only=True)
        stream = sample(month, np.random.default_rng(0), examples)
        wabbit = Wabbit(folder, stream, x, a)

        def one(rate: float, *, sides: Any = (x, a), stream: Stream = stream, bits: Any = bits) -> ProductModel:
            return learn(stream, *sides, bits=bits, rates=(rate,))

        def apart(threads: int, one: Any = one) -> list[ProductModel]:
            with ThreadPoolExecutor(threads) as pool:
                return list(pool.map(one, PAPER_RATES))

        def together(threads: int, *, sides: Any = (x, a), stream: Stream = stream, bits: Any = bits) -> ProductModel:
            return learn(stream, *sides, bits=bits, rates=PAPER_RATES, threads=threads)

        options = f"--sgd -l {VW_SGD_RATE} -b {sum(bits)}"
        ways: dict[str, Callable[[], Any]] = {"VW": partial(wabbit.run, options)}
        for threads in (1, 2):
            ways[f"apart {threads}"], ways[f"together {threads}"] = partial(apart, threads), partial(together, threads)
        alone = {model.rate: model for model in apart(1)}
        results = interleave({name: clocked(way) for name, way in ways.items()}, runs)
        for threads, word in ((1, "one thread"), (2, "two threads")):
            ours, others = results[f"together {threads}"], results[f"apart {threads}"]
            found = ours[-1]["result"]
            rows[f"2^{sum(bits)} weights, {word}"] = {
                "time / a pass each": round(median_ratio(ours, others, TIME), 3),
                "time / five VW passes": round(median_ratio(ours, results["VW"], TIME) / len(PAPER_RATES), 3),
                "a pass each / five VW passes": round(median_ratio(others, results["VW"], TIME) / len(PAPER_RATES), 3),
                "largest difference of a weight": float(np.abs(found.weights - alone[found.rate].weights).max()),
            }
    return rows


def sample(month: Month, rng: np.random.Generator, examples: int) -> Stream:
    """Draw examples from the training cells, with the weights of fit tau 1."""
    whole = cell_stream(month.examples, 1.0)
    chosen = rng.permutation(len(whole))[:examples]
    return Stream(*(getattr(whole, name)[chosen] for name in ("contexts", "actions", "targets", "importance")))


def passes(month: Month, folder: Path, *, runs: int, examples: int) -> Rows:
    """``fit`` from cells and the paper's pass over events, at the same fit tau, relative to a pass of Vowpal Wabbit."""
    options: dict[str, Any] = {"contexts": month.world.contexts_path, "actions": month.world.actions_path}
    ws.fit(month.train, **options, fit_tau=1.0, weight_bits=8)
    x, a = month.rows(BITS, words_only=True)
    wabbit = Wabbit(folder, sample(month, np.random.default_rng(0), examples), x, a)
    calls = {
        name: clocked(lambda name=name: ws.fit(month.train, **options, fit_tau=1.0, learn_from=name))
        for name in ("cells", "events")
    }
    floor = clocked(lambda: wabbit.run(f"--sgd -l {VW_SGD_RATE} -b {sum(BITS)}"))
    results = interleave({"VW": floor, **calls}, runs)
    return {
        f"from {name}": {
            "time / VW pass": round(median_ratio(results[name], results["VW"], TIME), 3),
            "time / cells": round(median_ratio(results[name], results["cells"], TIME), 3),
            "true value": round(month.value(results[name][-1]["result"].decisions), 5),
        }
        for name in ("cells", "events")
    }


def costs(events: int, examples: int, runs: int) -> dict[str, Rows]:
    """Return the tables of the learner's speed, on a simulated month of that many events."""
    share = events / MONTH["events"]
    size = {name: round(number * share) for name, number in MONTH.items()}
    with tempfile.TemporaryDirectory() as name:
        month = open_month(Path(name), 1000, **size)
        options: dict[str, Any] = {"folder": Path(name), "examples": examples}
        return {
            "learning-speed": speed(month, runs=runs, **options),
            "learning-rates": rates(month, runs=max(1, runs // 3), **options),
            "learning-fit": passes(month, runs=max(1, runs // 3), **options),
        }


def quality(folder: Path, seeds: int) -> Rows:
    """True values on a scale from uniform over the feasible actions (0) to the best feasible (1)."""
    rows: dict[str, list[float]] = {}
    for seed in range(seeds):
        month = open_month(folder, seed)
        feasible = ws.policy_table("uniform", month.test, train=month.train, live=False)
        low, high = month.value(feasible), month.value(month.world.best_policy(feasible))
        values = {"logging": month.value(month.world.logging_policy(events=month.test))}
        paths = {"contexts": month.world.contexts_path, "actions": month.world.actions_path}
        for name, options in {
            "default": {},
            "low-rank": {"model": "low-rank"},
            "auto": {"model": "auto"},
            "fit tau .05": {"fit_tau": 0.05},
            "fit tau .01": {"fit_tau": 0.01},
            "unweighted": {"fit_tau": 1.0},
            "words only (cross only)": {"cross_only": True, "fit_tau": 1.0},
        }.items():
            values[name] = month.value(ws.fit(month.train, **paths, **options).decisions)
        means = (month.examples.reward_sum + 1) / (month.examples.n + 50)
        values["shrunk cell means"] = month.value(month.decisions(means))
        x, a = month.rows((14, 10), words_only=True)
        wabbit = Wabbit(folder, cell_stream(month.examples, 1.0), x, a)
        for update in ("--sgd", ""):
            tried = [wabbit.predict(f"{update} -b 24 -l {rate}") for rate in PAPER_RATES]
            name = f"VW {update or 'default'}, its best rate"
            values[name] = max(month.value(month.decisions(scores)) for scores in tried)
        for name, value in values.items():
            rows.setdefault(name, []).append((value - low) / (high - low))
        print(
            f"seed {seed}: " + ", ".join(f"{name} {shares[-1]:.3f}" for name, shares in rows.items()), file=sys.stderr
        )
    return {
        name: {
            **{f"seed {i}": round(share, 3) for i, share in enumerate(shares)},
            "mean": round(statistics.mean(shares), 3),
        }
        for name, shares in rows.items()
    }


def scoring(month: Month) -> Rows:
    """The feasible argmax over all cells; the naive one over 880 k actions, against a look-up for every pair."""
    from warmstart.kernels import best_of_all, pack_columns, predict

    x, a = month.rows((14, 10))
    model = learn(cell_stream(month.examples, 1.0), x, a, bits=(14, 10), rates=(0.05,))
    cells = month.examples
    seconds, _ = timed(lambda: model.predict(cells.contexts, cells.actions, x, a))
    many = a.take(np.random.default_rng(0).integers(len(a), size=PAPER_ACTIONS))
    some = np.arange(256)
    best, scores = np.zeros(len(some), np.int64), np.empty(len(some))
    actions = (*pack_columns(many.arrays, model.width), np.ones(len(many)))
    options = (actions, (model.weights, model.width, 0.0, 0))
    best_of_all(some[:1], x.arrays, *options, best[:1], scores[:1])
    once, _ = timed(lambda: best_of_all(some, x.arrays, *options, best, scores))
    pairs = np.zeros(len(many), np.int64), np.arange(len(many))
    found = np.empty(len(many), np.float32)
    each, _ = timed(lambda: predict(*pairs, x.arrays, many.arrays, model.weights, model.width, found))
    per_pair = seconds / len(cells)
    return {
        "feasible argmax, a cell": {"time": 1},
        "naive, a pair: context's part formed once": {"time": round(once / len(some) / len(many) / per_pair, 4)},
        "naive, a pair: every product looked up": {"time": round(each / len(many) / per_pair, 4)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["speed", "scoring", "quality"])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--examples", type=int, default=60_000)
    parser.add_argument("--record", action="store_true", help="keep the results in benchmarks/results")
    options = parser.parse_args()
    MADE.mkdir(exist_ok=True)
    size = {"events": MONTH["events"]}
    if "speed" in options.what:
        settings = {**size, "examples": options.examples, "runs": options.runs}
        for name, rows in costs(**settings).items():
            publish(name, rows, settings, record=options.record)
    with tempfile.TemporaryDirectory() as folder:
        if "scoring" in options.what:
            publish("learning-scoring", scoring(open_month(Path(folder), 1000)), size, record=options.record)
        if "quality" in options.what:
            settings = {**size, "seeds": options.seeds}
            publish("learning-quality", quality(Path(folder), options.seeds), settings, record=options.record)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
