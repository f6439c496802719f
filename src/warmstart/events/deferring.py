"""Windows in which all that was shown in some contexts is one action: whatever logging shows there.

A policy that defers there takes this action with probability 1, and its propensity is 1. So what it earns is what
logging earned, its gain is zero for certain, and no clipping touches it, whatever is counted, by epoch or by unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from warmstart.core import ACTION, PROPENSITY, UsageError
from warmstart.engine import float_literal

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import Engine
    from warmstart.events.log_table import LogTable
    from warmstart.events.window import Events

# The action of contexts in which a policy defers; actions become text.
AS_LOGGING = "(as logging)"
ACTS = "policy_acts"


def with_deferral(
    evaluated: Events, train: Events | None, opened: Callable[[Engine], ir.Table]
) -> tuple[Events, Events | None]:
    """Return windows of the same events in which a policy acts in some contexts, and what was shown elsewhere is one.

    Args:
        evaluated: The evaluated window.
        train: The training window, if there is one.
        opened: Opens, in an engine, a table whose first columns are those of the contexts in which the policy acts.
    """
    if evaluated.engine.remote or (train is not None and train.engine.remote):
        raise UsageError(
            "A policy that defers needs a table of its contexts beside the log, and a database is only read.",
            "Export the log to Parquet, or evaluate policy.decisions: the gain is the same.",
        )
    log = _deferring(evaluated.log, opened)
    own = replace(evaluated, log=log)
    if train is None:
        return own, None
    earlier = log if train.log is evaluated.log else _deferring(train.log, opened)
    return own, replace(train, log=earlier)


def _deferring(log: LogTable, opened: Callable[[Engine], ir.Table]) -> LogTable:
    table, keys = log.table, list(log.columns.context_keys)
    given = opened(log.engine)
    acting = given.select(**{key: given[i].cast(table[key].type()) for i, key in enumerate(keys)}).distinct()
    joined = table.left_join(acting.mutate(**{ACTS: True}), keys)
    defers = joined[ACTS].isnull()
    changed = {ACTION: defers.ifelse(AS_LOGGING, joined[ACTION].cast("string"))}
    if PROPENSITY in table.columns:
        changed[PROPENSITY] = defers.ifelse(float_literal(1), joined[PROPENSITY])
    return replace(log, table=joined.mutate(**changed).select(*table.columns))
