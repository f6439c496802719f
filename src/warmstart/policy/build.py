"""Build policies from their names over the cells of a window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from warmstart.policy.constant import constant_policy
from warmstart.policy.decisions import decided_policy
from warmstart.policy.logging import logging_policy
from warmstart.policy.policy import Policy
from warmstart.policy.spec import CONSTANT, NamedPolicy
from warmstart.policy.uniform import uniform_policy

if TYPE_CHECKING:
    from warmstart.core.names import WindowName
    from warmstart.events import Cells


def build_policies(
    named: Sequence[NamedPolicy], cells: Cells, *, feasible_from: WindowName, live: bool
) -> list[Policy]:
    """Turn named policies into tables."""
    return [_build(policy, cells, feasible_from=feasible_from, live=live) for policy in named]


def _build(named: NamedPolicy, cells: Cells, *, feasible_from: WindowName, live: bool) -> Policy:
    match named.keyword:
        case "logging":
            return logging_policy(cells, name=named.name)
        case "uniform":
            return uniform_policy(cells, feasible_from=feasible_from, live=live, name=named.name)
        case str() as constant:
            return constant_policy(cells, constant.removeprefix(CONSTANT), name=named.name)
        case None:
            return decided_policy(cells, named.source, name=named.name)
