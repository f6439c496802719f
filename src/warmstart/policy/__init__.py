"""Who could have chosen instead: every policy is a table (context, action, probability)."""

from warmstart.policy.build import build_policy
from warmstart.policy.fitted import FittedPolicy
from warmstart.policy.kept_ranking import KeptRanking, RankingInEngine, RankingInMemory
from warmstart.policy.naive import NaivePolicy
from warmstart.policy.policy import Policy
from warmstart.policy.saved import is_saved_policy, load_policy, save_policy
from warmstart.policy.spec import NamedPolicy, parse_policies
from warmstart.policy.uniform_of_all import uniform_of_all

__all__ = [
    "FittedPolicy",
    "KeptRanking",
    "NaivePolicy",
    "NamedPolicy",
    "Policy",
    "RankingInEngine",
    "RankingInMemory",
    "build_policy",
    "is_saved_policy",
    "load_policy",
    "parse_policies",
    "save_policy",
    "uniform_of_all",
]
