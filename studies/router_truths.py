"""What is true of a policy on the calls of a month, for ``studies.routers``: values, gains, costs and doubts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.router_months import DAYS, Calls, Floats, Ints, Pool

LARGEST_DOUBT, STEPS = 50.0, 40


@dataclass(frozen=True, eq=False)
class Context:
    """The traffic of a log by context (and day, where propensities are counted by day): events, and expected rewards.

    ``counts``: events by row and model. ``means``: what a model is expected to answer in the context, over its
    questions; ``shown``: over those questions as the router would send them to that model.
    """

    x: Ints
    counts: Floats
    means: Floats
    shown: Floats
    cost: Floats
    shown_cost: Floats

    @classmethod
    def of(cls, pool: Pool, by: str, calls: Calls, *, epochs: bool) -> Context:
        values, x = pool.places[by]
        days = np.unique(calls.day)
        spans = [(day,) for day in days] if epochs else [tuple(days)]
        parts: list[tuple[Any, ...]] = []
        for span in spans:
            inside = np.isin(calls.day, span)
            if not inside.any():
                continue
            counts = np.zeros((len(values), 2))
            np.add.at(counts, (x[calls.question[inside]], calls.model[inside]), 1.0)
            traffic = np.bincount(calls.day[inside], minlength=DAYS)
            large = traffic @ calls.large / traffic.sum()
            likely = np.column_stack([1 - large, large])
            parts.append((np.arange(len(values)), counts, *(_shown(likely, of, x) for of in (pool.right, pool.cost))))
        rows, counts, shown, costs = (np.concatenate(part) for part in zip(*parts, strict=True))
        means, cost = pool.means(by, pool.right), pool.means(by, pool.cost)
        # Where a model is never shown nobody would have been sent to it.
        seen = counts.sum(axis=1) > 0
        arrays = rows, counts, means[rows], np.where(np.isnan(shown), means[rows], shown), cost[rows], costs
        arrays = (*arrays[:5], np.where(np.isnan(costs), cost[rows], costs))
        return cls(*(array[seen] for array in arrays))

    @property
    def traffic(self) -> Floats:
        return np.asarray(self.counts.sum(axis=1))

    @property
    def propensity(self) -> Floats:
        return np.asarray(self.counts / self.traffic[:, None])


def _shown(likely: Floats, of: Floats, x: Ints) -> Floats:
    """Return means by context and model over questions as they are likely to be sent to the model."""
    size = int(x.max()) + 1
    sums, weights = (
        np.column_stack([np.bincount(x, column, size) for column in array.T]) for array in (likely * of, likely)
    )
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / weights)


@dataclass(frozen=True)
class Truth:
    """What is true of a policy on the traffic of a log.

    ``sure_gain``: of the policy where it is supported, and logging elsewhere. ``doubt``: the smallest at which the ends
    of that gain hold in an endless log with these questions. ``never_sent``: by prompt, the share of calls for which
    the policy chooses a model that the router would have sent the prompt to on no day.
    """

    value: float
    gain: float
    sure_gain: float
    cost: float
    cost_gain: float
    departs: bool
    doubt: float
    never_sent: float | None = None

    @classmethod
    def of(cls, context: Context, table: NDArray[Any], tau: float) -> Truth:
        choice, n, p = table[context.x], context.traffic, context.propensity
        defers = choice < 0
        one = np.where(defers, 0, choice)[:, None]

        def at(array: Floats) -> Floats:
            return np.asarray(np.take_along_axis(array, one, axis=1)[:, 0])

        logging, cost = ((p * array).sum(axis=1) for array in (context.shown, context.shown_cost))
        gains, costs = (
            np.where(defers, 0.0, at(array) - of) for array, of in ((context.means, logging), (context.cost, cost))
        )
        sure = (at(p) >= tau) & ~defers
        weights = n / n.sum()
        return cls(
            float(weights @ (logging + gains)),
            float(weights @ gains),
            float(weights @ np.where(sure, gains, 0.0)),
            float(weights @ (cost + costs)),
            float(weights @ costs),
            not bool(defers.all()),
            _doubt(weights * sure, at(p), at(context.shown), at(context.means)),
        )


def _doubt(weights: Floats, p: Floats, shown: Floats, means: Floats) -> float:
    """Return the smallest doubt whose ends hold the mean of what is chosen, over the supported traffic."""
    truth = float(weights @ means)

    def holds(rho: float) -> bool:
        low = np.maximum(shown / rho, 1 - rho * (1 - shown))
        high = np.minimum(rho * shown, 1 - (1 - shown) / rho)
        ends = (float(weights @ (p * shown + (1 - p) * end)) for end in (low, high))
        return next(ends) <= truth + 1e-12 and truth - 1e-12 <= next(ends)

    if holds(1.0):
        return 1.0
    low, high = 1.0, LARGEST_DOUBT
    for _ in range(STEPS):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def of_prompts(pool: Pool, calls: Calls, table: Ints) -> Truth:
    """Return what is true of a choice for every question; a prompt's answer is certain."""
    q, a = calls.question, calls.model
    right, cost = (array[q, table[q]] for array in (pool.right, pool.cost))
    gain, costs = right.mean() - pool.right[q, a].mean(), cost.mean() - pool.cost[q, a].mean()
    large = calls.large[np.unique(calls.day)].mean(axis=0)[q]
    never = float((np.where(table[q] == 1, large, 1 - large) <= 0).mean())
    return Truth(float(right.mean()), float(gain), float(gain), float(cost.mean()), float(costs), True, 1.0, never)
