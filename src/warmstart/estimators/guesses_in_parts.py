"""Point estimates where the strata are: every part adds up its own contexts, and the sums of parts are added.

Here come what actions earned by fold, which is part of the model, or a bounded sample of strata, from which a model of
context columns is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

import ibis
import numpy as np

from warmstart.core.names import ACTION, FOLD, PROBABILITY
from warmstart.engine import Parts, fetch_streamed, sample_by_key
from warmstart.estimators.estimators import GuessSums
from warmstart.estimators.guesses import ScoresByColumns, Strata, finite_estimates, floats, numbers
from warmstart.features import KeyEncoder
from warmstart.reward import NUMBER, partition_count
from warmstart.reward.by_cell import STRENGTHS, RewardByCell, best_strength, by_fold

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from warmstart.engine import PartitionedEngine
    from warmstart.estimators.guesses import Floats, Scores
    from warmstart.events import Cells
    from warmstart.policy import Policy
    from warmstart.results.point_estimate import PointEstimate

STRATA_TO_LEARN_FROM = 1_000_000
SUMS = tuple(field.name for field in fields(GuessSums))


class PartModel(Protocol):
    """A reward model that can be asked in any part."""

    def of(self, strata: Strata) -> Scores:
        """Return the model of a part's strata."""
        ...


@dataclass(frozen=True, eq=False)
class BorrowingCells:
    """Cell means that borrow from context and action: cells and contexts are a part's own, actions are in all parts."""

    by_action: Floats
    strength: float

    def of(self, strata: Strata) -> RewardByCell:
        """Sum the cells of a part."""
        return RewardByCell.of(*_summed(strata), by_action=self.by_action, strength=self.strength)


@dataclass(frozen=True, eq=False)
class ByColumns:
    """A model of context columns, the same in every part."""

    actions: KeyEncoder
    model: Any

    def of(self, strata: Strata) -> ScoresByColumns:
        """Number the contexts of a part."""
        return ScoresByColumns(strata.contexts, self.actions, self.model)


@dataclass(frozen=True, eq=False)
class Told:
    """What every part is inputs."""

    keys: tuple[str, ...]
    actions: int
    folds: int
    model: PartModel

    def strata(self, rows: pa.Table) -> Strata:
        """Number the contexts of a part."""
        contexts = KeyEncoder.of(rows.select(list(self.keys)))
        return Strata.of_rows(rows, contexts, numbers(rows, NUMBER), actions=self.actions, folds=self.folds)


@dataclass(frozen=True, eq=False)
class PartedGuesser:
    """The evaluated window's strata in such an engine, with numbers for actions, and a reward model over them."""

    cells: Cells
    strata: ir.Table
    numbers: ir.Table
    inputs: Told
    parts: Parts

    @classmethod
    def learn(cls, cells: Cells, strata: ir.Table, *, by_columns: bool, model: Any = None) -> Self:
        """Learn a reward model, as a Guesser does; one of context columns from a bounded number of strata."""
        engine, keys = cast("PartitionedEngine", cells.engine), cells.columns.context_keys
        sums = strata.group_by(ACTION, FOLD).agg(n=strata.n.sum(), reward_sum=strata.reward_sum.sum())
        found = fetch_streamed(engine, sums)
        actions, fold = KeyEncoder.of(found.select([ACTION])), numbers(found, FOLD)
        folds, many = int(fold.max()) + 1, engine.fetch(strata.agg(strata=strata.count()))[0]["strata"]
        if by_columns:
            learned: PartModel = ByColumns(actions, _learned_by_columns(engine, strata, keys, model))
        else:
            of_actions = (actions.numbers(found), fold, floats(found, "n"), floats(found, "reward_sum"))
            learned = BorrowingCells(by_fold(*of_actions, shape=(len(actions) + 1, folds)), STRENGTHS[0])
        known = engine.open_arrow(actions.keys.append_column(NUMBER, [np.arange(len(actions))]))
        known = known.select(known[ACTION].cast(strata[ACTION].type()).name(ACTION), NUMBER)
        rest = [name for name in strata.columns if name not in cells.columns.keys]
        numbered = strata.join(known, ACTION).select(*keys, NUMBER, *rest)
        inputs = Told(keys, len(actions), folds, learned)
        return cls(cells, numbered, known, inputs, Parts(keys, partition_count(many)))._with_best_strength()

    def guess(
        self, policy: Policy, names: Sequence[str], *, taus: Sequence[float], delta: float
    ) -> list[tuple[PointEstimate, ...]]:
        """Return the estimates asked for, one tuple a tau."""
        chosen = policy.on(self.cells).select(*self.cells.columns.keys, PROBABILITY)
        chosen = chosen.left_join(self.numbers, ACTION)
        number = chosen[NUMBER].coalesce(self.inputs.actions).cast("int64")
        chosen = chosen.select(*self.parts.keys, PROBABILITY, **{NUMBER: number})
        schema = ibis.schema({"tau": "int64", "estimator": "int64", **dict.fromkeys(SUMS, "float64")})
        inputs = (self.inputs, tuple(names), tuple(taus))
        found = self._engine.map_partitions((self.strata, chosen), self.parts, guess_part, schema, inputs=inputs)
        added = found.group_by("tau", "estimator").agg(**{name: found[name].sum() for name in SUMS})
        sums = {
            (row["tau"], row["estimator"]): GuessSums(*(row[name] for name in SUMS))
            for row in self._engine.fetch(added)
        }
        return [finite_estimates(names, [sums[i, j] for j in range(len(names))], delta) for i in range(len(taus))]

    @property
    def _engine(self) -> PartitionedEngine:
        return cast("PartitionedEngine", self.cells.engine)

    def _with_best_strength(self) -> Self:
        """Choose how much cells borrow, if they do."""
        if not isinstance(self.inputs.model, BorrowingCells):
            return self
        schema = ibis.schema({"strength": "int64", "error": "float64"})
        found = self._engine.map_partitions((self.strata,), self.parts, miss_part, schema, inputs=self.inputs)
        rows = self._engine.fetch(found.group_by("strength").agg(error=found.error.sum()).order_by("strength"))
        model = replace(self.inputs.model, strength=best_strength([row["error"] for row in rows]))
        return replace(self, inputs=replace(self.inputs, model=model))


def miss_part(tables: Sequence[pa.Table], inputs: Told) -> pa.Table:
    """Return how wrong every strength is in a part."""
    import pyarrow as pa

    strata = inputs.strata(tables[0])
    model = cast("RewardByCell", inputs.model.of(strata))
    return pa.table({"strength": list(range(len(STRENGTHS))), "error": model.errors(*_summed(strata))})


def guess_part(tables: Sequence[pa.Table], inputs: tuple[Told, Sequence[str], Sequence[float]]) -> pa.Table:
    """Return the sums of a part behind every estimator at every tau."""
    import pyarrow as pa

    shared, names, taus = inputs
    strata = shared.strata(tables[0])
    found = strata.guesses(shared.model.of(strata), tables[1], numbers(tables[1], NUMBER), names, taus)
    rows = [(i, j, *astuple(sums)) for i, some in enumerate(found) for j, sums in enumerate(some)]
    return pa.table([list(column) for column in zip(*rows, strict=True)], names=["tau", "estimator", *SUMS])


def _learned_by_columns(engine: PartitionedEngine, strata: ir.Table, keys: Sequence[str], model: Any) -> Any:
    from warmstart.reward.by_action import learn_by_action

    apart = (*keys, ACTION, FOLD)
    # Propensities may take strata further apart.
    summed = strata.group_by(*apart).agg(n=strata.n.sum(), reward_sum=strata.reward_sum.sum())
    many = engine.fetch(summed.agg(strata=summed.count()))[0]["strata"]
    found = fetch_streamed(engine, sample_by_key(summed, apart, STRATA_TO_LEARN_FROM / many))
    found = found.sort_by([(name, "ascending") for name in apart])
    n, rewards, folds = floats(found, "n"), floats(found, "reward_sum"), numbers(found, FOLD)
    contexts = KeyEncoder.of(found.select(list(keys)))
    return learn_by_action(contexts.keys, contexts.numbers(found), found[ACTION], n, rewards, folds=folds, model=model)


def _summed(strata: Strata) -> tuple[Any, ...]:
    return strata.x, strata.a, strata.fold, strata.n, strata.reward_sum
