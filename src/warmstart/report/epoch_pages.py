"""Pages about epochs: values by epoch, a monitor, a learning curve."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from warmstart.core import counted, shortened
from warmstart.report import charts
from warmstart.report.glossary import glossary
from warmstart.report.page import Card, Headline, Page, Section
from warmstart.results import Amounts, TextTable

if TYPE_CHECKING:
    from warmstart.results import EpochEstimate, Evaluation, Kind, Monitor, Progressive

FOOTER = "Made by warmstart {version}. This page fetches nothing and can be sent as it is."
BAND = (
    "Points are single epochs, each with its own interval. The line is the average so far; its band holds at the end "
    "of every epoch at once, so looking often costs nothing."
)
MOST_ROWS = 60


def by_epoch(evaluation: Evaluation) -> list[Section]:
    """Show the value of every policy by epoch: drift can be seen, and the statement is about the average."""
    first = {e.policy: e for e in reversed(evaluation.policies) if e.by_epoch}
    if not first:
        return []
    named = [(shortened(e.policy, 30), e.by_epoch) for e in evaluation if e is first[e.policy]]
    amounts, reward = Amounts.of(evaluation), shortened(evaluation.reward.name, 30)
    rows = [row for name, epochs in named for row in _values(name, epochs, amounts.times)]
    number = counted(len(named[0][1]), "epoch")
    text = "Mean rewards may drift from epoch to epoch: values and bounds are about the average over the window."
    y_title = f"clipped value, {reward} {amounts.unit}"
    chart = charts.over_epochs(rows, order=_order(named[0][1]), x_title="epoch", y_title=y_title)
    table = _table(named, amounts)
    return [Section(f"The value by epoch, over {number}", [text, BAND], chart, [table], plot="epochs")]


def monitor_page(monitor: Monitor) -> Page:
    """Say of every policy whether it is better than logging, then show it epoch by epoch."""
    names = [one.name for one in monitor.last.policies] if monitor.last else []
    by_policy = {
        name: [one.estimate for line in monitor.lines for one in line.policies if one.name == name] for name in names
    }
    shown = [(shortened(name, 30), epochs) for name, epochs in by_policy.items()]
    order = [line.epoch for line in monitor.lines]
    others = [(name, epochs) for name, epochs in shown if name != "logging"]
    times, unit = (monitor.amounts.times, monitor.amounts.unit) if monitor.lines else (1, "")
    gains = [row for name, epochs in others for row in _gains(name, epochs, times)]
    values = [row for name, epochs in shown for row in _values(name, epochs, times)]
    support = [{"what": name, "epoch": e.epoch, "share": e.supported} for name, epochs in others for e in epochs]
    reward = shortened(monitor.reward, 30)
    cards = [Card("Alarm", alarm, warning=True) for alarm in monitor.alarms]
    headline, others_said = _headline(monitor), monitor.of_others
    cards += [Card(shortened(name, 30), sentence, wide=len(others_said) == 1) for name, sentence in others_said.items()]
    sections = []
    if gains:
        chart = charts.over_epochs(gains, order=order, x_title="epoch", y_title=f"gain over logging, {reward} {unit}")
        sections.append(Section("The gain over logging, where supported", [BAND], chart, monitor.tables, plot="gain"))
    if values:
        chart = charts.over_epochs(values, order=order, x_title="epoch", y_title=f"clipped value, {reward} {unit}")
        sections.append(Section("What the policies earned", [BAND], chart, plot="value"))
    if support:
        chart = charts.support_over_epochs(support, order=order)
        sections.append(Section("Traffic that the log supports", (), chart, plot="support"))
    past = [f"{line.epoch}: {alarm}" for line in monitor.lines for alarm in line.alarms]
    sections += [Section("All alarms so far", past)] if past else []
    return Page(
        title="Policies on a growing log",
        source=monitor.about,
        cards=cards or ([] if headline else [Card("Monitor", "No epoch is over yet.")]),
        headline=headline,
        sections=[*sections, Section("What the numbers are, and what they rest on", monitor.notes)],
        glossary=glossary(),
        footer=FOOTER.format(version=monitor.version),
    )


def _headline(monitor: Monitor) -> Headline | None:
    """Colour what to do by what is certified of the policy that promises most."""
    if monitor.first is None:
        return None
    lower, upper = monitor.first.estimate.gain_lower_so_far, monitor.first.estimate.gain_upper_so_far
    title, *texts = monitor.decision
    kind: Kind = "cannot-tell"
    if lower is not None and upper is not None:
        kind = "better" if lower > 0 else "worse" if upper < 0 else kind
    return Headline(kind, None if lower is None else "certified", title, texts)


def progressive_page(curve: Progressive) -> Page:
    """Say whether what is learned from the log beats logging, and whether more log would help."""
    epochs = [step.epoch for step in curve.steps]
    learned = {step.epoch.epoch: step.learned_from for step in curve.steps}
    rows = [row | {"learned_from": learned[row["epoch"]]} for row in _gains("learned", epochs)]
    settings: dict[str, Any] = {"order": _order(epochs), "x": "learned_from:Q", "x_title": "events learned from"}
    gains = charts.over_epochs(rows, y_title="gain over logging, reward per event", **settings)
    cards = [Card("Learned along the way", curve.verdict, warning=not (curve.gain_lower or 0.0) > 0)]
    cards += [] if curve.trend is None else [Card("Would more log help?", curve.trend.words)]
    sections = [
        Section("The learning curve: gain against the events learned from", [BAND], gains, curve.tables, plot="gain"),
        Section("What the numbers are, and what they rest on", curve.notes),
    ]
    return Page(
        title="Learning and evaluation on the same log",
        source=f"{counted(len(curve.steps), 'epoch')} valued, {epochs[0].epoch} to {epochs[-1].epoch}",
        cards=cards,
        sections=sections,
        glossary=glossary(),
        footer=FOOTER.format(version=curve.version),
    )


def _values(name: str, epochs: Iterable[EpochEstimate], times: int) -> list[dict[str, Any]]:
    return [
        {
            "policy": name,
            "epoch": e.epoch,
            "value": _many(e.value, times),
            "lower": _many(e.lower, times),
            "upper": _many(e.upper, times),
            "so_far": _many(e.value_so_far, times),
            "lower_so_far": _many(e.lower_so_far, times),
            "upper_so_far": _many(e.upper_so_far, times),
        }
        for e in epochs
    ]


def _gains(name: str, epochs: Iterable[EpochEstimate], times: int = 1) -> list[dict[str, Any]]:
    return [
        {
            "policy": name,
            "epoch": e.epoch,
            "value": _many(e.gain, times),
            "lower": _many(e.gain_lower, times),
            "upper": _many(e.gain_upper, times),
            "so_far": _many(e.gain_so_far, times),
            "lower_so_far": _many(e.gain_lower_so_far, times),
            "upper_so_far": _many(e.gain_upper_so_far, times),
        }
        for e in epochs
    ]


def _many(amount: float | None, times: int) -> float | None:
    return None if amount is None else times * amount


def _order(epochs: Iterable[EpochEstimate]) -> list[str]:
    return [e.epoch for e in epochs]


def _table(named: Iterable[tuple[str, tuple[EpochEstimate, ...]]], amounts: Amounts) -> TextTable:
    header = ("epoch", "policy", "events", "tau", "supported", "value", "so far", "at least so far")
    rows = [
        (
            *(e.epoch, name, f"{e.events:,}", f"{e.tau:g}", f"{e.supported:.1%}", amounts.number(e.value)),
            *(amounts.number(e.value_so_far), "-" if e.lower_so_far is None else amounts.number(e.lower_so_far)),
        )
        for name, epochs in named
        for e in epochs
    ]
    left = f" (the last {MOST_ROWS} rows)" if len(rows) > MOST_ROWS else ""
    return TextTable(f"Epochs, values {amounts.unit}{left}", header, rows[-MOST_ROWS:], left=2)
