"""Results: frozen dataclasses that show well in a terminal and a notebook, and go to JSON, Arrow and pandas.

Names are resolved when first used: to build all these dataclasses takes a tenth of a second.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warmstart.results.audit import *  # noqa: F403
    from warmstart.results.display import *  # noqa: F403
    from warmstart.results.estimate import *  # noqa: F403
    from warmstart.results.evaluation import *  # noqa: F403
    from warmstart.results.interop import *  # noqa: F403
    from warmstart.results.joined import *  # noqa: F403
    from warmstart.results.propensities import *  # noqa: F403
    from warmstart.results.selection import *  # noqa: F403

_NAMES = {
    "audit": "ActionCount Audit Check Churn ContextDrift EvenShares Experiment Exploration ExploreFirst LogFacts "
    "MoreLog Origin Power Spread SupportAt SwitchDay gain_at",
    "display": "TextTable",
    "estimate": "Gain Guarantee Interval IntervalName PointEstimate PropensityError Support Tau TauChoice "
    "TauPoint ValueEstimate WeightRatio",
    "evaluation": "Contribution Evaluation LogSummary Windows",
    "interop": "Decisions Exported Imported ImportedTables",
    "joined": "Duplicates Impressions Joined Outcomes Repeated",
    "propensities": "SOURCE_NAMES ComparedSource PropensityComparison PropensitySource SourceName",
    "selection": "Selection select",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = [*_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
