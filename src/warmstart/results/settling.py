"""What would settle a question that a log leaves open: more log, exploration, a unit, an epoch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from warmstart.core import percent, quoted

if TYPE_CHECKING:
    from warmstart.results.estimate import ValueEstimate
    from warmstart.results.evaluation import Evaluation

# Below this supported share, more of the same log helps little.
MOSTLY = 0.5
# Logs beyond so many times this one are out of reach.
FAR = 50
PLAN = "'warmstart plan' says where and for how long"
CHANCE = "'warmstart plan' says how many for which chance"
BY_CODE = {
    "WS105": "Propensities that fit: compare-propensities ranks the sources",
    "WS106": "Propensities that fit: compare-propensities ranks the sources",
    "WS108": "Units of their own for the evaluated window: here some were in training too",
    "WS109": "Units that lie in one epoch each, as with --first-epochs",
    "WS110": "Epochs that follow each other in time",
}


def what_would_settle_it(evaluation: Evaluation, estimate: ValueEstimate) -> tuple[str, ...]:
    """Return in a few words each what would let a log of this kind decide about a policy."""
    if estimate.policy in evaluation.learned_here:
        return ("Later events than those it learned from",)
    certified, settling = estimate.gain.certified, []
    codes = [remark.code for remark in evaluation.remarks]
    if estimate.withheld is not None:
        codes.append(estimate.withheld)
    settling += [BY_CODE[code] for code in dict.fromkeys(codes) if code in BY_CODE]
    if certified is None and not settling:
        settling.append("Contexts that repeat, so that propensities can be counted: fewer or coarser context columns")
    if estimate.support.undecided > MOSTLY:
        learned = " (a learned policy: by features, contexts=... or --contexts FILE)" if "WS216" in codes else ""
        settling.append(f"Choices on the {percent(estimate.support.undecided)} of traffic where it makes none{learned}")
    elif estimate.support.supported < MOSTLY:
        settling.append(f"Exploration: show its choices now and then where they were rarely or never shown ({PLAN})")
    elif certified is not None and certified.contested <= 0:
        settling.append(f"Exploration: where the log supports it, only one action was ever shown ({PLAN})")
    if evaluation.doubt and evaluation.doubt > 1:
        # No log is long enough for what a doubt leaves open.
        settling.append("Less doubt: all that the logging policy used, put into the context")
    elif certified is not None and (times := _times(estimate)) is not None:
        settling.append(_more_log(times, evaluation, rises=(certified.difference or 0.0) > 0))
    return tuple(settling)


def _more_log(times: float, evaluation: Evaluation, *, rises: bool) -> str:
    if times > FAR:
        return f"Much more log, above {FAR} times these events: the change is small for its error"
    events = times * evaluation.windows.evaluated.events
    needed = round(events, 1 - math.floor(math.log10(events)))
    change = f"{'raises' if rises else 'lowers'} {quoted(evaluation.reward.name)}"
    enough = f"about {needed:,.0f} events in all would prove that it {change}, if by as much as it seems"
    return f"More log: {enough} ({CHANCE})"


def _times(estimate: ValueEstimate) -> float | None:
    """Return how many times the log would bring the certified end that is in the way to 0."""
    certified, estimated = estimate.gain.certified, estimate.gain.estimated
    if certified is None or certified.joint_lower is None or certified.joint_upper is None:
        return None
    gain = certified.difference
    if not gain or (estimated is not None and gain * estimated.difference < 0):
        # More log would prove the opposite, where the policy is supported, of what the estimate says of all traffic.
        return None
    end = certified.joint_lower if gain > 0 else certified.joint_upper
    return max(((gain - end) / gain) ** 2, 1.0)
