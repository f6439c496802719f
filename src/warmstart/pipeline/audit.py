"""The order of an audit."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from warmstart.auditing import (
    action_churn,
    assumption_checks,
    context_drift,
    counted_exploration,
    duplicates,
    epoch_facts,
    explore_first,
    log_facts,
    modelled_exploration,
    origin,
    possible_units,
    power,
    unique_columns,
    unit_facts,
    unit_gain,
)
from warmstart.core import Progress, __version__, silent
from warmstart.estimators import open_weighted_rows
from warmstart.events import Events, open_cells, open_daily_cells, open_strata, unit_visits
from warmstart.pipeline.assumptions import LogChecks, audit_assumptions
from warmstart.pipeline.checks import check_events
from warmstart.pipeline.sources import check_folds, choose_source, contexts_repeat, with_propensities
from warmstart.policy import build_policy, parse_policies, uniform_all_where_shown
from warmstart.results import Audit

if TYPE_CHECKING:
    from warmstart.events import Cells, DailyCells
    from warmstart.results import EpochFacts, Exploration, Power, UnitFacts


def audit(events: Events, *, name_texts: bool = False, on_progress: Progress = silent) -> Audit:
    """Tell what a log can say about other policies, where its choice comes from, and where to explore first.

    Args:
        events: The log.
        name_texts: Whether contexts that are free text, such as prompts, are named where to explore; else they are
            numbered. Free text has five words and more on average, or more different texts than half the events.
        on_progress: Called with the step that begins.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p", "p", "q", "q"], "ad": ["a", "b", "a", "a"], "click": [1, 0, 1, 1]})
    >>> audit = ws.audit(ws.read_events(log, context="page", action="ad", reward="click"))
    >>> audit.exploration.by_actions[0].traffic
    0.5
    """
    check_events(events)
    step = on_progress
    if events.columns.time is None:
        step("summing events into cells")
        with open_cells(events) as cells:
            return _with_assumptions(_answers(cells, None, None, step, name_texts=name_texts), events, step)
    step("looking for duplicates")
    twice = duplicates(events)
    step("summing events into cells by day")
    with open_daily_cells(events) as daily:
        return _with_assumptions(_answers(daily.cells, daily, twice, step, name_texts=name_texts), events, step)


def _with_assumptions(audit: Audit, events: Events, step: Progress) -> Audit:
    step("checking the log")
    return replace(audit, assumptions=audit_assumptions(LogChecks.of(events), audit))


def _answers(cells: Cells, daily: DailyCells | None, twice: int | None, step: Progress, *, name_texts: bool) -> Audit:
    live = daily is not None
    step("looking for choice")
    repeating = contexts_repeat(cells)
    explored, proof, units = _choice(cells, step, live=live, repeating=repeating)
    step("describing the log")
    facts = log_facts(cells, twice, () if repeating else unique_columns(cells))
    if units is None:
        facts = replace(facts, possible_units=possible_units(cells.evaluated))
    explore = explore_first(cells, name_texts=name_texts)
    without_time = Audit(
        log=facts,
        exploration=explored,
        origin=None,
        checks=(),
        context_drift=None,
        churn=None,
        power=proof,
        explore=explore,
        reward_range=cells.evaluated.log.reward_range,
        version=__version__,
        units=units,
    )
    if daily is None:
        return without_time
    step("looking at the calendar")
    calendar = origin(daily)
    step("testing for drift and reaction")
    checks = assumption_checks(daily)
    step("comparing the earlier with the later")
    drift, churn = context_drift(daily), action_churn(daily)
    step("looking for reaction inside epochs")
    epochs = epoch_facts(cells.evaluated, tau=proof.tau)
    return replace(without_time, origin=calendar, checks=checks, context_drift=drift, churn=churn, epochs=epochs)


def recommended_epoch(events: Events) -> EpochFacts | None:
    """Tell within which epochs the logging policy of a window does not react to rewards; None without a time column.

    The epoch is chosen by rewards and actions of these events, so it is one for later windows: ``.recommended``.
    """
    return epoch_facts(events)


def _choice(
    cells: Cells, step: Progress, *, live: bool, repeating: bool
) -> tuple[Exploration, Power, UnitFacts | None]:
    """Return the choice in the log and what it could prove: by counts, or where contexts do not repeat as evaluate.

    And what is known of units, if the log names them.

    Args:
        cells: The cells of the log.
        step: Called with the step that begins.
        live: Whether actions are live on some days only.
        repeating: Whether contexts repeat.
    """
    built = build_policy(parse_policies("uniform")[0], cells, feasible_from="evaluated", live=live)
    with open_weighted_rows(built, cells) as weighted:
        explored, tau = counted_exploration(weighted, cells, live=live)
    by_unit, units = None, None
    if cells.columns.unit:
        step("looking at units")
        with ExitStack() as resources:
            visits = unit_visits(cells, None, resources)
            by_unit = unit_gain(cells, visits, tau=tau)
            units = unit_facts(cells, visits, by_unit)
    name, reason, _ = choose_source("auto", cells, ())
    if repeating or name == "counts":
        return explored, power(cells, tau=tau, by_unit=by_unit), units
    step("learning propensities")
    with open_strata(cells, by_propensity=name == "logged") as strata:
        check_folds(strata)
        weighed, source = with_propensities(strata, name, reason)
        with ExitStack() as resources:
            by_row = unit_visits(cells, weighed, resources) if cells.columns.unit else None
            weighted = resources.enter_context(
                open_weighted_rows(uniform_all_where_shown(cells, live=live), cells, strata=weighed, visits=by_row)
            )
            return *modelled_exploration(explored, weighted, weighed, source), units
