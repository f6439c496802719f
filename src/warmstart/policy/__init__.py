"""Who could have chosen instead: every policy is a table (context, action, probability)."""

from warmstart.policy.build import build_policy
from warmstart.policy.policy import Policy
from warmstart.policy.spec import NamedPolicy, parse_policies

__all__ = ["NamedPolicy", "Policy", "build_policy", "parse_policies"]
