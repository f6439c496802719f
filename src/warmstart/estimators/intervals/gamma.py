"""Gamma interval for directly standardised rates (Fay and Feuer 1997)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmstart.estimators.intervals.terms import Ends, TermSums


def gamma_ends(terms: TermSums, delta: float) -> Ends:
    """Return the gamma interval of a weighted sum of Poisson counts; approximate."""
    from scipy.special import gammaincinv

    def quantile(share: float, total: float, square_total: float) -> float:
        return float(gammaincinv(total**2 / square_total, share)) * square_total / total

    total, square_total = terms.total, terms.square_total
    # Of units, the largest total that was seen, or that could have been if none was.
    largest = terms.heaviest or terms.largest
    lower = quantile(delta / 2, total, square_total) if total > 0 else 0.0
    upper = quantile(1 - delta / 2, total + largest, square_total + largest**2) if largest > 0 else 0.0
    return lower / terms.events, upper / terms.events
