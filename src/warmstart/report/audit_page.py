"""An audit as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmstart.core import counted, more, percent
from warmstart.report import charts
from warmstart.report.decision import assumptions_section
from warmstart.report.glossary import glossary
from warmstart.report.page import Card, Headline, Page, Section
from warmstart.results import Amounts
from warmstart.results import audit_headline as first
from warmstart.results import audit_notes as words
from warmstart.results import audit_tables as tables

if TYPE_CHECKING:
    from warmstart.results import Audit

EXPLORED = 25
TIMES = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


def audit_page(audit: Audit) -> Page:
    """Say what the log can tell, then show why."""
    can, cannot, _ = audit.verdict
    useful = words.is_useful(audit)
    label = "This log can tell" if useful else "This log can tell little"
    texts = [words.MEANT] * ("probably" in can) + [first.NEXT] * useful
    headline = Headline("better" if useful else "cannot-tell", None, can.removesuffix("."), texts, label=label)
    begin = first.where_to_begin(audit)
    cards = [Card("What this log cannot tell", cannot, warning=True), Card("Where to begin", begin)]
    sections = [_choice(audit), _support(audit), *_units(audit)]
    if audit.origin is None:
        sections.append(Section("Without times, nothing is known of the calendar, of drift and of reaction"))
    else:
        sections += [_calendar(audit), _assumptions(audit), *_epochs(audit), _coming_and_going(audit)]
    in_the_log = Section("What is in the log", words.about_the_log(audit), None, [tables.log_table(audit)])
    sections += [_power(audit), _explore(audit), *assumptions_section(audit.assumptions), in_the_log]
    return Page(
        title="What this log can tell about other policies",
        source=first.about(audit),
        cards=cards,
        sections=sections,
        glossary=glossary(audit.log.columns),
        headline=headline,
        footer=f"Made by warmstart {audit.version}. This page fetches nothing and can be sent as it is.",
    )


def _choice(audit: Audit) -> Section:
    exploration = audit.exploration
    rows = [{"actions": row.actions, "share": row.traffic} for row in exploration.by_actions]
    several = 1 - exploration.by_actions[0].traffic
    titles = {"x_title": "actions shown in the context", "y_title": "share of traffic", "x": "actions", "y": "share"}
    chart = charts.bars(rows, order=[row.actions for row in exploration.by_actions], shares=True, **titles)
    text = (
        "Where only one action was ever shown, a log cannot say what another would have earned. On average it holds "
        f"as much choice as {exploration.effective_actions:.2f} equally frequent actions a context."
    )
    title = f"On {percent(several)} of the traffic, the context saw two actions or more"
    return Section(title, [text, words.about_evenness(audit)], chart, [tables.by_actions_table(audit)], plot="actions")


def _support(audit: Audit) -> Section:
    support, tau = audit.exploration.support, audit.power.tau
    uniform, choice = tables.support_names(audit)
    rows = [{"tau": at.tau, "what": uniform, "share": at.uniform} for at in support]
    rows += [{"tau": at.tau, "what": choice, "share": at.choice} for at in support]
    chart = charts.share_lines(rows, x="tau", x_title="tau (log scale)", y_title="share of traffic", mark=tau)
    at = next(at for at in support if at.tau == tau)
    text = (
        "An action is supported where the log showed it at least tau of the time. A larger tau makes estimates "
        "steadier and leaves more traffic out; the dashed line is where the two cost least together."
    )
    title = f"At tau = {tau:g}, choosing at random is supported on {percent(at.uniform)} of the traffic"
    return Section(title, [text], chart, [tables.support_table(audit)], plot="support")


def _units(audit: Audit) -> list[Section]:
    units = audit.units
    if units is None:
        return []
    title = f"Events come from {counted(units.units, 'unit')}; rewards of a unit may depend on each other"
    if units.independent_events is not None and (units.design_effect or 0.0) > 1:
        events = counted(units.independent_events, "independent event")
        title = f"The mean reward is known as well as from {events}: rewards of a unit go together"
    return [
        Section(
            title,
            words.about_units(audit),
            None,
            [tables.units_table(units, Amounts.by_mean(audit.log.reward_rate, audit.reward_range[0]))],
        )
    ]


def _calendar(audit: Audit) -> Section:
    origin = audit.origin
    assert origin is not None
    rows = [{"day": day.day, "share": day.switched, "contexts": day.contexts} for day in origin.switch_days]
    switches = tables.switches_worth_showing(audit)
    chart = charts.days(rows, y_title="contexts that switched") if switches else None
    title = "How much the calendar explains cannot be told"
    if origin.calendar is not None:
        title = f"{percent(origin.calendar)} of the choice comes from the calendar"
    texts = words.about_the_origin(audit)
    texts += ["The chart shows when the logging policy changed its mind."] if switches else []
    return Section(title, texts, chart, [tables.origin_table(audit)], plot="calendar")


def _assumptions(audit: Audit) -> Section:
    rate = abs(audit.log.reward_rate)
    fired = any(check.fires for check in audit.checks)
    rows: list[dict[str, Any]] = []
    for check in audit.checks:
        if check.effect is not None and rate:
            ends = {"lower": (check.lower or 0.0) / rate, "upper": (check.upper or 0.0) / rate}
            colour = charts.ALERT if check.fires else charts.PLAIN
            rows.append({"what": check.name, "value": check.effect / rate, **ends, "colour": colour})
    chart = charts.effects(rows, x_title="effect / mean reward") if rows else None
    texts = words.about_checks(audit)
    texts.append(f"Nobody can tell from a log {words.HIDDEN}; if it did, every estimate from this log is off.")
    title = "There are signs of drift or reaction" if fired else "No clear sign of a common drift or of reaction"
    if all(check.p_value is None for check in audit.checks):
        title = "Drift and reaction cannot be checked on this log"
    return Section(title, texts, chart, [tables.checks_table(audit)], plot="drift")


def _epochs(audit: Audit) -> list[Section]:
    epochs = audit.epochs
    if epochs is None:
        return []
    return [Section(epochs.title, epochs.notes, None, [epochs.table] if epochs.lengths else [])]


def _coming_and_going(audit: Audit) -> Section:
    texts = [*words.about_churn(audit), *words.about_contexts(audit)]
    share = None if audit.churn is None else 1 - audit.churn.traffic_all_window
    return Section(f"{percent(share)} of the traffic went to actions that came or went during the log", texts)


def _power(audit: Audit) -> Section:
    power = audit.power
    if power.smallest_gain is None:
        return Section("This log can prove no gain over logging", (), None, [tables.power_table(audit)])
    rows = [{"times": times, "gain": power.gain_with(times)} for times in TIMES]
    chart = charts.more_log(rows, targets=[{"gain": target.gain} for target in power.more_log])
    doubt = (power.sampling + power.blind) or 1.0
    texts = words.about_power(audit)
    texts.append(
        "Of the doubt about a policy that takes one action in every context, "
        f"{percent(power.sampling / doubt)} is chance and shrinks with more log; {percent(power.blind / doubt)} is "
        "traffic on which no second action was shown often enough, and more of the same log will not help there."
    )
    title = f"A policy that earns {more(power.smallest_gain)} than logging could be proven better"
    if power.smallest_gain > words.TOO_MUCH:
        title = "This log is too small to prove a gain that anyone would expect"
    return Section(title, texts, chart, [tables.power_table(audit)], plot="power")


def _explore(audit: Audit) -> Section:
    explore = audit.explore
    if audit.exploration.overlap is not None:
        return Section("Where to explore first cannot be told: contexts do not repeat")
    if not explore.rows:
        return Section("Every context was shown two actions or more")
    texts = words.about_exploring(audit)
    if not words.worth_exploring(audit):
        return Section("Little to explore: hardly any traffic has a single action, or it is scattered", texts)
    title = f"Explore here first: {percent(explore.traffic)} of the traffic has a single action"
    return Section(title, texts, None, [tables.explore_table(audit, most=EXPLORED)])
