"""Events with their weights, written for another learner; and the keys that its answers come back by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, get_args

from warmstart.core.errors import UsageError
from warmstart.core.files import check_output, mark_of, write_output, write_parquet
from warmstart.core.names import ACTION, EVENT_ID, PROPENSITY, REWARD, TIME
from warmstart.core.text import quoted
from warmstart.events import Events, open_cells
from warmstart.interop.vw.formats import SPELLINGS, Shown, unlabelled_block, unlabelled_line, vw_features
from warmstart.interop.vw.numbering import (
    FEASIBLE,
    FEATURES,
    NOTHING,
    NUMBER,
    ROWS,
    Numbered,
    context_tag,
    open_numbered,
)
from warmstart.interop.vw.propensities import FLOORED, Source, check_tau, in_order, propensity_source, weighted_events
from warmstart.results import Exported

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from warmstart.events import Cells

ExportFormat = Literal["vw-cb", "vw-adf", "dsjson", "parquet"]
Beside = Literal["contexts.vw", "contexts.parquet", "actions.parquet"]
WEIGHT, SHOWN = "weight", "shown"


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
    """Write the events of a window for another learner, each with the propensity of what was shown, at least ``tau``.

    ``to``: ``vw-cb`` and ``vw-adf`` are Vowpal Wabbit's text (cost = -reward, probability = max(propensity, tau), so
    that its weights are 1 / max(propensity, tau) and it needs no --clip_p), ``dsjson`` its decision-service log,
    ``parquet`` the log's columns with ``propensity`` and ``weight``. Propensities are logged ones, if the log was read
    with them, or else counted in this window. Events come in the order of time.

    ``contexts`` and ``actions`` are tables of features, as for ``fit``; without one, a context or an action is
    described by its own name. Feasible are the actions that the window shows in a context. Characters that text cannot
    hold are written as %XX.

    Beside ``train.vw`` lie ``train.contexts.vw`` (each context once, without a label, for ``vw -t -p``),
    ``train.contexts.parquet`` and ``train.actions.parquet``, by which ``import_predictions`` reads what comes back.
    What an earlier export wrote there is replaced; other files only with ``force``, inputs never.
    """
    if to not in get_args(ExportFormat):
        raise UsageError(f"There is no format {quoted(to)}.", f"Choose {', '.join(get_args(ExportFormat))}.")
    path, tau = Path(out), check_tau(tau)
    source = propensity_source(events, propensities)
    _check_outputs(path, to, [events.log.origin, contexts, actions], force=force)
    if to != "parquet" and FEASIBLE in events.columns.context:
        raise UsageError(f"A context column is called {quoted(FEASIBLE)}, as in the table of keys.", "Rename it.")
    with open_cells(events) as cells:
        rows = weighted_events(cells, tau=tau, source=source)
        if to == "parquet":
            written = _write_parquet(cells, rows, path)
            return Exported(path, to, tau, source, written, **_sizes(cells))
        with ExitStack() as stack:
            sides = stack.enter_context(open_numbered(cells, SPELLINGS[to], contexts, actions, tau=tau))
            parts = {
                what: stack.enter_context(write_output(beside(path, what), force=True)) for what in get_args(Beside)
            }
            with stack.enter_context(write_output(path, force=True)).open("w", encoding="utf-8", newline="\n") as file:
                written = _write_events(cells, rows, sides, file, to=to, all_known=source == "counts")
            if to == "dsjson":
                # Vowpal Wabbit passes over decision-service lines without a label, so contexts are text there too.
                sides = stack.enter_context(open_numbered(cells, SPELLINGS["vw-adf"], contexts, actions, tau=tau))
            known = _write_contexts(cells, sides, parts, to, path.name)
            return Exported(path, to, tau, source, written, known, len(sides.actions), sides.bare)


def beside(path: Path, what: Beside) -> Path:
    """Return the file beside an exported one: of contexts to choose for, or of keys."""
    return path.with_name(f"{path.stem}.{what}")


def _check_outputs(path: Path, to: ExportFormat, inputs: list[Any], *, force: bool) -> None:
    """Refuse to replace inputs and files of others; text is known as an earlier export's by the keys beside it."""
    ours = force or (to != "parquet" and mark_of(beside(path, "contexts.parquet")) == path.name)
    check_output(path, inputs=inputs, force=ours)
    for what in get_args(Beside) if to != "parquet" else ():
        check_output(beside(path, what), inputs=inputs, force=ours if what == "contexts.vw" else force)


def _write_parquet(cells: Cells, rows: ir.Table, path: Path) -> int:
    import pyarrow as pa

    columns = cells.columns
    given = {fixed: name for fixed, name in columns.fixed_to_given.items() if fixed not in (PROPENSITY, EVENT_ID)}
    for name in (PROPENSITY, WEIGHT):
        if name in given.values():
            raise UsageError(f"The log has a column {quoted(name)} of its own.", "Rename it before you export.")
    rows = in_order(rows, columns.keys)
    chosen = rows.select(*given, PROPENSITY, **{WEIGHT: 1.0 / rows[FLOORED]})
    batches = cells.engine.stream(chosen, ROWS)
    tables = (_under_given_names(pa.Table.from_batches([batch]), given) for batch in batches)
    with write_output(path, force=True) as temporary:  # what may not be replaced was refused before the work
        return write_parquet(temporary, tables)


def _under_given_names(table: pa.Table, given: Mapping[str, str]) -> pa.Table:
    import pyarrow as pa

    if TIME in given:
        place = table.column_names.index(TIME)
        table = table.set_column(place, TIME, table[TIME].cast(pa.timestamp("us", "UTC")))
    return table.rename_columns([given.get(name, name) for name in table.column_names])


def _sizes(cells: Cells) -> dict[str, int]:
    table = cells.table.filter(cells.table.n > 0)
    contexts = table.select(*cells.columns.context_keys).distinct()
    actions = cells.engine.fetch(table.agg(n=table[ACTION].nunique()))[0]["n"]
    return {"contexts": cells.engine.fetch(contexts.agg(n=contexts.count()))[0]["n"], "actions": actions}


def _write_events(cells: Cells, rows: ir.Table, sides: Numbered, file: IO[str], *, to: str, all_known: bool) -> int:
    """Write the events in order. The actions of a context are listed where the format lists them."""
    keys, spelling = cells.columns.context_keys, SPELLINGS[to]
    listed = [FEASIBLE] if to != "vw-cb" else []
    rows = rows.join(sides.action_numbers.rename(**{SHOWN: NUMBER}), ACTION)
    rows = rows.join(sides.contexts.select(*keys, FEATURES, *listed), list(keys))
    nothing = spelling.features(NOTHING)
    place = 0
    for batch in cells.engine.stream(in_order(rows, cells.columns.keys), ROWS):
        lines = []
        for row in batch.to_pylist():
            place += 1
            pairs = row[FEASIBLE] if listed else ({NUMBER: row[SHOWN]},)
            feasible = [pair[NUMBER] for pair in pairs]
            shown = Shown(
                context_tag(row, keys),
                row[FEATURES] or nothing,
                feasible,
                feasible.index(row[SHOWN]),
                -row[REWARD],
                row[FLOORED],
                [pair[FLOORED] for pair in pairs] if listed and all_known else None,
                row.get(TIME),
            )
            lines.append(spelling.event(place, shown, sides.actions))
        file.write("".join(lines))
    return place


def _write_contexts(cells: Cells, sides: Numbered, parts: dict[Beside, Path], to: str, name: str) -> int:
    """Write each context once without a label, and tables of the keys of both sides, in that order."""
    import pyarrow as pa

    keys, given = cells.columns.context_keys, list(cells.columns.context)
    write_parquet(parts["actions.parquet"], [sides.action_keys.rename_columns([cells.columns.action])])
    nothing = vw_features(NOTHING)
    listed = [FEASIBLE] if to != "vw-cb" else []
    rows = sides.contexts.order_by(NUMBER).select(*keys, FEATURES, *listed)

    def tables(file: IO[str]) -> Iterator[pa.Table]:
        for batch in cells.engine.stream(rows, ROWS):
            lines = []
            known = batch.to_pylist()
            feasible = [[pair[NUMBER] for pair in row[FEASIBLE]] for row in known] if listed else [[]] * len(known)
            for row, numbers in zip(known, feasible, strict=True):
                tag, features = context_tag(row, keys), row[FEATURES] or nothing
                block = unlabelled_block(tag, features, numbers, sides.actions) if listed else None
                lines.append(block or unlabelled_line(tag, features))
            file.write("".join(lines))
            table = pa.Table.from_batches([batch]).select(list(keys)).rename_columns(given)
            if listed:
                table = table.append_column(FEASIBLE, pa.array(feasible, pa.list_(pa.int64())))
            yield table

    with parts["contexts.vw"].open("w", encoding="utf-8", newline="\n") as file:
        return write_parquet(parts["contexts.parquet"], tables(file), mark=name)
