"""warmstart fit"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

from warmstart.cli.completion import LOSSES, MODELS, PASSES, option
from warmstart.cli.evaluate import open_guarded
from warmstart.cli.options import ForceOption, HtmlOption, Only, Without, command
from warmstart.cli.pages import check_paths
from warmstart.pipeline import AUTO, EngineSettings, LogSettings, WindowSettings, parse_tau

LEARN_THREADS = "Threads that share one table of weights: quicker, less repeatable."


@command(model=MODELS, fit_tau=AUTO, learn_from=PASSES, loss=LOSSES)
def fit(
    *,
    log: Annotated[LogSettings, Without("propensity")],
    out: Path,
    windows: Annotated[WindowSettings, Only("train_until", "train_fraction")],
    contexts: Path | None = None,
    actions: Path | None = None,
    model: str = "product",
    time_budget: float | None = None,
    fit_tau: str = "auto",
    learn_from: str = "cells",
    loss: str = "squared",
    rate: list[float] | None = None,
    cross_only: bool = False,
    weight_bits: int | None = None,
    min_events: int = 1,
    min_propensity: float = 0.0,
    strict: bool = False,
    seed: int = 0,
    safe: bool = False,
    proof_fraction: float | None = None,
    delta: float | None = None,
    guard: list[str] | None = None,
    doubt: float | None = None,
    utility: str | None = None,
    device: str = "auto",
    learn_threads: Annotated[int | None, option("--learn-threads", "N", LEARN_THREADS, min=1)] = None,
    html: HtmlOption = None,
    force: ForceOption = False,
    engine: EngineSettings,
) -> None:
    r"""Learn the best policy that a log supports (off-policy learning), and write it into a folder.

    Options:
        out (DIR): A new folder for the policy.
        contexts (FILE): Features of contexts, keyed as in the log.
        actions (FILE): Features of actions, keyed as in the log.
        model (NAME): product, low-rank, logistic, trees, cells, or auto: the best of them.
        time_budget (SECONDS): auto leaves out models that would take longer.
        fit_tau (TAU): Weights 1/max(propensity, TAU): auto, 1 (none), or less.
        learn_from (NAME): cells, or events (the paper's).
        loss (NAME): squared (the paper's) or logistic.
        rate (R): A learning rate. May be repeated: the best is kept.
        cross_only: The paper's pure product: no ids, no constants.
        weight_bits (B): 2^B weights (else 24, up to 26 if features need it).
        min_events (K): Feasible from K events on.
        min_propensity (P): Feasible from P on.
        strict: Refuse contexts or actions without a row of features.
        seed: Of the order in which cells are learned.
        device (NAME): Where product learns: auto (the CPU), cpu, or cuda: a GPU.
        safe: Depart from logging only where other events prove a gain; defer to logging elsewhere.
        proof_fraction (F): With --safe: the share that proves what the rest proposes (0.5).
        delta (D): With --safe: the chance to be worse than logging, on what proved it (0.05).
        guard (GUARD): With --safe: prove 'cost<=+2%' too. May be repeated.
        doubt (R): With --safe: prove it even if shown events earn R times what others would.
        utility (SUM): Learn a weighted sum of outcomes in the place of the reward: 'quality - 50*cost'.

    Examples:
        warmstart fit log.parquet --context page --action ad --reward click --time shown_at \
            --contexts pages.parquet --actions ads.parquet --train-fraction 0.65 --out policy --html fit.html
        warmstart evaluate log.parquet --context page --action ad --reward click --time shown_at \
            --test-fraction 0.35 --policy policy --policy logging --tau 0.05
    """
    from warmstart import pipeline
    from warmstart.core import check_output, printable
    from warmstart.policy import save_policy
    from warmstart.report import ProgressDisplay, save_report, show
    from warmstart.results import safe_tables

    inputs = [log.events, contexts, actions]
    check_output(out, inputs=inputs, folder=True)
    check_paths(html, [], inputs, force=force, other=out)
    connected = engine.connect()
    with ProgressDisplay(connected) as progress:
        policy = pipeline.fit(
            pipeline.training_window(
                open_guarded(log, connected, guard, utility),
                train_until=windows.train_until,
                train_fraction=windows.train_fraction,
            ),
            contexts=contexts,
            actions=actions,
            model=model,
            time_budget=time_budget,
            fit_tau=parse_tau("--fit-tau", fit_tau),
            learn_from=cast("Any", learn_from),
            loss=cast("Any", loss),
            rates=rate or None,
            cross_only=cross_only,
            weight_bits=weight_bits,
            min_events=min_events,
            min_propensity=min_propensity,
            strict=strict,
            seed=seed,
            device=cast("Any", device),
            safe=safe,
            utility=utility,
            **_of_proof(
                safe=safe,
                also=utility is None,
                log=log,
                proof_fraction=proof_fraction,
                delta=delta,
                guards=guard,
                doubt=doubt,
            ),
            learn_threads=learn_threads,
            on_progress=progress,
        )
        save_policy(policy, out)
    if html is not None:
        save_report(policy, html, force=force)
    tables = [] if policy.learned.safe is None else safe_tables(policy.learned.safe)
    show(tables, [*policy.summary(), f"The policy is in {printable(out)}/"], policy.learned.headline)


def _of_proof(*, safe: bool, also: bool, log: LogSettings, **given: Any) -> dict[str, Any]:
    """Return the options of a safe fit that were given; refuse them without it, ``also`` further outcomes."""
    from warmstart.core import UsageError

    options = {name: value for name, value in given.items() if value is not None}
    others = [*options, *(name for name in ("epoch", *(["also"] if also else [])) if getattr(log, name))]
    if not safe and others:
        raise UsageError(f"--{others[0].removesuffix('s').replace('_', '-')} is for a proof.", "Ask for it: --safe.")
    return options
