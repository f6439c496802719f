"""Draw the home page's picture from the numbers of the gallery's first page: python scripts/picture.py"""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PICTURE = DOCS / "figures" / "idea.svg"
PAGE = DOCS / "gallery" / "deterministic-logger.md"
DAYS = "AABBBCAABC"
COLORS = {"A": "#3f51b5", "B": "#00897b", "C": "#ef6c00"}
LEFT, RIGHT, LOW, HIGH = 800.0, 1090.0, 0.035, 0.060


def text(x: float, y: float, words: str, *, size: int = 15, bold: bool = False, anchor: str = "start") -> str:
    """Return a line of text."""
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"{weight}>{words}</text>'


def box(x: float, y: float, width: float, height: float, color: str) -> str:
    """Return a filled rectangle."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{color}" rx="3"/>'


def place(value: float) -> float:
    """Return where a value lies on the axis."""
    return LEFT + (value - LOW) / (HIGH - LOW) * (RIGHT - LEFT)


def log() -> list[str]:
    """Draw one page's traffic: one ad a day."""
    parts = [text(20, 40, "1. The log", size=18, bold=True), text(20, 68, "One page, ten days. A rule shows")]
    parts += [text(20, 88, "one ad a day; no probability is logged.")]
    for day, ad in enumerate(DAYS):
        x = 20 + 30 * day
        parts += [box(x, 120, 27, 40, COLORS[ad])]
        parts += [f'<text x="{x + 13.5:g}" y="146" font-size="16" text-anchor="middle" fill="#fff">{ad}</text>']
        parts += [text(x + 13.5, 180, str(day + 1), size=12, anchor="middle")]
    return [*parts, text(20, 210, "day", size=13), text(20, 250, "Context, action, reward: that is all.", size=14)]


def shares() -> list[str]:
    """Draw the shares that are the propensities."""
    parts = [text(400, 40, "2. Propensities are counted", size=18, bold=True)]
    parts += [text(400, 68, "Over the window the page showed"), text(400, 88, "each ad on a share of its traffic.")]
    for row, (ad, color) in enumerate(COLORS.items()):
        share, y = DAYS.count(ad) / len(DAYS), 120 + 40 * row
        parts += [text(400, y + 20, ad, size=16, bold=True), box(424, y, 400 * share, 28, color)]
        parts += [text(432 + 400 * share, y + 20, f"{share:.0%}".replace("%", " %"))]
    return [*parts, text(400, 260, "weight of an event: 1 / its share", size=14)]


def answer(numbers: dict[str, list[float]]) -> list[str]:
    """Draw what another policy would have earned."""
    (shown,), (least,), (truth,) = numbers["what was shown"], numbers["at least (certified)"], numbers["truth"]
    best, lower, upper = numbers["best estimate"]
    parts = [text(LEFT, 40, "3. Another policy's value", size=18, bold=True)]
    parts += [
        text(LEFT, 68, "Clicks per event, with a 95 % interval,"),
        text(LEFT, 88, "and the truth of the simulation."),
    ]
    parts += [f'<path d="M{place(shown):g} 112V232" stroke="#757575" stroke-dasharray="4 3"/>']
    parts += [text(place(shown), 250, f"shown {shown:.4f}", size=13, anchor="middle")]
    parts += [f'<path d="M{place(lower):g} 150H{place(upper):g}" stroke="{COLORS["A"]}" stroke-width="5"/>']
    parts += [f'<circle cx="{place(best):g}" cy="150" r="8" fill="{COLORS["A"]}"/>']
    parts += [text(place(best), 134, f"best estimate {best:.4f}", size=14, anchor="middle")]
    parts += [
        f'<path d="M{place(least):g} 180v20M{place(least):g} 190h40m-8 -6l8 6l-8 6" stroke="#212121" fill="none"/>'
    ]
    parts += [text(place(least) + 48, 195, f"at least {least:.4f}, certified", size=14)]
    parts += [f'<path d="M{place(truth):g} 162v12m-6 -6h12" stroke="#c62828" stroke-width="3"/>']
    return [*parts, text(place(truth) + 12, 175, f"truth {truth:.4f}", size=14)]


def picture(page: str) -> str:
    """Return the picture, with the numbers that the page prints."""
    rows = re.findall(r"^([a-z ()]+?) +(0\.[\d., \[\]]+)$", page, flags=re.MULTILINE)
    numbers = {name: [float(number) for number in re.findall(r"[\d.]+", row)] for name, row in rows}
    told = (
        "A deterministic rule that changes from day to day gives every ad a share of a page's traffic; with these "
        "shares as propensities, another policy's value is estimated, with an interval and a certified lower bound."
    )
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1120 280" role="img" font-family="sans-serif" '
    head += 'fill="#212121">'
    parts = [head, f"<title>{told}</title>", '<rect width="1120" height="280" fill="#fff" rx="8"/>']
    return "\n".join([*parts, *log(), *shares(), *answer(numbers), "</svg>\n"])


if __name__ == "__main__":
    PICTURE.write_text(picture(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
