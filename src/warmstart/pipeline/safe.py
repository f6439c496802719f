"""Fit a policy that departs from logging only where other events prove that it gains by that, and defers elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import numpy as np
import pyarrow as pa

from warmstart.core import Progress, UsageError, iso, to_arrow, to_numpy
from warmstart.engine import is_partitioned
from warmstart.estimators import CellSums, Proposal, proposed_sets
from warmstart.events import AS_LOGGING, Events, epochs_known, maximized, open_cells
from warmstart.pipeline.checks import check_amounts
from warmstart.pipeline.returning import returning_share
from warmstart.pipeline.safe_chances import compare_settings
from warmstart.pipeline.safe_proof import Proof, Proven, check_safe
from warmstart.pipeline.safe_report import Outcome, report_of
from warmstart.pipeline.sources import contexts_repeat
from warmstart.policy import FittedPolicy, RankingInMemory
from warmstart.results import Guard, fields_of
from warmstart.reward import Estimated, Examples, learn_estimated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.features import KeyEncoder
    from warmstart.reward import FitSettings

    Floats = NDArray[np.float64]

# Deviations need this share of their context, in both parts.
TAU = 0.02
MOST_PARTS = 20
Split = Literal["time", "epoch", "unit", "event"]
# Where the first part ends before the second begins. Only then may it lean towards what logging prefers: a logger that
# learns comes to prefer what was rewarded before, by luck too, and events that were so may not prove it. With epochs,
# which are named where a logger learns, it does not: what was rewarded by luck would count twice.
LEANS = "time"
# Simulated logs have no units, and no logger that learns: a safe policy that reckons with them is not simulated.
ALONE = ("time", "event")


@dataclass(frozen=True)
class SafeSettings:
    """The settings of a safe fit, which ``fit`` explains; ``least``: an action is proposed from so many events on."""

    proof_fraction: float
    delta: float
    guards: tuple[str, ...]
    doubt: float | None
    least: int = 1
    tau: float = TAU

    @classmethod
    def checked(
        cls, share: float, delta: float, guards: str | Sequence[str], doubt: float | None, settings: FitSettings
    ) -> Self:
        """Return the settings, with what ``fit`` asks of feasible actions."""
        check_safe(proof_fraction=share, delta=delta)
        check_amounts(None, doubt)
        texts = (guards,) if isinstance(guards, str) else tuple(guards)
        return cls(share, delta, texts, doubt, settings.min_events, max(TAU, settings.min_propensity))


class Part(NamedTuple):
    """Some events: their cells, and what is known of the rewards of these, by them alone."""

    sums: CellSums
    known: Estimated
    expected: Floats


def fit_safely(
    events: Events, settings: SafeSettings, learn: Callable[[Events], FittedPolicy], *, featured: bool, report: Progress
) -> FittedPolicy:
    """Return the policy that acts where its gain is proven, and defers to logging elsewhere.

    Args:
        events: The training window.
        settings: How to prove.
        learn: Fits a policy on events.
        featured: Whether its scores know more of contexts and actions than their ids.
        report: Called with the step that begins.
    """
    _check(events, settings)
    parts, split = _divided(events, settings.proof_fraction)
    report("proposing and proving deviations")
    with open_cells(maximized(events)) as cells:
        if not contexts_repeat(cells):
            raise UsageError(
                "A safe fit counts propensities, and the contexts of this log do not repeat.",
                "Name coarser context columns, or fit without safe=True (--safe).",
            )
        examples, contexts, actions = Examples.of_cells(cells)
    _check_names(actions.values)
    encoders = contexts, actions
    learned = learn(events)
    whole = _part(examples, encoders, learned if featured else None, leaning=split != "epoch")
    first, later = (maximized(part) for part in parts)
    of_first, of_later = (_examples(part, encoders) for part in (first, later))
    proposing = _part(of_first, encoders, learn(parts[0]) if featured else None, leaning=split == LEANS)
    sets = proposed_sets(proposing.sums, proposing.expected, tau=settings.tau, least=settings.least)
    # Only this way round: later choices may follow from earlier rewards, which would prove what they suggested.
    proof = Proof(first, later, settings.delta, settings.tau, settings.guards, settings.doubt)
    tables = [_ranking(one, proposing, encoders, events, settings) for one in sets]
    proven = proof.run(tables) if tables else Proven((), None, None)
    report("simulating logs like this one")
    sums = proposing.sums, _sums(of_later)
    compared = compare_settings(
        sums,
        whole.known,
        tau=settings.tau,
        delta=settings.delta,
        least=settings.least,
        first_leans=split == LEANS,
        safe=split in ALONE and not settings.guards and settings.doubt is None,
    )
    low, high = events.log.reward_range
    outcome = Outcome(split, high - low, proven, sets, _acting(proven, sets, encoders, events), compared)
    safe = report_of(whole, sums, settings, encoders, outcome)
    ranking = learned.ranking.slice(0, 0) if proven.ranking is None else proven.ranking
    about = {**learned.report, "departure": None, "safe": fields_of(safe)}
    return replace(learned, ranked=RankingInMemory(ranking), model=None, defers=True, report=about)


def _check(events: Events, settings: SafeSettings) -> None:
    if is_partitioned(events.engine) or events.engine.remote:
        raise UsageError(
            "A safe fit proves on one machine only.", "Read the log from files with engine='duckdb' (--engine duckdb)."
        )
    epochs, reward = events.log.epochs, events.log.outcomes[0]
    if epochs is not None and epochs.kind == "auto":
        raise UsageError("A safe fit needs epochs that are fixed.", "Name hour, day, week or a column.")
    if epochs is not None and events.columns.time is None:
        raise UsageError("Without times nobody knows which epoch came first.", "Name a time column: time=... (--time).")
    guards = [Guard.parse(text, [outcome.name for outcome in events.log.outcomes]) for text in settings.guards]
    if reward.minimize and any(guard.outcome == reward.name for guard in guards):
        raise UsageError("The reward is made small, and cannot be guarded too.", "Guard other outcomes.")


def _divided(events: Events, fraction: float) -> tuple[tuple[Events, Events], Split]:
    """Divide events into a part to propose on and one to prove on."""
    if epochs_known(events):
        first = events.until(_end(events.split(fraction=1 - fraction)[0]))
        later = events.split(at=_end(first))[1]
        if returning_share(later, first) > 0:
            raise UsageError(
                "Some units come back after the epochs that propose, so that nothing is certified.",
                "Fit on each unit's first epoch: events.first_epochs().",
            )
        return (first, later), "epoch"
    if events.columns.unit or events.columns.time is None:
        small = min(fraction, 1 - fraction)
        number = min(max(round(1 / small), 2), MOST_PARTS)
        rest, fold = events.split(folds=number)[0]
        return (rest, fold) if fraction <= 0.5 else (fold, rest), "unit" if events.columns.unit else "event"
    return events.split(fraction=1 - fraction), "time"


def _end(events: Events) -> str:
    """Return the moment at which a window of the first events ends."""
    moment = iso(events.window.stop)
    assert moment is not None
    return moment


def _examples(events: Events, encoders: tuple[KeyEncoder, KeyEncoder]) -> Examples:
    with open_cells(events) as cells:
        examples, *_ = Examples.of_cells(cells, encoders)
    return examples


def _sums(examples: Examples) -> CellSums:
    return CellSums(examples.contexts, examples.actions, examples.n, examples.reward_sum)


def _part(
    examples: Examples,
    encoders: tuple[KeyEncoder, KeyEncoder],
    learned: FittedPolicy | None,
    *,
    leaning: bool,
) -> Part:
    """Return cells with the rewards that are expected of them: by a model's scores, if it knows more than ids."""
    mean = float(examples.reward_sum.sum() / examples.n.sum())
    predictions = np.full(len(examples), mean)
    sizes = len(encoders[0]), len(encoders[1])
    if learned is not None:
        ranking = learned.ranking
        x = encoders[0].numbers(ranking.select(list(learned.columns.context)).rename_columns(list(encoders[0].names)))
        a = encoders[1].numbers(ranking[learned.columns.action])
        keys, of_scores = examples.contexts * sizes[1] + examples.actions, x * sizes[1] + a
        order = np.argsort(of_scores)
        place = np.minimum(np.searchsorted(of_scores[order], keys), len(of_scores) - 1)
        scores = to_numpy(ranking["score"])[order][place]
        predictions = np.where(of_scores[order][place] == keys, scores, mean)
    known = learn_estimated(examples, predictions, *sizes, leaning=leaning)
    return Part(_sums(examples), known, known.rates)


def _ranking(
    proposal: Proposal, part: Part, encoders: tuple[KeyEncoder, KeyEncoder], events: Events, settings: SafeSettings
) -> pa.Table:
    """Return the ranking of a set of deviations; with times, what follows if the first action is not live on a day."""
    sums, size = part.sums, len(encoders[1])
    chosen = np.full(len(encoders[0]), -1)
    chosen[proposal.contexts] = proposal.actions
    first = chosen[sums.contexts] == sums.actions
    share = sums.n / sums.by_context(sums.n, len(encoders[0]))[sums.contexts]
    able = first | ((share >= settings.tau) & (sums.n >= settings.least) & (events.columns.time is not None))
    rows = np.flatnonzero((chosen[sums.contexts] >= 0) & able)
    order = rows[np.lexsort((sums.actions[rows], -part.expected[rows], ~first[rows], sums.contexts[rows]))]
    contexts = sums.contexts[order]
    begins = np.flatnonzero(np.append(True, contexts[1:] != contexts[:-1]))
    of_first = np.repeat(begins, np.diff(np.append(begins, len(order))))
    rank = np.arange(len(order)) - of_first + 1
    scores = np.minimum(part.expected[order], part.expected[order][of_first])
    assert size > int(sums.actions.max())
    keys = encoders[0].keys.take(to_arrow(contexts)).columns
    columns = [*keys, encoders[1].values.take(to_arrow(sums.actions[order]))]
    names = [*events.columns.context, events.columns.action, "rank", "score"]
    return pa.table([*columns, to_arrow(rank.astype(np.int32)), to_arrow(scores)], names=names)


def _acting(
    proven: Proven, sets: list[Proposal], encoders: tuple[KeyEncoder, KeyEncoder], events: Events
) -> Proposal | None:
    """Return what acts of the last set that is proven."""
    if proven.ranking is None:
        return None
    last = sets[sum(one.proven for one in proven.tested) - 1]
    table = proven.ranking.select(list(events.columns.context)).rename_columns(list(encoders[0].names))
    return last.only(np.isin(last.contexts, encoders[0].numbers(table)))


def _check_names(actions: pa.Array) -> None:
    """Refuse an action with the name that deferring has."""
    if AS_LOGGING in actions.to_pylist():
        raise UsageError(f"An action is called {AS_LOGGING!r}, as deferring is.", "Rename it.")
