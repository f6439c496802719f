"""What would settle a question that a log leaves open: more log, exploration, a unit, an epoch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from warmstart.core import percent, quoted, shortened
from warmstart.results.guards import Guard, guarded_outcome

if TYPE_CHECKING:
    from warmstart.results.estimate import CertifiedGain, ValueEstimate
    from warmstart.results.evaluation import Evaluation
    from warmstart.results.guards import GuardResult

# Below this supported share, more of the same log helps little.
MOSTLY = 0.5
# Logs beyond so many times this one are out of reach.
FAR = 50
# A log that would have to be so many times this one is all but long enough.
NEARLY = 1.15
PLAN = "'warmstart plan' says where and for how long"
CHANCE = "'warmstart plan' says how many for which chance"
# No log is long enough for what a doubt leaves open.
LESS_DOUBT = "Less doubt: all that the logging policy used, put into the context"
# Where these are the source, contexts may not repeat.
UNREPEATED = ("counts", "model", "mixture")
REPEATING = "Contexts that repeat, so that propensities can be counted: fewer or coarser context columns"
COUNTED = "Propensities counted in these very events, where contexts repeat (--propensities counts)"
ALARMS = ("WS105", "WS106")
BY_CODE = {
    **dict.fromkeys(ALARMS, "Propensities that fit: compare-propensities ranks the sources"),
    "WS108": "Units of their own for the evaluated window: here some were in training too",
    "WS109": "Units that lie in one epoch each, as with --first-epochs",
    "WS110": "Epochs that follow each other in time",
}
# Less traffic than this is none, to three digits.
LEAST = 0.0005
# Of the width of the interval.
ROUNDING = 1e-12


def what_would_settle_it(evaluation: Evaluation, estimate: ValueEstimate) -> tuple[str, ...]:
    """Return in a few words each what would let a log of this kind decide about a policy."""
    if estimate.policy in evaluation.learned_here:
        return ("Later events than those it learned from",)
    certified, settling = estimate.gain.certified, []
    codes = [remark.code for remark in evaluation.remarks]
    if estimate.withheld is not None:
        codes.append(estimate.withheld)
    if evaluation.propensities.counted:
        # Counts of another window bend the clipped value alone, which settles nothing.
        codes = [code for code in codes if code not in ALARMS]
    settling += [BY_CODE[code] for code in dict.fromkeys(codes) if code in BY_CODE]
    if certified is None and not (settling and evaluation.propensities.counted):
        settling.append(REPEATING if evaluation.propensities.name in UNREPEATED else COUNTED)
    if estimate.support.undecided > MOSTLY:
        learned = " (a learned policy: by features, contexts=... or --contexts FILE)" if "WS216" in codes else ""
        settling.append(f"Choices on the {percent(estimate.support.undecided)} of traffic where it makes none{learned}")
    elif estimate.support.supported < MOSTLY:
        settling.append(f"Exploration: show its choices now and then where they were rarely or never shown ({PLAN})")
    elif certified is not None and certified.contested <= 0:
        settling.append(f"Exploration: where the log supports it, only one action was ever shown ({PLAN})")
    if (longer := _longer_log(evaluation, estimate)) is not None:
        settling.append(longer)
    elif certified is not None and certified.joint_lower is not None and not settling:
        settling.append(_without_direction(estimate))
    return tuple(settling)


def _longer_log(evaluation: Evaluation, estimate: ValueEstimate) -> str | None:
    """Say how much more log would decide, or that a doubt is in the way; None if more log is not what is lacking."""
    certified = estimate.gain.certified
    if evaluation.doubt and evaluation.doubt > 1:
        own = estimate.doubt
        open_anyway = own is not None and own.guarantee == "finite-sample" and own.tipping is None
        return LESS_DOUBT + ("; and more log, since nothing is proven without a doubt either" * open_anyway)
    if certified is None or (times := _times(estimate)) is None:
        return None
    change = "raises" if (certified.difference or 0.0) > 0 else "lowers"
    return _improves(times, evaluation, f"it {change} {quoted(evaluation.reward.name)}")


def _without_direction(estimate: ValueEstimate) -> str:
    """Say what would settle it where what was measured has no direction, or another one than the best estimate."""
    rest = estimate.support.clipped + estimate.support.unsupported
    if not _opposed(estimate):
        return "A margin (--margin): no change was measured, which more log can only prove to be the same"
    if rest < LEAST:
        return "Much more log: what was measured and the best estimate do not agree on the direction of the change"
    there = f"on the {percent(rest)} of traffic where they were rarely or never shown"
    return f"Exploration: show its choices now and then {there}; elsewhere the change has the other direction ({PLAN})"


def _improves(times: float, evaluation: Evaluation, proves: str) -> str:
    seems = f"by as much as it seems ({CHANCE})"
    return _more_log(times, evaluation, proves, far=": the change is small for its error", seems=seems)


def what_would_settle_guards(evaluation: Evaluation, estimate: ValueEstimate) -> tuple[str, ...]:
    """Return in a few words each what would let a log of this kind decide about open guards, if none is broken."""
    if any(guard.status == "fails" for guard in estimate.guards):
        return ()
    is_open = [guard for guard in estimate.guards if guard.status == "cannot-tell"]
    return tuple(filter(None, (_guard_settled(evaluation, estimate, guard) for guard in is_open)))


def _guard_settled(evaluation: Evaluation, estimate: ValueEstimate, judged: GuardResult) -> str | None:
    names = [outcome.name for outcome in evaluation.outcomes]
    if guarded_outcome(judged.guard) not in names:
        return None
    guard, about = Guard.parse(judged.guard, names), f"guard {quoted(judged.guard)}"
    if evaluation.outcomes[names.index(guard.outcome)].known < 1:
        which = "all" if judged.lower is None and judged.upper is None else "more"
        return f"{quoted(guard.outcome)} known in {which} events, for {about}"
    if evaluation.doubt and evaluation.doubt > 1:
        return f"Less doubt, for {about}"
    change = _change(evaluation, estimate, guard)
    keeps = change is not None and (change <= guard.limit if guard.sense == "<=" else change >= guard.limit)
    end = judged.upper if keeps == (guard.sense == "<=") else judged.lower
    if change is None or end is None:
        return None
    times = max(((end - change) / (guard.limit - change)) ** 2, 1.0) if change != guard.limit else math.inf
    proves = f"{about} {'holds' if keeps else 'is broken'}"
    far = f", for {about}: the change is close to its limit"
    return _more_log(times, evaluation, proves, far=far, seems="the change is as it seems")


def _change(evaluation: Evaluation, estimate: ValueEstimate, guard: Guard) -> float | None:
    """Return the measured change that a guard limits, in its own terms."""
    key = (estimate.policy, estimate.tau, guard.outcome)
    every = (estimate, *evaluation.others)
    own = next((one for one in every if (one.policy, one.tau, one.outcome) == key), None)
    certified = None if own is None else own.gain.certified
    change = None if certified is None else certified.difference
    if change is None or not guard.relative:
        return change
    place = [outcome.name for outcome in evaluation.outcomes].index(guard.outcome)
    mean = (evaluation.log.mean_reward, *evaluation.log.other_means)[place]
    return change / abs(mean) if mean else None


def _more_log(times: float, evaluation: Evaluation, proves: str, *, far: str, seems: str) -> str:
    if times > FAR:
        return f"Much more log, above {FAR} times this one{far}"
    if times < NEARLY:
        return f"A little more log: it is nearly proven that {proves}"
    # By unit, events of the same ones prove little more.
    units = evaluation.first.units
    now, what = (evaluation.windows.evaluated.events, "events") if units is None else (units, "units")
    needed = f"{round(times * now, 1 - math.floor(math.log10(times * now))):,.0f}"
    # The events of a training window do not count.
    which = f"{what} in all" if evaluation.windows.train is None else f"evaluated {what}, instead of {now:,},"
    if units is not None:
        which = which.replace("units", f"units ({', '.join(map(shortened, evaluation.log.unit))})", 1)
    return f"More log: about {needed} {which} would prove that {proves}, if {seems}"


def _opposed(estimate: ValueEstimate) -> bool:
    """Tell whether what was measured where the policy is supported has another sign than the best estimate."""
    certified, estimated = estimate.gain.certified, estimate.gain.estimated
    if certified is None or certified.difference is None or estimated is None:
        return False
    return not _is_none(certified) and certified.difference * estimated.difference < 0


def _is_none(gain: CertifiedGain) -> bool:
    """Tell whether a gain is 0; what rounding leaves of that, which differs between engines, is none."""
    width = (gain.joint_upper or 0.0) - (gain.joint_lower or 0.0)
    return abs(gain.difference or 0.0) <= ROUNDING * width


def _times(estimate: ValueEstimate) -> float | None:
    """Return how many times the log would bring the certified end that is in the way to 0."""
    certified = estimate.gain.certified
    if certified is None or certified.joint_lower is None or certified.joint_upper is None:
        return None
    gain = certified.difference
    if gain is None or _is_none(certified) or _opposed(estimate):
        # More log would prove the opposite, where the policy is supported, of what the estimate says of all traffic.
        return None
    end = certified.joint_lower if gain > 0 else certified.joint_upper
    return max(((gain - end) / gain) ** 2, 1.0)
