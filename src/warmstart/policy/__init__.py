"""Who could have chosen instead: every policy is a table (context, action, probability)."""

from warmstart.policy.build import build_policy
from warmstart.policy.contexts import described_columns, described_contexts
from warmstart.policy.fitted import FittedPolicy
from warmstart.policy.naive import NaivePolicy
from warmstart.policy.parse import CONSTANT, CONSTANTS, NamedPolicy, parse_policies
from warmstart.policy.policy_table import PolicyTable
from warmstart.policy.protocol import Policy
from warmstart.policy.ranking import ranked_policy
from warmstart.policy.ranking_store import RankingInEngine, RankingInMemory, RankingStore
from warmstart.policy.storage import is_saved_policy, load_policy, save_policy
from warmstart.policy.unfamiliar import unfamiliar
from warmstart.policy.uniform import share_of_each
from warmstart.policy.unknown import unknown_share

__all__ = [
    "CONSTANT",
    "CONSTANTS",
    "FittedPolicy",
    "NaivePolicy",
    "NamedPolicy",
    "Policy",
    "PolicyTable",
    "RankingInEngine",
    "RankingInMemory",
    "RankingStore",
    "build_policy",
    "described_columns",
    "described_contexts",
    "is_saved_policy",
    "load_policy",
    "parse_policies",
    "ranked_policy",
    "save_policy",
    "share_of_each",
    "unfamiliar",
    "unknown_share",
]
