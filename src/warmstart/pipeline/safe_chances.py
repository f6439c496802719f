"""How often would ways to learn be worse than logging? Simulated logs with a fitted log's contexts and choices tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from warmstart.estimators import CellSums, Proposal, improve, propose, worth
from warmstart.results import SettingCompared
from warmstart.reward import Estimated, Examples, shrunk_rates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# So many logs, fewer where cells are many, and none beyond.
MOST_LOGS, LEAST_LOGS, CELLS_IN_ALL, MOST_CELLS = 200, 20, 400_000, 200_000
# A cell's rewards are the sum of so many draws at the most, which leaves their mean hardly any chance.
MOST_TRIALS = 1e12
# Caution: the expected gain is above so many standard errors.
STANDARD_ERRORS = 0.5
Setting = Literal["argmax", "cautious", "safe"]


def compare_settings(
    parts: tuple[CellSums, CellSums],
    known: Estimated,
    *,
    tau: float,
    delta: float,
    least: int = 1,
    first_leans: bool,
    safe: bool = True,
    seed: int = 0,
    most: int = MOST_LOGS,
) -> tuple[tuple[SettingCompared, ...], int]:
    """Return what argmax, caution and safety earn in logs like a fitted one, and how many were drawn.

    For every log, mean rewards are drawn that the fitted one leaves plausible, and rewards for its own cells; it is
    learned from by shrunk means alone.

    Args:
        parts: The cells of the part that proposes and of the one that proves.
        known: What is known of the mean rewards of the cells of both.
        tau: The share of their context that deviations need.
        delta: The probability with which what is proven may be worse than logging.
        least: Only actions with so many events in their context are proposed.
        first_leans: Whether the first part proposes what logging prefers rather than what it does not.
        safe: Whether safety is compared too: with what is proven of independent events, without guards or doubt.
        seed: Of the draws.
        most: How many logs are drawn at the most.
    """
    cells = known.examples
    if len(cells) > MOST_CELLS:
        return (), 0
    logs = min(max(CELLS_IN_ALL // max(len(cells), 1), LEAST_LOGS), most)
    rng = np.random.default_rng(seed)
    width = int(cells.actions.max()) + 1
    keys = cells.contexts * width + cells.actions
    places = [np.searchsorted(keys, part.contexts * width + part.actions) for part in parts]
    whole, several = CellSums(cells.contexts, cells.actions, cells.n, cells.reward_sum), _several(known)
    names: tuple[Setting, ...] = ("argmax", "cautious", "safe") if safe else ("argmax", "cautious")
    found: dict[Setting, list[tuple[float, float]]] = {name: [] for name in names}
    for _ in range(logs):
        rates = known.drawn(rng)
        drawn = [_drawn(part, rates[place], several, rng) for part, place in zip(parts, places, strict=True)]
        rewards = np.bincount(np.concatenate(places), np.concatenate([one.rewards for one in drawn]), len(keys))
        both = replace(whole, rewards=rewards.astype(np.float64))
        limits = _Limits(tau, delta, least, first_leans, safe)
        for setting, proposal in _settings((drawn[0], drawn[1]), both, limits).items():
            departs = np.isin(cells.contexts, proposal.contexts)
            found[setting].append((worth(whole, rates, proposal), float(cells.n[departs].sum() / cells.n.sum())))
    return tuple(_compared(setting, numbers) for setting, numbers in found.items()), logs


class _Limits(NamedTuple):
    tau: float
    delta: float
    least: int
    first_leans: bool
    safe: bool


def _settings(parts: tuple[CellSums, CellSums], both: CellSums, limits: _Limits) -> dict[Setting, Proposal]:
    tau, delta, least, first_leans, with_safe = limits
    bold = propose(both, _expected(both, leaning=False), tau=tau, caution=0.0, least=least)
    sure = bold.gains * np.sqrt(bold.events) > STANDARD_ERRORS * np.sqrt(bold.noise)
    found: dict[Setting, Proposal] = {"argmax": bold, "cautious": bold.only(sure)}
    if with_safe:
        first, later = parts
        safe = improve(first, later, _expected(first, leaning=first_leans), tau=tau, delta=delta, least=least)
        found["safe"] = bold.first(0) if safe is None else safe
    return found


def _expected(cells: CellSums, *, leaning: bool) -> Floats:
    of_context = cells.by_context(cells.n, int(cells.contexts.max()) + 1)[cells.contexts]
    examples = Examples(cells.contexts, cells.actions, cells.n, cells.rewards, cells.rewards, of_context)
    return shrunk_rates(examples, leaning=leaning)


def _several(known: Estimated) -> float:
    """Return how many rewards of 0 and 1 have a mean that varies as little as one of these rewards does; at least 1."""
    examples = known.examples
    rate = float(examples.reward_sum.sum() / examples.n.sum())
    return max((1 - rate) / known.spread, 1.0)


def _drawn(cells: CellSums, rates: Floats, several: float, rng: np.random.Generator) -> CellSums:
    """Draw rewards with these means: each is the mean of several of 0 and 1."""
    trials = np.maximum(np.round(np.minimum(cells.n * several, MOST_TRIALS)), 1.0)
    rewards = rng.binomial(trials.astype(np.int64), np.clip(rates, 0.0, 1.0)) * (cells.n / trials)
    return CellSums(cells.contexts, cells.actions, cells.n, rewards)


def _compared(setting: Setting, numbers: list[tuple[float, float]]) -> SettingCompared:
    gains, departs = np.array(numbers).T
    # What rounding leaves of a zero is none.
    return SettingCompared(setting, float((gains < -1e-12).mean()), float(gains.mean()), float(departs.mean()))
