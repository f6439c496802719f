"""Export events with clipped propensities to another learner, with the keys that its predictions come back by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, get_args

import pyarrow as pa

from warmstart.core import ACTION, REWARD, TIME, UsageError, check_output, mark_of, quoted, write_output, write_parquet
from warmstart.events import Events, open_cells
from warmstart.interop.features import NO_FEATURES, ROWS
from warmstart.interop.propensities import CLIPPED, Source, check_export, in_time_order, with_propensities, write_events
from warmstart.interop.vw.formats import FORMATS, ExportedEvent, adf_block, text_features
from warmstart.interop.vw.numbering import FEASIBLE, FEATURES, NUMBER, Numbering, context_tag, open_numbering
from warmstart.results import Exported

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells

ExportFormat = Literal["vw-cb", "vw-adf", "dsjson", "parquet"]
Companion = Literal["contexts.vw", "contexts.parquet", "actions.parquet"]
SHOWN = "shown"


def export(
    events: Events,
    out: str | Path,
    *,
    to: ExportFormat,
    tau: float,
    contexts: Any = None,
    actions: Any = None,
    propensities: Source = "auto",
    force: bool = False,
) -> Exported:
    """Write the events of a window with their clipped propensities for another learner: Vowpal Wabbit, or Parquet.

    For Vowpal Wabbit, cost = -reward and probability = max(propensity, tau), so that its importance weights are
    1 / max(propensity, tau) and it needs no --clip_p. Events come in the order of time. Feasible are the actions that
    the window shows in a context. Characters that text cannot hold are written as %XX.

    Beside ``train.vw`` lie ``train.contexts.vw`` (each context once, without a label, for ``vw -t -p``),
    ``train.contexts.parquet`` and ``train.actions.parquet``, by which ``import_predictions`` reads what comes back.
    What an earlier export wrote there is replaced; other files only with ``force``, inputs never.

    Args:
        events: the window to export.
        out: the file to write.
        to: ``vw-cb`` or ``vw-adf``, Vowpal Wabbit's text; ``dsjson``, its decision-service log; ``parquet``, the log's
            columns with ``propensity`` and ``weight``.
        tau: the clipping constant of propensities, in (0, 1].
        contexts: a feature table, as for ``fit``; without one, the feature of a context is its own name.
        actions: a feature table of actions, likewise.
        propensities: "counts" in this window, "logged", or "auto": logged ones if the log was read with them.
        force: replace files that this library did not write.
    """
    if to not in get_args(ExportFormat):
        raise UsageError(f"There is no format {quoted(to)}.", f"Choose {', '.join(get_args(ExportFormat))}.")
    source = check_export(events, propensities, tau)
    path, tau = Path(out), float(tau)
    _check_outputs(path, to, [events.log.origin, contexts, actions], force=force)
    if to != "parquet" and FEASIBLE in events.columns.context:
        raise UsageError(f"A context column is called {quoted(FEASIBLE)}, as in the table of keys.", "Rename it.")
    with open_cells(events) as cells:
        rows = with_propensities(cells, tau=tau, source=source)
        if to == "parquet":
            return Exported(path, to, tau, source, write_events(cells, rows, path), *_contexts_and_actions(cells))
        with ExitStack() as stack:
            numbering = stack.enter_context(open_numbering(cells, FORMATS[to], contexts, actions, tau=tau))
            outputs = {what: write_output(companion(path, what), force=True) for what in get_args(Companion)}
            parts = {what: stack.enter_context(output) for what, output in outputs.items()}
            with stack.enter_context(write_output(path, force=True)).open("w", encoding="utf-8", newline="\n") as file:
                written = _write_events(cells, rows, numbering, file, to=to, all_known=source == "counts")
            if to == "dsjson":
                # Vowpal Wabbit passes over decision-service lines without a label, so contexts are text there too.
                numbering = stack.enter_context(open_numbering(cells, FORMATS["vw-adf"], contexts, actions, tau=tau))
            known = _write_contexts(cells, numbering, parts, to, path.name)
            return Exported(path, to, tau, source, written, known, len(numbering.actions), numbering.without_features)


def companion(path: Path, what: Companion) -> Path:
    """Return the path of a file that lies beside an exported one: contexts to choose for, or keys."""
    return path.with_name(f"{path.stem}.{what}")


def _check_outputs(path: Path, to: ExportFormat, inputs: list[Any], *, force: bool) -> None:
    """Refuse to replace inputs and files of others; text is known as an earlier export's by the keys beside it."""
    ours = force or (to != "parquet" and mark_of(companion(path, "contexts.parquet")) == path.name)
    check_output(path, inputs=inputs, force=ours)
    for what in get_args(Companion) if to != "parquet" else ():
        check_output(companion(path, what), inputs=inputs, force=ours if what == "contexts.vw" else force)


def _contexts_and_actions(cells: Cells) -> list[int]:
    shown = cells.table.filter(cells.table.n > 0)
    contexts = shown.select(*cells.columns.context_keys).distinct()
    counts = contexts.agg(n=contexts.count()), shown.agg(n=shown[ACTION].nunique())
    return [cells.engine.fetch(count)[0]["n"] for count in counts]


def _write_events(
    cells: Cells, rows: ir.Table, numbering: Numbering, file: IO[str], *, to: str, all_known: bool
) -> int:
    """Write the events in order, with the feasible actions where the format lists them; return how many.

    ``all_known``: the propensities of all feasible actions are known, not only of those shown.
    """
    keys, format_ = cells.columns.context_keys, FORMATS[to]
    listed = [FEASIBLE] if to != "vw-cb" else []
    rows = rows.join(numbering.action_numbers.rename(**{SHOWN: NUMBER}), ACTION)
    rows = rows.join(numbering.contexts.select(*keys, FEATURES, *listed), list(keys))
    no_features, written = format_.features(NO_FEATURES), 0
    for batch in cells.engine.stream(in_time_order(rows, cells.columns.keys), ROWS):
        lines = []
        for number, row in enumerate(batch.to_pylist(), start=written + 1):
            pairs = row[FEASIBLE] if listed else ({NUMBER: row[SHOWN]},)
            feasible = [pair[NUMBER] for pair in pairs]
            tag, features, index = context_tag(row, keys), row[FEATURES] or no_features, feasible.index(row[SHOWN])
            known = [pair[CLIPPED] for pair in pairs] if listed and all_known else None
            label = index, -row[REWARD], row[CLIPPED], known
            event = ExportedEvent(number, tag, features, feasible, *label, row.get(TIME))
            lines.append(format_.event(event, numbering.actions))
        file.write("".join(lines))
        written += len(lines)
    return written


def _write_contexts(cells: Cells, numbering: Numbering, parts: dict[Companion, Path], to: str, name: str) -> int:
    """Write each context once without a label, and the keys of contexts and actions, which are marked with ``name``."""
    write_parquet(parts["actions.parquet"], [numbering.action_keys.rename_columns([cells.columns.action])])
    with parts["contexts.vw"].open("w", encoding="utf-8", newline="\n") as file:
        tables = _context_keys(cells, numbering, file, with_feasible=to != "vw-cb")
        return write_parquet(parts["contexts.parquet"], tables, mark=name)


def _context_keys(cells: Cells, numbering: Numbering, file: IO[str], *, with_feasible: bool) -> Iterator[pa.Table]:
    """Write contexts to choose for to a text file, and give tables of their keys and feasible actions."""
    keys, no_features = cells.columns.context_keys, text_features(NO_FEATURES)
    listed = [FEASIBLE] if with_feasible else []
    rows = numbering.contexts.order_by(NUMBER).select(*keys, FEATURES, *listed)
    for batch in cells.engine.stream(rows, ROWS):
        contexts = [(context_tag(row, keys), row[FEATURES] or no_features) for row in batch.to_pylist()]
        table = pa.Table.from_batches([batch]).select(list(keys)).rename_columns(list(cells.columns.context))
        if with_feasible:
            feasible = [[pair[NUMBER] for pair in pairs] for pairs in batch[FEASIBLE].to_pylist()]
            table = table.append_column(FEASIBLE, pa.array(feasible, pa.list_(pa.int64())))
            blocks = zip(contexts, feasible, strict=True)
            file.writelines(adf_block(*context, numbers, numbering.actions) for context, numbers in blocks)
        else:
            file.writelines(f"'{tag}{features}\n" for tag, features in contexts)
        yield table
