"""The kinds of reward model that ``fit`` can learn."""

from __future__ import annotations

from typing import Literal

ModelName = Literal["product", "low-rank", "logistic", "trees", "cells"]
BLEND: Literal["blend"] = "blend"
MODELS: tuple[ModelName, ...] = ("product", "low-rank", "logistic", "trees", "cells")
# In the order in which ``auto`` tries them: later ones are left out when the time is short.
CHEAPEST_FIRST: tuple[ModelName, ...] = ("cells", "product", "low-rank", "logistic", "trees")
