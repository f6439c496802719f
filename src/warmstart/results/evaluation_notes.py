"""An evaluation in sentences: which events, which weights, what the numbers are and what they rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import counted, quoted, shortened
from warmstart.results.amounts import Amounts
from warmstart.results.assumptions import assumption_notes
from warmstart.results.doubt import doubt_line
from warmstart.results.outcome_notes import at_once, joint_bound, outcome_notes

if TYPE_CHECKING:
    from warmstart.results.evaluation import Evaluation

CERTIFIED = (
    "{what} holds with a confidence of {sure}{together}, if the assumptions do: above all, that everything the logging "
    "policy chose by is in the context columns{doubt}."
)
# What repeated users do to bounds by event: users of 20 visits who keep their action and context, their chances of a
# reward gamma distributed with shape .25 or .1; among 20 policies that gain nothing. ``python -m studies.assumptions``.
USERS = (
    "Do users come back? Then their rewards go together, and these intervals are too narrow: where users kept their "
    "action and context for 20 visits, one of 20 policies that gain nothing was certified in up to 75 % of "
    "simulated logs, at a level of 5 %. Name who comes back: unit=... (--unit)."
)
APPROXIMATE = ("gamma", "bootstrap")
WINDOWS = {"evaluated": "the evaluated window", "train": "the training window", "all": "all data"}
BEST_ESTIMATES = {
    "snips": "the value divided by the share of weight behind it (self-normalised IPS), as if what is not supported "
    "earned like the rest",
    "dm": "what the reward model expects everywhere (direct method)",
    "ips": "the value itself",
}
DOUBLY_ROBUST = "the reward model's expectation, corrected by the log where it has evidence (doubly robust)"


def headline(evaluation: Evaluation) -> list[str]:
    """Return the verdict, its reason, what would settle an open question, and what all of it is about."""
    verdict, about = evaluation.verdict, _about(evaluation)
    if verdict is None:
        return [about]
    sure = f"{100 * (1 - evaluation.first.delta):.6g} %"
    what = "'at least'" if verdict.kind in ("better", "worse") else "this interval"
    spared = f", up to a doubt of {evaluation.doubt:g}" if evaluation.doubt and evaluation.doubt > 1 else ""
    proven = CERTIFIED.format(sure=sure, what=what, together=_together(evaluation), doubt=spared)
    evidence = {
        "certified": f"Certified: {proven}",
        "estimated": f"Estimated: by an approximate {sure} interval; no certified bound decides.",
        "unsupported": "Unsupported: nothing here is evidence for or against it.",
    }
    settle = [f"What would settle it: {'; '.join(verdict.settle)}."] if verdict.settle else []
    doubt = doubt_line(evaluation, verdict)
    doubts = [] if doubt is None else [doubt]
    return [f"VERDICT: {verdict.title}.", verdict.text, evidence[verdict.evidence], *doubts, *settle, about]


def _together(evaluation: Evaluation) -> str:
    looks = sum(1 for _ in evaluation.shown())
    return f", for {'both' if looks == 2 else f'all {looks}'} rows of the table together" if looks > 1 else ""


def _about(evaluation: Evaluation) -> str:
    """Name the reward, the baseline, the log and its span."""
    reward, amounts = evaluation.reward, Amounts.of(evaluation)
    goal = "less is better" if reward.minimize else "more is better"
    mean = f"{amounts.number(evaluation.log.mean_reward)} {amounts.unit}"
    log = f" Log: {evaluation.log.source}." if evaluation.log.source else ""
    train = evaluation.windows.train
    before = f" Training: {counted(train.events, 'event')} before." if train is not None else ""
    about = f"{quoted(reward.name)}: {goal}; what was shown got {mean}.{log}"
    return f"{about} Evaluated: {evaluation.windows.evaluated}.{before}"


def notes(evaluation: Evaluation) -> list[str]:
    """Return in plain words what the numbers are and what they rest on."""
    return [
        *_warnings(evaluation),
        *map(str, evaluation.remarks),
        *_about_windows(evaluation),
        *_about_tau(evaluation),
        *evaluation.propensities.notes,
        *_about_intervals(evaluation),
        _about_value(evaluation),
        *_about_best(evaluation),
        *outcome_notes(evaluation),
        *_about_units(evaluation),
        *_about_epochs(evaluation),
        *_about_doubt(evaluation),
        *assumption_notes(evaluation.assumptions),
    ]


def _about_epochs(evaluation: Evaluation) -> list[str]:
    """Say what a value is where mean rewards may change from epoch to epoch, and when it may be looked at."""
    epochs = evaluation.first.by_epoch
    if not epochs:
        return []
    number = f"{counted(len(epochs), 'epoch')}, {epochs[0].epoch} to {epochs[-1].epoch}"
    average = "Mean rewards may drift from one to the next: value and gain are averages over the window"
    looks = "All bounds hold at the end of every epoch at once, so that a log may be looked at again as it grows"
    return [f"Propensities are counted within {number}. {average}. {looks}, if the epochs stay the same."]


def _about_doubt(evaluation: Evaluation) -> list[str]:
    """Say what a doubt is, and which bounds allow for the one that was asked for."""
    if all(e.doubt is None for e in evaluation):
        return []
    low = evaluation.reward_range[0]
    from_low = f", counted from {low:g}, the lowest reward" if low else ""
    meaning = (
        "A doubt of 1.5 says that, in a context, events that were shown an action would earn up to 1.5 times what the "
        f"others would have earned with it{from_low}, or as much less, because of something that the context columns "
        "lack, and the same of how far rewards stay below the largest; the conclusion of a gain tips where that could "
        "make it 0."
    )
    if not evaluation.doubt or evaluation.doubt == 1:
        return [meaning]
    doubt = f"for a doubt of {evaluation.doubt:g}"
    allowed = f"Intervals of best estimates, values and gains allow {doubt}, approximately"
    if evaluation.propensities.counted:
        proven = f"'At least', 'at most', gains and what is proven by them allow {doubt}"
        allowed = f"{proven}, and intervals of best estimates approximately; values and their intervals do not"
    by_epoch = " Single epochs have no bounds under a doubt." if any(e.by_epoch for e in evaluation) else ""
    return [f"{meaning} {allowed}.{by_epoch}"]


def _warnings(evaluation: Evaluation) -> list[str]:
    if not evaluation.learned_here:
        return []
    names = ", ".join(quoted(name) for name in evaluation.learned_here)
    what = "learned from events of the evaluated window: the value is too high, and no end is certified"
    return [f"WARNING: {names} {what}. Evaluate on later events. (WS103)"]


def _about_windows(evaluation: Evaluation) -> list[str]:
    windows, log = evaluation.windows, evaluation.log
    train = f"Training: {windows.train}."
    if windows.train is None:
        whole = "No split was asked: the evaluated window is the whole log"
        start = whole if windows.whole_log else "There is no training window"
        single = f"{log.one_action_share:.1%} of its traffic is in contexts where a single action was shown"
        train = f"{start}, and feasible actions come from the evaluated window. {single}."
    lines = [f"Evaluated: {windows.evaluated}.", train]
    live = ""
    by_epoch = evaluation.propensities.epoch is not None
    if windows.live:
        live = ", live in the epoch" if by_epoch else ", live on the day (UTC)"
    elif any(e.policy in ("uniform", "uniform-all") for e in evaluation):
        live = ", assuming that they could be shown all window"
    if evaluation.propensities.counted:
        lines.append(f"Weights (inverse propensities) {evaluation.propensities.words}.")
    until = " up to the epoch" if by_epoch and windows.feasible_from != "train" else ""
    lines.append(f"Feasible actions from {WINDOWS[windows.feasible_from]}{until}{live}.")
    if log.dropped:
        lines.append(f"{counted(log.dropped, 'row')} without a value left out.")
    return lines


def _about_tau(evaluation: Evaluation) -> list[str]:
    choice = next((e.tau_choice for e in evaluation if e.tau_choice is not None), None)
    if choice is None:
        return []
    start = "tau was chosen for the least expected error, from contexts, actions and"
    if evaluation.propensities.epoch is not None:
        start = "Every epoch's tau was chosen for the least expected error, from contexts and actions up to its end and"
        return [f"{start} rewards before it (the last one is shown), so the intervals hold as they are."]
    if not evaluation.propensities.counted:
        return [f"{start} the mean reward of what a policy matched."]
    known = "no mean reward, for want of a training window (so for the smallest worst case over all mean rewards)"
    known = "the training window's mean reward" if choice.rate_is_known else known
    return [f"{start} {known}; the evaluated rewards had no say, so the intervals hold as they are."]


def _about_intervals(evaluation: Evaluation) -> list[str]:
    first, source = evaluation.first, evaluation.propensities
    if not source.counted:
        return []
    if first.interval in APPROXIMATE:
        return [f"The interval '{first.interval}' is approximate: no end of a value is certified; those of 'bets' are."]
    if not source.certified:
        ratio = "the weight ratio = its share in this window / the propensity used; above 1 it counts too much"
        alone = "That bends the clipped value, ips and snips, which have no intervals for it"
        ends = "bounds, gains and doubly robust estimates use the evaluated window's own counts"
        return [f"Weights {source.words} multiply each chosen action's reward by {ratio}. {alone}; {ends}."]
    names = dict.fromkeys(e.policy for e in evaluation if e.certified_lower is not None)
    if not names:
        return ["No end is certified."]
    if evaluation.doubt and evaluation.doubt > 1:
        # Bounds for all rows together are of values that allow for no doubt.
        return []
    sure = f"With probability {1 - first.delta:.6g}, for {at_once(evaluation)}"
    less = evaluation.reward.minimize
    what = f"expected {quoted(evaluation.reward.name)} on this window's traffic is"
    if not less and len(evaluation.outcomes) == 1:
        what = "expected earnings on this window's traffic are"
    best, amounts = {}, Amounts.of(evaluation)
    for name in names:
        own = [end for e in evaluation if e.policy == name and (end := joint_bound(evaluation, e)) is not None]
        # Rounded to the safe side.
        best[name] = amounts.bound(*((min(own), -1) if less else (max(own), 1))).lstrip("+")
    bounds = ", ".join(f"{end} ({shortened(name, 30)})" for name, end in best.items())
    return [f"{sure}, {what} at {'most' if less else 'least'} {bounds} {amounts.unit}."]


def _about_units(evaluation: Evaluation) -> list[str]:
    """Say who is independent of whom, and what follows if users come back and nobody said so."""
    units = evaluation.first.units
    if units is None:
        return [USERS]
    names, events = ", ".join(evaluation.log.unit), evaluation.windows.evaluated.events
    about = f"Rewards may go together within a unit ({names}): intervals are by unit, of which the evaluated window has"
    number = f"{units:,} with {events / units:.1f} events on average"
    rests = (
        "That rests on three things more: the mean reward of an action in a context does not depend on how often a "
        "unit comes (audit tests it), a unit's visits, contexts and actions do not react to its own rewards, and the "
        "policy was fixed without rewards of these units"
    )
    lines = [f"{about} {number}. {rests}."]
    if evaluation.per == "unit":
        lines.append("Every unit counts the same, however often it comes: in values, supports and propensities alike.")
    return lines


def _about_value(evaluation: Evaluation) -> str:
    lowest = evaluation.reward_range[0]
    nothing = "nothing" if lowest == 0 else f"the lowest reward, {lowest:g},"
    meaning = (
        "'clipped value' is the mean of reward x probability / max(propensity, tau) (clipped IPS): in full where "
        f"the policy is supported, in part where clipped, {nothing} where its action was never shown or it says "
        "nothing."
    )
    if evaluation.propensities.counted:
        meaning += " 'at least' and 'at most' bound expected earnings on all this traffic, each row for itself."
    return meaning


def _about_best(evaluation: Evaluation) -> list[str]:
    best = next((e.best for e in evaluation if not e.is_logging and e.best is not None), None)
    if best is None:
        return []
    what = BEST_ESTIMATES.get(best.estimator, DOUBLY_ROBUST)
    lines = [f"'best estimate' ({best.estimator}) is a point estimate of all traffic, and no bound: {what}."]
    best_ones = [e.best for e in evaluation if e.best is not None]
    if any(one.on_model > 0 and one.lower is not None for one in best_ones):
        share = max(one.on_model for one in best_ones)
        lines.append(
            f"* On up to {share:.1%} of traffic a best estimate rests on the reward model alone. Its interval is "
            "conditional on the model: it holds if actions that were not shown differ from what the model expects as "
            "shown ones do that were left out of it. If the logging policy knew more of them than the context columns "
            "say, it does not."
        )
    if any(estimate.without_overlap for estimate in evaluation):
        lines.append(
            "'no overlap': weights stand for less than half of the traffic that the policy decides, so the best "
            "estimate is mostly the reward model's word and has no interval."
        )
    return lines
