"""An audit in words: tables for those who look things up, sentences for those who decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmstart.core.audit import Audit, Check, Spread
from warmstart.core.tables import TextTable
from warmstart.core.text import counted, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOWN_CONTEXTS = 10
SHOWN_DAYS = 5
# Below this share of traffic with a choice, there is next to nothing to compare.
TOO_LITTLE = 0.01
HIDDEN = "whether the logging policy used something that predicts the reward and is not in the context columns"


def verdict(audit: Audit) -> tuple[str, str, str]:
    """Say what can be asked of this log, what cannot, and which tau to begin with."""
    power, alone = audit.power, audit.exploration.by_actions[0].traffic
    support = next(at for at in audit.exploration.support if at.tau == power.tau)
    if power.contested < TOO_LITTLE:
        can = (
            f"Next to nothing can be asked of this log: on {percent(power.contested)} of its traffic were two actions "
            f"or more shown often enough to be compared."
        )
    elif power.smallest_gain is None:
        can = (
            f"Two actions or more were shown often enough on {percent(power.contested)} of the traffic, but without a "
            "mean reward above zero nothing can be said of gains."
        )
    else:
        can = (
            f"Other policies can be compared with the logging policy on {percent(power.contested)} of the traffic, and "
            f"one that earns {more(power.smallest_gain)} there will probably be proven better."
        )
    fired = [check.name for check in audit.checks if check.fires]
    caution = (
        f"; and there are signs of drift or reaction ({' and '.join(fired)}), so that estimates may be off either way"
        if fired
        else ""
    )
    cannot = (
        f"It cannot say what other actions would earn on the {percent(alone)} of traffic in contexts where a single "
        f"action was shown, nor {HIDDEN}{caution}."
    )
    tau = (
        f"Begin with tau = {power.tau:g}, at which {percent(support.uniform)} of the traffic of a policy that chooses "
        f"at random among the actions shown is supported."
    )
    return can, cannot, tau


def tables(audit: Audit) -> list[TextTable]:
    """Return what people look at."""
    found = [log_table(audit), by_actions_table(audit), support_table(audit)]
    if audit.origin is not None:
        found += [origin_table(audit), switch_days_table(audit)]
    found += [checks_table(audit)] if audit.checks else []
    found += [power_table(audit)]
    return found + ([explore_table(audit)] if audit.explore.rows else [])


def notes(audit: Audit) -> list[str]:
    """Return in plain words what the numbers say, the verdict last."""
    lines = [*about_the_log(audit), about_evenness(audit)]
    if audit.origin is None:
        lines.append(
            "Without a time column, nothing can be said about the calendar, drift, reaction, or actions that come and "
            "go: name it with time=... (--time)."
        )
    else:
        lines += [*about_the_origin(audit), *(about_check(audit, check) for check in audit.checks)]
        lines += [*about_contexts(audit), *about_churn(audit)]
    lines.append(f"Nobody can tell from a log {HIDDEN}; if it did, every estimate from this log is off.")
    lines += [*about_power(audit), *about_exploring(audit)]
    return [*lines, *(f"VERDICT: {sentence}" for sentence in verdict(audit))]


def percent(share: float | None) -> str:
    """Show a share with as many digits as it deserves.

    >>> percent(0.5), percent(0.0123), percent(0.05), percent(0.00004), percent(None)
    ('50 %', '1.2 %', '5 %', '0.004 %', '-')
    """
    if share is None:
        return "-"
    size = abs(share)
    digits = 0 if size >= 0.1 or size == 0 else 1 if size >= 0.01 else 2 if size >= 0.001 else 3
    shown = f"{100 * share:.{digits}f}"
    return f"{shown.removesuffix('.0')} %"


def more(share: float | None) -> str:
    """Show a relative gain.

    >>> more(0.123), more(25.0)
    ('12 % more', '26 times as much')
    """
    if share is None:
        return "-"
    return f"{percent(share)} more" if share < 10 else f"{1 + share:,.0f} times as much"


def log_table(audit: Audit) -> TextTable:
    """Show what is in the log."""
    log = audit.log
    rows = [
        ("events", f"{log.events:,}"),
        ("contexts", f"{log.contexts:,}"),
        ("actions", f"{log.actions:,}"),
        ("cells (context, action)", f"{log.cells:,}"),
        ("mean reward", f"{log.reward_rate:.5g}"),
    ]
    if log.first is not None and log.last is not None:
        rows.append(("from, to (UTC)", f"{log.first[:16].replace('T', ' ')}, {log.last[:16].replace('T', ' ')}"))
    rows += [
        ("events per context", spread(log.events_per_context)),
        ("events per action", spread(log.events_per_action)),
        ("exact duplicates", "not known" if log.duplicates is None else f"{log.duplicates:,}"),
        ("rows left out", f"{log.dropped:,}"),
    ]
    return TextTable(f"The log: {shortened(log.source)}", ("what", "how much"), rows, left=1)


def spread(found: Spread) -> str:
    """Show quantiles of a count in a few words."""
    parts = (found.least, found.quarter, found.median, found.three_quarters, found.ninety_nine, found.most)
    return " | ".join(f"{value:,.0f}" for value in parts)


def by_actions_table(audit: Audit) -> TextTable:
    """Show the traffic by the number of actions of its context."""
    rows = [(row.actions, f"{row.contexts:,}", percent(row.traffic)) for row in audit.exploration.by_actions]
    return TextTable("Traffic by how many actions were shown in its context", ("actions", "contexts", "traffic"), rows)


def support_table(audit: Audit) -> TextTable:
    """Show support against tau."""
    rows = [(f"{at.tau:g}", percent(at.uniform), percent(at.choice)) for at in audit.exploration.support]
    header = ("tau", "uniform is supported", "two actions or more are")
    return TextTable("Support against tau (shares of traffic)", header, rows)


def origin_table(audit: Audit) -> TextTable:
    """Show where the choice comes from."""
    found = audit.origin
    assert found is not None
    rows = [
        ("context-days with two events or more that show one action", percent(found.one_action_days)),
        ("two events of a context differ, same day", percent(found.differ_within_day)),
        ("two events of a context differ, other days", percent(found.differ_across_days)),
        ("of the difference, explained by the calendar", percent(found.calendar)),
        ("entropy of the action given the context (nats)", f"{found.entropy:.3f}"),
        ("the same given context and day", f"{found.entropy_within_day:.3f}"),
        ("switches per context", f"{found.switches_per_context:.2f}"),
    ]
    return TextTable("Where the choice comes from", ("what", "how much"), rows, left=1)


def switch_days_table(audit: Audit) -> TextTable:
    """Show the days on which most contexts switched."""
    assert audit.origin is not None
    busiest = sorted(audit.origin.switch_days, key=lambda day: -day.switched)[:SHOWN_DAYS]
    rows = [(day.day, f"{day.contexts:,}", percent(day.switched)) for day in busiest]
    return TextTable("Days on which most contexts switched to other actions", ("day", "contexts", "switched"), rows, 1)


def checks_table(audit: Audit) -> TextTable:
    """Show the tests of assumptions."""
    header = ("check", "effect", "interval", "p-value", "clustered p", "cells")
    rows = [
        (
            check.name,
            _number(check.effect),
            "-" if check.lower is None else f"[{_number(check.lower)}, {_number(check.upper)}]",
            _p(check.p_value),
            _p(check.clustered_p),
            f"{check.cells:,}",
        )
        for check in audit.checks
    ]
    return TextTable("Do the assumptions hold? (rewards within a cell, between days)", header, rows, left=1)


def power_table(audit: Audit) -> TextTable:
    """Show what the log could prove."""
    power = audit.power
    rows = [
        ("tau", f"{power.tau:g}"),
        ("traffic with a choice (contested)", percent(power.contested)),
        ("smallest gain over logging there that could be proven", more(power.smallest_gain)),
        *(
            (f"log needed to prove a gain of {percent(more.gain)}", "-" if more.times is None else _times(more.times))
            for more in power.more_log
        ),
        ("doubt that more log shrinks (reward per event)", _number(power.sampling)),
        ("doubt that more of the same log never removes", _number(power.blind)),
    ]
    return TextTable("What this log could prove", ("what", "how much"), rows, left=1)


def explore_table(audit: Audit, *, most: int = SHOWN_CONTEXTS) -> TextTable:
    """Show the contexts to explore first."""
    explore = audit.explore
    rows = [explored(row) for row in explore.rows[:most]]
    header = tuple(shortened(name, 24) for name in explore.columns)
    title = f"Where to explore first: the busiest of {counted(explore.contexts, 'context')} with a single action"
    return TextTable(title, header, rows, left=len(explore.columns) - 3)


def explored(row: Sequence[Any]) -> tuple[str, ...]:
    """Show a context to explore: its names, its action, events, traffic and reward."""
    *names, events, traffic, reward = row
    return (*(shortened(name, 40) for name in names), f"{events:,}", percent(traffic), f"{reward:.4g}")


def about_the_log(audit: Audit) -> list[str]:
    """Say what the log holds."""
    lines = ["Events per context and per action: least | quarter | median | three quarters | 99 % | most."]
    if audit.log.duplicates:
        lines.append(
            f"{counted(audit.log.duplicates, 'event')} equal another in every column, time included: were they logged "
            "twice?"
        )
    live = " that are live on the day (UTC)" if audit.exploration.live else ""
    lines.append(
        f"'uniform' chooses at random among the actions shown in the context{live}; it is supported where the log "
        f"showed its choice at least tau of the time. On average the log holds as much choice as "
        f"{audit.exploration.effective_actions:.2f} equally frequent actions a context."
    )
    return lines


def about_evenness(audit: Audit) -> str:
    """Say whether actions were drawn evenly."""
    even = audit.exploration.even
    if not even.contexts:
        return "No context is busy enough to tell whether its actions were drawn evenly."
    fair = "as a fair draw would" if even.rejected < 0.03 else "a fair draw among them would do so in 1 %"
    return (
        f"Of {counted(even.contexts, 'context')} busy enough to tell, {percent(even.rejected)} showed their actions "
        f"too unevenly for a fair draw: {fair}."
    )


def about_the_origin(audit: Audit) -> list[str]:
    """Say where the choice comes from."""
    found = audit.origin
    if found is None or found.calendar is None:
        return ["No context has events enough to tell the calendar from chance."]
    if found.calendar > 0.9:
        words = "The choice is the calendar's: within a day the logging policy is all but deterministic."
    elif found.calendar > 0.5:
        words = "Most of the choice comes from changes between days; the rest is choice within a day."
    elif found.calendar > 0.1:
        words = "Some of the choice comes from changes between days; most of it is made within a day."
    else:
        words = "The choice is made within the day, at random or by something the log lacks; days hardly matter."
    return [words]


def about_check(audit: Audit, check: Check) -> str:
    """Say what a test found, how large it is beside the mean reward, and what follows."""
    if check.effect is None or check.p_value is None:
        return f"{check.question} There are too few rewards on different days to tell."
    share = percent(abs(check.effect) / abs(audit.log.reward_rate)) if audit.log.reward_rate else "-"
    if not check.fires:
        reach = max(abs(check.lower or 0.0), abs(check.upper or 0.0))
        most = percent(reach / abs(audit.log.reward_rate)) if audit.log.reward_rate else "-"
        return (
            f"{check.question} No sign of it (p = {_p(check.p_value)}); it is at most about {most} of the mean reward."
        )
    follows = {
        ("drift", True): "rewards rise; estimates lean towards actions shown late",
        ("drift", False): "rewards fall; estimates lean towards actions shown early",
        ("reaction", True): "what did well is shown more, which makes estimates too low",
        ("reaction", False): "what did well is shown less, which makes estimates too HIGH: 'at least' may not hold",
    }[check.name, check.effect > 0]
    return (
        f"{check.question} Yes, by {share} of the mean reward (p = {_p(check.p_value)}): {follows}. Strong reaction "
        "also looks like drift, and the other way round: read it as drift or reaction."
    )


def about_contexts(audit: Audit) -> list[str]:
    """Say how the contexts changed."""
    found = audit.context_drift
    if found is None:
        return []
    line = (
        f"{percent(found.unseen_before)} of the traffic from {found.cut} on is in contexts never seen before; the "
        f"shares of contexts differ by {found.distance:.3f} (0 none, 1 all; p = {_p(found.p_value)} if events came "
        "independently). Nothing is known of other policies in contexts that are new."
    )
    return [line]


def about_churn(audit: Audit) -> list[str]:
    """Say what coming and going actions do."""
    found = audit.churn
    if found is None:
        return []
    whole = (
        f"{percent(found.actions_all_window)} of the actions, with {percent(found.traffic_all_window)} of the traffic"
    )
    lines = [f"{whole}, were live from the first day to the last."]
    if found.rho_all is not None and found.rho_train is not None:
        lines.append(
            "On the last 35 % of events, weights counted in all data (the paper's choice) would multiply the rewards "
            f"of uniform by {found.rho_all:.2f} on average, and weights from before by {found.rho_train:.2f}; 1 is "
            "right. Weights from the evaluated window, the default, give 1."
        )
    return lines


def about_power(audit: Audit) -> list[str]:
    """Say what proven means."""
    if audit.power.smallest_gain is None:
        return []
    line = (
        f"'Proven' means: an interval of 95 % for the gain lies above 0, with a chance of 80 %, for a policy that "
        f"takes one supported action in every contested context at tau = {audit.power.tau:g} (normal approximation)."
    )
    return [line]


def about_exploring(audit: Audit) -> list[str]:
    """Say what exploring would buy."""
    explore = audit.explore
    if not explore.rows:
        return ["Every context was shown two actions or more."]
    parts = [
        f"{percent(plan.share)} ({counted(plan.events, 'event')}) would prove one that earns {more(plan.smallest_gain)}"
        for plan in explore.experiments
        if plan.smallest_gain is not None
    ]
    if not parts:
        return []
    line = (
        f"{percent(explore.traffic)} of the traffic has a single action. Giving some of it, at random, to one other "
        f"action for as long as this log: {'; '.join(parts)}."
    )
    return [line]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _p(value: float | None) -> str:
    return "-" if value is None else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _times(times: float) -> str:
    return f"{times:,.1f} times this one" if times > 1 else f"enough ({percent(times)} of this one)"
