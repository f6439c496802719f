"""Can this log tell anything about other policies? One file a question; the answers are sums over cells."""

from warmstart.auditing.checks import assumption_checks
from warmstart.auditing.drift import action_churn, context_drift
from warmstart.auditing.epochs import epoch_facts
from warmstart.auditing.facts import duplicates, log_facts, unique_columns
from warmstart.auditing.origin import origin
from warmstart.auditing.overlap import judge_overlap, modelled_exploration
from warmstart.auditing.possible_units import possible_units
from warmstart.auditing.power import power
from warmstart.auditing.support import exploration
from warmstart.auditing.typical_policy import unit_gain
from warmstart.auditing.units import unit_facts
from warmstart.auditing.where_to_explore import explore_first

__all__ = [
    "action_churn",
    "assumption_checks",
    "context_drift",
    "duplicates",
    "epoch_facts",
    "exploration",
    "explore_first",
    "judge_overlap",
    "log_facts",
    "modelled_exploration",
    "origin",
    "possible_units",
    "power",
    "unique_columns",
    "unit_facts",
    "unit_gain",
]
