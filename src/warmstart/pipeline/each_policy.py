"""The cells that each policy is valued with: those of the log, or for a column of choices its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from warmstart.core import ACTION, UsageError, quoted
from warmstart.events import AS_LOGGING, open_cells, with_choices, with_deferral
from warmstart.pipeline.checks import check_decides
from warmstart.pipeline.prepare import prepare
from warmstart.pipeline.sources import COUNTED
from warmstart.policy import unknown_share

# Sources of propensities that are 1 where logging has a single action.
KNOWN = (*COUNTED, "logged")
# Cells have this column where it is known on which days actions are live.
LIVE_FROM = "live_from"

if TYPE_CHECKING:
    from warmstart.core import Progress
    from warmstart.events import Cells, Events
    from warmstart.pipeline.prepare import EvaluationInputs
    from warmstart.pipeline.valuing import Valued, Valuing
    from warmstart.policy import NamedPolicy, PolicyTable
    from warmstart.results import ValueEstimate


def value_each(
    named: Sequence[NamedPolicy],
    inputs: EvaluationInputs,
    again: Mapping[str, Any],
    opened: Callable[[EvaluationInputs, ExitStack], Valuing],
    build: Callable[..., PolicyTable],
    *,
    allow_unknown: bool,
    on_progress: Progress,
) -> dict[str, Valued]:
    """Value every policy, each with its own cells or with those that the others share.

    Args:
        named: The policies.
        inputs: What most of them share.
        again: Keyword arguments to prepare inputs with.
        opened: Prepares to value policies with some inputs.
        build: Builds a policy over cells.
        allow_unknown: Whether policies may name actions that the log never shows.
        on_progress: Called with the step that begins.
    """
    answers: dict[str, Valued] = {}
    with ExitStack() as shared:
        valuing = opened(inputs, shared)
        for policy, own in inputs_of_each(named, inputs, again):
            on_progress(f"valuing {policy.name}")
            built = build(policy, own.cells, strata=own.by_epoch)
            with ExitStack() as own_resources:
                valued = (valuing if own is inputs else opened(own, own_resources)).value(built)
            if policy.is_ranking:
                policy.source.ranked.check_unchanged()
            check_decides(policy, valued.estimates[0])
            if policy.column is not None:
                valued = replace(valued, estimates=[_without(one, policy.column) for one in valued.estimates])
            unknown = unknown_share(built, own.cells) if allow_unknown and policy.names_actions else 0.0
            unseen = valued.estimates[0].support.undecided if policy.is_ranking else 0.0
            deferred = deferred_share(own.cells) if policy.defers else 0.0
            answers[policy.name] = replace(valued, unknown=unknown, unseen=unseen, deferred=deferred)
    return answers


def _without(estimate: ValueEstimate, column: str) -> ValueEstimate:
    """Return an estimate whose doubt says nothing of leaving out the policy's own choices."""
    if estimate.doubt is None:
        return estimate
    columns = tuple(one for one in estimate.doubt.columns if one.column != column)
    return replace(estimate, doubt=replace(estimate.doubt, columns=columns))


def inputs_of_each(
    named: Sequence[NamedPolicy], inputs: EvaluationInputs, again: Mapping[str, Any]
) -> Iterator[tuple[NamedPolicy, EvaluationInputs]]:
    """Yield every policy with what it is valued with, in order.

    A column of choices joins the context for its own policy: that has cells, propensities and a reward model of its
    own, from the same kind of source as the others, released when the next one is asked for.

    Args:
        named: The policies.
        inputs: What the others share.
        again: Keyword arguments to prepare inputs with; ``requested``: the source that was asked for.
    """
    options = dict(again)
    requested = options.pop("requested", None)
    source = requested if hasattr(requested, "predict_proba") else inputs.source.name
    for policy in named:
        if policy.column is None and not policy.defers:
            yield policy, inputs
            continue
        if policy.defers and inputs.source.name not in KNOWN:
            raise UsageError(
                f"The policy {quoted(policy.name)} defers to logging, and propensities that are modelled do not say "
                "that logging does with certainty what logging does.",
                "Use counts or logged propensities (propensities=..., --propensities).",
            )
        evaluated, train = window_of(policy, inputs.cells.evaluated, inputs.cells.train)
        live = policy.defers and LIVE_FROM in inputs.cells.table.columns
        by_epoch = policy.defers and inputs.cells.by_epoch is not None
        with open_cells(evaluated, train, live=live, by_epoch=by_epoch) as cells, ExitStack() as resources:
            yield policy, prepare(cells, resources, source, **options)


def window_of(policy: NamedPolicy, evaluated: Events, train: Events | None) -> tuple[Events, Events | None]:
    """Return the windows that a policy is valued with: with its column in the context, if it is one."""
    if policy.defers:
        return with_deferral(evaluated, train, policy.source.ranked.opened)
    if policy.column is None:
        return evaluated, train
    if policy.column in evaluated.columns.known_after:
        raise UsageError(
            f"{quoted(policy.column)} is known after acting only, and another model's choice does not depend on it.",
            "Name the column that this model's choices were written to.",
        )
    return with_choices(evaluated, train, policy.column)


def deferred_share(cells: Cells) -> float:
    """Return the share of the evaluated window in contexts that a policy leaves to logging, from its own cells."""
    table = cells.table
    left = (table[ACTION] == AS_LOGGING).ifelse(table.n, 0.0).sum()
    row = cells.engine.fetch(table.agg(left=left, events=table.n.sum()))[0]
    return float(row["left"]) / float(row["events"])
