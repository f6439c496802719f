"""What a policy is asked about and does not know: actions, gaps, numbers far from those of training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warmstart.core import counted, quoted
from warmstart.features import absent_of, numbers_of
from warmstart.scoring import LARGEST_NUMBER, FeatureSettings

if TYPE_CHECKING:
    from warmstart.policy.fitted import FittedPolicy

GAPS_KNOWN = ("number", "date", "timestamp", "category", "text")


def unfamiliar(policy: FittedPolicy, contexts: pa.Table, actions: pa.Table | None = None) -> list[str]:
    """Say what of the tables given to ``choose`` the policy does not know; nothing if it knows all of it.

    Args:
        policy: what chooses.
        contexts: the columns of the context table.
        actions: the actions to choose among, if they are given.
    """
    notes = _of_features(policy.context_settings, contexts, "contexts")
    if actions is not None and policy.columns.action in actions.column_names:
        keys = actions[policy.columns.action]
        new = len(keys) - int(pc.sum(pc.is_in(keys.cast(policy.actions.type), policy.actions)).as_py() or 0)
        described = set(policy.action_settings.columns) <= set(actions.column_names)
        scored = policy.model is not None and policy.model.scores_new and policy.action_settings.kinds and described
        if new:
            what = "scored by their features alone" if scored else "left out"
            notes.append(f"{new:,} of {counted(len(keys), 'action')} were not in the training window: {what}.")
        if scored:
            notes += _of_features(policy.action_settings, actions, "actions")
    return notes


def _of_features(settings: FeatureSettings, table: pa.Table, what: str) -> list[str]:
    notes = []
    for name, kind in settings.kinds.items():
        if name not in table.column_names:
            continue
        column = table[name]
        if kind == "number":
            mean, spread = settings.scales[name]
            with np.errstate(invalid="ignore"):
                far = int((np.abs(numbers_of(column, name) - mean) > LARGEST_NUMBER * spread).sum())
            if far:
                edges = f"[{mean - LARGEST_NUMBER * spread:.4g}, {mean + LARGEST_NUMBER * spread:.4g}]"
                notes.append(
                    f"{quoted(name)}: {far:,} of {len(column):,} {what} lie outside {edges}, "
                    f"{LARGEST_NUMBER:g} spreads of training, and are scored as if at the edge."
                )
        gaps = int(absent_of(column).sum()) if kind in GAPS_KNOWN and name not in settings.missing else 0
        if gaps:
            notes.append(
                f"{quoted(name)}: {gaps:,} of {len(column):,} {what} have no value; there was no such gap in training, "
                "and they are scored without it."
            )
    return notes
