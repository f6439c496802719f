"""The distinct contexts that a policy in Python is asked about: with features, as a frame of the user's library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from warmstart.core import UsageError, printable
from warmstart.engine import open_every_column
from warmstart.features import rows_of_log

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from warmstart.engine import Engine
    from warmstart.events import Cells

FEATURE = "feature_"


def described_columns(engine: Engine, source: Any) -> list[str]:
    """Return the names of the columns of a table of contexts."""
    return list(open_every_column(engine, source).names)


def described_contexts(cells: Cells, source: Any) -> tuple[ir.Table, dict[str, str]]:
    """Return the contexts of the evaluated window with their features, and the user's names of the columns.

    Args:
        cells: The cells of the window.
        source: A table of contexts, keyed as in the log; None for no features. A context without a row has nulls.
    """
    keys = list(cells.columns.context_keys)
    names = dict(zip(keys, cells.columns.context, strict=True))
    contexts = cells.contexts.select(*keys)
    if source is None:
        return contexts, names
    _, rows = rows_of_log(cells.engine, contexts, source, names, "the table of contexts")
    given = [name for name in rows.columns if name not in keys]
    fixed = {f"{FEATURE}{i}": name for i, name in enumerate(given)}
    described = contexts.left_join(rows.rename(fixed), keys).select(*keys, *fixed)
    return described, names | fixed


def frame_kind(origin: Any, *, predicts: bool) -> str:
    """Return the library of the frames that a policy gets: that of the log, or pandas.

    Args:
        origin: Where the log was read from.
        predicts: Whether the policy is a model with ``predict``: few of them know Arrow.
    """
    library = type(origin).__module__.split(".", maxsplit=1)[0]
    kinds = ("polars",) if predicts else ("polars", "pyarrow")
    return library if library in kinds else "pandas"


def as_frame(table: pa.Table, kind: str) -> Any:
    """Return an Arrow table as a frame of a library."""
    if kind == "pyarrow":
        return table
    try:
        if kind == "polars":
            import polars as pl

            return pl.from_arrow(table)
        return table.to_pandas()
    except ImportError as error:
        raise UsageError(
            f"A policy in Python gets a frame of contexts, and {kind} is not installed: {printable(error)}",
            "Install pandas, or read the log from a polars or Arrow table to get such frames.",
        ) from error


def renamed(table: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Return a table under the user's names."""
    return table.rename_columns([names[name] for name in table.column_names])
