"""warmstart audit"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warmstart.cli.options import (
    ActionOption,
    ContextOption,
    DropNullsOption,
    EngineOption,
    EventsArgument,
    HtmlOption,
    JsonOption,
    MemoryOption,
    RewardOption,
    RewardRangeOption,
    TableOption,
    ThreadsOption,
    TimeOption,
    check_folder,
)
from warmstart.core.errors import UsageError

if TYPE_CHECKING:
    from warmstart.results import Audit

ExploreOption = Annotated[
    Path | None,
    typer.Option(
        "--explore", metavar="FILE", help="Write the contexts to explore first as a table (.csv or .parquet)."
    ),
]

EXAMPLES = """
\b
Examples:
  warmstart audit log.parquet --context page --action ad --reward click --time shown_at
  warmstart audit 'log/*.csv' --context page --action ad --reward click --time shown_at \\
      --html audit.html --explore contexts.csv
  warmstart audit postgres://reader@host/shop --table ads.shown \\
      --context page --action ad --reward click --time shown_at
"""


def audit(
    *,
    events: EventsArgument = None,
    context: ContextOption,
    action: ActionOption,
    reward: RewardOption,
    time: TimeOption = None,
    table: TableOption = None,
    reward_range: RewardRangeOption = (0.0, 1.0),
    drop_nulls: DropNullsOption = False,
    engine: EngineOption = "duckdb",
    memory_limit: MemoryOption = None,
    threads: ThreadsOption = None,
    html: HtmlOption = None,
    explore: ExploreOption = None,
    json: JsonOption = False,
) -> None:
    """Tell what a log can say about other policies, and where to explore first."""
    from rich.console import Console

    from warmstart import pipeline
    from warmstart.engine import connect
    from warmstart.events import read_events
    from warmstart.report import Working, save_report, show

    if not events and table is None:
        raise UsageError("Name the log: files, or --table NAME.")
    if explore is not None and explore.suffix not in (".csv", ".parquet"):
        raise UsageError(f"--explore writes .csv or .parquet, not '{explore.suffix}'.")
    check_folder(html)
    check_folder(explore)
    held = connect(engine, memory_limit=memory_limit, threads=threads)
    with Working(Console(stderr=True), held) as work:
        log = read_events(
            events,
            context=context,
            action=action,
            reward=reward,
            time=time,
            table=table,
            reward_range=reward_range,
            drop_nulls=drop_nulls,
            engine=held,
        )
        found = pipeline.audit(log, on_progress=lambda step, *_: work.step(step))
    if html is not None:
        save_report(found, html)
    if explore is not None:
        _write(found, explore)
    if json:
        typer.echo(found.to_json())
    else:
        show(Console(), found.tables, found.notes)


audit.__doc__ = f"{audit.__doc__}\n{EXAMPLES}"


def _write(found: Audit, path: Path) -> None:
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

    from warmstart.core.files import atomic_file

    rows = found.explore.to_arrow()
    with atomic_file(path) as part:
        if path.suffix == ".csv":
            pa_csv.write_csv(rows, part)
        else:
            pq.write_table(rows, part)
