"""What a policy is asked about and does not know: contexts, actions, and what they have that training never had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from warmstart.core import counted
from warmstart.features import KeyEncoder, absent_of, feature_rows, numbers_of, times_of, vectors_of
from warmstart.policy.deferring import keys_of_the_log
from warmstart.scoring import FeatureSettings, SparseRows, known_buckets, unfamiliar_features

if TYPE_CHECKING:
    from warmstart.policy.fitted import FittedPolicy


@dataclass(frozen=True, eq=False)
class GivenTable:
    """Contexts or actions that are given as a table of Arrow."""

    table: pa.Table

    @property
    def size(self) -> int:
        """Return the number of rows."""
        return int(self.table.num_rows)

    def numbers(self, name: str, *, times: bool) -> NDArray[np.float64]:
        """Return a column of numbers, or of times in seconds; NaN where there is none."""
        return (times_of if times else numbers_of)(self.table[name], name)

    def vectors(self, name: str, dimensions: int) -> NDArray[np.float64]:
        """Return the embeddings that are there, a row each."""
        return vectors_of(self.table[name].combine_chunks(), name, dimensions)[1]

    def gaps(self, name: str) -> int:
        """Return how many values are missing."""
        return int(absent_of(self.table[name]).sum())

    def rows(self, settings: FeatureSettings) -> SparseRows:
        """Return features by these settings."""
        return feature_rows(self.table, self.size, settings)


def unfamiliar(policy: FittedPolicy, contexts: pa.Table, actions: pa.Table | None = None) -> list[str]:
    """Say what of the tables given to ``choose`` the policy does not know; nothing if it knows all of it.

    Args:
        policy: what chooses.
        contexts: the columns of the context table.
        actions: the actions to choose among, if they are given.
    """
    known = known_buckets(policy.model)
    notes = _of_keys(policy, contexts)
    notes += unfamiliar_features(GivenTable(contexts), policy.context_settings, known[0], "context")
    if actions is not None and policy.columns.action in actions.column_names:
        keys = actions[policy.columns.action]
        with keys_of_the_log():
            known_keys = pc.is_in(keys.cast(policy.actions.type), policy.actions)
        new = len(keys) - int(pc.sum(known_keys).as_py() or 0)
        described = set(policy.action_settings.columns) <= set(actions.column_names)
        scored = policy.model is not None and policy.model.scores_new and policy.action_settings.kinds and described
        if new:
            what = "scored by their features alone" if scored else "left out"
            notes.append(f"{new:,} of {counted(len(keys), 'action')} not in the training window: {what}.")
        if scored:
            notes += unfamiliar_features(GivenTable(actions), policy.action_settings, known[1], "action")
    return notes


def _of_keys(policy: FittedPolicy, contexts: pa.Table) -> list[str]:
    """Count the contexts that were not in training, where the policy knows contexts by their keys alone."""
    keys = list(policy.columns.context)
    if policy.context_settings.kinds or policy.model is None or policy.defers:
        return []
    new = size = contexts.num_rows
    if set(keys) <= set(contexts.column_names):
        ranking = policy.ranking.select(keys)
        with keys_of_the_log():
            given = contexts.select(keys).cast(ranking.schema)
        new = int((KeyEncoder.of(ranking).numbers(given) < 0).sum())
    best = "given the action that is best on average, since no features of contexts were learned"
    return [f"{new:,} of {counted(size, 'context')} not in the training window: {best}."] if new else []
