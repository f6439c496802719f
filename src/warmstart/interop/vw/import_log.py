"""Vowpal Wabbit's logs as tables of events, contexts and actions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from warmstart.core.errors import SourceError, UsageError
from warmstart.core.files import check_output, write_output
from warmstart.core.progress import Progress, silent
from warmstart.core.text import printable, quoted
from warmstart.core.version import __version__
from warmstart.interop.vw.feature_table import Side
from warmstart.interop.vw.features import Features
from warmstart.interop.vw.json import JsonSide, read_json
from warmstart.interop.vw.lines import Malformed, named_files, numbered_lines
from warmstart.interop.vw.records import CostRange, EventColumns, Example, batches, checked_range, event_schema
from warmstart.interop.vw.text import SHARED, read_adf, read_cb
from warmstart.interop.vw.text_features import SideReader
from warmstart.results import Imported

if TYPE_CHECKING:
    import pyarrow as pa

VWFormat = Literal["cb", "cb_adf", "dsjson", "json"]
FIRST_LINES = 2_000
EVENTS, CONTEXTS, ACTIONS, ABOUT = "events.parquet", "contexts.parquet", "actions.parquet", "about.json"
UNREWARDED = "events-with-costs.parquet"


def import_vw(
    sources: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    format: VWFormat | Literal["auto"] = "auto",  # noqa: A002
    cost_range: tuple[float, float] | None = None,
    choice_first: bool = False,
    from_export: bool = False,
    skip_malformed: bool = False,
    on_progress: Progress = silent,
) -> Imported:
    """Turn Vowpal Wabbit's logs, plain or gzipped, into a folder of tables that the other verbs take.

    ``format``: lines of ``cb``, blocks of ``cb_adf``, ``dsjson``, ``json``; "auto" tells by the first lines. Equal
    features are one context, and in all formats but ``cb``, where actions are numbers, one action; the key is their
    md5. Costs become rewards in [0, 1]: (high - cost) / (high - low), where [low, high] is the ``cost_range``, or else
    [-1, 0] or [0, 1] if all costs lie there, or else the range found. A log without probabilities gives events without
    a propensity, which is what this library is for.

    ``choice_first``: every ``cb`` line begins with a policy's choice, as for ``vw --eval``. ``from_export``: keys and
    names are those that ``export`` wrote. ``skip_malformed`` counts lines that cannot be read instead of raising. The
    folder is written whole or not at all.
    """
    paths, out = named_files(sources), Path(out)
    kind = _format(paths) if format == "auto" else format
    if kind not in get_args(VWFormat):
        raise UsageError(f"There is no format {quoted(kind)}.", f"Choose auto, {', '.join(get_args(VWFormat))}.")
    if choice_first and kind != "cb":
        raise UsageError("Only lines of --cb can begin with a policy's choice.")
    checked_range(cost_range)
    check_output(out, inputs=paths, folder=True)
    malformed, columns = Malformed(skip_malformed), EventColumns()
    with write_output(out, inputs=paths, folder=True) as folder:
        with Side("context", folder / CONTEXTS) as contexts, Side("action", folder / ACTIONS) as actions:
            reader = _Reader(kind, malformed, contexts, actions, choice_first=choice_first, by_tag=from_export)
            examples = (example for path in paths for example in reader.read(path, on_progress))
            _write(folder / UNREWARDED, batches(examples, columns), event_schema())
        if not columns.examples:
            raise SourceError(f"{printable(paths[0])} has no examples.", "Is it empty, or of another format?")
        costs = CostRange.of(columns.low, columns.high, cost_range)
        _write_rewarded(folder, costs, columns)
        about = {
            "from": f"vw {kind}",
            "files": [str(path) for path in paths],
            "examples": columns.examples,
            "events": columns.events,
            "unlabelled": columns.examples - columns.events,
            "contexts": contexts.count,
            "actions": actions.count,
            "propensities": columns.present.get("propensity", 0),
            "times": columns.present.get("time", 0),
            "equal_actions": columns.equal_actions,
            "malformed": {"lines": malformed.lines, "first": malformed.messages},
            "costs": costs.to_dict(),
            "warmstart_version": __version__,
        }
        (folder / ABOUT).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return Imported(out, about)


class _Reader:
    """Reads files of one format into two sides and examples."""

    def __init__(
        self, kind: VWFormat, malformed: Malformed, contexts: Side, actions: Side, *, choice_first: bool, by_tag: bool
    ) -> None:
        self._kind = kind
        self._malformed = malformed
        self._choice_first = choice_first
        self._actions = actions
        self._text = SideReader(contexts, by_tag=by_tag), SideReader(actions, by_tag=by_tag)
        self._json = JsonSide(contexts, by_tag=by_tag), JsonSide(actions, by_tag=by_tag)
        self._numbers: set[str] = set()

    def read(self, path: Path, on_progress: Progress) -> Iterator[Example]:
        """Give the examples of a file."""
        lines = numbered_lines(path, on_progress)
        if self._kind == "cb":
            found = read_cb(path, lines, self._malformed, self._text[0], choice_first=self._choice_first)
            return self._numbered(found)
        if self._kind == "cb_adf":
            return read_adf(path, lines, self._malformed, *self._text)
        return read_json(path, lines, self._malformed, *self._json)

    def _numbered(self, examples: Iterator[Example]) -> Iterator[Example]:
        """Put the actions of ``--cb``, which are numbers, into the table of actions, described by their number."""
        for example in examples:
            for number in (example.action, example.choice, *(example.feasible or ())):
                if number is not None and number not in self._numbers:
                    self._numbers.add(number)
                    self._actions.add(number, Features((number,), (1.0,)))
            yield example


def _format(paths: Sequence[Path]) -> VWFormat:
    """Tell the format by the first lines: JSON begins with a brace; blocks have blank lines or a shared one."""
    lines = [line for _, line in islice(numbered_lines(paths[0]), FIRST_LINES)]
    while lines and not lines[-1].strip():
        lines.pop()
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("{"):
        return "dsjson" if '"c":' in first.replace(" ", "") else "json"
    blocks = any(not line.strip() for line in lines) or any(line.startswith(SHARED) for line in lines)
    return "cb_adf" if blocks else "cb"


def _write(path: Path, tables: Iterator[pa.Table], schema: pa.Schema) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)


def _write_rewarded(folder: Path, costs: CostRange, columns: EventColumns) -> None:
    """Turn costs into rewards, now that their range is known, and leave out columns without a value."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(folder / UNREWARDED) as file:
        tables = (costs.rewarded(file.read_row_group(group), columns.columns) for group in range(file.num_row_groups))
        _write(folder / EVENTS, tables, costs.schema(columns.columns))
    (folder / UNREWARDED).unlink()
