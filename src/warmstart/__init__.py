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

from warmstart.core import Door, __version__

# As in core/door.py: without typing.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from warmstart.core import ColumnError as ColumnError
    from warmstart.core import DataError as DataError
    from warmstart.core import DecisionError as DecisionError
    from warmstart.core import DeviceError as DeviceError
    from warmstart.core import EmptyWindowError as EmptyWindowError
    from warmstart.core import EngineError as EngineError
    from warmstart.core import LaterVersionError as LaterVersionError
    from warmstart.core import MalformedLineError as MalformedLineError
    from warmstart.core import MissingValueError as MissingValueError
    from warmstart.core import OutputError as OutputError
    from warmstart.core import PropensityRangeError as PropensityRangeError
    from warmstart.core import RewardRangeError as RewardRangeError
    from warmstart.core import SavedFileError as SavedFileError
    from warmstart.core import SettingsError as SettingsError
    from warmstart.core import SourceError as SourceError
    from warmstart.core import UsageError as UsageError
    from warmstart.core import WarmstartError as WarmstartError
    from warmstart.core import WarmstartWarning as WarmstartWarning
    from warmstart.engine import connect as connect
    from warmstart.estimators import bias_bounds as bias_bounds
    from warmstart.estimators import corollary_bound as corollary_bound
    from warmstart.estimators import regret_bound as regret_bound
    from warmstart.events import Events as Events
    from warmstart.events import read_events as read_events
    from warmstart.grouping import group as group
    from warmstart.interop import export as export
    from warmstart.interop import from_coba as from_coba
    from warmstart.interop import from_obp as from_obp
    from warmstart.interop import import_calls as import_calls
    from warmstart.interop import import_predictions as import_predictions
    from warmstart.interop import import_vw as import_vw
    from warmstart.interop import to_obp as to_obp
    from warmstart.joining import join as join
    from warmstart.pipeline import Config as Config
    from warmstart.pipeline import audit as audit
    from warmstart.pipeline import check as check
    from warmstart.pipeline import compare_propensities as compare_propensities
    from warmstart.pipeline import evaluate as evaluate
    from warmstart.pipeline import evaluate_progressively as evaluate_progressively
    from warmstart.pipeline import evaluation_windows as evaluation_windows
    from warmstart.pipeline import fit as fit
    from warmstart.pipeline import init as init
    from warmstart.pipeline import monitor as monitor
    from warmstart.pipeline import plan as plan
    from warmstart.pipeline import policy_table as policy_table
    from warmstart.pipeline import read_config as read_config
    from warmstart.pipeline import true_value as true_value
    from warmstart.policy import FittedPolicy as FittedPolicy
    from warmstart.policy import Policy as Policy
    from warmstart.policy import load_policy as load_policy
    from warmstart.policy import save_policy as save_policy
    from warmstart.report import save_report as save_report
    from warmstart.results import Assumption as Assumption
    from warmstart.results import Audit as Audit
    from warmstart.results import Checked as Checked
    from warmstart.results import Comparison as Comparison
    from warmstart.results import Decisions as Decisions
    from warmstart.results import Evaluation as Evaluation
    from warmstart.results import Explanation as Explanation
    from warmstart.results import Exported as Exported
    from warmstart.results import Grouped as Grouped
    from warmstart.results import Imported as Imported
    from warmstart.results import ImportedCalls as ImportedCalls
    from warmstart.results import ImportedTables as ImportedTables
    from warmstart.results import Joined as Joined
    from warmstart.results import Learned as Learned
    from warmstart.results import Monitor as Monitor
    from warmstart.results import Plan as Plan
    from warmstart.results import Progressive as Progressive
    from warmstart.results import PropensityComparison as PropensityComparison
    from warmstart.results import Proposal as Proposal
    from warmstart.results import Selection as Selection
    from warmstart.results import ValueEstimate as ValueEstimate
    from warmstart.results import Verdict as Verdict
    from warmstart.results import compare as compare
    from warmstart.results import explain as explain
    from warmstart.results import load_result as load_result
    from warmstart.results import select as select
    from warmstart.simulation import AdWorld as AdWorld
    from warmstart.simulation import LearnerSettings as LearnerSettings
    from warmstart.simulation import TableWorld as TableWorld
    from warmstart.simulation import UserSettings as UserSettings
    from warmstart.simulation import simulate as simulate

_door = Door.to(
    __name__,
    {
        "core": "ColumnError DataError DecisionError DeviceError EmptyWindowError EngineError LaterVersionError "
        "MalformedLineError MissingValueError OutputError PropensityRangeError RewardRangeError SavedFileError "
        "SettingsError SourceError UsageError WarmstartError WarmstartWarning",
        "engine": "connect",
        "estimators": "bias_bounds corollary_bound regret_bound",
        "events": "Events read_events",
        "grouping": "group",
        "interop": "export from_coba from_obp import_calls import_predictions import_vw to_obp",
        "joining": "join",
        "pipeline": "Config audit check compare_propensities evaluate evaluate_progressively evaluation_windows fit "
        "init monitor plan policy_table read_config true_value",
        "policy": "FittedPolicy Policy load_policy save_policy",
        "report": "save_report",
        "results": "Assumption Audit Checked Comparison Decisions Evaluation Explanation Exported Grouped Imported "
        "ImportedCalls ImportedTables Joined Learned Monitor Plan Progressive PropensityComparison Proposal Selection "
        "ValueEstimate Verdict compare explain load_result select",
        "simulation": "AdWorld LearnerSettings TableWorld UserSettings simulate",
    },
)
__all__ = [*_door.homes, "__version__"]  # noqa: PLE0604
__getattr__ = _door.resolve


def __dir__() -> list[str]:
    return sorted(__all__)
