"""Prove on some events what others proposed: sets of deviations, one after the other, by certified gains."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warmstart.core import ACTION, EPOCH, PROBABILITY, UsageError, to_arrow
from warmstart.engine import float_literal
from warmstart.events import counted_propensity, days_known, epochs_known, open_cells
from warmstart.features import KeyEncoder
from warmstart.pipeline.known_before import known_levels
from warmstart.pipeline.prepare import EvaluationInputs, prepare
from warmstart.pipeline.trained import Training
from warmstart.pipeline.valuing import Asked, Valuing
from warmstart.policy import PolicyTable, RankingInMemory, ranked_policy
from warmstart.results import Guard, TestedSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from warmstart.estimators import Levels
    from warmstart.events import Events

# Probabilities of a context are shares of its days, which add up but for rounding.
WHOLE = 1 - 1e-9
NO_TRAINING = Training((), (), (), 0.0)
# One-sided tests are ends of intervals that miss twice as often, which is less than always.
MOST_MISSES = 1 - 1e-9


class Proven(NamedTuple):
    """The sets tested, the ranking of the last that is proven, its contexts, and what it gains at least."""

    tested: tuple[TestedSet, ...]
    ranking: pa.Table | None
    at_least: float | None


@dataclass(frozen=True, eq=False)
class Proof:
    """Events that propose, others that prove, and how: with probability ``delta`` what is proven is worse than logging.

    ``tau``: the share of their context that deviations need. ``sets``: how many may be tested.
    """

    first: Events
    later: Events
    delta: float
    tau: float
    guards: tuple[str, ...]
    doubt: float | None

    def run(self, rankings: Sequence[pa.Table]) -> Proven:
        """Test sets of deviations, given as rankings of the actions of their contexts, in their order."""
        by_epoch = epochs_known(self.later)
        live = days_known(self.later, self.first)
        tested: list[TestedSet] = []
        last: PolicyTable | None = None
        with (
            open_cells(self.later, self.first, live=live and not by_epoch, by_epoch=by_epoch) as cells,
            ExitStack() as resources,
        ):
            levels = self._levels(self.delta)
            inputs = prepare(cells, resources, "counts", rate=levels.rate)
            _check(inputs)
            ranking = None
            for table in rankings:
                policy = self._policy(table, inputs, live=live)
                held = cells.engine.materialise(policy.table)
                resources.callback(held.release)
                policy = replace(policy, table=held)
                one = self._test(policy, inputs, self.delta)
                tested.append(one)
                if not one.proven:
                    break
                last, ranking = policy, self._acting(policy, table, inputs)
            least = None if last is None else self._test(last, inputs, self.delta / len(rankings), sign=False).lower
        return Proven(tuple(tested), ranking, least)

    def _levels(self, delta: float) -> Levels:
        """Return the levels of a one-sided test, with what the events that propose tell."""
        return known_levels(min(2 * delta, MOST_MISSES), 1, self.later, self.first, returning=0.0)

    def _policy(self, table: pa.Table, inputs: EvaluationInputs, *, live: bool) -> PolicyTable:
        """Return what a ranking chooses, in contexts in which these events support all of it.

        Support is known from contexts and actions, which rewards must not have moved: with epochs they may have, so
        that deviations count there from epoch to epoch, where they are supported.
        """
        cells = inputs.cells
        policy = ranked_policy(cells, RankingInMemory(table), live=live, name="proposed", strata=inputs.by_epoch)
        if EPOCH in policy.table.columns:
            return policy
        rows, keys = policy.on(cells), list(cells.columns.context_keys)
        able = (counted_propensity(rows) >= self.tau) & (rows.context_actions > 1)
        sums = rows.group_by(*keys).agg(able=able.ifelse(rows[PROBABILITY], float_literal(0)).sum())
        return replace(policy, table=policy.table.semi_join(sums.filter(sums.able >= WHOLE), keys))

    def _test(self, policy: PolicyTable, inputs: EvaluationInputs, delta: float, *, sign: bool = True) -> TestedSet:
        """Test one set, one-sided: gain and guards, each with all of delta (intersection-union)."""
        cells = inputs.cells
        table, keys = policy.table, list(cells.columns.context_keys)
        contexts = cells.contexts.semi_join(table, keys)
        row = cells.engine.fetch(contexts.agg(contexts=contexts.count(), events=contexts.context_n.sum()))[0]
        if not row["contexts"]:
            return TestedSet(0, 0.0, None, None, guards=False, proven=False)
        levels = replace(self._levels(delta), doubt=self.doubt or 1.0, sign=sign)
        names = [outcome.name for outcome in self.later.log.outcomes]
        asked = Asked((self.tau,), "bets", (), [Guard.parse(text, names) for text in self.guards])
        with ExitStack() as resources:
            valuing = Valuing.open(asked, inputs, levels, NO_TRAINING, resources, learn=None, segments=[])
            [one] = valuing.value(policy).estimates
        gain = one.gain.certified
        lower = None if gain is None else gain.joint_lower
        guarded = all(guard.status == "holds" for guard in one.guards)
        return TestedSet(
            contexts=int(row["contexts"]),
            share=float(row["events"]) / cells.evaluated.total,
            gain=None if gain is None else gain.difference,
            lower=lower,
            guards=guarded,
            proven=lower is not None and lower > 0 and guarded,
        )

    def _acting(self, policy: PolicyTable, ranking: pa.Table, inputs: EvaluationInputs) -> pa.Table:
        """Return the ranking of the contexts in which a policy acts, with the actions that it took there.

        What only stood in for others, on no day that proved anything, is not proven: without these, logging chooses.
        """
        columns, cells = inputs.cells.columns, inputs.cells
        taken = policy.table.filter(policy.table[PROBABILITY] > 0).select(*columns.context_keys, ACTION)
        acting = cells.engine.fetch_arrow(taken.distinct())
        names, rank = list(columns.context), ranking.column_names.index("rank")
        acting = acting.rename_columns([*names, columns.action])
        acting = acting.cast(ranking.select(acting.column_names).schema)
        kept = ranking.join(acting, acting.column_names, join_type="left semi")
        kept = kept.sort_by([(name, "ascending") for name in (*names, "rank")])
        contexts = KeyEncoder.of(kept.select(names)).numbers(kept.select(names))
        begins = np.flatnonzero(np.diff(contexts, prepend=-1))
        of_first = np.repeat(begins, np.diff(np.append(begins, len(contexts))))
        numbers = (np.arange(len(contexts)) - of_first + 1).astype(np.int32)
        return kept.set_column(rank, "rank", to_arrow(numbers))


def _check(inputs: EvaluationInputs) -> None:
    """Refuse logs in which nothing can be certified."""
    if inputs.returning:
        raise UsageError(
            "Some units are in several epochs, so that nothing is certified.",
            "Fit on each unit's first epoch: events.first_epochs().",
        )
    if inputs.overlapping:
        raise UsageError(
            "Some epochs overlap in time, so that nothing is certified.", "Divide the log by hour, day or week."
        )


def check_safe(*, proof_fraction: Any, delta: Any) -> None:
    """Refuse shares that are none."""
    if not (isinstance(proof_fraction, float | int) and 0 < proof_fraction < 1):
        raise UsageError(f"proof_fraction must lie between 0 and 1, and is {proof_fraction}.")
    if not (isinstance(delta, float | int) and 0 < delta <= 0.5):
        raise UsageError(f"delta must lie above 0 and be at most 0.5, and is {delta}.")
