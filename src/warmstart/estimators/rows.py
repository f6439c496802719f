"""The weighted table, where a policy and a log meet.

One row for every (context, action[, epoch][, fold]) that the policy may choose, shown or not (n = 0 where not shown):

    n, reward_sum, reward_sq_sum                             events and rewards of the row
    context_n, context_reward_sum, context_reward_sq_sum     those of its context [in the epoch and fold]
    propensity, probability                                  of the logging policy and of the policy that is valued
    decided                                                  the policy's whole share in the context
    expected, left_out                                       the reward model's, with the cell's own rewards and without
    model_value                                              the reward model's of the policy in the context

What a policy does not choose adds nothing to a sum but through its context. Where propensities come from is data: the
counts of a window, or a column that a source put beside the strata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import ibis

from warmstart.core import (
    ACTION,
    EXPECTED,
    MODEL_VALUE,
    PART,
    PROBABILITY,
    PROPENSITY,
    WindowName,
)
from warmstart.engine import float_literal
from warmstart.estimators.epoch_rows import SUMS, RewardModel, epoch_rows
from warmstart.estimators.shown import shown_rows, shown_strata, with_decided, with_share
from warmstart.estimators.weight_ratio import REGRET
from warmstart.estimators.weights import OWN
from warmstart.events import counted_propensity, counted_within

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import LocalEngine
    from warmstart.estimators.weights import Clip
    from warmstart.events import Cells, EpochList, Strata, Visits
    from warmstart.policy import PolicyTable


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """The weighted table of one policy.

    ``modelled``: the rows by fold with the reward model's expectations, where an estimator asks for them; with
    counts ``model``: to be asked for few rows. ``groups``: the columns that divide the traffic of ``table``:
    context and further keys. ``action``: the user's name of the action column. ``certified``: whether propensities
    are counts of the evaluated window, or those are beside them, so that finite-sample bounds hold. ``events``: T.
    ``names``: the user's names of the context columns. ``visits``: the events with their units, if these come back,
    and then ``shown``: all rows that were shown, chosen or not, unless the policy is logging. ``epochs``: those
    within which propensities are counted, if they are. ``outcome``: the user's name of what is valued.
    ``own_epoch``: see ``Strata``.
    """

    policy: str
    is_logging: bool
    engine: LocalEngine
    table: ir.Table
    modelled: ir.Table | None
    model: RewardModel | None
    context_keys: tuple[str, ...]
    groups: tuple[str, ...]
    events: float
    reward_range: tuple[float, float]
    certified: bool
    names: tuple[str, ...] = ()
    visits: Visits | None = None
    shown: ir.Table | None = None
    epochs: EpochList | None = None
    outcome: str = ""
    own_epoch: ir.Table | None = None
    action: str = ACTION

    def only(self, part: Callable[[ir.Table], ir.Table], events: float) -> WeightedRows:
        """Return the weighted table of some contexts, which have so many events."""
        cut = {name: value for name in ("table", "modelled", "shown") if (value := getattr(self, name)) is not None}
        rows = replace(self, events=events, **{name: part(table) for name, table in cut.items()})
        if self.visits is None:
            return rows
        return replace(rows, visits=replace(self.visits, table=part(self.visits.table)))

    def floor(self, tau: Clip) -> Clip:
        """Return the clipping constant in use: logging's own weights are 1 and need none."""
        return 0.0 if self.is_logging else tau


@contextmanager
def open_weighted_rows(
    policy: PolicyTable,
    cells: Cells,
    *,
    window: WindowName = "evaluated",
    strata: Strata | None = None,
    model: RewardModel | None = None,
    visits: Visits | None = None,
    base: ir.Table | None = None,
) -> Iterator[WeightedRows]:
    """Join a policy with the evaluated log; what is held in the engine is released on leaving.

    Args:
        policy: The policy to value. The logging policy needs neither strata nor another window.
        cells: The cells of the window.
        window: Where counts come from, if there are no strata.
        strata: The cells divided by further keys, with propensities unless these are counts.
        model: A reward model, learned without the row's own cell or, with strata, its own fold.
        visits: The events with their units, if these come back.
        base: The policy's choices with the columns of their cells, where somebody has opened them already.
    """
    epochs = None if strata is None else strata.epochs
    strata, window = (None, "evaluated") if policy.is_logging and epochs is None else (strata, window)
    with ExitStack() as resources:

        def keep(rows: ir.Table) -> ir.Table:
            table = cells.engine.materialise(rows)
            resources.callback(table.release)
            return table

        modelled = decided = None
        if strata is None:
            base = policy_rows(policy, cells, keep, shared=model is not None) if base is None else base
            rows = _counted(base, cells, window)
            rows = rows if window == "evaluated" else keep(rows)
            # Its own share, also of events that a view leaves out.
            rows = rows.mutate(**{PROBABILITY: rows[PROPENSITY]}) if policy.is_logging else rows
        elif epochs is not None:
            rows, decided, model = epoch_rows(policy, strata, model, keep)
        else:
            rows = keep(_divided(policy.choices(cells), strata))
            if model is not None:
                modelled = _with_model(model.expect(rows), strata)
        shown = None
        if visits is not None and strata is not None and epochs is None:
            shown = shown_strata(rows if modelled is None else modelled, strata)
        elif visits is not None and strata is not None:
            shown = with_decided(shown_rows(rows, strata.shown, visits), decided, cells.columns.context_keys)
        elif visits is not None and not policy.is_logging:
            shown = shown_rows(rows, cells.table.filter(cells.table.n > 0), visits)
        yield WeightedRows(
            policy=policy.name,
            is_logging=policy.is_logging,
            engine=cells.engine,
            table=rows,
            modelled=modelled,
            model=model if modelled is None else None,
            context_keys=cells.columns.context_keys,
            groups=cells.columns.context_keys if strata is None else strata.groups,
            events=cells.evaluated.total,
            reward_range=cells.evaluated.log.reward_range,
            certified=strata is None or PROPENSITY not in strata.table.columns,
            names=cells.columns.context,
            visits=visits,
            shown=shown,
            epochs=epochs,
            outcome=cells.evaluated.log.outcomes[0].name,
            own_epoch=None if strata is None else strata.own_epoch,
            action=cells.columns.action,
        )


def policy_rows(policy: PolicyTable, cells: Cells, keep: Callable[[ir.Table], ir.Table], *, shared: bool) -> ir.Table:
    """Return a policy's choices with the columns of their cells, computed once if that takes more than a look.

    Args:
        policy: The policy.
        cells: The cells of the window.
        keep: Holds a table in the engine.
        shared: Whether a reward model will ask for the policy's share in the context.
    """
    rows = policy.on(cells)
    if shared:
        # Before rows are kept: no engine leaves out a window that a query has no use for.
        rows = with_share(rows, cells.columns.context_keys, whole=policy.whole)
    return keep(rows) if policy.costly else rows


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
    given = [PROPENSITY] if PROPENSITY in strata.table.columns else []
    rows = with_share(choices, contexts).join(strata.traffic, contexts)
    own = [name for name in rows.columns if not name.endswith("_right")]
    rows = rows.select(*own).left_join(strata.table.select(*keys, *SUMS, *given), keys)
    rows = rows.select(*own, *given, **{name: rows[name].coalesce(0.0) for name in SUMS})
    if not given:
        return rows.mutate(**{PROPENSITY: counted_within(rows, strata.counted_within), PART: float_literal(1)})
    together = rows.n.sum().over(ibis.window(group_by=keys))
    rows = rows.mutate(**{PART: (together > 0).ifelse(rows.n / together.nullif(0.0), 1.0)})
    return rows.mutate(**{name: rows[name] * rows[PART] for name in (f"context_{part}" for part in SUMS)})


def _with_model(rows: ir.Table, strata: Strata) -> ir.Table:
    expected = rows[PROBABILITY] * rows[EXPECTED] * rows[PART]
    return rows.mutate(**{MODEL_VALUE: expected.sum().over(ibis.window(group_by=list(strata.groups)))})
