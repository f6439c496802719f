"""The best of all actions by the model's score, whether it was ever shown in the context or not: the paper's Naive."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmstart.core.errors import SourceError
from warmstart.core.names import ACTION, PROBABILITY
from warmstart.core.text import quoted
from warmstart.engine import float_literal
from warmstart.features import read_side
from warmstart.policy.policy import Policy
from warmstart.reward import Numbering

if TYPE_CHECKING:
    from warmstart.events import Cells
    from warmstart.policy.fitted import FittedPolicy


@dataclass(frozen=True, eq=False)
class NaivePolicy:
    """A learned policy without its feasible sets.

    ``rewarded_only``: leave contexts without a reward in the evaluated window undecided. The value is the same, since
    nothing was earned there; support is not.
    """

    fitted: FittedPolicy
    rewarded_only: bool = False


def naive_policy(cells: Cells, naive: NaivePolicy, *, name: str) -> Policy:
    """Choose for every context of the evaluated window among all actions that the policy knows."""
    import pyarrow as pa

    fitted, columns = naive.fitted, cells.columns
    contexts = cells.contexts
    if naive.rewarded_only:
        contexts = contexts.filter(contexts.context_reward_sum > 0)
    keys = cells.engine.fetch_arrow(contexts.select(*columns.context_keys))
    numbering = Numbering.of_rows(keys)
    given = columns.fixed_to_given
    settings = fitted.context_settings
    side = read_side(
        cells.engine,
        _contexts_of(fitted),
        {key: given[key] for key in columns.context_keys},
        numbering,
        bits=settings.bits,
        cross_only=not settings.constant,
        strict=False,
        what="the table of contexts",
        settings=settings,
    )
    best, _ = fitted.best_of_all(side.rows, fitted.action_rows, fitted.factors)
    table = numbering.keys.append_column(ACTION, pa.chunked_array([fitted.actions.take(pa.array(best))]))
    opened = cells.engine.open_arrow(table)
    cast = {key: opened[key].cast(cells.table[key].type()) for key in columns.keys}
    return Policy(name, opened.select(**cast, **{PROBABILITY: float_literal(1)}))


def _contexts_of(fitted: FittedPolicy) -> Any:
    """Return the table of contexts that the policy was learned with, which must still be there."""
    source = fitted.report.get("sources", {}).get("contexts")
    if source is None or Path(source).exists():
        return source
    raise SourceError(
        f"To choose among all actions, the table of contexts that the policy was learned with is needed, and "
        f"{quoted(source)} is not there.",
        "Go where that path leads to it, or pass the decisions of policy.choose_table.",
    )
