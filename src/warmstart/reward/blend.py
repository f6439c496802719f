"""How much each kind of model counts in a blend: shares of their predictions that explain held-out rewards best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from warmstart.reward.models import ModelName
from warmstart.reward.trial import Part, Trial, inside, judged

Floats = NDArray[np.float64]
Shares = dict[ModelName, float]
# Every kind begins with so many events that it explains as well as any other: few events leave shares nearly equal.
PRIOR = 10.0
ROUNDS, CLOSE = 100, 1e-4
# A kind that counts for less is left out: it costs its time, and changes little.
LEAST_SHARE = 0.05


def blended(trials: Mapping[ModelName, Trial]) -> tuple[Shares, Trial] | None:
    """Return the shares of the kinds in the best blend and its trial on the same held-out events; None of one kind."""
    shares = learned_shares(trials)
    kept: dict[ModelName, Trial] = {kind: trials[kind] for kind, share in shares.items() if share >= LEAST_SHARE}
    if len(kept) < 2:
        return None
    shares = learned_shares(kept)
    parts = [Part.blend(each, shares) for each in zip(*(trial.parts for trial in kept.values()), strict=True)]
    return shares, judged(None, parts)


def learned_shares(trials: Mapping[ModelName, Trial]) -> Shares:
    """Return the shares with the least log-loss of their mean on held-out events, by expectation-maximisation."""
    parts = list(zip(*(trial.parts for trial in trials.values()), strict=True))
    results = [np.stack([inside(part.of_later, part.later) for part in each]) for each in parts]
    won = [each[0].later.reward_sum for each in parts]
    lost = [each[0].later.n - each[0].later.reward_sum for each in parts]
    return dict(zip(trials, _maximised(np.hstack(results), np.concatenate(won), np.concatenate(lost)), strict=True))


def _maximised(chances: Floats, won: Floats, lost: Floats) -> Sequence[float]:
    number = len(chances)
    shares = np.full(number, 1 / number)
    events = float(won.sum() + lost.sum())
    for _ in range(ROUNDS):
        good, bad = shares @ chances, shares @ (1 - chances)
        explained = shares * (chances @ (won / good) + (1 - chances) @ (lost / bad))
        latest = (explained + PRIOR) / (events + number * PRIOR)
        moved, shares = float(np.abs(latest - shares).max()), latest
        if moved < CLOSE:
            break
    result: list[float] = (shares / shares.sum()).tolist()
    return result
