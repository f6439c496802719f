"""Actions that no window of the log shows: refused with the nearest names, or counted as unsupported traffic."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

import ibis

from warmstart.core import ACTION, PROBABILITY, DecisionError, counted, quoted

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Cells
    from warmstart.policy.policy_table import PolicyTable

# How many unknown actions an error names, and among how many of the busiest it looks for similar names.
NAMED, COMPARED = 3, 10_000
# So few actions of the log are listed where none is near.
FEW = 10
ALLOW = "pass allow_unknown_actions=True (--allow-unknown-actions) to count them as unsupported"


def check_actions(cells: Cells, choices: ir.Table, where: str) -> None:
    """Refuse choices (with a probability above 0) of actions that neither window shows."""
    chosen = choices.filter(choices[PROBABILITY] > 0).select(ACTION).distinct()
    unknown = chosen.anti_join(known_actions(cells), ACTION)
    examples = cells.engine.fetch(unknown.order_by(ACTION).limit(NAMED))
    if not examples:
        return
    number = cells.engine.fetch(unknown.agg(actions=unknown.count()))[0]["actions"]
    named, shown = similar_actions(cells, [row[ACTION] for row in examples])
    more = f" and {number - len(examples):,} more" if number > len(examples) else ""
    raise DecisionError(
        f"{where} chooses {counted(number, 'action')} that the log never shows, neither in the evaluated window nor "
        f"in a training window: {named}{more}.",
        f"Write them as in the log{shown}, or {ALLOW}.",
    )


def similar_actions(cells: Cells, actions: Iterable[object]) -> tuple[str, str]:
    """Return unknown actions, each with the nearest names in the log; and what the log shows, if none is near."""
    table = cells.table
    traffic = table.group_by(ACTION).agg(n=table.n.sum())
    busiest = cells.engine.fetch(traffic.order_by(ibis.desc("n"), ACTION).limit(COMPARED))
    known = {str(row[ACTION]): row[ACTION] for row in busiest}
    described = []
    for action in actions:
        near = [quoted(known[name]) for name in get_close_matches(str(action), known, n=3)]
        described.append(quoted(action) + (f" (did you mean {' or '.join(near)}?)" if near else ""))
    far = len(known) <= FEW and not any("did you mean" in one for one in described)
    shown = ", ".join(map(quoted, sorted(known.values(), key=str)))
    return ", ".join(described), f", which shows {shown}" if far and known else ""


def unknown_share(policy: PolicyTable, cells: Cells) -> float:
    """Return the share of the policy's traffic, that of the contexts it decides, on actions that no window shows."""
    keys = list(cells.columns.context_keys)
    chosen = policy.choices(cells).join(cells.contexts.select(*keys, "context_n"), keys)
    decided = _traffic(cells, chosen)
    return _traffic(cells, chosen.anti_join(known_actions(cells), ACTION)) / decided if decided else 0.0


def known_actions(cells: Cells) -> ir.Table:
    """Return the actions of the evaluated and the training window."""
    return cells.table.select(ACTION).distinct()


def _traffic(cells: Cells, chosen: ir.Table) -> float:
    total = (chosen.context_n * chosen[PROBABILITY]).sum()
    return float(cells.engine.fetch(chosen.agg(total=total))[0]["total"] or 0.0)
