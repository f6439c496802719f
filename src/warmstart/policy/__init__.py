"""Who could have chosen instead: every policy is a table (context, action, probability)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import Door

if TYPE_CHECKING:
    from warmstart.policy.build import *  # noqa: F403
    from warmstart.policy.contexts import *  # noqa: F403
    from warmstart.policy.fitted import *  # noqa: F403
    from warmstart.policy.loading import *  # noqa: F403
    from warmstart.policy.naive import *  # noqa: F403
    from warmstart.policy.parse import *  # noqa: F403
    from warmstart.policy.policy_table import *  # noqa: F403
    from warmstart.policy.protocol import *  # noqa: F403
    from warmstart.policy.ranking import *  # noqa: F403
    from warmstart.policy.ranking_store import *  # noqa: F403
    from warmstart.policy.storage import *  # noqa: F403
    from warmstart.policy.unfamiliar import unfamiliar as unfamiliar
    from warmstart.policy.uniform import *  # noqa: F403
    from warmstart.policy.unknown import *  # noqa: F403

_door = Door.to(
    __name__,
    {
        "build": "build_policy",
        "contexts": "described_columns described_contexts",
        "fitted": "FittedPolicy",
        "loading": "load_policy",
        "naive": "NaivePolicy",
        "parse": "CONSTANT CONSTANTS NamedPolicy parse_policies",
        "policy_table": "PolicyTable",
        "protocol": "Policy",
        "ranking": "ranked_policy",
        "ranking_store": "RankingInEngine RankingInMemory RankingStore",
        "storage": "save_policy",
        "unfamiliar": "unfamiliar",
        "uniform": "uniform_all_where_shown",
        "unknown": "unknown_share",
    },
)
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve
_door.over_modules()
