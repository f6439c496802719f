"""The weighted table, where a policy and a log meet.

One row for every (context, action[, epoch][, fold]) that the policy may choose, shown or not (n = 0 where not shown):

    n, reward_sum, reward_sq_sum                             events and rewards of the row
    context_n, context_reward_sum, context_reward_sq_sum     those of its context [in the epoch and fold]
    propensity, probability                                  of the logging policy and of the policy that is valued
    decided                                                  the policy's whole share in the context
    expected, model_value                                    the reward model's, of the action and of the policy there

What a policy does not choose adds nothing to a sum but through its context. Where propensities come from is data: the
counts of a window, or a column that a source put beside the strata.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import ibis

from warmstart.core import (
    ACTION,
    DECIDED,
    EXPECTED,
    FOLD,
    GROUP,
    MODEL_VALUE,
    PART,
    PROBABILITY,
    PROPENSITY,
    WindowName,
)
from warmstart.engine import float_literal, is_partitioned
from warmstart.estimators.weight_ratio import REGRET
from warmstart.estimators.weights import OWN
from warmstart.events import counted_propensity, counted_within

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import LocalEngine
    from warmstart.events import Cells, Strata
    from warmstart.policy import Policy

SUMS = ("n", "reward_sum", "reward_sq_sum")


class RewardModel(Protocol):
    """Anything that tells what an action is expected to earn in a context, learned without the row's own fold."""

    def expect(self, rows: ir.Table) -> ir.Table:
        """Return the rows with a column ``expected``."""
        ...


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """The weighted table of one policy.

    ``modelled``: the rows by fold with the reward model's expectations, where an estimator asks for them. ``groups``:
    the columns that divide the traffic of ``table``: context and further keys. ``certified``: whether propensities are
    counts of the evaluated window, or those are beside them, so that finite-sample bounds hold. ``events``: T.
    ``names``: the user's names of the context columns.
    """

    policy: str
    is_logging: bool
    engine: LocalEngine
    table: ir.Table
    modelled: ir.Table | None
    context_keys: tuple[str, ...]
    groups: tuple[str, ...]
    events: float
    reward_range: tuple[float, float]
    certified: bool
    names: tuple[str, ...] = ()

    def floor(self, tau: float) -> float:
        """Return the clipping constant in use: logging's own weights are 1 and need none."""
        return 0.0 if self.is_logging else tau


@contextmanager
def open_weighted_rows(
    policy: Policy,
    cells: Cells,
    *,
    window: WindowName = "evaluated",
    strata: Strata | None = None,
    model: RewardModel | None = None,
) -> Iterator[WeightedRows]:
    """Join a policy with the evaluated log; what is held in the engine is released on leaving.

    Args:
        policy: The policy to value. The logging policy needs neither strata nor another window.
        cells: The cells of the window.
        window: Where counts come from, if there are no strata.
        strata: The cells divided by further keys, with propensities unless these are counts.
        model: A cross-fitted reward model; it needs strata by fold.
    """
    strata, window = (None, "evaluated") if policy.is_logging else (strata, window)
    with ExitStack() as resources:

        def keep(rows: ir.Table) -> ir.Table:
            table = cells.engine.materialise(rows)
            resources.callback(table.release)
            return table

        # Counts are the same in every fold, so that only what needs a model is divided by fold.
        whole = strata is None or (PROPENSITY not in strata.table.columns and strata.by == (FOLD,))
        choices, modelled = policy.choices(cells), None
        if whole:
            rows = _counted(resources.enter_context(policy.open_on(cells)), cells, window)
            rows = rows if window == "evaluated" else keep(rows)
            choices = rows.select(*cells.columns.keys, PROBABILITY, PROPENSITY)
        if strata is not None and (model is not None or not whole):
            divided = _divided(choices, strata)
            divided = divided if whole else keep(divided)
            modelled = None if model is None else _with_model(model.expect(divided), strata)
            rows = rows if whole else divided
        yield WeightedRows(
            policy=policy.name,
            is_logging=policy.is_logging,
            engine=cells.engine,
            table=rows,
            modelled=modelled,
            context_keys=cells.columns.context_keys,
            groups=cells.columns.context_keys if strata is None or whole else strata.groups,
            events=float(cells.evaluated.window.events),
            reward_range=cells.evaluated.log.reward_range,
            certified=strata is None or PROPENSITY not in strata.table.columns,
            names=cells.columns.context,
        )


def _counted(rows: ir.Table, cells: Cells, window: WindowName) -> ir.Table:
    """Add counted propensities; for another window also the evaluated one's own, and the regret of a context."""
    if window == "evaluated":
        return rows.mutate(**{PROPENSITY: counted_propensity(rows)})
    every = cells.table.filter(cells.table.context_n > 0)
    error = counted_propensity(every) - counted_propensity(every, window).coalesce(0.0)
    regrets = every.group_by(*cells.columns.context_keys).agg(**{REGRET: (error**2).max()})
    rows = rows.join(regrets, list(cells.columns.context_keys))
    return rows.mutate(**{PROPENSITY: counted_propensity(rows, window), OWN: counted_propensity(rows)})


def _divided(choices: ir.Table, strata: Strata) -> ir.Table:
    """Join choices with the traffic of their contexts and with what was shown; count propensities if there are none."""
    contexts = list(strata.cells.columns.context_keys)
    keys = [*contexts, ACTION, *strata.by]
    counted = PROPENSITY in choices.columns
    given = [PROPENSITY] if PROPENSITY in strata.table.columns else []
    traffic = strata.traffic
    if counted:
        numbers = {} if is_partitioned(strata.cells.engine) else {GROUP: traffic.rowid()}
        traffic = traffic.select(*strata.groups, "context_n", "other_n", "other_reward_sum", **numbers)
    else:
        whole = ibis.window(group_by=contexts)
        choices = choices.mutate(**{DECIDED: choices[PROBABILITY].sum().over(whole)})
    rows = choices.join(traffic, contexts)
    own = [name for name in rows.columns if not name.endswith("_right")]
    shown = strata.table
    if GROUP in own:
        # Numbers are quicker to join by than the columns that they stand for.
        shown, keys = shown.join(traffic.select(*strata.groups, GROUP), list(strata.groups)), [GROUP, ACTION]
    rows = rows.select(*own).left_join(shown.select(*keys, *SUMS, *given), keys)
    rows = rows.select(*own, *given, **{name: rows[name].coalesce(0.0) for name in SUMS})
    if not given:
        propensity = rows[PROPENSITY] if counted else counted_within(rows, strata.counted_within)
        return rows.mutate(**{PROPENSITY: propensity, PART: float_literal(1)})
    together = rows.n.sum().over(ibis.window(group_by=keys))
    rows = rows.mutate(**{PART: (together > 0).ifelse(rows.n / together.nullif(0.0), 1.0)})
    return rows.mutate(**{name: rows[name] * rows[PART] for name in (f"context_{part}" for part in SUMS)})


def _with_model(rows: ir.Table, strata: Strata) -> ir.Table:
    expected = rows[PROBABILITY] * rows[EXPECTED] * rows[PART]
    groups = [GROUP] if GROUP in rows.columns else list(strata.groups)
    return rows.mutate(**{MODEL_VALUE: expected.sum().over(ibis.window(group_by=groups))})
