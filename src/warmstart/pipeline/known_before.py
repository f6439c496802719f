"""What a training window tells that an evaluation may plan with: no reward of the evaluated window has a say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import REWARD
from warmstart.estimators import Levels

if TYPE_CHECKING:
    from warmstart.events import Events


def known_levels(delta: float, looks: int, events: Events, train: Events | None, *, returning: float) -> Levels:
    """Return the confidence level with what training tells: nothing, where its units are in the evaluated window too.

    Args:
        delta: The share of intervals that may miss.
        looks: How many estimates share it in joint ends.
        events: The evaluated window.
        train: The training window, if there is one.
        returning: The share of the evaluated units that training knows.
    """
    if returning > 0:
        return Levels(delta, looks)
    return Levels(delta, looks, _known_rate(train), known_icc(train, events))


def _known_rate(train: Events | None) -> float | None:
    """Return the mean reward of the training window, between 0 and 1; None if there is none above zero."""
    if train is None:
        return None
    return train.engine.fetch(train.table.agg(rate=train.table[REWARD].mean()))[0]["rate"] or None


def known_icc(train: Events | None, events: Events) -> float | None:
    """Return the intraclass correlation of rewards by unit in the training window; None if nobody knows it."""
    if train is None or not events.columns.unit or len(train.columns.unit) != len(events.columns.unit):
        return None
    table = train.table
    units = table.group_by(*train.columns.unit_keys).agg(
        n=table.count().cast("float64"), rewards=table[REWARD].sum(), squares=(table[REWARD] * table[REWARD]).sum()
    )
    n, rewards = units.n, units.rewards
    sums = {"n": n.sum(), "rewards": rewards.sum(), "squares": units.squares.sum()}
    sums |= {"pairs": (n * (n - 1.0)).sum(), "n_sq": (n * n).sum()}
    sums |= {"rewards_sq": (rewards * rewards).sum(), "both": (n * rewards).sum()}
    totals = {name: float(total or 0.0) for name, total in train.engine.fetch(units.agg(**sums))[0].items()}
    mean = totals["rewards"] / totals["n"]
    variance = totals["squares"] - totals["n"] * mean**2
    together = totals["rewards_sq"] - 2 * mean * totals["both"] + mean**2 * totals["n_sq"] - variance
    if variance <= 0 or totals["pairs"] <= 0:
        return None
    return min(max((together / totals["pairs"]) / (variance / totals["n"]), 0.0), 1.0)
