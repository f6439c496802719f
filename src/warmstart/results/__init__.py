"""Results: frozen dataclasses that show well in a terminal and a notebook, and go to JSON, Arrow and pandas.

Names are resolved when first used: to build all these dataclasses takes a tenth of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import Door

if TYPE_CHECKING:
    from warmstart.results.amounts import *  # noqa: F403
    from warmstart.results.assumptions import *  # noqa: F403
    from warmstart.results.audit import *  # noqa: F403
    from warmstart.results.audit_epochs import *  # noqa: F403
    from warmstart.results.audit_units import *  # noqa: F403
    from warmstart.results.checked import *  # noqa: F403
    from warmstart.results.comparison import *  # noqa: F403
    from warmstart.results.display import *  # noqa: F403
    from warmstart.results.doubt import *  # noqa: F403
    from warmstart.results.epochs import *  # noqa: F403
    from warmstart.results.estimate import *  # noqa: F403
    from warmstart.results.evaluation import *  # noqa: F403
    from warmstart.results.explanation import *  # noqa: F403
    from warmstart.results.grouped import *  # noqa: F403
    from warmstart.results.guards import *  # noqa: F403
    from warmstart.results.interop import *  # noqa: F403
    from warmstart.results.joined import *  # noqa: F403
    from warmstart.results.learned import *  # noqa: F403
    from warmstart.results.load import *  # noqa: F403
    from warmstart.results.monitor import *  # noqa: F403
    from warmstart.results.plan import *  # noqa: F403
    from warmstart.results.progressive import *  # noqa: F403
    from warmstart.results.propensities import *  # noqa: F403
    from warmstart.results.proposal import *  # noqa: F403
    from warmstart.results.remarks import *  # noqa: F403
    from warmstart.results.safe import *  # noqa: F403
    from warmstart.results.segments import *  # noqa: F403
    from warmstart.results.selection import *  # noqa: F403
    from warmstart.results.verdict import *  # noqa: F403
    from warmstart.results.waterfall import *  # noqa: F403
    from warmstart.results.wording import *  # noqa: F403

_door = Door.to(
    __name__,
    {
        "amounts": "Amounts",
        "assumptions": "Assumption Finding assumption_notes assumptions_table",
        "audit": "LEVEL ActionCount Audit Check Churn ContextDrift EvenShares Experiment Exploration ExploreFirst "
        "LogFacts MoreLog Origin Power Spread SupportAt SwitchDay gain_at",
        "audit_epochs": "EpochFacts EpochLength",
        "audit_units": "PossibleUnit Stickiness UnitFacts",
        "checked": "Checked Condition judge",
        "comparison": "Change Comparison SettingChange compare",
        "display": "Fact TextTable fields_of plain",
        "doubt": "Doubt DoubtedLimit DoubtPoint LeftOutColumn doubt_table left_out_table shown_factor",
        "epochs": "EpochEstimate",
        "estimate": "BEST_FIRST CertifiedGain EstimatedGain Gain Guarantee Interval IntervalName PLAIN PointEstimate "
        "PropensityError Support Tau TauChoice TauPoint ValueEstimate WeightRatio",
        "evaluation": "Contribution Evaluation LogSummary Windows",
        "explanation": "Explanation explain",
        "grouped": "GroupSize Grouped GroupsTried",
        "guards": "Guard GuardResult PART_OF_GAIN guarded_outcome",
        "interop": "Decisions Exported Imported ImportedCalls ImportedTables",
        "joined": "DELAYS Delay Duplicates Impressions Joined Outcomes Repeated WithoutOutcome",
        "learned": "DRIVERS MOST_ACTIONS ActionShare Departure Driver Learned about_departure about_learning "
        "about_model actions_table drivers_table models_table taus_table",
        "load": "load_result read_record",
        "monitor": "FollowedPolicy Monitor MonitorLine",
        "plan": "Plan PlanOption",
        "progressive": "LearningStep Progressive Trend trend_of",
        "proposal": "Proposal ProposedRole left_out_note modelled_note nulls_note only_known_note unread_time_note "
        "without_note",
        "propensities": "REFERENCES SOURCE_NAMES Alarms ComparedSource Imbalance PropensityComparison PropensitySource "
        "SourceName",
        "remarks": "COSTLY Overlap Remark",
        "safe": "MoreProof SafeImprovement SettingCompared TestedSet about_safety safe_tables",
        "segments": "SegmentGain segment_gains",
        "selection": "Selection select",
        "verdict": "Verdict",
        "waterfall": "ChangePart change_parts left_open",
        "wording": "Evidence Kind",
    },
)
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve
