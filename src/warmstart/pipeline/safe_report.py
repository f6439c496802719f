"""What a safe fit says: what is proven, what was left for want of proof, and what would prove it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from warmstart.core import shortened, to_arrow
from warmstart.estimators import CellSums, Proposal, propose, worth
from warmstart.events import free_texts_of, without_texts
from warmstart.results import MoreProof, SafeImprovement, SettingCompared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.features import KeyEncoder
    from warmstart.pipeline.safe import Part, SafeSettings
    from warmstart.pipeline.safe_proof import Proven

    Floats = NDArray[np.float64]

MOST_SHOWN = 5
# What rounding leaves of a gain of zero, of rewards in [0, 1], is none.
ROUNDING = 1e-12
# A test proves with a chance of 80 % what lies so many standard deviations above what it needs.
POWER = 0.84


class Outcome(NamedTuple):
    """What was found: how events were divided, what is proven of which sets, what of them acts, settings compared.

    ``proven`` is in units of the reward, the others are of rewards in [0, 1]; ``size``: the length of its range.
    """

    split: Literal["time", "epoch", "unit", "event"]
    size: float
    proven: Proven
    sets: list[Proposal]
    acting: Proposal | None
    compared: tuple[tuple[SettingCompared, ...], int]


def report_of(
    whole: Part,
    parts: tuple[CellSums, CellSums],
    settings: SafeSettings,
    encoders: tuple[KeyEncoder, KeyEncoder],
    found: Outcome,
) -> SafeImprovement:
    """Return the report of a safe fit, with all gains in units of the reward.

    Args:
        whole: All events.
        parts: The cells of the part that proposed, and of the one that proved.
        settings: How it was proven.
        encoders: Of contexts and actions.
        found: What was found.
    """
    tested, acting = found.proven.tested, found.acting
    last = next((one for one in reversed(tested) if one.proven), None)
    bold = propose(whole.sums, whole.expected, tau=settings.tau, caution=0.0, least=settings.least)
    gained = 0.0 if acting is None else worth(whole.sums, whole.expected, acting)
    unproven = bold.total / float(whole.sums.n.sum()) - gained
    proposing, proving = parts
    first_not = found.sets[len([one for one in tested if one.proven])] if _stopped(tested) else None
    needed = None
    if first_not is not None:
        needed = _log_needed(first_not, proposing, proving, settings.delta)
    return SafeImprovement(
        split=found.split,
        delta=settings.delta,
        tau=settings.tau,
        events=(round(float(proposing.n.sum())), round(float(proving.n.sum()))),
        contexts=0 if last is None else last.contexts,
        departs=0.0 if last is None else last.share,
        gain=None if last is None else last.gain,
        at_least=None if last is None or found.proven.at_least is None else max(found.proven.at_least, 0.0),
        unproven=found.size * unproven if unproven > ROUNDING else 0.0,
        log_needed=needed,
        tested=tested,
        settings=tuple(replace(one, gain=found.size * one.gain) for one in found.compared[0]),
        simulated=found.compared[1],
        more=tuple(replace(one, gain=found.size * one.gain) for one in _more(bold, acting, whole.sums, encoders)),
        guards=settings.guards,
        doubt=settings.doubt,
    )


def _stopped(tested: tuple[Any, ...]) -> bool:
    return bool(tested) and not tested[-1].proven


def _log_needed(proposal: Proposal, first: CellSums, later: CellSums, delta: float) -> float | None:
    """Return how many times this log would probably prove a set, if its gain is what is expected; None if not more."""
    events = float(first.n.sum())
    gain, variance = (float(proposal.events @ part) / events for part in (proposal.gains, proposal.noise))
    needed = (math.sqrt(2 * math.log(1 / delta)) + POWER) ** 2 * variance / gain**2
    times = needed / float(later.n.sum())
    return times if times > 1 else None


def _more(
    bold: Proposal, acting: Proposal | None, sums: CellSums, encoders: tuple[KeyEncoder, KeyEncoder]
) -> tuple[MoreProof, ...]:
    """Return the contexts with the largest expected gains that are not acted on; free text is numbered."""
    left = bold if acting is None else bold.only(~np.isin(bold.contexts, acting.contexts))
    left = left.only(left.events * left.gains > ROUNDING * sums.n.sum())
    order = np.argsort(-left.events * left.gains, kind="stable")[:MOST_SHOWN]
    width = int(sums.actions.max()) + 1
    keys = sums.contexts * width + sums.actions
    contexts = encoders[0].keys
    rows = contexts.take(to_arrow(left.contexts[order])).to_pylist()
    named = without_texts(rows, free_texts_of(contexts, float(sums.n.sum())))
    found = []
    for i, row in zip(order.tolist(), named, strict=True):
        context, action = int(left.contexts[i]), int(left.actions[i])
        own = sums.n[np.searchsorted(keys, context * width + action)]
        found.append(
            MoreProof(
                context=shortened(", ".join(str(value) for value in row.values()), 40),
                action=shortened(str(encoders[1].values[action].as_py()), 40),
                share=float(own / left.events[i]),
                gain=float(left.events[i] * left.gains[i] / sums.n.sum()),
            )
        )
    return tuple(found)
