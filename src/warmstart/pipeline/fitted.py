"""What learning comes to, whether on one machine or in parts, and what both ways share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warmstart.core.arrays import text_array
from warmstart.core.errors import EmptyWindowError
from warmstart.core.names import ACTION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warmstart.events import Events
    from warmstart.features import FeatureSettings, Side
    from warmstart.policy import RankingStore
    from warmstart.reward import FitSettings, Numbering, ProductModel

# The fit's tau is chosen on this share of the training window, its last events.
HELD_OUT = 0.2


@dataclass(frozen=True, eq=False)
class Fitted:
    """A ranking, the model behind it, and what is to be told about both."""

    ranked: RankingStore
    model: ProductModel | None
    contexts: FeatureSettings
    context_report: Mapping[str, Any]
    actions: Numbering
    action_side: Side
    factors: NDArray[np.float64]
    lowest: float
    tau: float
    tried: dict[str, float]
    events: int
    cells: int


def held_out(events: Events) -> tuple[Events, Events] | None:
    """Split the training window to choose the fit's tau; without times nothing can be held out."""
    if events.columns.time is None:
        return None
    try:
        return events.split(fraction=1 - HELD_OUT)
    except EmptyWindowError:
        return None


def or_themselves(tables: tuple[Any, Any], events: Events, actions: Numbering, settings: FitSettings) -> Any:
    """Return the table of actions; without one, a few actions are told apart by themselves, context by context."""
    if tables[1] is not None or tables[0] is None or len(actions) > (1 << settings.bits[1]) // 2:
        return tables[1]
    import pyarrow as pa

    name = events.columns.action
    keys = actions.keys[ACTION].combine_chunks()
    return pa.table({name: keys, f"{name} itself": text_array([str(key) for key in keys.to_pylist()])})


def side_report(settings: FeatureSettings, *, known: int, without: int, features: int, used: int) -> dict[str, Any]:
    """Tell of contexts or actions how many are known and what their features are."""
    return {
        "known": known,
        "without_features": without,
        "features": features,
        "buckets": 1 << settings.bits,
        "sharing_a_bucket": 1 - used / features if features else 0.0,
        "columns": list(settings.kinds),
        "left_out": list(settings.left_out),
    }
