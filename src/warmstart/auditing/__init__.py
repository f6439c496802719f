"""Can this log tell anything about other policies? One file a question; the answers are sums over cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import Door

if TYPE_CHECKING:
    from warmstart.auditing.checks import assumption_checks as assumption_checks
    from warmstart.auditing.column_profiles import ColumnProfile as ColumnProfile
    from warmstart.auditing.column_profiles import profile_columns as profile_columns
    from warmstart.auditing.column_profiles import says_yes as says_yes
    from warmstart.auditing.column_roles import Candidate as Candidate
    from warmstart.auditing.column_roles import Roles as Roles
    from warmstart.auditing.column_roles import find_roles as find_roles
    from warmstart.auditing.column_roles import is_sure as is_sure
    from warmstart.auditing.continuation import Continuation as Continuation
    from warmstart.auditing.continuation import UnitVisits as UnitVisits
    from warmstart.auditing.drift import action_churn as action_churn
    from warmstart.auditing.drift import context_drift as context_drift
    from warmstart.auditing.epochs import epoch_facts as epoch_facts
    from warmstart.auditing.exploration_plan import PlannedRows as PlannedRows
    from warmstart.auditing.exploration_plan import unit_counts as unit_counts
    from warmstart.auditing.explore_first import explore_first as explore_first
    from warmstart.auditing.facts import duplicates as duplicates
    from warmstart.auditing.facts import log_facts as log_facts
    from warmstart.auditing.facts import unique_columns as unique_columns
    from warmstart.auditing.late_rewards import LateRewards as LateRewards
    from warmstart.auditing.late_rewards import late_rewards as late_rewards
    from warmstart.auditing.late_rewards import reward_days as reward_days
    from warmstart.auditing.late_rewards import round_ratio as round_ratio
    from warmstart.auditing.origin import origin as origin
    from warmstart.auditing.overlap import judge_overlap as judge_overlap
    from warmstart.auditing.overlap import modelled_exploration as modelled_exploration
    from warmstart.auditing.possible_units import possible_units as possible_units
    from warmstart.auditing.power import power as power
    from warmstart.auditing.repeats import Repeats as Repeats
    from warmstart.auditing.repeats import repeats as repeats
    from warmstart.auditing.support import counted_exploration as counted_exploration
    from warmstart.auditing.typical_policy import unit_gain as unit_gain
    from warmstart.auditing.units import unit_facts as unit_facts

_door = Door.to(
    __name__,
    {
        "checks": "assumption_checks",
        "column_profiles": "ColumnProfile profile_columns says_yes",
        "column_roles": "Candidate Roles find_roles is_sure",
        "continuation": "Continuation UnitVisits",
        "drift": "action_churn context_drift",
        "epochs": "epoch_facts",
        "exploration_plan": "PlannedRows unit_counts",
        "facts": "duplicates log_facts unique_columns",
        "late_rewards": "LateRewards late_rewards reward_days round_ratio",
        "origin": "origin",
        "overlap": "judge_overlap modelled_exploration",
        "possible_units": "possible_units",
        "power": "power",
        "repeats": "Repeats repeats",
        "support": "counted_exploration",
        "typical_policy": "unit_gain",
        "units": "unit_facts",
        "explore_first": "explore_first",
    },
)
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve
_door.over_modules()
