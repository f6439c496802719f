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

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import ibis

from warmstart.core import (
    ACTION,
    DECIDED,
    EPOCH,
    EXPECTED,
    MODEL_VALUE,
    PART,
    PROBABILITY,
    PROPENSITY,
    WindowName,
)
from warmstart.engine import float_literal
from warmstart.estimators.shown import shown_rows, shown_strata, with_decided
from warmstart.estimators.weight_ratio import REGRET
from warmstart.estimators.weights import OWN
from warmstart.events import N_BEFORE, RATE_BEFORE, REWARD_SUM_BEFORE, counted_propensity, counted_within

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import LocalEngine
    from warmstart.estimators.weights import Clip
    from warmstart.events import Cells, EpochList, Strata, Visits
    from warmstart.policy import Policy

SUMS = ("n", "reward_sum", "reward_sq_sum")
# Less than this part of an event is rounding.
NO_TRAFFIC = 1e-6


class RewardModel(Protocol):
    """Anything that tells what an action is expected to earn in a context."""

    def expect(self, rows: ir.Table) -> ir.Table:
        """Return the rows with a column ``expected``, and with ``left_out`` where the folds are of cells."""
        ...

    def sample(self, rows: ir.Table) -> ir.Table:
        """Return rows that were shown, a bounded number of them, to judge the model by."""
        ...


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """The weighted table of one policy.

    ``modelled``: the rows by fold with the reward model's expectations, where an estimator asks for them; with counts
    ``model``: to be asked for few rows. ``groups``: the columns that divide the traffic of ``table``: context and
    further keys. ``certified``: whether propensities are counts of the evaluated window, or those are beside them, so
    that finite-sample bounds hold. ``events``: T. ``names``: the user's names of the context columns. ``visits``: the
    events with their units, if these come back, and then ``shown``: all rows that were shown, chosen or not, unless
    the policy is logging. ``epochs``: those within which propensities are counted, if they are.
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

    def floor(self, tau: Clip) -> Clip:
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
    visits: Visits | None = None,
) -> Iterator[WeightedRows]:
    """Join a policy with the evaluated log; what is held in the engine is released on leaving.

    Args:
        policy: The policy to value. The logging policy needs neither strata nor another window.
        cells: The cells of the window.
        window: Where counts come from, if there are no strata.
        strata: The cells divided by further keys, with propensities unless these are counts.
        model: A reward model, learned without the row's own cell or, with strata, its own fold.
        visits: The events with their units, if these come back.
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
            rows = _counted(resources.enter_context(policy.open_on(cells)), cells, window)
            rows = rows if window == "evaluated" else keep(rows)
            if model is not None:
                rows = _with_decided(rows, cells.columns.context_keys, whole=policy.whole)
        elif epochs is not None:
            rows, decided, model = _epoch_rows(policy, strata, model, keep)
        else:
            rows = keep(_divided(policy.choices(cells), strata))
            if model is not None:
                modelled = _with_model(model.expect(rows), strata)
        shown = None
        if visits is not None and strata is not None and epochs is None:
            shown = shown_strata(rows if modelled is None else modelled, strata)
        elif visits is not None and strata is not None:
            shown = with_decided(shown_rows(rows, strata.table, visits), decided, cells.columns.context_keys)
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
        )


@dataclass(frozen=True, eq=False)
class CellModel:
    """A reward model of cells for rows by epoch: what a cell is expected to earn is the same in all of them.

    ``told``: the cells that the policy may choose, with what the model expects of them.
    """

    model: RewardModel
    told: ir.Table
    keys: tuple[str, ...]

    @classmethod
    def of(cls, model: RewardModel, chosen: ir.Table, keys: tuple[str, ...]) -> CellModel:
        """Ask the model of cells once for all epochs."""
        told = model.expect(chosen)
        return cls(model, told.select(*keys, *(name for name in told.columns if name not in chosen.columns)), keys)

    def expect(self, rows: ir.Table) -> ir.Table:
        """Return the rows with what is expected of their cells."""
        joined = rows.join(self.told, list(self.keys))
        return joined.select(*rows.columns, *(name for name in self.told.columns if name not in self.keys))

    def sample(self, rows: ir.Table) -> ir.Table:
        """Return rows that were shown, a bounded number of them, to judge the model by."""
        return self.model.sample(rows)


def _epoch_rows(
    policy: Policy, strata: Strata, model: RewardModel | None, keep: Callable[[ir.Table], ir.Table]
) -> tuple[ir.Table, ir.Table | None, RewardModel | None]:
    """Return rows by epoch, the policy's share in every context (None: all), and a model that tells of cells."""
    cells, table = strata.cells, strata.table
    if policy.is_logging:
        rows = table.mutate(**{PROPENSITY: table.n / table.context_n, DECIDED: float_literal(1)})
        return rows.mutate(**{PROBABILITY: rows[PROPENSITY]}), None, None
    chosen = keep(_chosen_cells(policy, cells))
    decided = chosen.group_by(*cells.columns.context_keys).agg(**{DECIDED: chosen[DECIDED].max()})
    if model is not None:
        told = CellModel.of(model, chosen, cells.columns.keys)
        model = replace(told, told=keep(told.told))
    return keep(_by_epoch(policy, chosen, strata)), decided, model


def _chosen_cells(policy: Policy, cells: Cells) -> ir.Table:
    """Return the cells that a policy may choose with their columns, and its whole share in their context."""
    if EPOCH not in policy.table.columns:
        return _with_decided(policy.on(cells), cells.columns.context_keys, whole=policy.whole)
    choices = policy.table.select(*cells.columns.keys).distinct().mutate(**{PROBABILITY: float_literal(1)})
    return _with_decided(replace(policy, table=choices, seated=False).on(cells), (), whole=True)


def _by_epoch(policy: Policy, chosen: ir.Table, strata: Strata) -> ir.Table:
    """Join choices with what was shown of them in every epoch; what was not is one row a cell, of no epoch.

    All sums are linear in the traffic of rows that were not shown, so that a row can stand for many epochs: its traffic
    is that of its context times the probability, which is 1.

    Args:
        policy: The policy.
        chosen: The cells that it may choose, with their columns, and ``decided``.
        strata: What was shown in every epoch.
    """
    cells, keys = strata.cells, list(strata.cells.columns.keys)
    choices = policy.choices(cells)
    on = [name for name in (*keys, EPOCH) if name in choices.columns]
    decided = chosen.select(*keys, DECIDED)
    own = [name for name in strata.table.columns if name not in (*keys, EPOCH)]
    shown = strata.table.join(choices, on)
    shown = shown.select(*keys, EPOCH, *own, PROBABILITY).join(decided, keys)
    shown = shown.select(*keys, EPOCH, *own, PROBABILITY, DECIDED, **{PROPENSITY: shown.n / shown.context_n})
    sums = [f"context_{name}" for name in SUMS]
    h = shown[PROBABILITY]
    seen = shown.group_by(*keys).agg(**{f"seen_{name}": (h * shown[name]).sum() for name in sums})
    if EPOCH in choices.columns:
        every = _traffic_of_choices(choices, strata, sums)
    else:
        every = chosen.select(*keys, **{name: chosen[PROBABILITY] * chosen[name] for name in sums})
    rest = every.left_join(seen, keys)
    rest = rest.select(*keys, **{name: rest[name] - rest[f"seen_{name}"].coalesce(0.0) for name in sums})
    rest = rest.filter(rest.context_n > NO_TRAFFIC).join(decided, keys)
    nothing = {name: float_literal(0) for name in (*SUMS, "context_actions", N_BEFORE, REWARD_SUM_BEFORE, PROPENSITY)}
    unknown = {EPOCH: ibis.null("int64"), RATE_BEFORE: ibis.null("float64"), PROBABILITY: float_literal(1)}
    rest = rest.select(*keys, *sums, DECIDED, **nothing, **unknown)
    return ibis.union(shown, rest.select(*shown.columns), distinct=False)


def _traffic_of_choices(choices: ir.Table, strata: Strata, sums: Sequence[str]) -> ir.Table:
    """Return for every cell the traffic on which it is chosen, where that differs from epoch to epoch."""
    groups = list(strata.groups)
    rows = choices.join(strata.traffic.select(*groups, *sums), groups)
    h = rows[PROBABILITY]
    return rows.group_by(*strata.cells.columns.keys).agg(**{name: (h * rows[name]).sum() for name in sums})


def _counted(rows: ir.Table, cells: Cells, window: WindowName) -> ir.Table:
    """Add counted propensities; for another window also the evaluated one's own, and the regret of a context."""
    if window == "evaluated":
        return rows.mutate(**{PROPENSITY: counted_propensity(rows)})
    every = cells.table.filter(cells.table.context_n > 0)
    error = counted_propensity(every) - counted_propensity(every, window).coalesce(0.0)
    regrets = every.group_by(*cells.columns.context_keys).agg(**{REGRET: (error**2).max()})
    rows = rows.join(regrets, list(cells.columns.context_keys))
    return rows.mutate(**{PROPENSITY: counted_propensity(rows, window), OWN: counted_propensity(rows)})


def _with_decided(rows: ir.Table, contexts: Sequence[str], *, whole: bool = False) -> ir.Table:
    """Add the policy's share in the context: 1, where it is known to decide wholly what it decides."""
    if whole:
        return rows.mutate(**{DECIDED: float_literal(1)})
    return rows.mutate(**{DECIDED: rows[PROBABILITY].sum().over(ibis.window(group_by=list(contexts)))})


def _divided(choices: ir.Table, strata: Strata) -> ir.Table:
    """Join choices with the traffic of their contexts and with what was shown; count propensities if there are none."""
    contexts = list(strata.cells.columns.context_keys)
    keys = [*contexts, ACTION, *strata.by]
    given = [PROPENSITY] if PROPENSITY in strata.table.columns else []
    rows = _with_decided(choices, contexts).join(strata.traffic, contexts)
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
