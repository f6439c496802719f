"""A join of impressions with their outcomes, as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmstart.core import __version__, counted, minute, percent, printable
from warmstart.report import charts
from warmstart.report.epoch_pages import FOOTER
from warmstart.report.page import Card, Headline, Page, Section

if TYPE_CHECKING:
    from warmstart.results import Joined

WORDS = (
    ("Impression", "A row of what was shown: the context, the action, and a key by which outcomes know it."),
    ("Outcome", "A row of what came of it later, such as a click or an order, with the key of its impression."),
    ("Of no impression", "No impression has the outcome's key: another log, or a key that was written differently."),
    ("Before their impression", "All impressions of the outcome's key came later, so that none can have caused it."),
    ("Window", "How long after its impression an outcome counts. The same for all, so that none has more time."),
    ("Too young", "An impression whose window had not ended when the outcomes end: its outcome may still come."),
    ("Reward", "What the outcomes of an impression that count are worth."),
)

# Short, for a narrow screen; the table has more words.
FATES = {
    "rewarding": "rewarding",
    "duplicates": "further ones",
    "outside_window": "after the window",
    "of_too_young": "too young",
    "before": "before it",
    "never_shown": "of no impression",
    "with_nulls": "with nulls",
}


def join_page(joined: Joined) -> Page:
    """Say what matched and what did not, then how late outcomes came."""
    shown, came = joined.impressions, joined.outcomes
    lost = came.never_shown + came.before
    warned = any("WARNING" in note for note in joined.notes) or not shown.rewarded
    title, *texts = joined.headline
    headline = Headline("cannot-tell" if warned else "same", None, title, texts, label="Joined")
    warnings = not shown.rewarded, lost > came.read / 2
    cards = [Card(one.label, one.text, warning) for one, warning in zip(joined.facts, warnings, strict=True)]
    cards += [Card("Warning", note.removeprefix("WARNING: "), True, True) for note in joined.notes if "WARNING" in note]
    sections = [_outcomes(joined), _impressions(joined), *_delays(joined), Section("By which rules", joined.notes)]
    return Page(
        title="Impressions and what came of them",
        source=_source(joined),
        cards=cards,
        sections=sections,
        glossary=WORDS,
        headline=headline,
        footer=FOOTER.format(version=__version__),
    )


def _source(joined: Joined) -> str:
    """Name the log that was written, the window, and until when outcomes are known."""
    window = f" Window: {joined.within.removeprefix(' within ')}." if joined.window else ""
    known = "" if joined.until is None else f" Outcomes are known until {minute(joined.until)} UTC."
    return f"Log: {printable(joined.path)}: {counted(joined.impressions.written, 'event')}.{window}{known}"


def _outcomes(joined: Joined) -> Section:
    came = joined.outcomes
    table = joined.tables[1]
    counts = [(words, getattr(came, name)) for name, words in FATES.items()]
    rows = [{"what": words, "share": n / came.read} for words, n in counts if n]
    kept = percent((came.rewarding + came.duplicates) / came.read if came.read else 0.0)
    chart = _bars(rows, "share of all outcomes") if rows else None
    title = f"{kept} of the outcomes count: they came{joined.within} after an impression in the log"
    text = "Outcomes after the window belong to an impression too, but came too late to count." if joined.window else ""
    return Section(title, [text] if text else (), chart, [table], plot="outcomes")


def _impressions(joined: Joined) -> Section:
    shown, table = joined.impressions, joined.tables[0]
    asked = shown.written + shown.without_outcome
    title = f"{percent(shown.rewarded / asked if asked else 0.0)} of the impressions have an outcome{joined.within}"
    return Section(title, [joined.fate_of_the_rest], None, [table])


def _delays(joined: Joined) -> list[Section]:
    table = joined.delay_table
    if table is None:
        return []
    total = sum(one.impressions for one in joined.delays)
    rows = [{"what": joined.delay_words(one), "share": one.impressions / max(total, 1)} for one in joined.delays]
    late, half = joined.outcomes.outside_window, joined.half_within
    text = "The time from an impression to its first outcome that counts; each row without those above it. "
    title = "How late outcomes come" if half is None else f"Half of the rewards, or more, come within {half}"
    if joined.window is None:
        text += "There is no window: none is too late."
    else:
        later = f"{counted(late, 'outcome')} came after the window and {'is' if late == 1 else 'are'} not in it."
        text += f"This is about rewards{joined.within} alone, by the window that was chosen. {later}"
        inside = f"Of the rewards{joined.within}, half or more come within {half}"
        title = "How late outcomes come inside the window" if half is None else inside
    return [Section(title, [text], _bars(rows, "share of the rewarded impressions"), [table], plot="delays")]


def _bars(rows: list[dict[str, Any]], x_title: str) -> dict[str, Any]:
    """Draw shares as lines from zero, one a row: names stay legible on a narrow screen."""
    points = [
        {"what": row["what"], "value": row["share"], "lower": 0.0, "upper": row["share"], "colour": charts.PLAIN}
        for row in rows
    ]
    return charts.effects(points, x_title=x_title, x_format=".0%")
