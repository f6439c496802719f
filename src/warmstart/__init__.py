"""Off-policy (counterfactual) evaluation and learning from logged bandit feedback without recorded propensities.

``read_events`` reads a log of contexts, actions and rewards; ``audit`` tells whether it has enough overlap to judge
other policies; ``evaluate`` estimates what they would have earned (inverse propensity scoring, self-normalised, doubly
robust) with confidence intervals; ``fit`` learns a policy. Propensities of the behaviour (logging) policy are counted
or modelled from the log.

>>> import warmstart as ws
>>> {"evaluate", "fit", "simulate"} <= set(ws.__all__)
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from warmstart.core.version import __version__

if TYPE_CHECKING:
    from warmstart.core.errors import ColumnError as ColumnError
    from warmstart.core.errors import DataError as DataError
    from warmstart.core.errors import DecisionError as DecisionError
    from warmstart.core.errors import EmptyWindowError as EmptyWindowError
    from warmstart.core.errors import EngineError as EngineError
    from warmstart.core.errors import MalformedLineError as MalformedLineError
    from warmstart.core.errors import MissingValueError as MissingValueError
    from warmstart.core.errors import OutputError as OutputError
    from warmstart.core.errors import PropensityRangeError as PropensityRangeError
    from warmstart.core.errors import RewardRangeError as RewardRangeError
    from warmstart.core.errors import SourceError as SourceError
    from warmstart.core.errors import UsageError as UsageError
    from warmstart.core.errors import WarmstartError as WarmstartError
    from warmstart.engine import connect as connect
    from warmstart.estimators import bias_bounds as bias_bounds
    from warmstart.estimators import corollary_bound as corollary_bound
    from warmstart.estimators import regret_bound as regret_bound
    from warmstart.events import Events as Events
    from warmstart.events import read_events as read_events
    from warmstart.interop import export as export
    from warmstart.interop import from_coba as from_coba
    from warmstart.interop import from_obp as from_obp
    from warmstart.interop import import_predictions as import_predictions
    from warmstart.interop import import_vw as import_vw
    from warmstart.interop import to_obp as to_obp
    from warmstart.joining import join as join
    from warmstart.pipeline import audit as audit
    from warmstart.pipeline import compare_propensities as compare_propensities
    from warmstart.pipeline import evaluate as evaluate
    from warmstart.pipeline import evaluation_windows as evaluation_windows
    from warmstart.pipeline import fit as fit
    from warmstart.pipeline import policy_table as policy_table
    from warmstart.pipeline import true_value as true_value
    from warmstart.policy import FittedPolicy as FittedPolicy
    from warmstart.policy import load_policy as load_policy
    from warmstart.policy import save_policy as save_policy
    from warmstart.report import save_report as save_report
    from warmstart.results import Audit as Audit
    from warmstart.results import Decisions as Decisions
    from warmstart.results import Evaluation as Evaluation
    from warmstart.results import Exported as Exported
    from warmstart.results import Imported as Imported
    from warmstart.results import ImportedTables as ImportedTables
    from warmstart.results import Joined as Joined
    from warmstart.results import PropensityComparison as PropensityComparison
    from warmstart.results import Selection as Selection
    from warmstart.results import ValueEstimate as ValueEstimate
    from warmstart.results import select as select
    from warmstart.simulation import AdWorld as AdWorld
    from warmstart.simulation import TableWorld as TableWorld
    from warmstart.simulation import simulate as simulate

# Names are resolved when first used, so that importing the library stays quick.
_ERRORS = (
    *("ColumnError", "DataError", "DecisionError", "EmptyWindowError", "EngineError"),
    *(
        "MalformedLineError",
        "MissingValueError",
        "OutputError",
        "PropensityRangeError",
        "RewardRangeError",
        "SourceError",
        "UsageError",
        "WarmstartError",
    ),
)
_HOMES = {
    **dict.fromkeys(_ERRORS, "warmstart.core.errors"),
    "Audit": "warmstart.results",
    "ValueEstimate": "warmstart.results",
    "Evaluation": "warmstart.results",
    "Joined": "warmstart.results",
    "PropensityComparison": "warmstart.results",
    "Selection": "warmstart.results",
    "select": "warmstart.results",
    "connect": "warmstart.engine",
    "Events": "warmstart.events",
    "read_events": "warmstart.events",
    "Decisions": "warmstart.results",
    "Exported": "warmstart.results",
    "Imported": "warmstart.results",
    "ImportedTables": "warmstart.results",
    "export": "warmstart.interop",
    "from_coba": "warmstart.interop",
    "from_obp": "warmstart.interop",
    "import_predictions": "warmstart.interop",
    "import_vw": "warmstart.interop",
    "to_obp": "warmstart.interop",
    "join": "warmstart.joining",
    "audit": "warmstart.pipeline",
    "compare_propensities": "warmstart.pipeline",
    "evaluate": "warmstart.pipeline",
    "evaluation_windows": "warmstart.pipeline",
    "fit": "warmstart.pipeline",
    "FittedPolicy": "warmstart.policy",
    "load_policy": "warmstart.policy",
    "save_policy": "warmstart.policy",
    "policy_table": "warmstart.pipeline",
    "true_value": "warmstart.pipeline",
    "save_report": "warmstart.report",
    "AdWorld": "warmstart.simulation",
    "TableWorld": "warmstart.simulation",
    "simulate": "warmstart.simulation",
    "bias_bounds": "warmstart.estimators",
    "corollary_bound": "warmstart.estimators",
    "regret_bound": "warmstart.estimators",
}

__all__ = [*_HOMES, "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'warmstart' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
