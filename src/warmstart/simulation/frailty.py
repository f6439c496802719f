"""Gamma frailty: users who differ in how likely they are to give a reward, around a mean that is known exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Base chances are interpolated between so many; the mean is then exact to 1e-6 of itself, or better.
POINTS = 100_000
LEAST_BASE, MOST_MEAN_LOGIT = 1e-12, 25.0


@dataclass(frozen=True)
class Frailty:
    """A gamma distributed factor on users' chance of a reward, of mean 1 and variance 1 / ``shape``.

    A user of factor G has the chance min(1, c * G) of a reward whose mean over users is m. The base chance c is m where
    no user reaches 1, and so much larger where some do that the mean is still m; with P and Q the regularised
    incomplete gamma functions and k the shape,

        E min(1, c * G) = c * P(k + 1, k / c) + Q(k, k / c) = m
    """

    shape: float

    def factors(self, users: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the factors of users."""
        return rng.gamma(self.shape, 1 / self.shape, size=users)

    def chances(self, means: NDArray[Any], factors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the chances of a reward of users with these factors, given the means over all users."""
        chances: NDArray[np.float64] = np.minimum(self.base_chances(means) * factors, 1.0)
        return np.where(means >= 1, 1.0, chances)

    def base_chances(self, means: NDArray[Any]) -> NDArray[np.float64]:
        """Return the chances c, before the factor, that make the means over users what they should be."""
        logits, logs = self._curve
        inside = np.clip(means, LEAST_BASE, 1 - 1e-12).astype(np.float64)
        base = np.exp(np.interp(np.log(inside) - np.log1p(-inside), logits, logs))
        return np.where(means > 0, base, 0.0)

    @cached_property
    def _curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the logits of means, increasing, and the logarithms of the base chances that have them."""
        from scipy.special import gammainc, gammaincc

        k = self.shape
        # A mean near 1 needs a base chance so large that few users have less than 1: about (k / c)^k of them.
        logs = np.linspace(np.log(LEAST_BASE), max(MOST_MEAN_LOGIT / k, 5.0), POINTS)
        c = np.exp(logs)
        below, rest = c * gammainc(k + 1, k / c), gammaincc(k, k / c)
        lacking = gammainc(k, k / c) - below
        known = lacking > 1e-12
        return np.log((below + rest)[known] / lacking[known]), logs[known]
