"""Prepare what the weighted tables of all policies share: cells, propensities, a reward model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from warmstart.core import PROPENSITY, UsageError
from warmstart.estimators import ESTIMATORS, RewardModel, WeightedRows, open_weighted_rows, policy_rows
from warmstart.events import open_epoch_strata, open_strata, unit_visits
from warmstart.pipeline.sources import (
    COUNTED,
    REPEATING,
    check_folds,
    choose_source,
    is_enough,
    repeating_share,
    with_propensities,
)
from warmstart.results import PropensitySource
from warmstart.reward import open_cell_means, open_left_out_means

if TYPE_CHECKING:
    from contextlib import AbstractContextManager, ExitStack

    import ibis.expr.types as ir

    from warmstart.events import Cells, Fill, Strata, Visits
    from warmstart.policy import PolicyTable


@dataclass(frozen=True, eq=False)
class EvaluationInputs:
    """What all policies of an evaluation share: cells, a source of propensities, and a reward model where asked for.

    ``strata``: cells divided by fold, with propensities that are not counts; with counts None, or cells divided by
    epoch. ``visits``: the events
    with their units, to be joined with rows by cell and by stratum, if the log names a unit.
    """

    cells: Cells
    source: PropensitySource
    strata: Strata | None = None
    model: RewardModel | None = None
    visits: tuple[Visits, Visits] | None = None

    @property
    def by_epoch(self) -> Strata | None:
        """Return the events by epoch, where propensities are counted within epochs."""
        return self.strata if self.source.counted else None

    @property
    def returning(self) -> bool:
        """Tell whether units come back in a later epoch, so that no bound over epochs holds."""
        return self.by_epoch is not None and self.visits is not None and not self.visits[0].within_epochs

    @property
    def overlapping(self) -> bool:
        """Tell whether an epoch had not ended when the next began, so that nobody knows what it could react to."""
        return self.by_epoch is not None and self.by_epoch.epochs is not None and not self.by_epoch.epochs.apart

    def of_outcome(
        self, k: int, fill: Fill, resources: ExitStack, *, total: float, rate: float | None, learn: Learning | None
    ) -> EvaluationInputs:
        """Return the same with the k-th outcome in the place of the reward; propensities are not learned again.

        Args:
            k: The number of the outcome.
            fill: What stands for a null of it.
            resources: What is held in the engine is released with it.
            total: What the events of the window that the view has count together.
            rate: The outcome's mean that was known before the window, if any.
            learn: How to learn a reward model of it; None for none.
        """
        cells, strata = self.cells.of_outcome(k, fill, total), None
        if self.by_epoch is not None:
            strata = resources.enter_context(open_epoch_strata(cells, rate))
        elif self.strata is not None:
            again = open_strata(cells, by_propensity=self.strata.by_propensity)
            strata = _with_propensities_of(resources.enter_context(again), self.strata)
        model = None if learn is None else learn.of(cells, strata if self.by_epoch is None else None, resources)
        return EvaluationInputs(cells, self.source, strata, model, _visits(cells, strata, resources))

    def open_base(self, policy: PolicyTable, resources: ExitStack) -> ir.Table | None:
        """Join a policy with the cells once for all outcomes, where rows are cells; else None."""
        if self.strata is not None and not (policy.is_logging and self.by_epoch is None):
            return None

        def keep(rows: ir.Table) -> ir.Table:
            table = self.cells.engine.materialise(rows)
            resources.callback(table.release)
            return table

        return policy_rows(policy, self.cells, keep, shared=self.model is not None)

    def weigh(self, policy: PolicyTable, base: ir.Table | None = None) -> AbstractContextManager[WeightedRows]:
        """Open the weighted table of a policy, on choices with the columns of their cells if these are open."""
        window = COUNTED.get(self.source.name, "evaluated")
        by_cell, by_stratum = self.visits or (None, None)
        visits = by_cell if policy.is_logging else by_stratum
        return open_weighted_rows(
            policy, self.cells, window=window, strata=self.strata, model=self.model, visits=visits, base=base
        )


@dataclass(frozen=True, eq=False)
class Learning:
    """How reward models are learned: with the user's own regressor, if there is one."""

    reward_model: Any = None

    @classmethod
    def needed(cls, estimators: Sequence[str], reward_model: Any) -> Learning | None:
        """Return how to learn what some estimators need; None if they need no model."""
        return cls(reward_model) if any(ESTIMATORS[name].modelled for name in estimators) else None

    def of(self, cells: Cells, strata: Strata | None, resources: ExitStack) -> RewardModel:
        """Learn what strata are expected to earn by other folds, or cells by other cells."""
        if strata is None:
            return _model_of_cells(cells, resources, self.reward_model)
        return _model_of_strata(strata, resources, self.reward_model)


def _with_propensities_of(strata: Strata, others: Strata) -> Strata:
    """Return strata of the same events with the propensities that are known already."""
    if others.by_propensity:
        return strata
    keys = [*strata.cells.columns.keys, *strata.by]
    joined = strata.table.left_join(others.table.select(*keys, PROPENSITY), keys)
    return replace(strata, table=joined.select(*strata.table.columns, PROPENSITY))


def prepare(
    cells: Cells,
    resources: ExitStack,
    requested: Any,
    *,
    coarser: Sequence[Sequence[str]] = (),
    learn: Learning | None = None,
    rate: float | None = None,
) -> EvaluationInputs:
    """Choose the source of propensities, and learn what it and the estimators need, if anything.

    Args:
        cells: The cells of the windows.
        resources: What is held in the engine is released with it.
        requested: A source by name, "auto", or a scikit-learn classifier.
        coarser: Lists of context columns to back off to, most specific first.
        learn: How to learn a reward model; None for none.
        rate: The mean reward that was known before the window, if any.
    """
    name, reason, classifier = choose_source(requested, cells, coarser)
    if name in COUNTED:
        model = None if learn is None else learn.of(cells, None, resources)
        epochs = cells.evaluated.log.epochs
        if epochs is not None and epochs.kind == "auto":
            raise _undecided_epochs(cells)
        strata = None if epochs is None else resources.enter_context(open_epoch_strata(cells, rate))
        source = PropensitySource(name, reason, epoch=None if epochs is None else epochs.words)
        return EvaluationInputs(cells, source, strata, model, _visits(cells, strata, resources))
    strata = resources.enter_context(open_strata(cells, by_propensity=name == "logged"))
    check_folds(strata)
    strata, source = with_propensities(strata, name, reason, coarser=coarser, model=classifier)
    model = None if learn is None else learn.of(cells, strata, resources)
    return EvaluationInputs(cells, source, strata, model, _visits(cells, strata, resources))


def _undecided_epochs(cells: Cells) -> UsageError:
    """Say that epochs must be fixed before the events that are counted in them, and what training recommends."""
    from warmstart.pipeline.audit import recommended_epoch

    facts = None if cells.train is None else recommended_epoch(cells.train)
    audit = "An audit of earlier events recommends one (warmstart audit)."
    hint = (
        f"Name hour, day, week or a column. {audit if facts is None else f'The training window says: {facts.verdict}'}"
    )
    return UsageError("Counts need epochs that were fixed before these events; 'auto' would look at them.", hint)


def _visits(cells: Cells, strata: Strata | None, resources: ExitStack) -> tuple[Visits, Visits] | None:
    if not cells.columns.unit:
        return None
    if strata is not None and strata.epochs is not None:
        by_epoch = unit_visits(cells, strata, resources)
        return by_epoch, by_epoch
    by_cell = unit_visits(cells, None, resources)
    return by_cell, by_cell if strata is None else unit_visits(cells, strata, resources)


def _model_of_strata(strata: Strata, resources: ExitStack, reward_model: Any) -> RewardModel:
    """Learn what strata are expected to earn by other folds."""
    cells = strata.cells
    if reward_model is None and not _is_described(cells) and repeating_share(cells) >= REPEATING:
        return resources.enter_context(open_cell_means(strata))
    from warmstart.reward import Regressions

    return Regressions.learn(strata, reward_model)


def _model_of_cells(cells: Cells, resources: ExitStack, reward_model: Any) -> RewardModel:
    """Learn what cells are expected to earn by other cells: of the same action and context, or of like contexts."""
    if reward_model is None and not (_is_described(cells) and is_enough(cells)):
        return resources.enter_context(open_left_out_means(cells))
    from warmstart.reward import Regressions

    return Regressions.learn_from_cells(cells, resources, reward_model)


def _is_described(cells: Cells) -> bool:
    """Tell whether numbers describe contexts, so that one may be like another."""
    return any(cells.table[key].type().is_floating() for key in cells.columns.context_keys)
