"""An audit as tables, for those who look things up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import counted, more, percent, shortened, span
from warmstart.results.amounts import Amounts
from warmstart.results.assumptions import assumptions_table
from warmstart.results.display import TextTable

if TYPE_CHECKING:
    from warmstart.results.audit import Audit, Check, Spread
    from warmstart.results.audit_units import UnitFacts


def tables(audit: Audit) -> list[TextTable]:
    """Return what people look at."""
    return [
        log_table(audit),
        *([] if audit.units is None else [units_table(audit.units, _amounts(audit))]),
        *(by_actions_table(audit), support_table(audit)),
        *([origin_table(audit)] if audit.origin is not None else []),
        *([switch_days_table(audit)] if switches_worth_showing(audit) else []),
        *([checks_table(audit)] if audit.checks else []),
        *([audit.epochs.table] if audit.epochs is not None and audit.epochs.lengths else []),
        *([assumptions_table(audit.assumptions)] if audit.assumptions else []),
        power_table(audit),
        *([explore_table(audit)] if audit.explore.rows and audit.exploration.overlap is None else []),
    ]


def log_table(audit: Audit) -> TextTable:
    """Show what is in the log."""
    log, amounts = audit.log, _amounts(audit)
    rows = [
        ("events", f"{log.events:,}"),
        ("contexts", f"{log.contexts:,}"),
        ("actions", f"{log.actions:,}"),
        ("cells (context, action)", f"{log.cells:,}"),
        (f"mean reward {amounts.unit}", amounts.number(log.reward_rate)),
    ]
    if log.first is not None and log.last is not None:
        if log.numbered == "step":
            rows.append(("times", span(log.first, log.last, steps=True)))
        else:
            rows.append(("from, to (UTC)", f"{log.first[:16].replace('T', ' ')}, {log.last[:16].replace('T', ' ')}"))
    rows += [
        ("events per context", spread(log.events_per_context)),
        ("events per action", spread(log.events_per_action)),
        ("exact duplicates", "not known" if log.duplicates is None else f"{log.duplicates:,}"),
        ("rows left out", f"{log.dropped:,}"),
    ]
    return TextTable(f"The log: {shortened(log.source)}", ("what", "how much"), rows, left=1)


def units_table(units: UnitFacts, amounts: Amounts) -> TextTable:
    """Show what is known of units."""
    sticky, check = units.stickiness, units.visits
    worth = "-" if units.independent_events is None else f"{units.independent_events:,.0f}"
    rows = [
        ("units", f"{units.units:,}"),
        ("events per unit", spread(units.events_per_unit)),
        ("events of the largest", percent(units.largest)),
        ("design effect (variance by unit / by event) of the mean reward", _number(units.design_effect)),
        ("worth so many independent events", worth),
        ("design effect of a typical policy's gain", _number(units.gain_design_effect)),
        ("two events of a unit in a context show the same action", percent(None if sticky is None else sticky.same)),
        ("two events of different units in it do", percent(None if sticky is None else sticky.chance)),
        (f"reward {amounts.unit} that goes with twice as many visits", _change(amounts, check.effect)),
        ("its confidence interval", _ends(amounts, check)),
        ("its p-value, by unit", _bare(check.p_value)),
    ]
    return TextTable(f"Units: {shortened(', '.join(units.columns))}", ("what", "how much"), rows, left=1)


def spread(quantiles: Spread) -> str:
    """Show quantiles of a count in a few words."""
    return " | ".join(f"{value:,.0f}" for name, value in vars(quantiles).items() if name != "ninety")


def by_actions_table(audit: Audit) -> TextTable:
    """Show the traffic by the number of actions of its context."""
    rows = [(row.actions, f"{row.contexts:,}", percent(row.traffic)) for row in audit.exploration.by_actions]
    return TextTable("Traffic by how many actions were shown in its context", ("actions", "contexts", "traffic"), rows)


def support_table(audit: Audit) -> TextTable:
    """Show support against tau."""
    rows = [(f"{at.tau:g}", percent(at.uniform), percent(at.choice)) for at in audit.exploration.support]
    header = ("tau", *support_names(audit))
    return TextTable("Support against tau (shares of traffic)", header, rows)


def support_names(audit: Audit) -> tuple[str, str]:
    """Name what is supported, by counts or by other propensities."""
    if audit.exploration.overlap is None:
        return "uniform is supported", "two actions or more are"
    return "uniform-all is supported", "the likeliest leaves tau to others"


def origin_table(audit: Audit) -> TextTable:
    """Show where the choice comes from."""
    origin = audit.origin
    assert origin is not None
    rows = [
        ("context-days with two events or more that show one action", percent(origin.one_action_days)),
        ("two events of a context differ, same day", percent(origin.differ_within_day)),
        ("two events of a context differ, other days", percent(origin.differ_across_days)),
        ("of the difference, explained by the calendar", percent(origin.calendar)),
        ("entropy of the action given the context (nats)", f"{origin.entropy:z.3f}"),
        ("the same given context and day", f"{origin.entropy_within_day:z.3f}"),
        ("information: what the day tells of it", f"{origin.entropy - origin.entropy_within_day:z.3f}"),
        ("switches per context", f"{origin.switches_per_context:.2f}"),
    ]
    return TextTable("Where the choice comes from", ("what", "how much"), rows, left=1)


def switches_worth_showing(audit: Audit) -> bool:
    """Tell whether switches by day are worth a look: a few days, and some contexts that switched."""
    days = audit.origin.switch_days if audit.origin is not None else ()
    return len(days) >= 3 and any(day.switched > 0 for day in days)


def switch_days_table(audit: Audit) -> TextTable:
    """Show the days on which most contexts switched."""
    assert audit.origin is not None
    busiest = sorted(audit.origin.switch_days, key=lambda day: -day.switched)[:5]
    rows = [(day.day, f"{day.contexts:,}", percent(day.switched)) for day in busiest]
    return TextTable("Days on which most contexts switched to other actions", ("day", "contexts", "switched"), rows, 1)


def checks_table(audit: Audit) -> TextTable:
    """Show the tests of assumptions."""
    amounts = _amounts(audit)
    header = ("check", "effect", "confidence interval", "p-value", "clustered p", "cells")
    rows = [
        (
            *(check.name, _change(amounts, check.effect), _ends(amounts, check)),
            *(_bare(check.p_value), _bare(check.clustered_p), f"{check.cells:,}"),
        )
        for check in audit.checks
    ]
    return TextTable(
        f"Do the assumptions hold? (rewards {amounts.unit} within a cell, between days)", header, rows, left=1
    )


def power_table(audit: Audit) -> TextTable:
    """Show what the log could prove."""
    power, amounts = audit.power, _amounts(audit)
    rows = [
        ("tau", f"{power.tau:g}"),
        ("traffic with a choice (contested)", percent(power.contested)),
        ("smallest gain over logging there that could be proven", more(power.smallest_gain)),
        *((f"log needed to prove a gain of {percent(need.gain)}", _times(need.times)) for need in power.more_log),
        (f"doubt that more log shrinks (reward {amounts.unit})", _change(amounts, power.sampling)),
        ("doubt that more of the same log never removes", _change(amounts, power.blind)),
    ]
    return TextTable("What this log could prove", ("what", "how much"), rows, left=1)


def explore_table(audit: Audit, *, most: int = 10) -> TextTable:
    """Show the contexts to explore first."""
    explore, amounts = audit.explore, _amounts(audit)
    rows = [
        (*(shortened(name, 40) for name in names), f"{events:,}", percent(traffic), amounts.number(reward))
        for *names, events, traffic, reward in explore.rows[:most]
    ]
    header = tuple(shortened(name, 24) for name in explore.columns)
    single = f"{counted(explore.contexts, 'context')} with a single action"
    title = f"Where to explore first: the busiest of {single} (rewards {amounts.unit})"
    return TextTable(title, header, rows, left=len(explore.columns) - 3)


def _amounts(audit: Audit) -> Amounts:
    return Amounts.by_mean(audit.log.reward_rate, audit.reward_range[0])


def _change(amounts: Amounts, value: float | None) -> str:
    return "-" if value is None else amounts.number(value)


def _ends(amounts: Amounts, check: Check) -> str:
    return "-" if check.lower is None else f"[{_change(amounts, check.lower)}, {_change(amounts, check.upper)}]"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _bare(value: float | None) -> str:
    return "-" if value is None else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _times(times: float | None) -> str:
    if times is None:
        return "-"
    if times <= 1:
        return f"enough ({percent(times)} of this one)"
    return f"{times:,.1f} times this one" if times < 100 else f"about {float(f'{times:.2g}'):,.0f} times this one"
