"""Import Vowpal Wabbit's logs as tables of events, contexts and actions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Literal, get_args

from warmstart.core import Progress, SourceError, UsageError, printable, quoted, silent, write_output, write_parquet
from warmstart.interop.feature_table import FeatureTable
from warmstart.interop.features import Features
from warmstart.interop.lines import LogFile, MalformedLines, named_files
from warmstart.interop.records import EVENT_SCHEMA, CostRange, EventBatches, Example, check_cost_range
from warmstart.interop.vw.json import read_json
from warmstart.interop.vw.text import SHARED, read_adf, read_cb
from warmstart.interop.vw.text_features import TextFeatures
from warmstart.results import Imported

VWFormat = Literal["cb", "cb_adf", "dsjson", "json"]
FIRST_LINES = 2_000
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
    """Turn Vowpal Wabbit's contextual-bandit logs into a folder of tables: events, contexts and actions.

    Equal features are one context, and in all formats but ``cb``, where actions are numbers, one action; the key is
    their md5. Costs become rewards in [0, 1]: (high - cost) / (high - low), where [low, high] is the ``cost_range``, or
    else [-1, 0] or [0, 1] if all costs lie there, or else the range of the costs. A log without probabilities gives
    events without a propensity, which is what this library is for. The folder is written whole or not at all.

    Args:
        sources: the log's files, plain or gzipped.
        out: the folder to write: a new or an empty one.
        format: lines of ``cb``, blocks of ``cb_adf``, ``dsjson`` or ``json``; "auto" tells by the first lines.
        cost_range: the lowest and the highest cost, if you know them.
        choice_first: every ``cb`` line begins with a policy's choice, as for ``vw --eval``.
        from_export: keys and names are those that ``export`` wrote.
        skip_malformed: count lines that cannot be read instead of raising an error.
        on_progress: called with what is done and which share of it.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = pathlib.Path(folder, "log.vw")
    ...     _ = log.write_text("1:0:0.5 | monday news")
    ...     import_vw(log, folder + "/tables").about["events"]
    1
    """
    paths, out = named_files(sources), Path(out)
    kind = _detect_format(paths[0]) if format == "auto" else format
    if kind not in get_args(VWFormat):
        raise UsageError(f"There is no format {quoted(kind)}.", f"Choose auto, {', '.join(get_args(VWFormat))}.")
    if choice_first and kind != "cb":
        raise UsageError("Only lines of --cb can begin with a policy's choice.")
    check_cost_range(cost_range)
    malformed, batches = MalformedLines(skip_malformed), EventBatches()
    with write_output(out, inputs=paths, folder=True) as folder:
        with (
            FeatureTable("context").written_to(folder / "contexts.parquet") as contexts,
            FeatureTable("action").written_to(folder / "actions.parquet") as actions,
        ):
            read = _reader(kind, contexts, actions, choice_first=choice_first, from_export=from_export)
            examples = (example for path in paths for example in read(LogFile(path, malformed, on_progress)))
            write_parquet(folder / UNREWARDED, batches.read(examples))
        if not batches.examples:
            raise SourceError(f"{printable(paths[0])} has no examples.", "Is it empty, or of another format?")
        costs = CostRange.choose(batches.low, batches.high, cost_range)
        _write_rewards(folder, costs, batches.columns)
        about = {
            **batches.summary(f"vw {kind}", contexts, actions, costs),
            "files": [str(path) for path in paths],
            "unlabelled": batches.examples - batches.events,
            "times": batches.present["time"],
            "equal_actions": batches.equal_actions,
            "malformed": {"lines": malformed.lines, "first": malformed.messages},
        }
        text = json.dumps(about, indent=2, ensure_ascii=False)
        (folder / "about.json").write_text(f"{text}\n", encoding="utf-8")
    return Imported(out, about)


def _reader(
    kind: VWFormat, contexts: FeatureTable, actions: FeatureTable, *, choice_first: bool, from_export: bool
) -> Callable[[LogFile], Iterator[Example]]:
    """Return a function that reads a file of this format, and adds its contexts and actions to the tables."""
    if kind in ("dsjson", "json"):
        return lambda log: read_json(log, contexts, actions, from_export=from_export)
    texts = [TextFeatures(table, from_export=from_export) for table in (contexts, actions)]
    if kind == "cb_adf":
        return lambda log: read_adf(log, *texts)
    known: set[str] = set()
    return lambda log: _with_actions(read_cb(log, texts[0], choice_first=choice_first), actions, known)


def _with_actions(examples: Iterator[Example], actions: FeatureTable, known: set[str]) -> Iterator[Example]:
    """Add the actions of ``--cb``, which are numbers, to their table; the number is the feature."""
    for example in examples:
        for number in (example.action, example.choice, *(example.feasible or ())):
            if number is not None and number not in known:
                known.add(number)
                actions.add(number, Features((number,), (1.0,)))
        yield example


def _detect_format(path: Path) -> VWFormat:
    """Tell the format by the first lines: JSON begins with a brace; blocks have blank lines or a shared one."""
    lines = [line for _, line in islice(LogFile(path).lines(), FIRST_LINES)]
    while lines and not lines[-1].strip():
        lines.pop()
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("{"):
        return "dsjson" if '"c":' in first.replace(" ", "") else "json"
    blocks = any(not line.strip() for line in lines) or any(line.startswith(SHARED) for line in lines)
    return "cb_adf" if blocks else "cb"


def _write_rewards(folder: Path, costs: CostRange, columns: Sequence[str]) -> None:
    """Turn costs into rewards, now that their range is known, and leave out columns without a value."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(folder / UNREWARDED) as file:
        batches = (file.read_row_group(group) for group in range(file.num_row_groups))
        tables = chain([pa.Table.from_batches([], EVENT_SCHEMA)], batches)
        write_parquet(folder / "events.parquet", (costs.with_rewards(table, columns) for table in tables))
    (folder / UNREWARDED).unlink()
