"""A best estimate at the whole, beside the bound that is sure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any


@dataclass(frozen=True)
class PointEstimate:
    """What an estimator makes of all traffic, unsupported traffic included; its interval is approximate.

    It is no lower bound, and the interval tells nothing of the error of a model or of propensities.
    """

    estimator: str
    value: float
    lower: float
    upper: float

    def scaled(self, low: float, width: float) -> PointEstimate:
        """Return it with rewards r in [0, 1] shown as low + width * r."""
        moved = {name: low + width * getattr(self, name) for name in ("value", "lower", "upper")}
        return replace(self, **moved)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON shows it; what is not finite is None."""
        numbers = {name: getattr(self, name) for name in ("value", "lower", "upper")}
        shown = {name: value if isfinite(value) else None for name, value in numbers.items()}
        return {"estimator": self.estimator, **shown, "kind": "point estimate", "guarantee": "approximate"}
