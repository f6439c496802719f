"""``python -m studies.routers --out FOLDER``: what is said of routers on logs of routers, against the truth.

Months of ``studies.router_months``: policies are learned in the first half of a month, with ``fit`` and ``fit`` with
``safe``, and judged in the second, by subject, by group of prompts (``group``) and by prompt (numbers of its words, and
its subject; propensities from a mixture over days). No probability is logged; the question is the unit. What is done is
kept in FOLDER and not done again.

A context that lacks what the router used (the group's subject; the prompt) makes a doubt, which full information tells:
the smallest at which the bounds that are asked of the two constants and of the best table are true of an endless log.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import warmstart as ws
from studies.best_estimate import publish
from studies.best_estimate import read as read_rows
from studies.router_months import HALF, MODELS, NUMBERS, PRICE, ROUTERS, UTILITY, Calls, Ints, Pool
from studies.router_sums import Events, estimated, gain_told, value_ends
from studies.router_tables import estimated as estimates_table
from studies.router_tables import held, learned, missed, said
from studies.router_truths import Context, Truth, of_prompts

TAU, DELTAS = 0.05, (0.05, 0.5)
BY_HAND = "by hand"
DATA = Path(__file__).parents[2] / "shared" / "data" / "llm_routing" / "mmlu_routing.csv.gz"
CONTEXTS = ("subject", "group", "prompt")
# A smaller doubt than this is what two halves of a month differ by.
SMALLEST_DOUBT = 1.01
# Of every fourth month the ends of values are computed from sums too, which takes longer.
VALUED = 4
# Of the months that go through evaluate, the first so many have safe policies, contexts that are prompts, and doubts,
# which take longest.
SAFE, PROMPTED, DOUBTED = 10, 16, 4

Row = dict[str, Any]


def read(calls: Calls, pool: Pool, context: Any, *, cost: bool = False, **more: Any) -> ws.Events:
    """Read a log with questions as units."""
    names: dict[str, Any] = {"context": context, "action": "model", "reward": "reward", "time": "time"}
    if cost:
        names |= {"also": "cost", "minimize": "cost", "ranges": {"cost": (0.0, float(pool.cost.max()))}}
    return ws.read_events(calls.table(pool), **names, unit="question", **more)


def by_context(pool: Pool, by: str, router: str, seed: int, parts: set[str]) -> Iterator[Row]:
    """Yield what certified bounds and best estimates say by subject or group, and the truth."""
    month, epoch = draw(pool, router, seed), {"epoch": "day"} if router == "thompson" else {}
    halves = month.only(month.time < HALF), month.only(month.time >= HALF)
    if epoch:
        halves = halves[0].first_days(), halves[1].first_days()
    train, test = read(halves[0], pool, by, cost=True, **epoch), read(halves[1], pool, by, **epoch)
    values, context = pool.places[by][0], Context.of(pool, by, halves[1], epochs=bool(epoch))
    fixed = fixed_policies(pool, by)
    policies: dict[str, Any] = {name: name for name in list(fixed)[:2]}
    policies[BY_HAND] = {value: MODELS[i] for value, i in zip(values, fixed[BY_HAND], strict=True)}
    few, tables = dict(policies), dict(fixed)
    policies["learned"] = ws.fit(train, model="cells", fit_tau=1, utility=UTILITY, seed=seed)
    tables["learned"] = chosen(policies["learned"], test, values, by)
    if "safe" in parts:
        policies["safe"] = ws.fit(train, model="cells", safe=True, seed=seed)
        answers = [policies["safe"].choose({by: value})[0] for value in values]
        tables["safe"] = np.array([-1 if answer is None else MODELS.index(answer) for answer in answers])
    options: dict[str, Any] = {"tau": TAU, "live": bool(epoch), "trained_until": {BY_HAND: "never"}}
    truths = {name: Truth.of(context, table, TAU) for name, table in tables.items()}
    found = ws.evaluate(policies, test, **options)
    doubt = max(truths[name].doubt for name in fixed)
    yield from ({"doubt": 1.0, "true_doubt": doubt, **row(found, name, truths)} for name in policies)
    if doubt > SMALLEST_DOUBT and "doubt" in parts:
        found = ws.evaluate(few, test, doubt=doubt, **options)
        yield from ({"doubt": doubt, "true_doubt": doubt, **row(found, name, truths)} for name in few)


def draw(pool: Pool, router: str, seed: int) -> Calls:
    return ROUTERS[router](pool, np.random.default_rng([seed, list(ROUTERS).index(router)]))


def by_hand(pool: Pool, by: str) -> Ints:
    """Return the better model of each context by all questions, at the price of the utility."""
    return (pool.means(by, pool.right - PRICE * pool.cost) @ [-1.0, 1.0] > 0).astype(np.int64)


def fixed_policies(pool: Pool, by: str) -> dict[str, Ints]:
    """Return the two constants, and the better model of each context, by its place in MODELS."""
    constants = {f"constant:{model}": np.full(len(pool.places[by][0]), i) for i, model in enumerate(MODELS)}
    return {**constants, BY_HAND: by_hand(pool, by)}


def chosen(policy: Any, test: ws.Events, values: list[str], by: str) -> Ints:
    """Return the place of the model that a learned policy chooses in each context of the window."""
    table = np.full(len(values), -1)
    for one in ws.policy_table({"learned": policy}, test, live=False).to_pylist():
        table[values.index(one[by])] = MODELS.index(one["model"])
    return table


def by_prompt(pool: Pool, router: str, seed: int) -> Iterator[Row]:
    """Yield what the best estimate says by prompt, with modelled propensities, and the truth."""
    month = draw(pool, router, seed)
    train, test = month.only(month.time < HALF), month.only(month.time >= HALF)
    names = ["subject", *(f"z{i}" for i in range(NUMBERS))]
    features = pa.table({"question": np.arange(len(pool.right)), **pool.columns})
    costs = read(train, pool, "question", cost=True)
    learned = ws.fit(costs, contexts=features, model="logistic", fit_tau=1, utility=UTILITY, seed=seed)
    answers = np.array(learned.choose_table(features.drop_columns("question"))["model"].to_pylist())
    tables = {f"constant:{model}": np.full(len(pool.right), i) for i, model in enumerate(MODELS)}
    tables[BY_HAND] = by_hand(pool, "subject")[pool.places["subject"][1]]
    tables["learned"] = (answers == MODELS[1]).astype(np.int64)
    keys = np.unique(test.question)
    policies: dict[str, Any] = {name: name for name in list(tables)[:2]}
    for name in (BY_HAND, "learned"):
        decisions = features.select(names).append_column("model", pa.array(np.array(MODELS)[tables[name]]))
        policies[name] = decisions.take(keys)
    source = {"propensities": "model"} if router == "sticky" else {"propensities": "mixture"}
    events = read(test, pool, names, epoch=None if router == "sticky" else "day")
    found = ws.evaluate(policies, events, live=False, trained_until="never", **source)
    truths = {name: of_prompts(pool, test, table) for name, table in tables.items()}
    yield from ({"doubt": 1.0, "true_doubt": 1.0, **row(found, name, truths)} for name in policies)


def row(found: ws.Evaluation, name: str, truths: Mapping[str, Truth]) -> Row:
    """Return what is said of one policy, and what is true."""
    one, truth = found[name], truths[name]
    best, sure, guess = one.best, one.gain.certified, one.gain.estimated
    doubt = one.doubt
    small, large = (truths[f"constant:{model}"] for model in MODELS)
    share = (truth.cost - small.cost) / (large.cost - small.cost)
    return {
        "policy": name,
        "truth": truth.value,
        "ips": one.value,
        "lower": one.certified_lower,
        "upper": one.certified_upper,
        "best": None if best is None else [best.value, best.lower, best.upper, best.on_model],
        "gain_truth": truth.gain,
        "gain": None if guess is None else [guess.difference, guess.lower, guess.upper],
        "sure_truth": truth.sure_gain,
        "sure": None if sure is None else [sure.difference, sure.lower, sure.upper],
        "cost": truth.cost,
        "same_cost": small.value + share * (large.value - small.value),
        "worth": truth.gain - PRICE * truth.cost_gain,
        "departs": truth.departs,
        "never_sent": truth.never_sent,
        "withheld": one.withheld,
        "mean_weight": one.mean_weight,
        "tips": None if doubt is None else [doubt.tipping, doubt.guarantee, doubt.estimated_tipping],
        "supported": one.support.supported,
    }


def by_sums(pool: Pool, by: str, router: str, seed: int, *, values: bool) -> Iterator[Row]:
    """Yield what is certified of fixed policies from sums by question, at two levels and at the true doubt."""
    month = draw(pool, router, seed)
    calls = month.only(month.time >= HALF)
    context, tables = Context.of(pool, by, calls, epochs=False), fixed_policies(pool, by)
    truths = {name: Truth.of(context, table, TAU) for name, table in tables.items()}
    true_doubt = max(truth.doubt for truth in truths.values())
    for name, table in tables.items():
        events, truth = Events.of(pool, calls, by, table, TAU), truths[name]
        for doubt in (1.0, true_doubt) if true_doubt > SMALLEST_DOUBT else (1.0,):
            for delta in DELTAS:
                told = gain_told(events, delta, doubt, truth.sure_gain)
                one: Row = {"policy": name, "delta": delta, "doubt": doubt, "true_doubt": true_doubt}
                one |= {"truth": truth.value, "sure_truth": truth.sure_gain, "lower": None, "upper": None}
                one |= {"missed": None if told is None else told.missed, "sign": None if told is None else told.sign}
                apart = gain_told(events.apart, delta, doubt, truth.sure_gain)
                one["missed_apart"] = None if apart is None else apart.missed
                if values and delta == DELTAS[0]:
                    one["lower"], one["upper"] = value_ends(events, delta, doubt)
                yield one


def estimates(pool: Pool, by: str, router: str, seed: int) -> Iterator[Row]:
    """Yield the best estimates of fixed policies from sums by question, and the truth."""
    month = draw(pool, router, seed)
    calls = month.only(month.time >= HALF)
    context = Context.of(pool, by, calls, epochs=False)
    for name, table in fixed_policies(pool, by).items():
        told, truth = estimated(Events.of(pool, calls, by, table, TAU), DELTAS[0]), Truth.of(context, table, TAU)
        best, gain = (None, None) if told is None else told
        yield {
            "policy": name,
            "truth": truth.value,
            "gain_truth": truth.gain,
            "best": best,
            "gain": gain,
            "departs": truth.departs,
        }


def jobs(options: argparse.Namespace) -> Iterator[tuple[str, int, str, str]]:
    """Yield how, which month, by what and which router: a month with evaluate after each ten by sums."""
    for seed in range(options.first, options.first + options.estimated):
        for by, router in itertools.product(CONTEXTS, ROUTERS):
            if by != "prompt" and router != "thompson":
                yield "estimates", seed, by, router
    evaluated = iter(range(options.evaluated))
    for seed in range(options.first, options.first + options.months):
        for by, router in itertools.product(CONTEXTS, ROUTERS):
            if by != "prompt" and router != "thompson":
                yield "sums", seed, by, router
        if (seed - options.first) % 10 == 9:
            yield from _evaluations(itertools.islice(evaluated, 1), options.first)
    yield from _evaluations(evaluated, options.first)


def _evaluations(months: Iterable[int], first: int) -> Iterator[tuple[str, int, str, str]]:
    for month, by, router in itertools.product(months, CONTEXTS, ROUTERS):
        if by != "prompt" or month < PROMPTED:
            yield "evaluate", first + month, by, router


def judge(pool: Pool, how: str, seed: int, by: str, router: str, *, first: int) -> Iterator[Row]:
    """Yield the rows of one month; of ``evaluate`` with doubts and safe policies in the first ones."""
    if how == "sums":
        return by_sums(pool, by, router, seed, values=seed % VALUED == 0)
    if how == "estimates":
        return estimates(pool, by, router, seed)
    if by == "prompt":
        return by_prompt(pool, router, seed)
    parts = {name for name, months in {"safe": SAFE, "doubt": DOUBTED}.items() if seed - first < months}
    return by_context(pool, by, router, seed, parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the folder of results, which are added to")
    parser.add_argument("--months", type=int, default=200, help="months whose bounds come from sums by question")
    parser.add_argument("--estimated", type=int, default=200, help="months whose best estimates come from them")
    parser.add_argument("--evaluated", type=int, default=40, help="months that go through fit and evaluate")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first month")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so many seconds of CPU")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--record", action="store_true", help="keep the tables in benchmarks/results")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "routers.jsonl"
    pool = Pool.read(options.data, options.out / "grouping")
    done = {(one["how"], one["seed"], one["by"], one["router"]) for one in read_rows(path)}
    for how, seed, by, router in jobs(options):
        if (how, seed, by, router) in done or time.process_time() > options.seconds:
            continue
        start = time.process_time()
        rows = list(judge(pool, how, seed, by, router, first=options.first))
        keys = {"how": how, "seed": seed, "by": by, "router": router}
        keys["seconds"] = round(time.process_time() - start, 2)
        with path.open("a") as file:
            file.write("".join(f"{json.dumps({**keys, **one})}\n" for one in rows))
    show(read_rows(path), record=options.record)


def show(rows: list[Row], *, record: bool) -> None:
    """Print the tables, and keep them where asked to."""
    kinds = ("evaluate", "sums", "estimates")
    evaluated, summed, quick = ([row for row in rows if row["how"] == how] for how in kinds)
    months = {"months": len({row["seed"] for row in evaluated})}
    if evaluated:
        publish("routers", said(evaluated), months, record=record)
        publish("routers-held", held(evaluated), months, record=record)
        publish("routers-learned", learned(evaluated), months, record=record)
    if summed:
        publish("routers-missed", missed(summed), {"months": len({row["seed"] for row in summed})}, record=record)
    if quick:
        publish("routers-estimated", estimates_table(quick), {"months": len({r["seed"] for r in quick})}, record=record)


if __name__ == "__main__":
    main()
