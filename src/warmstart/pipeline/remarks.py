"""What an evaluation must say beside its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from warmstart.pipeline.sources import contexts_repeat

if TYPE_CHECKING:
    from warmstart.core import Outcome
    from warmstart.events import Events
    from warmstart.pipeline.prepare import EvaluationInputs
    from warmstart.pipeline.trained import Training
    from warmstart.pipeline.valuing import Valued
    from warmstart.results import Remark

# Less undecided traffic than this changes no number that is shown.
TOLD_FROM = 0.0005


def evaluation_remarks(
    inputs: EvaluationInputs, training: Training, answers: Mapping[str, Valued], joined: Sequence[str]
) -> tuple[Remark, ...]:
    """Return remarks on the decisions, on the context columns and on overlap, where there is something to say.

    Args:
        inputs: What all policies share.
        training: What policies saw of rewards.
        answers: What was found of every policy, by its name.
        joined: Columns of segments that joined the context.
    """
    from warmstart.auditing import judge_overlap, unique_columns
    from warmstart.results import remarks

    unsaid, returning, doubtful = training.unsaid, training.returning, training.doubtful
    result = [remarks.unsaid_training(unsaid)] if unsaid else []
    result += [remarks.returning_units(returning, doubtful)] if doubtful or (returning and unsaid) else []
    result += [remarks.units_over_epochs()] if units_over_epochs(inputs, training) else []
    result += [remarks.overlapping_epochs()] if inputs.overlapping else []
    result += [remarks.alarm(policy, one.alarms) for policy, one in answers.items() if one.alarms.rings]
    result += [remarks.unknown_actions(policy, one.unknown) for policy, one in answers.items() if one.unknown > 0]
    result += [remarks.unseen_contexts(policy, one.unseen) for policy, one in answers.items() if one.unseen > TOLD_FROM]
    result += [remarks.deferred(policy, one.deferred) for policy, one in answers.items() if one.deferred > 0]
    result += [remarks.joined_context(joined)] if joined else []
    result += outcome_remarks(inputs.cells.evaluated.log.outcomes)
    result += times_remarks(inputs.cells.evaluated)
    if not contexts_repeat(inputs.cells):
        unique = remarks.unique_columns(unique_columns(inputs.cells))
        result += [] if unique is None else [unique]
    if inputs.strata is not None and not inputs.source.counted:
        result.append(judge_overlap(inputs.strata, inputs.source).remark)
    return tuple(result)


def times_remarks(events: Events) -> list[Remark]:
    """Return a remark on times that are numbers of days or steps."""
    from warmstart.results import remarks

    log = events.log
    return [] if log.numbered is None else [remarks.numbered_times(str(log.columns.time), log.numbered)]


def outcome_remarks(outcomes: Sequence[Outcome]) -> list[Remark]:
    """Return remarks on ranges, nulls and names of outcomes; a utility, which no column holds, has none."""
    from warmstart.results import remarks

    of_columns = [outcome for outcome in outcomes if outcome.seen is not None]
    results = [remarks.wide_range(outcome) for outcome in of_columns if outcome.is_too_wide]
    results += [remarks.unknown_outcome(outcome) for outcome in of_columns if outcome.known < 1]
    costs = [remarks.may_be_a_cost(outcome) for outcome in of_columns]
    return results + [remark for remark in costs if remark is not None]


def units_over_epochs(inputs: EvaluationInputs, training: Training) -> bool:
    """Tell whether units are in several epochs, those before the window included: no bound over epochs holds then."""
    return inputs.returning or (inputs.by_epoch is not None and training.returning > 0)


def unproven_epochs(inputs: EvaluationInputs, training: Training) -> bool:
    """Tell whether nothing can be certified over these epochs, of whatever policy."""
    return units_over_epochs(inputs, training) or inputs.overlapping
