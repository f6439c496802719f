"""From a router's raw log to a verdict, on a month whose truth is known: import, join, group, fit, evaluate."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmstart.core import ACTION, PROBABILITY, Progress, __version__, silent, write_output
from warmstart.demo.routing_month import LARGE, MODELS, SMALL, questions, write_month
from warmstart.events import Events, read_events
from warmstart.grouping import group
from warmstart.interop import import_calls
from warmstart.joining import join
from warmstart.pipeline import evaluate, fit, policy_table
from warmstart.policy import save_policy
from warmstart.results import select

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmstart.engine import Engine
    from warmstart.results import Evaluation, Grouped, ImportedCalls, Selection

# A right answer is worth half a cent.
UTILITY = "reward - 200*cost"
GUARD = "cost<=+10%"
TAU = 0.05
# Numbers that tell where a prompt lies.
FEATURES = 8
ROUTING_LEFT = ("month", "imported", "judged.parquet", "grouped", "policies", "results.json", "routing.html")


@dataclass(frozen=True)
class RouterLine:
    """What the log says of a router and what is true: the share of right answers, and dollars a call.

    ``at_least``: what it is proven to change the share by, used where it is supported. ``same_cost``: the truth of the
    mixture of the two constants that costs as much.
    """

    router: str
    by: str
    estimate: float
    lower: float | None
    upper: float | None
    truth: float
    at_least: float | None
    cost: float | None
    true_cost: float
    same_cost: float
    guard: str | None


@dataclass(frozen=True)
class Routing:
    """What came out."""

    imported: ImportedCalls
    grouped: Grouped
    lines: tuple[RouterLine, ...]
    evaluation: Evaluation
    by_group: Evaluation
    by_prompt: Evaluation
    selection: Selection


def run_routing(out: Path, *, seed: int, engine: Engine, on_progress: Progress = silent) -> Routing:
    """Write a month of calls, go from its raw log to a verdict, and compare with the truth."""
    on_progress("writing a month of calls")
    month = write_month(out / "month", seed)
    on_progress("importing the spend logs")
    imported = import_calls(month.spend, out / "imported", format="litellm")
    on_progress("joining the judgements")
    names: dict[str, Any] = {"impression_time": "time", "outcome_time": "judged_at", "reward": "right"}
    judged, by_request = out / "judged.parquet", {"request_id": "request"}
    join(imported.events, month.judged, judged, on=by_request, without_outcome="leave-out", **names, engine=engine)
    on_progress("grouping the prompts")
    options: dict[str, Any] = {"on": by_request, "features": FEATURES, "engine": engine}
    grouped = group(judged, out / "grouped", text="prompt", texts=month.prompts, **options)
    train, test = _read(grouped, "tags", engine).split(fraction=0.5)
    on_progress("learning routers")
    learned = fit(train, model="cells", utility=UTILITY, seed=seed)
    safe = fit(train, model="cells", utility=UTILITY, safe=True, seed=seed)
    save_policy(learned, out / "policies" / "learned")
    save_policy(safe, out / "policies" / "safe")
    on_progress("evaluating")
    options = {"tau": TAU, "guards": [GUARD]}
    policies = {"constants": "constants", "learned": learned, "safe": safe, "logging": "logging"}
    evaluation = evaluate(policies, test, train=train, **options)
    by_group = evaluate("constants", _read(grouped, "group", engine).split(fraction=0.5)[1], **options)
    on_progress("evaluating by prompt")
    by_prompt = evaluate(
        "constants", _read(grouped, grouped.features, engine).split(fraction=0.5)[1], propensities="mixture", **options
    )
    on_progress("asking for the truth")
    truths = _truths({**{f"constant:{model}": f"constant:{model}" for model in MODELS}, **policies}, train, test)
    lines = (*_lines(evaluation, "subject", truths), *_lines(by_group, "group", truths))
    lines += (*_lines(by_prompt, "prompt", truths),)
    done = Routing(imported, grouped, lines, evaluation, by_group, by_prompt, select(evaluation))
    _write(out, done)
    return done


def _read(grouped: Grouped, context: str | Sequence[str], engine: Engine) -> Events:
    """Read the log; a call costs at most what the longest prompt of the sample does."""
    most = max(question.cost[LARGE] for question in questions())
    costs: dict[str, Any] = {"also": "cost", "minimize": "cost", "ranges": {"cost": (0.0, most)}}
    names = {"context": context, "action": "model", "reward": "reward", "time": "time"}
    return read_events(grouped.events, **names, **costs, engine=engine)  # type: ignore[arg-type]


def _truths(policies: dict[str, Any], train: Events, test: Events) -> dict[str, tuple[float, float]]:
    """Return the share of right answers and the cost that each policy is expected to have on the window's subjects."""
    totals: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for question in questions():
        for model in MODELS:
            sums = totals[json.dumps([question.subject]), model]
            sums[:] = [sums[0] + 1, sums[1] + question.right[model], sums[2] + question.cost[model]]
    table = test.table
    counts = test.engine.fetch(table.group_by("context_0").agg(n=table[ACTION].count()))
    traffic = {str(row["context_0"]): float(row["n"]) / len(test) for row in counts}
    results = {}
    for name in (name for name in policies if name != "constants"):
        right = cost = 0.0
        for row in policy_table({name: policies[name]}, test, train=train).to_pylist():
            n, rights, costs = totals[row["tags"], row["model"]]
            share = traffic[row["tags"]] * row.get(PROBABILITY, 1.0)
            right, cost = right + share * rights / n, cost + share * costs / n
        results[name] = right, cost
    return results


def _lines(evaluation: Evaluation, by: str, truths: dict[str, tuple[float, float]]) -> list[RouterLine]:
    (small, small_cost), (large, large_cost) = (truths[f"constant:{model}"] for model in (SMALL, LARGE))
    costs = evaluation.of_outcome("cost")
    lines = []
    for one in evaluation:
        truth, cost = truths[one.policy]
        best, of_cost, sure = one.best, costs[one.policy].best, one.gain.certified
        assert best is not None
        line = RouterLine(
            router=one.policy.removeprefix("constant:"),
            by=by,
            estimate=best.value,
            lower=best.lower,
            upper=best.upper,
            truth=truth,
            at_least=None if sure is None or one.is_logging else sure.joint_lower,
            cost=None if of_cost is None else of_cost.value,
            true_cost=cost,
            same_cost=small + (cost - small_cost) / (large_cost - small_cost) * (large - small),
            guard=one.guards[0].status if one.guards else None,
        )
        lines.append(line)
    return lines


def _write(out: Path, done: Routing) -> None:
    results = {
        "lines": [asdict(line) for line in done.lines],
        "evaluation": done.evaluation.to_dict(),
        "selected": done.selection.to_dict(),
        "warmstart_version": __version__,
    }
    with write_output(out / "results.json", force=True) as temporary:
        temporary.write_text(json.dumps(results, indent=2, allow_nan=False), encoding="utf-8")
