"""Pages about epochs: values by epoch, a monitor, a learning curve."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from warmstart.core import counted, quoted, shortened
from warmstart.report import charts
from warmstart.report.glossary import glossary
from warmstart.report.page import Card, Headline, Page, Section
from warmstart.results import TextTable

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
    rows = [row for name, epochs in named for row in _values(name, epochs)]
    number = counted(len(named[0][1]), "epoch")
    text = "Mean rewards may drift from epoch to epoch: values and bounds are about the average over the window."
    chart = charts.over_epochs(
        rows, order=_order(named[0][1]), x_title="epoch", y_title="clipped value, reward per event"
    )
    return [Section(f"The value by epoch, over {number}", [text, BAND], chart, [_table(named)], plot="epochs")]


def monitor_page(monitor: Monitor) -> Page:
    """Say of every policy whether it is better than logging, then show it epoch by epoch."""
    names = [one.name for one in monitor.last.policies] if monitor.last else []
    by_policy = {
        name: [one.estimate for line in monitor.lines for one in line.policies if one.name == name] for name in names
    }
    shown = [(shortened(name, 30), epochs) for name, epochs in by_policy.items()]
    order = [line.epoch for line in monitor.lines]
    others = [(name, epochs) for name, epochs in shown if name != "logging"]
    gains = [row for name, epochs in others for row in _gains(name, epochs)]
    values = [row for name, epochs in shown for row in _values(name, epochs)]
    support = [{"what": name, "epoch": e.epoch, "share": e.supported} for name, epochs in others for e in epochs]
    reward = shortened(monitor.reward, 30)
    cards = [Card("Alarm", alarm, warning=True) for alarm in monitor.alarms]
    followed = [one.name for one in monitor.last.policies if one.name != "logging"] if monitor.last else []
    sentences = dict(zip(followed, monitor.verdict, strict=True))
    headline = _headline(monitor)
    if monitor.first is not None:
        sentences.pop(monitor.first.name)
    cards += [Card(shortened(name, 30), sentence, wide=len(sentences) == 1) for name, sentence in sentences.items()]
    sections = []
    if gains:
        chart = charts.over_epochs(
            gains, order=order, x_title="epoch", y_title=f"gain over logging, {reward} per event"
        )
        sections.append(Section("The gain over logging, where supported", [BAND], chart, monitor.tables, plot="gain"))
    if values:
        chart = charts.over_epochs(values, order=order, x_title="epoch", y_title=f"clipped value, {reward} per event")
        sections.append(Section("What the policies earned", [BAND], chart, plot="value"))
    if support:
        chart = charts.support_over_epochs(support, order=order)
        sections.append(Section("Traffic that the log supports", (), chart, plot="support"))
    past = [f"{line.epoch}: {alarm}" for line in monitor.lines for alarm in line.alarms]
    sections += [Section("All alarms so far", past)] if past else []
    return Page(
        title="Policies on a growing log",
        source=_about(monitor),
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


def _about(monitor: Monitor) -> str:
    """Name the reward, what logging earned, the log and its span."""
    epochs = counted(len(monitor.lines), "epoch")
    if not monitor.lines:
        return f"{epochs} reported"
    span = f"{epochs} reported, {monitor.lines[0].epoch} to {monitor.lines[-1].epoch}"
    mean = f"{monitor.amounts.number(monitor.mean_reward)} {monitor.amounts.unit}"
    log = f" Log: {shortened(monitor.source, 120)}." if monitor.source else ""
    return f"{quoted(shortened(monitor.reward, 60))}: more is better; what was shown got {mean}.{log} {span}."


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


def _values(name: str, epochs: Iterable[EpochEstimate]) -> list[dict[str, Any]]:
    return [
        {
            "policy": name,
            "epoch": e.epoch,
            "value": e.value,
            "lower": e.lower,
            "upper": e.upper,
            "so_far": e.value_so_far,
            "lower_so_far": e.lower_so_far,
            "upper_so_far": e.upper_so_far,
        }
        for e in epochs
    ]


def _gains(name: str, epochs: Iterable[EpochEstimate]) -> list[dict[str, Any]]:
    return [
        {
            "policy": name,
            "epoch": e.epoch,
            "value": e.gain,
            "lower": e.gain_lower,
            "upper": e.gain_upper,
            "so_far": e.gain_so_far,
            "lower_so_far": e.gain_lower_so_far,
            "upper_so_far": e.gain_upper_so_far,
        }
        for e in epochs
    ]


def _order(epochs: Iterable[EpochEstimate]) -> list[str]:
    return [e.epoch for e in epochs]


def _table(named: Iterable[tuple[str, tuple[EpochEstimate, ...]]]) -> TextTable:
    header = ("epoch", "policy", "events", "tau", "supported", "value", "so far", "at least so far")
    rows = [
        (
            *(e.epoch, name, f"{e.events:,}", f"{e.tau:g}", f"{e.supported:.1%}", f"{e.value:.4g}"),
            *(f"{e.value_so_far:.4g}", "-" if e.lower_so_far is None else f"{e.lower_so_far:.4g}"),
        )
        for name, epochs in named
        for e in epochs
    ]
    left = f" (the last {MOST_ROWS} rows)" if len(rows) > MOST_ROWS else ""
    return TextTable(f"Epochs{left}", header, rows[-MOST_ROWS:], left=2)
