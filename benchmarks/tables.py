"""``python -m benchmarks.tables``: write the tables of docs/benchmarks.md and docs/reliability.md from records.

A table stands in the page between ``<!-- table: NAME -->`` and ``<!-- end -->``. It is the newest record with its
settings, or where lines are measured at times of their own, the newest of each line; below it stands when and where
that was measured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.measure import ROOT
from benchmarks.records import Record, Rows

PAGE, RELIABILITY = ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "reliability.md"
PAPER = {"events": 54_000_000}
MARKED = re.compile(r"(<!-- table: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", flags=re.DOTALL)

Format = Callable[[Any], str]


def decimal(digits: int, sign: str = "-") -> Format:
    """Return a format of rates: no zero before the point."""
    return lambda x: re.sub(r"^([+-]?)0\.", r"\1.", f"{x:{sign}.{digits}f}")


def percent(digits: int, sign: str = "-") -> Format:
    return lambda x: f"{100 * x:{sign}.{digits}f} %"


def significant(sign: str = "-") -> Format:
    """Return a format of three digits, whatever the size."""
    return lambda x: re.sub(r"^([+-]?)0\.", r"\1.", f"{x:{sign}.3g}")


def ratio(x: float) -> str:
    """Three digits or so."""
    return decimal(2 if x < 10 else 1 if x < 100 else 0)(x)


def memory(megabytes: float) -> str:
    return f"{megabytes / 1024:.2f} GB" if megabytes >= 1024 else f"{megabytes:.0f} MB"


def whole_or(form: Format) -> Format:
    """Return a format that leaves whole numbers as they are."""
    return lambda x: f"{x:,}" if isinstance(x, int) else form(x)


def sequence(*formats: Format, separator: str = ", ") -> Format:
    """Return a format of lists; the last one serves all further items."""

    def text(items: list[Any]) -> str:
        padded = [*formats, *[formats[-1]] * len(items)]
        return separator.join(cell(item, one) for item, one in zip(items, padded, strict=False))

    return text


@dataclass(frozen=True)
class Table:
    """How the records of one file are shown: formats of columns, and the settings of the record to show.

    ``by_line``: every line of the newest record that has it.
    """

    title: str
    default: Format = ratio
    formats: dict[str, Format] = field(default_factory=dict)
    corner: str = ""
    file: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    by_line: bool = False

    def form(self, column: str) -> Format:
        return self.formats.get(column) or whole_or(self.default)


BIAS_RMSE = sequence(decimal(3, "+"), decimal(3), separator=" ")
MEAN_ERROR = sequence(decimal(3), separator=" ")
ERRORS = sequence(percent(1, "+"))
COST = {"peak memory, MB": memory, "errors": ERRORS}
OBP = "Doubly robust beside Open Bandit Pipeline, propensities hidden"
TABLES = {
    "evaluate": Table("evaluate, uniform and logging, tau .01 and .05", formats=COST, settings=PAPER),
    "audit": Table("audit", formats=COST, settings=PAPER),
    "units": Table("evaluate by unit, relative to by event", formats=COST, settings=PAPER),
    "epochs": Table("evaluate within epochs, relative to without", formats=COST, settings=PAPER),
    "outcomes": Table("evaluate of three outcomes, relative to one", formats=COST, settings=PAPER),
    "with-dr": Table("evaluate with the best estimate, relative to without", formats=COST, settings=PAPER),
    "growth": Table("CPU time grows as a power of the events", settings=PAPER),
    "doubly-robust": Table("Doubly robust, propensities hidden", formats=COST, settings={"events": 200_000}),
    "doubly-robust-obp": Table(OBP, formats=COST, settings={"events": 200_000}),
    "doubly-robust-obp-1m": Table(OBP, formats=COST, file="doubly-robust-obp", settings={"events": 1_000_000}),
    "learning-speed": Table(
        "Training speed, the same examples",
        formats=dict.fromkeys(
            ("progressive loss", "progressive loss, VW --sgd", "progressive loss, VW default"), decimal(5)
        ),
        settings={"examples": 60_000},
    ),
    "learning-rates": Table(
        "Five learning rates in one pass",
        formats={"largest difference of a weight": lambda x: f"{x:.0e}" if x else "0"},
        settings={"examples": 20_000},
    ),
    "learning-fit": Table(
        "fit, from cells and from events", formats={"true value": decimal(4)}, settings={"events": 3_000_000}
    ),
    "fit-scale": Table(
        "fit at the paper's size", formats={"peak memory, MB": memory}, corner="model", settings={"scale": "paper"}
    ),
    "learning-scoring": Table("Scoring among 880 k actions, relative to one feasible cell", default=decimal(3)),
    "scoring": Table("warmstart.scoring, 100 feasible actions a context", corner="model"),
    "learning-quality": Table("Quality: 0 = uniform, 1 = best feasible", default=decimal(3)),
    "paper-stages": Table("demo --scale paper", corner="stage"),
    "paper-table": Table(
        "The paper's table",
        default=decimal(4),
        formats={
            "interval": sequence(decimal(4), separator=" to "),
            "supported": percent(0),
            "gain, supported": decimal(4, "+"),
        },
        corner="method",
    ),
    "upworthy": Table(
        "Months drawn from real impressions",
        default=decimal(5),
        formats={
            **dict.fromkeys(("lower end missed", "upper end missed"), whole_or(decimal(3))),
            "bias": percent(2, "+"),
            "RMSE": percent(2),
            "supported": percent(1),
            "gain over logging": decimal(5, "+"),
        },
    ),
    "upworthy-cache": Table(
        "Tests behind a cache, and without one",
        default=decimal(2),
        formats={
            "too uneven for a fair draw": percent(1),
            "uniform - logging": decimal(6, "+"),
            "interval": sequence(decimal(6, "+"), separator=" to "),
        },
        corner="tests",
    ),
    "obd": Table(
        "Open Bandit Dataset: propensities, held out",
        default=decimal(2),
        formats={"log-loss": decimal(3), "miscalibrated": decimal(3), "by chance": decimal(3)},
        corner="source",
        settings={"log": "bts"},
    ),
    "uci-estimators": Table("Bias and RMSE of estimators", default=BIAS_RMSE),
    "uci-learning": Table(
        "Accuracy of the learned policy", default=decimal(3), formats={"ours - best VW": decimal(3, "+")}
    ),
    "uci-values": Table("Bias and RMSE of the learned policy's estimated value", default=BIAS_RMSE),
    "models-worlds": Table(
        "Models of fit in four worlds: 0 = uniform, 1 = best feasible; and the standard error",
        default=MEAN_ERROR,
        formats={"ours - best peer": BIAS_RMSE},
        corner="world",
    ),
    "models-uci": Table(
        "Accuracy of the models of fit, and its standard error",
        default=MEAN_ERROR,
        formats={"ours - best peer": BIAS_RMSE},
        corner="set",
    ),
    "blocks": Table(
        "A deterministic logger that changes by block: bias, and its standard error",
        default=BIAS_RMSE,
        formats={"mean weight": decimal(2), "left to the model": percent(1), "never shown": percent(1)},
    ),
    "blocks-cost": Table("CPU time of learning propensities by block, relative to one model"),
    "no-effect": Table("Gains where no action has an effect", corner="propensities and logger", by_line=True),
    "best-estimate": Table(
        "Intervals of the best estimate that hold the truth", corner="propensities and support", by_line=True
    ),
    "training-trial": Table(
        "Training nobody, by a randomised trial and by a log without its randomisation",
        formats={
            **dict.fromkeys(("the trial", "estimated"), significant("+")),
            **dict.fromkeys(("interval", "certified"), sequence(significant("+"), separator=" to ")),
        },
        corner="reward: context",
    ),
    "repeating": Table("Best estimates as contexts repeat less", corner="events a context, source"),
    "safe": Table("Safe policies: share of the possible gain", corner="world", settings={"delta": 0.05, "proof": 0.5}),
    "safe-third": Table(
        "Safe policies, 35 % of the events to prove",
        corner="world",
        file="safe",
        settings={"delta": 0.05, "proof": 0.35},
    ),
    "safe-coin": Table("Safe policies, delta .5", corner="world", file="safe", settings={"delta": 0.5, "proof": 0.5}),
    "safe-upworthy": Table(
        "Safe policies on months of real clicks", formats={"gain per 1,000 events": decimal(3, "+")}, corner="policy"
    ),
    "safe-dependent": Table(
        "Safe policies where users come back, and where the logger reacts to rewards", corner="world"
    ),
    "safe-chances": Table(
        "Simulated chances to be worse than logging, and how often that came true",
        default=percent(0),
        formats={f"{name}: gain said, true": sequence(decimal(2, "+")) for name in ("argmax", "cautious", "safe")},
        corner="world",
    ),
    "routers": Table(
        "Routers: what the log says, and the truth (means over months)",
        default=decimal(3),
        formats={
            **dict.fromkeys(("95 % interval", "certified"), sequence(decimal(3), separator=" to ")),
            **dict.fromkeys(("true gain", "estimated gain"), decimal(3, "+")),
            "certified gain": sequence(decimal(3, "+"), separator=" to "),
        },
        corner="logging router, context: policy",
    ),
    "routers-held": Table("Routers: intervals that hold the truth, bounds that miss it", corner="logging router"),
    "routers-estimated": Table("Routers: intervals of best estimates that hold the truth", corner="logging router"),
    "routers-missed": Table("Routers: certified bounds that miss the truth", corner="logging router"),
    "routers-learned": Table(
        "Routers: learned and safe ones",
        default=decimal(3, "+"),
        formats={"learned - mixture": BIAS_RMSE},
        corner="logging router",
    ),
    "choose-tau": Table(
        'tau="auto" against the best tau in hindsight',
        formats=dict.fromkeys(("RMSE, auto", "RMSE, best"), decimal(5)),
    ),
    "attacks": Table("Commands that write, killed, interrupted and starved", corner="command"),
    "load": Table("Load", formats={"MB more": lambda x: f"{x:.1f}"}),
    "lost-postgres": Table("Connections cut at every query", corner="command"),
    "lost-cluster": Table("A worker killed in a command", corner="command"),
    "differential": Table("Random small logs", corner="engine"),
    "fuzzing": Table("Text that is nearly of a language", formats={"MB more at the most": lambda x: f"{x:.1f}"}),
}


def cell(value: Any, form: Format) -> str:
    """Return a value as text: words as they are, nothing for null."""
    return "" if value is None else value if isinstance(value, str) else form(value)


def grid(table: Table, rows: Rows) -> list[list[str]]:
    """Return a table's texts, the head first; a row without a column has an empty cell there."""
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    forms = {name: table.form(name) for name in columns}
    head = [table.corner, *(name.removesuffix(", MB") for name in columns)]
    return [head, *([name, *(cell(row.get(key), forms[key]) for key in columns)] for name, row in rows.items())]


def print_table(title: str, lines: list[list[str]]) -> None:
    """Print texts, the head first, in columns as wide as they need to be."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    print(f"\n{title}")
    for line in lines:
        cells = [line[0].ljust(widths[0]), *(text.rjust(w) for text, w in zip(line[1:], widths[1:], strict=True))]
        print("  ".join(cells).rstrip())


def publish(name: str, rows: Rows, settings: Mapping[str, Any], *, record: bool, accepted: str | None = None) -> None:
    """Print what was measured; add it to the benchmark's file where asked to (``accepted``: see ``append``)."""
    table = TABLES[name]
    said = ", ".join(setting(*item) for item in settings.items())
    print_table(f"{table.title}; {said}" if said else table.title, grid(table, rows))
    if record:
        print(f"recorded in {records.append(name, rows, settings, accepted=accepted).relative_to(ROOT)}")


def setting(name: str, value: Any) -> str:
    """Return a setting in words: 3 runs, 1 run, log bts."""
    if not isinstance(value, int):
        return f"{name} {value}"
    return f"{value:,} {name.removesuffix('s') if value == 1 else name}"


def markdown(table: Table, parts: list[Record]) -> str:
    """Return a table of the page, and the line that says what was measured when, and where."""
    rows = {name: row for record in parts for name, row in record["rows"].items()}
    head, *texts = grid(table, rows)
    lines = [head, ["---"] * len(head), *texts]
    text = "\n".join("|" + "|".join(f" {one} " if one != "---" else one for one in line) + "|" for line in lines)
    measured = [_measured(record) for record in parts]
    if len(parts) > 1:
        measured = [
            f"{setting('lines', len(record['rows']))}: {said}" for record, said in zip(parts, measured, strict=True)
        ]
    return f"{text}\n\n*{' '.join(measured)}*\n"


def _measured(record: Record) -> str:
    said = "".join(f", {setting(*item)}" for item in record["settings"].items())
    return f"Commit {record['commit']}, {record['date']}{said}; {record['machine']}."


def shown(table: Table, recorded: list[Record]) -> list[Record]:
    """Return the records of a table, newest first, each with the lines that are shown of it; none if none matches."""
    newest = records.last(recorded, table.settings)
    if newest is None or not table.by_line:
        return [newest] if newest else []
    parts: list[Record] = []
    names: set[str] = set()
    for record in reversed(recorded):
        if rows := {name: row for name, row in record["rows"].items() if name not in names}:
            parts.append({**record, "rows": rows})
        names |= set(rows)
    return parts


def rewritten(page: str, folder: Path = records.RESULTS) -> str:
    """Return the page with its tables as the files have them."""

    def fill(match: re.Match[str]) -> str:
        table = TABLES[match["name"]]
        parts = shown(table, records.read(table.file or match["name"], folder))
        text = markdown(table, parts) if parts else "*Not recorded yet.*\n"
        return f"{match[1]}\n{text}\n{match[3]}"

    return MARKED.sub(fill, page)


def main() -> None:
    for path in (PAGE, RELIABILITY):
        page = path.read_text()
        new = rewritten(page)
        path.write_text(new)
        print(f"{path.relative_to(ROOT)}: {'rewritten' if new != page else 'as it was'}")


if __name__ == "__main__":
    main()
