"""What to read first of an audit: what the log can tell, what it cannot, where to begin, and what it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import counted, quoted, shortened, span
from warmstart.results.amounts import Amounts
from warmstart.results.audit_notes import MEANT, TAU, is_useful

if TYPE_CHECKING:
    from warmstart.results.audit import Audit

NEXT = "Next: 'warmstart evaluate', with the policies that you have in mind (--policy)."


def headline(audit: Audit) -> list[str]:
    """Return the verdict with what its words mean, what the log cannot tell, where to begin, and what it is about."""
    can, cannot, _ = audit.verdict
    meant = [MEANT] if "probably" in can else []
    return [
        f"VERDICT: {can}",
        *meant,
        cannot,
        where_to_begin(audit),
        *([NEXT] if is_useful(audit) else []),
        about(audit),
    ]


def where_to_begin(audit: Audit) -> str:
    """Return which tau to begin with, and what tau is; or what to do before."""
    *_, tau = audit.verdict
    return f"{tau} {TAU}" if "tau" in tau else tau


def about(audit: Audit) -> str:
    """Name the reward, what logging earned, the log and its span."""
    log, amounts = audit.log, Amounts.by_mean(audit.log.reward_rate, audit.reward_range[0])
    lasted = "" if log.first is None else f", {span(log.first, log.last or log.first, steps=log.numbered == 'step')}"
    shown = f"{quoted(log.columns['reward'])}: what was shown got {amounts.number(log.reward_rate)} {amounts.unit}."
    size = f"{counted(log.contexts, 'context')}, {counted(log.actions, 'action')}"
    return f"{shown} Log: {shortened(log.source, 120)}: {counted(log.events, 'event')}{lasted}, {size}."
