"""The paper's experiment on a month whose truth is known: learn on the first events, value everything on the rest."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmstart.core import PROBABILITY, __version__, peak_gigabytes, silent, to_arrow, to_numpy, write_output
from warmstart.engine import is_partitioned
from warmstart.events import Events, read_events
from warmstart.pipeline import audit, evaluate, fit, policy_table
from warmstart.policy import FittedPolicy, NaivePolicy, save_policy
from warmstart.simulation import AdWorld, simulate

if TYPE_CHECKING:
    import pyarrow as pa

    from warmstart.core import Progress
    from warmstart.engine import Engine
    from warmstart.results import Audit, Evaluation, SourceName

TRAIN_SHARE = 35 / 54
TAUS = (0.01, 0.05)
PAPER_TAU = 0.05
# Above so many pairs of a context and an action, naive decides only where a decision counts: in rewarded contexts.
MANY_PAIRS = 10**10
SAMPLED_CONTEXTS = 2_000
# What a demo leaves.
LEFT = ("month", "policies", "results.json", "results.csv", "audit.html", "evaluation.html")


@dataclass(frozen=True)
class Line:
    """One line of the paper's table, with what only a simulated world knows.

    ``estimate``: the clipped value with these weights; with those of all data whatever alarms say, and without ends.
    ``visible``: what it should be: earnings where the policy is supported, in part where clipped. ``truth``:
    expected earnings on all of the window's traffic.
    """

    method: str
    tau: float
    propensities: SourceName
    estimate: float
    lower: float | None
    upper: float | None
    certified_lower: float | None
    visible: float
    truth: float
    supported: float | None
    gain: float | None
    gain_lower: float | None
    gain_upper: float | None


@dataclass(frozen=True)
class Stage:
    """One step: its time, and the most memory that the process had used by its end."""

    name: str
    seconds: float
    peak_gigabytes: float | None


@dataclass(frozen=True)
class Experiment:
    """What came out."""

    lines: tuple[Line, ...]
    stages: tuple[Stage, ...]
    audit: Audit
    evaluation: Evaluation
    sampled: bool


def run_experiment(
    out: Path, *, scale: str, seed: int, engine: Engine, on_progress: Progress = silent, **numbers: int
) -> Experiment:
    """Simulate, audit, learn, evaluate, and compare with the truth; the log, the policies and the results stay."""
    stages: list[Stage] = []

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        on_progress(name)
        start = time.perf_counter()
        yield
        stages.append(Stage(name, time.perf_counter() - start, peak_gigabytes()))

    with stage("simulating the month"):
        world = simulate(out / "month", scale=scale, seed=seed, on_progress=on_progress, **numbers)
    with stage("reading and checking"):
        names = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
        events = read_events(world.events_path, **names, engine=engine)  # type: ignore[arg-type]
        train, test = events.split(fraction=TRAIN_SHARE)
    with stage("auditing the log"):
        audited = audit(events)
    tables: dict[str, Any] = {"contexts": world.contexts_path, "actions": world.actions_path}
    with stage("learning (our defaults)"):
        learned = fit(train, **tables, seed=seed, on_progress=on_progress)
        save_policy(learned, out / "policies" / "learned")
    with stage("learning (the paper's way)"):
        # Every learning rate has a table of its own, so that two threads learn what one would.
        paper: dict[str, Any] = {"fit_tau": PAPER_TAU, "learn_from": "events", "cross_only": True, "learn_threads": 2}
        as_paper = fit(train, **tables, **paper, seed=seed, on_progress=on_progress)
        save_policy(as_paper, out / "policies" / "learned-paper")
    sampled = world.settings.n_contexts * world.settings.n_actions > MANY_PAIRS
    with stage("choosing among all ads (naive)"):
        naive = policy_table({"naive": NaivePolicy(learned, rewarded_only=sampled)}, test, train=train)
    learners = {"learned": learned, "learned-paper": as_paper}
    if not (sampled or is_partitioned(engine)):
        with stage("proving where to depart from logging (safe)"):
            learners["safe"] = fit(train, **tables, seed=seed, safe=True, on_progress=on_progress)
            save_policy(learners["safe"], out / "policies" / "safe")
    policies = {**learners, "uniform": "uniform", "naive": naive, "logging": "logging"}
    with stage("evaluating"):
        evaluation = evaluate(policies, test, train=train, tau=TAUS, interval="bets", contributions=10)
        paper_weights = evaluate(policies, test, train=train, tau=TAUS, interval="bets", propensities="all")
    with stage("asking the world for the truth"):
        shown = policy_table("logging", test)
        truths = {name: _truth(world, policy, shown, train, test) for name, policy in policies.items()}
        if sampled:
            truths["naive"] = (_sampled_truth(world, learned, test, seed=seed), truths["naive"][1])
    lines = _lines(evaluation, "counts", truths, sampled=sampled)
    lines += _lines(paper_weights, "all", truths, sampled=sampled)
    done = Experiment(tuple(lines), tuple(stages), audited, evaluation, sampled)
    _write(out, done)
    return done


Truth = tuple[float, dict[float, float]]


def _truth(world: AdWorld, policy: Any, shown: pa.Table, train: Events, test: Events) -> Truth:
    """Return expected earnings on the window's traffic, and, for each tau, the part that an estimate can see."""
    if policy == "logging":
        value = world.true_value(shown, events=test)
        return value, dict.fromkeys(TAUS, value)
    table = policy if hasattr(policy, "column_names") else policy_table({"it": policy}, test, train=train)
    seen = {tau: world.true_value(_seen(policy, table, shown, tau), events=test) for tau in TAUS}
    table = _with_logging(table, shown) if getattr(policy, "defers", False) else table
    return world.true_value(table, events=test), seen


def _with_logging(table: pa.Table, logging: pa.Table) -> pa.Table:
    """Return a policy that leaves to logging the days on which none of its ads can be shown."""
    import numpy as np
    import pyarrow as pa

    chosen = table.group_by("page").aggregate([(PROBABILITY, "sum")])
    rows = logging.join(chosen, "page")
    rest = 1 - np.nan_to_num(to_numpy(rows[f"{PROBABILITY}_sum"]))
    shares = to_arrow(np.maximum(rest, 0) * to_numpy(rows[PROBABILITY]))
    left = rows.select(["page", "ad"]).append_column(PROBABILITY, shares)
    return pa.concat_tables([table.select(left.column_names), left])


def _seen(policy: Any, table: pa.Table, logging: pa.Table, tau: float) -> pa.Table:
    """Reduce a policy to what an estimate can see: all of it where a policy defers to logging."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not getattr(policy, "defers", False):
        return visible(table, logging, tau)
    acts = pc.is_in(table["page"], value_set=policy.decisions["page"].combine_chunks())
    return pa.concat_tables([visible(table.filter(acts), logging, tau), table.filter(pc.invert(acts))])


def visible(policy: pa.Table, logging: pa.Table, tau: float) -> pa.Table:
    """Reduce a policy to what an estimate can see: probability * min(1, propensity / tau)."""
    import numpy as np

    keys = [name for name in logging.column_names if name != PROBABILITY]
    shown = logging.rename_columns([*keys, "propensity"])
    rows = policy.join(shown, keys, join_type="inner")
    given = to_numpy(rows[PROBABILITY]) if PROBABILITY in rows.column_names else np.ones(len(rows))
    seen = given * np.minimum(1.0, to_numpy(rows["propensity"]) / tau)
    return rows.select(keys).append_column(PROBABILITY, to_arrow(seen))


def _sampled_truth(world: AdWorld, learned: FittedPolicy, test: Events, *, seed: int) -> float:
    """Return what naive earns on a sample of the window's contexts: to decide for all of them would take hours."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    traffic = test.table.group_by("context_0").agg(n=test.table.count())
    pages = test.engine.fetch_arrow(traffic.order_by("context_0"))
    chosen = np.random.default_rng(seed).choice(pages.num_rows, min(SAMPLED_CONTEXTS, pages.num_rows), replace=False)
    some = pages.take(to_arrow(np.sort(chosen)))
    file = pq.ParquetFile(world.contexts_path)
    parts = []
    for group in range(file.num_row_groups):
        rows = file.read_row_group(group)
        parts.append(rows.filter(pc.is_in(rows["page"], value_set=some["context_0"].combine_chunks())))
    table = learned.choose_table(pa.concat_tables(parts)).select(["page", "ad"])
    share = pc.sum(some["n"]).as_py() / test.window.events
    return float(world.true_value(table, events=test) / share)


def _lines(evaluation: Evaluation, propensities: SourceName, truths: dict[str, Truth], *, sampled: bool) -> list[Line]:
    lines = []
    for e in evaluation:
        if e.is_logging and e.tau != TAUS[0]:
            continue
        truth, seen = truths[e.policy]
        value = e.value if e.weight_ratio is None else e.weight_ratio.value
        if value is None:
            continue
        estimate = (value, e.lower, e.upper, e.certified_lower)
        c = e.gain.certified
        gain: tuple[float | None, ...] = (e.support.supported, *((c.difference, c.lower, c.upper) if c else [None] * 3))
        if sampled and e.policy == "naive":
            gain = (None, None, None, None)
        lines.append(Line(e.policy, e.tau, propensities, *estimate, seen[e.tau], truth, *gain))
    return lines


def _write(out: Path, done: Experiment) -> None:
    results = {
        "lines": [asdict(line) for line in done.lines],
        "stages": [asdict(stage) for stage in done.stages],
        "evaluation": done.evaluation.to_dict(),
        "verdict": list(done.audit.verdict),
        "warmstart_version": __version__,
    }
    with write_output(out / "results.json", force=True) as temporary:
        temporary.write_text(json.dumps(results, indent=2, allow_nan=False), encoding="utf-8")
    with (
        write_output(out / "results.csv", force=True) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.DictWriter(file, list(asdict(done.lines[0])))
        writer.writeheader()
        writer.writerows(asdict(line) for line in done.lines)
