"""Can this log tell anything about other policies? One file a question; the answers are sums over cells."""

from warmstart.auditing.checks import assumption_checks
from warmstart.auditing.column_profiles import ColumnProfile, profile_columns, says_yes
from warmstart.auditing.column_roles import Candidate, Roles, find_roles, is_sure
from warmstart.auditing.continuation import Continuation, UnitVisits
from warmstart.auditing.drift import action_churn, context_drift
from warmstart.auditing.epochs import epoch_facts
from warmstart.auditing.exploring import ExploringRows, unit_counts
from warmstart.auditing.facts import duplicates, log_facts, unique_columns
from warmstart.auditing.late_rewards import LateRewards, late_rewards, reward_days, round_ratio
from warmstart.auditing.origin import origin
from warmstart.auditing.overlap import judge_overlap, modelled_exploration
from warmstart.auditing.possible_units import possible_units
from warmstart.auditing.power import power
from warmstart.auditing.repeats import Repeats, repeats
from warmstart.auditing.support import exploration
from warmstart.auditing.typical_policy import unit_gain
from warmstart.auditing.units import unit_facts
from warmstart.auditing.where_to_explore import explore_first

__all__ = [
    "Candidate",
    "ColumnProfile",
    "Continuation",
    "ExploringRows",
    "LateRewards",
    "Repeats",
    "Roles",
    "UnitVisits",
    "action_churn",
    "assumption_checks",
    "context_drift",
    "duplicates",
    "epoch_facts",
    "exploration",
    "explore_first",
    "find_roles",
    "is_sure",
    "judge_overlap",
    "late_rewards",
    "log_facts",
    "modelled_exploration",
    "origin",
    "possible_units",
    "power",
    "profile_columns",
    "repeats",
    "reward_days",
    "round_ratio",
    "says_yes",
    "unique_columns",
    "unit_counts",
    "unit_facts",
    "unit_gain",
]
