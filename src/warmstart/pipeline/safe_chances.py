"""How often would ways to learn be worse than logging? Simulated logs with a fitted log's contexts and choices tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from warmstart.estimators import CellSums, Proposal, improve, improve_either_way, propose, worth
from warmstart.results import SettingCompared
from warmstart.reward import Examples, shrunk_rates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# So many logs, fewer where cells are many, and none beyond.
MOST_LOGS, LEAST_LOGS, CELLS_IN_ALL, MOST_CELLS = 200, 20, 400_000, 200_000
# Caution: the expected gain is above so many standard errors.
STANDARD_ERRORS = 0.5
Setting = Literal["argmax", "cautious", "safe"]


def compare_settings(
    parts: tuple[CellSums, CellSums],
    truth: tuple[CellSums, Floats],
    tau: float,
    delta: float,
    *,
    one_way: bool,
    seed: int = 0,
) -> tuple[tuple[SettingCompared, ...], int]:
    """Return what argmax, caution and safety earn in logs drawn from a fitted one, and how many were drawn.

    Rewards are drawn for the log's own cells, with its shrunk mean rewards as the truth; every log is learned from by
    shrunk means alone.

    Args:
        parts: The cells of the part that proposes and of the one that proves.
        truth: The cells of all events, and their mean rewards.
        tau: The share of their context that deviations need.
        delta: The probability with which what is proven may be worse than logging.
        one_way: Whether only the first part proposes.
        seed: Of the draws.
    """
    whole, rates = truth
    if len(whole.n) > MOST_CELLS:
        return (), 0
    logs = int(np.clip(CELLS_IN_ALL // max(len(whole.n), 1), LEAST_LOGS, MOST_LOGS))
    rng = np.random.default_rng(seed)
    width = int(whole.actions.max()) + 1
    keys = whole.contexts * width + whole.actions
    places = [np.searchsorted(keys, part.contexts * width + part.actions) for part in parts]
    found: dict[Setting, list[tuple[float, float]]] = {"argmax": [], "cautious": [], "safe": []}
    for _ in range(logs):
        drawn = [_drawn(part, rates[place], rng) for part, place in zip(parts, places, strict=True)]
        earned = np.concatenate([one.rewards for one in drawn])
        rewards = np.bincount(np.concatenate(places), earned, len(keys)).astype(np.float64)
        both = CellSums(whole.contexts, whole.actions, whole.n, rewards)
        for setting, proposal in _settings((drawn[0], drawn[1]), both, tau, delta, one_way=one_way).items():
            gain = worth(whole, rates, proposal)
            found[setting].append((gain, float(proposal.events.sum() / whole.n.sum())))
    return tuple(_compared(setting, numbers) for setting, numbers in found.items()), logs


def _settings(
    parts: tuple[CellSums, CellSums], both: CellSums, tau: float, delta: float, *, one_way: bool
) -> dict[Setting, Proposal]:
    expected = _expected(parts[0]), _expected(parts[1])
    of_both = _expected(both)
    bold = propose(both, of_both, tau=tau, caution=0.0)
    sure = bold.gains * np.sqrt(bold.events) > STANDARD_ERRORS * np.sqrt(bold.noise)
    if one_way:
        safe = improve(parts[0], parts[1], expected[0], tau=tau, delta=delta)
    else:
        safe, _ = improve_either_way(parts, expected, (both, of_both), tau=tau, delta=delta)
    return {"argmax": bold, "cautious": bold.only(sure), "safe": bold.first(0) if safe is None else safe}


def _expected(cells: CellSums) -> Floats:
    size = int(cells.contexts.max()) + 1
    if not cells.rewards.sum() > 0:
        return np.zeros(len(cells.n))
    of_context = cells.by_context(cells.n, size)[cells.contexts]
    return shrunk_rates(Examples(cells.contexts, cells.actions, cells.n, cells.rewards, cells.rewards, of_context))


def _drawn(cells: CellSums, rates: Floats, rng: np.random.Generator) -> CellSums:
    rewards = rng.binomial(np.round(cells.n).astype(np.int64), np.clip(rates, 0.0, 1.0)).astype(np.float64)
    return CellSums(cells.contexts, cells.actions, cells.n, rewards)


def _compared(setting: Setting, numbers: list[tuple[float, float]]) -> SettingCompared:
    gains, departs = np.array(numbers).T
    # What rounding leaves of a zero is none.
    return SettingCompared(setting, float((gains < -1e-12).mean()), float(gains.mean()), float(departs.mean()))
