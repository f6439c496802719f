"""Settings of ``fit``, checked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

from warmstart.core import UsageError, check_seed, quoted
from warmstart.kernels import DEVICES, DeviceName
from warmstart.reward.models import MODELS, ModelName
from warmstart.reward.product import PAPER_RATES
from warmstart.scoring import LossName

CELL_RATE = 0.05
# Of contexts and of actions, and the most of contexts if they have many features: 64 to 256 MB of weights a rate.
LEAST_BITS, MOST_BITS_OF_CONTEXTS = (14, 10), 16


@dataclass(frozen=True)
class FitSettings:
    """The settings of ``fit``, which says what they mean; ``sides``: the bits of contexts and actions, once read."""

    fit_tau: float | Literal["auto"] = "auto"
    learn_from: Literal["cells", "events"] = "cells"
    loss: LossName = "squared"
    rates: tuple[float, ...] | None = None
    cross_only: bool = False
    weight_bits: int | None = None
    min_events: int = 1
    min_propensity: float = 0.0
    strict: bool = False
    seed: int = 0
    threads: int | None = None
    model: ModelName | Literal["auto"] = "product"
    time_budget: float | None = None
    sides: tuple[int, int] | None = None
    device: DeviceName = "auto"

    def __post_init__(self) -> None:
        tau = self.fit_tau
        if tau != "auto" and not (isinstance(tau, float | int) and 0 < tau <= 1):
            raise UsageError(f"fit_tau must be 'auto' or lie in (0, 1], and is {quoted(tau)}.", "1 means no weights.")
        if self.learn_from not in ("cells", "events"):
            raise UsageError(f"One cannot learn from {quoted(self.learn_from)}.", "Choose 'cells' or 'events'.")
        if self.loss not in ("squared", "logistic"):
            raise UsageError(f"There is no loss {quoted(self.loss)}.", "Choose 'squared' or 'logistic'.")
        if self.weight_bits is not None and not 4 <= self.weight_bits <= 30:
            raise UsageError(f"weight_bits must lie between 4 and 30, and is {self.weight_bits}.", "24: 16 M weights.")
        if self.min_events < 1 or not 0 <= self.min_propensity <= 1:
            raise UsageError("An action is feasible from 1 event or more, and a propensity in [0, 1].")
        if self.model not in ("auto", *MODELS):
            names = ", ".join(map(repr, ("auto", *MODELS)))
            raise UsageError(f"There is no model {quoted(self.model)}.", f"Choose {names}, or pass a regressor.")
        if self.model != "product" and (self.learn_from == "events" or self.cross_only):
            what = "learn_from='events'" if self.learn_from == "events" else "cross_only"
            raise UsageError(f"{what} is the paper's product, and not model={self.model!r}.", "Choose model='product'.")
        if self.time_budget is not None and not self.time_budget > 0:
            raise UsageError("time_budget must be above 0 seconds.")
        self._check_device()
        check_seed(self.seed)
        if self.rates is not None and not (self.rates and min(self.rates) > 0):
            raise UsageError("Learning rates must be above 0.")

    def _check_device(self) -> None:
        if self.device not in DEVICES:
            raise UsageError(f"There is no device {quoted(self.device)}.", "Choose 'auto', 'cpu' or 'cuda'.")

    @property
    def bits(self) -> tuple[int, int]:
        """Return the bits of the rows (context features) and of the columns (action features) of the table of weights.

        Rows are short, so that a context's rows lie close together in memory: half the time of a square table.
        """
        if self.sides is not None:
            return self.sides
        if self.weight_bits is None:
            return LEAST_BITS
        columns = max(self.weight_bits // 2 - 2, 2)
        return self.weight_bits - columns, columns

    @property
    def context_options(self) -> dict[str, Any]:
        """Return the options of ``read_features`` for contexts."""
        bits = self.bits[0] if self.weight_bits is not None else (LEAST_BITS[0], MOST_BITS_OF_CONTEXTS)
        return {"bits": bits, "cross_only": self.cross_only, "strict": self.strict}

    @property
    def action_options(self) -> dict[str, Any]:
        """Return the options of ``read_features`` for actions."""
        return {"bits": self.bits[1], "cross_only": self.cross_only, "strict": self.strict}

    @property
    def learning_rates(self) -> tuple[float, ...]:
        """Return the rates to try: the paper's grid for events; for cells one, which none beat in our benchmarks.

        Logistic loss is flatter, and takes longer steps.
        """
        scale = 1 if self.loss == "squared" else 10
        return self.rates or tuple(
            scale * rate for rate in (PAPER_RATES if self.learn_from == "events" else [CELL_RATE])
        )

    @property
    def workers(self) -> int:
        """Return the number of threads."""
        return self.threads or os.cpu_count() or 1

    @property
    def racing(self) -> bool:
        """Tell whether threads may update one table of weights without locks: only if several were requested."""
        return (self.threads or 1) > 1
