"""An audit in sentences, for those who decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import counted, more, percent, quoted
from warmstart.results.amounts import Amounts
from warmstart.results.assumptions import assumption_notes
from warmstart.results.audit_units import STICKY
from warmstart.results.propensities import WORDS
from warmstart.results.remarks import numbered_times, possible_units, unique_columns

if TYPE_CHECKING:
    from warmstart.results.audit import Audit, Check

# Assumptions that have sentences of their own: drift, reaction, units.
TOLD = ("WS102", "WS107", "WS111")
# Below this share of traffic with a choice, there is next to nothing to compare.
TOO_LITTLE = 0.01
# A gain that would have to be larger than this is none that a log can be said to prove.
TOO_MUCH = 1.0
MANY_COPIES = 0.01
# What a newcomer must know of the verdict's words.
MEANT = (
    "The logging policy is whatever chose what was shown. Proven: by a certified 95 % confidence interval; probably: "
    "with a chance of 80 %."
)
TAU = "Tau is how large a part of a context's events an action must have been shown to, to be taken at face value."
HIDDEN = "whether the logging policy used something that predicts the reward and is not in the context columns"


def verdict(audit: Audit) -> tuple[str, str, str]:
    """Say what can be asked of this log, what cannot, and which tau to begin with."""
    power, overlap = audit.power, audit.exploration.overlap
    share, gain = percent(power.contested), more(power.smallest_gain)
    can = f"Other policies can be compared with the logging policy on {share} of the traffic"
    if overlap is not None:
        can = overlap.remark.text
        if not overlap.is_none:
            can = f"Other policies can be estimated, on {share} of the traffic. {can}"
    elif power.contested < TOO_LITTLE:
        few = f"on {share} of its traffic were two actions or more shown often enough to be compared"
        can = f"Next to nothing can be asked of this log: {few}."
    elif power.smallest_gain is None:
        can = f"Two actions or more were shown often enough on {share} of the traffic"
        can += ", but without a mean reward above zero nothing can be said of gains."
    elif power.smallest_gain > TOO_MUCH:
        can += f", but this log is too small to prove a gain that anyone would expect: it would have to be {gain}."
    else:
        can += f", and one that earns {gain} there will probably be proven better."
    copies = _copies(audit)
    if copies > MANY_COPIES:
        first = f"First of all, {percent(copies)} of the events are exact copies of others"
        can = f"{first}: remove them, or believe nothing. {can}"
    return can, _cannot(audit), _where_to_begin(audit)


def is_useful(audit: Audit) -> bool:
    """Tell whether policies can be compared on this log with a gain that somebody would expect."""
    power = audit.power
    known = power.smallest_gain is not None and power.smallest_gain <= TOO_MUCH
    return (
        known and power.contested >= TOO_LITTLE and audit.exploration.overlap is None and _copies(audit) <= MANY_COPIES
    )


def _copies(audit: Audit) -> float:
    """Return the share of events that are exact copies of others."""
    return (audit.log.duplicates or 0) / audit.log.events


def _cannot(audit: Audit) -> str:
    alone, parts = percent(audit.exploration.by_actions[0].traffic), [HIDDEN]
    if audit.exploration.overlap is not None:
        parts.append("how far its propensities are off, since contexts do not repeat")
    elif alone != "0 %":
        never = f"what other actions would earn on the {alone} of traffic in contexts where a single action was shown"
        parts.insert(0, never)
    if not audit.checks or any(check.p_value is None for check in audit.checks):
        parts.append("whether rewards drift or the logging policy reacts to them")
    fired = any(check.fires for check in audit.checks) or (audit.epochs is not None and audit.epochs.reacts)
    caution = "; and there are signs of drift or reaction, which may bend every estimate" if fired else ""
    if audit.units is not None and audit.units.visits.fires:
        caution += "; and rewards go with how often a unit comes, so that bounds by unit may not hold"
    return f"The log cannot say {', nor '.join(parts)}{caution}."


def _where_to_begin(audit: Audit) -> str:
    power, overlap = audit.power, audit.exploration.overlap
    if audit.log.unique_columns:
        names = " and ".join(map(quoted, audit.log.unique_columns))
        return f"Begin without {names} in the context, if that only tells events apart: with it nothing repeats."
    if overlap is not None and not overlap.is_none:
        return "Begin with tau = auto and its best estimate, and compare with 'uniform-all'."
    if overlap is not None:
        return "Begin by exploring: show other actions at random on some traffic, and write down how often."
    if power.contested < TOO_LITTLE:
        if audit.log.events_per_context.ninety <= 1:
            return "Begin with coarser context columns: nearly every context occurs once, and nothing can be compared."
        return "Begin by exploring: show other actions in the busiest contexts, at random, and write down how often."
    share = percent(next(at.choice for at in audit.exploration.support if at.tau == power.tau))
    return f"Begin with tau = {power.tau:g}: on {share} of the traffic two actions or more were shown so often."


def notes(audit: Audit) -> list[str]:
    """Return in plain words what the numbers say."""
    lines = [*about_the_log(audit), *about_units(audit), about_evenness(audit)]
    if audit.origin is None:
        lines.append(
            "Without a time column, nothing can be said about the calendar, drift, reaction, or actions that come and "
            "go: name it with time=... (--time)."
        )
    else:
        lines += [*about_the_origin(audit), *about_checks(audit), *about_epochs(audit)]
        lines += [*about_contexts(audit), *about_churn(audit)]
    lines.append(f"Nobody can tell from a log {HIDDEN}; if it did, every estimate from this log is off.")
    lines += [*about_power(audit), *about_exploring(audit), *assumption_notes(audit.assumptions, but=TOLD)]
    return lines


def about_the_log(audit: Audit) -> list[str]:
    """Say what the log holds."""
    lines = ["Events per context and per action: least | quarter | median | three quarters | 99 % | most."]
    if copies := audit.log.duplicates:
        lines.append(f"Exact copies of another event, time included: {copies:,}. They are counted here as real.")
    remarks = (unique_columns(audit.log.unique_columns), possible_units(audit.log.possible_units))
    lines += [str(remark) for remark in remarks if remark is not None]
    if audit.log.numbered is not None:
        lines.append(str(numbered_times(audit.log.columns["time"], audit.log.numbered)))
    live = " that are live on the day (UTC)" if audit.exploration.live else ""
    if overlap := audit.exploration.overlap:
        uniform = f"'uniform-all' chooses at random among all actions{live}; it is supported where"
        return [*lines, f"{uniform} its choice has a propensity of at least tau, {WORDS[overlap.source]}."]
    uniform = f"'uniform' chooses at random among the actions shown in the context{live}; it is supported where"
    choice = f"as much choice as {audit.exploration.effective_actions:.2f} equally frequent actions a context"
    shown = "the log showed its choice at least tau of the time"
    return [*lines, f"{uniform} {shown}. On average the log holds {choice}."]


def about_units(audit: Audit) -> list[str]:
    """Say how often units come, what their dependence costs, and whether actions and rewards go with them."""
    units = audit.units
    if units is None:
        return []
    name = " and ".join(map(quoted, units.columns))
    often = f"{counted(units.units, 'unit')} ({name}), the largest with {percent(units.largest)} of the events"
    if units.design_effect is None or units.independent_events is None:
        lines = [f"{often}. The variance of the mean reward by unit cannot be told."]
    else:
        worth = f"the log is worth as much as {counted(units.independent_events, 'independent event')}"
        effect = f"the variance of the mean reward is {units.design_effect:.2f} times that by event (design effect)"
        lines = [f"{often}. By unit, {effect}: of the mean reward, {worth}."]
    if units.gain_design_effect is not None:
        gain = "For the gain of a policy that takes one supported action in every context it is"
        lines.append(f"{gain} {units.gain_design_effect:.2f}.")
    return [*lines, about_stickiness(audit), about_visits(audit)]


def about_stickiness(audit: Audit) -> str:
    """Say whether units keep their actions."""
    sticky = None if audit.units is None else audit.units.stickiness
    if sticky is None:
        return "Whether actions stick to units cannot be told: no unit comes back to a context that others come to."
    pairs = f"two events of a unit in the same context show the same action in {percent(sticky.same)} of pairs"
    chance = f"two of different units in {percent(sticky.chance)}"
    if sticky.excess < STICKY:
        return f"Actions do not stick to units: {pairs}, {chance}."
    return f"Actions stick to units: {pairs}, {chance}. Comparisons of actions are comparisons of units."


def about_visits(audit: Audit) -> str:
    """Say whether rewards go with how often a unit comes, and what to do if they do."""
    check, rate = None if audit.units is None else audit.units.visits, abs(audit.log.reward_rate)
    if check is None or check.effect is None or check.p_value is None:
        nobody = "in no cell do units differ in both their visits and their rewards"
        return f"Whether rewards go with how often a unit comes cannot be told: {nobody}."
    if not check.fires:
        ends = [f"{end or 0.0:.2g}" if not rate else percent((end or 0.0) / rate) for end in (check.lower, check.upper)]
        what = f"twice as many visits go with {' to '.join(ends)} of the mean reward more"
        return (
            f"{check.question} No {'' if check.p_value >= 0.05 else 'clear '}sign of it ({_p(check.p_value)}): {what}."
        )
    amounts = Amounts.by_mean(audit.log.reward_rate, audit.reward_range[0])
    size = f"{amounts.number(abs(check.effect))} {amounts.unit}"
    size += f", {percent(abs(check.effect) / rate)} of the mean reward" if rate else ""
    return (
        f"{check.question} There is a sign of it ({_p(check.p_value)}): twice as many visits go with a reward that is "
        f"{'higher' if check.effect > 0 else 'lower'} by {size}. Bounds by unit then need a band of visits, known "
        'before the window, among the context columns; or value what a unit earns: per="unit" (--per unit).'
    )


def about_evenness(audit: Audit) -> str:
    """Say whether actions were drawn evenly."""
    even = audit.exploration.even
    if not even.contexts:
        return "No context is busy enough to tell whether its actions were drawn evenly."
    fair = "about what a fair draw gives" if even.rejected < 0.03 else "a fair draw gives 1 %"
    return (
        f"Too uneven for a fair draw among their actions: {percent(even.rejected)} of "
        f"{counted(even.contexts, 'context')} busy enough to tell ({fair})."
    )


def about_the_origin(audit: Audit) -> list[str]:
    """Say where the choice comes from."""
    origin = audit.origin
    if origin is None or origin.calendar is None:
        return ["No context has events enough to tell the calendar from chance."]
    if origin.calendar > 0.9:
        return ["The choice is the calendar's: within a day the logging policy is all but deterministic."]
    if origin.calendar > 0.5:
        return ["Most of the choice comes from changes between days; the rest is choice within a day."]
    if origin.calendar > 0.1:
        return ["Some of the choice comes from changes between days; most of it is made within a day."]
    return ["The choice is made within the day, at random or by something the log lacks; days hardly matter."]


def about_checks(audit: Audit) -> list[str]:
    """Say what the tests show; and, if one fires, how to read it and what to do."""
    lines = [about_check(audit, check) for check in audit.checks]
    if any(check.fires for check in audit.checks):
        lines.append(
            "Strong reaction also looks like drift, and the other way round: read it as drift or reaction. Evaluate on "
            "shorter windows, and ask who runs the logging policy what it reacts to."
        )
    return lines


def about_check(audit: Audit, check: Check) -> str:
    """Say what a test shows, how large it is beside the mean reward, and what follows."""
    if check.effect is None or check.p_value is None:
        one_day, none = "The log has a single day", "Rewards do not differ between days in any cell"
        return f"{check.question} {one_day if audit.log.days == 1 else none}, so nobody can tell."
    rate = abs(audit.log.reward_rate)
    what = {
        "drift": "a trend common to all, from the first day to the last",
        "reaction": "the reward that goes with a typical change of the share the next day",
    }[check.name]
    if not check.fires:
        span = f"{percent((check.lower or 0.0) / rate)} to {percent((check.upper or 0.0) / rate)}" if rate else "-"
        clear = "" if check.p_value >= 0.05 else "clear "  # below, it may be chance and may be not
        return f"{check.question} No {clear}sign of it ({_p(check.p_value)}): {what} is {span} of the mean reward."
    follows = {
        ("drift", True): "rewards rise on the whole; estimates lean towards actions shown late",
        ("drift", False): "rewards fall on the whole; estimates lean towards actions shown early",
        ("reaction", True): "what did well is shown more, which makes estimates too low",
        ("reaction", False): "what did well is shown less, which makes estimates too HIGH: 'at least' may not hold",
    }[check.name, check.effect > 0]
    doubt = ""
    if check.may_be_chance:
        doubt = f" If rewards of a context hang together, it may still be chance ({_p(check.clustered_p)})."
    share = percent(check.effect / rate) if rate else "-"
    sign = f"There is a sign of it ({_p(check.p_value)}): {what} is {share} of the mean reward"
    return f"{check.question} {sign}; {follows}.{doubt}"


def about_epochs(audit: Audit) -> list[str]:
    """Say whether the logging policy reacts inside epochs, and which epoch later windows need."""
    return [] if audit.epochs is None else audit.epochs.notes


def about_contexts(audit: Audit) -> list[str]:
    """Say how the contexts changed."""
    drift = audit.context_drift
    if drift is None:
        return []
    line = f"{percent(drift.unseen_before)} of the traffic from {drift.cut} on is in contexts never seen before"
    if drift.p_value is not None:
        line += (
            f"; the shares of contexts before and after differ by {drift.distance:.3f} (0 not at all, 1 entirely; "
            f"{_p(drift.p_value)} if events came independently)"
        )
    return [f"{line}. In contexts that are new, nothing is known of other actions."]


def about_churn(audit: Audit) -> list[str]:
    """Say what coming and going actions do."""
    churn = audit.churn
    if churn is None:
        return []
    actions, traffic = percent(churn.actions_all_window), percent(churn.traffic_all_window)
    lines = [f"{actions} of the actions, with {traffic} of the traffic, were live from the first day to the last."]
    if churn.weight_ratio_all is not None and churn.weight_ratio_train is not None:
        lines.append(
            "On the last 35 % of events, weights counted in all data (the paper's choice) would multiply the rewards "
            f"of uniform by {churn.weight_ratio_all:.2f} on average (weight ratio), and weights from before by "
            f"{churn.weight_ratio_train:.2f}; 1 is right. Weights from the evaluated window, the default, give 1."
        )
    return lines


def about_power(audit: Audit) -> list[str]:
    """Say what proven means."""
    if audit.power.smallest_gain is None:
        return []
    policy = f"takes one supported action in every contested context at tau = {audit.power.tau:g}"
    by_unit = "" if audit.units is None else " by unit"
    proven = f"the certified 95 % confidence interval{by_unit} for the gain lies above 0, with a chance (power) of 80 %"
    return [f"'Proven' means: {proven}, for a policy that {policy}."]


def about_exploring(audit: Audit) -> list[str]:
    """Say what exploring would buy."""
    explore = audit.explore
    if audit.exploration.overlap is not None:
        return []
    if not explore.rows:
        return ["Every context was shown two actions or more."]
    line = f"{percent(explore.traffic)} of the traffic has a single action."
    if not worth_exploring(audit):
        return [f"{line} That is too little, or too scattered, to be worth exploring."]
    parts = [
        f"{percent(plan.share)} ({counted(plan.events, 'event')}) would prove one that earns {more(plan.smallest_gain)}"
        for plan in explore.experiments
        if plan.smallest_gain is not None and plan.smallest_gain <= TOO_MUCH
    ]
    if parts:
        line += f" Giving some of it, at random, to one other action for as long as this log: {'; '.join(parts)}."
    return [line]


def worth_exploring(audit: Audit) -> bool:
    """Tell whether contexts with one action have traffic enough, and come back often enough, to learn from."""
    explore = audit.explore
    busiest = explore.rows[0][-3] if explore.rows else 0
    return explore.traffic >= TOO_LITTLE and busiest >= 100


def _p(value: float | None) -> str:
    return "p unknown" if value is None else "p < 0.0001" if value < 0.0001 else f"p = {value:.2g}"
