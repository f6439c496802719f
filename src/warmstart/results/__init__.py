"""Results: frozen dataclasses that show well in a terminal and a notebook, and go to JSON, Arrow and pandas.

Names are resolved when first used: to build all these dataclasses takes a tenth of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import Door

if TYPE_CHECKING:
    from warmstart.results.audit import *  # noqa: F403
    from warmstart.results.audit_epochs import *  # noqa: F403
    from warmstart.results.audit_units import *  # noqa: F403
    from warmstart.results.display import *  # noqa: F403
    from warmstart.results.epochs import *  # noqa: F403
    from warmstart.results.estimate import *  # noqa: F403
    from warmstart.results.evaluation import *  # noqa: F403
    from warmstart.results.guards import *  # noqa: F403
    from warmstart.results.interop import *  # noqa: F403
    from warmstart.results.joined import *  # noqa: F403
    from warmstart.results.monitor import *  # noqa: F403
    from warmstart.results.progressive import *  # noqa: F403
    from warmstart.results.propensities import *  # noqa: F403
    from warmstart.results.remarks import *  # noqa: F403
    from warmstart.results.segments import *  # noqa: F403
    from warmstart.results.selection import *  # noqa: F403

_door = Door.to(
    __name__,
    {
        "audit": "LEVEL ActionCount Audit Check Churn ContextDrift EvenShares Experiment Exploration ExploreFirst "
        "LogFacts MoreLog Origin Power Spread SupportAt SwitchDay gain_at",
        "audit_epochs": "EpochFacts EpochLength",
        "audit_units": "PossibleUnit Stickiness UnitFacts",
        "display": "TextTable fields_of",
        "epochs": "EpochEstimate",
        "estimate": "BEST_FIRST CertifiedGain EstimatedGain Gain Guarantee Interval IntervalName PointEstimate "
        "PropensityError Support Tau TauChoice TauPoint ValueEstimate WeightRatio",
        "evaluation": "Contribution Evaluation LogSummary Windows",
        "guards": "Guard GuardResult PART_OF_GAIN",
        "interop": "Decisions Exported Imported ImportedTables",
        "joined": "Duplicates Impressions Joined Outcomes Repeated",
        "monitor": "FollowedPolicy Monitor MonitorLine",
        "progressive": "LearningStep Progressive Trend trend_of",
        "propensities": "SOURCE_NAMES Alarms ComparedSource Imbalance PropensityComparison PropensitySource SourceName",
        "remarks": "Overlap Remark",
        "segments": "SegmentGain segment_gains",
        "selection": "Selection select",
    },
)
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve
