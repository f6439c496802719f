"""WS1xx: what estimates and bounds rest on, and what happens where it does not hold."""

from __future__ import annotations

from warmstart.core.code import Code

ASSUMPTIONS = (
    Code(
        "WS101",
        "Hidden segments",
        "The context columns must hold everything the logging policy chose by that also predicts the reward (no "
        "unobserved confounding). No log can tell whether they do.",
        "Every estimate and every bound rests on it. Where the logging policy knew a segment that the log lacks, "
        "values were too high by 9 % (clicks differ by a fifth between segments) to 62 % (by four fifths), and a "
        "tight lower bound lay above the truth in 97 % of simulated logs.",
        "Ask whoever runs the logging policy what it looks at, and put all of that into the context (--context). "
        "--doubt R says what would stand if something is missing still.",
    ),
    Code(
        "WS102",
        "Drift",
        "The mean reward of an action in a context must be the same all over the window, or over an epoch where "
        "propensities are counted within epochs (stationarity).",
        "Errors grow and intervals do not: from 1.4 % to 3.0 % root mean square at the strongest drift simulated, "
        "without a direction. It is worse where the days on which an action is shown go with its drift.",
        "Run audit, which tests for it. Evaluate a shorter window, or count within epochs (--epoch day).",
    ),
    Code(
        "WS103",
        "Decisions fixed beforehand",
        "A policy must have been fixed before the evaluated window's rewards were seen. Nobody said so of these "
        "decisions, or they were fitted inside the window.",
        "A policy that was chosen by these rewards looks better than it is, and no bound holds for it.",
        "Say until when they were fitted: trained_until=... (--trained-until [NAME=]TIME, or never). Evaluate on "
        "events after that.",
    ),
    Code(
        "WS104",
        "Overlap",
        "How much choice the log holds where propensities are not counts (overlap, positivity); a warning if one "
        "action was all but certain nearly everywhere.",
        "Without overlap a best estimate is the reward model's word: its interval missed the truth in 40 to 86 % of "
        "simulated logs, so none is shown.",
        "Explore: show other actions at random on some traffic, and log how often (propensity=...).",
    ),
    Code(
        "WS105",
        "Mean weight",
        "The mean of a policy's importance weights should be 1 over the traffic that it decides, and is too far from "
        "it, so propensities are wrong. The clipped value, ips and snips are withheld.",
        "On logs of classifiers that changed in every block, one propensity model gave mean weights of 1.15 to 1.42 "
        "and values too high by .12 to .40.",
        "Compare sources (warmstart compare-propensities); take a mixture with the epochs in which the logging "
        "policy changed, or more context columns; instead of counts of another window (train, all), counts of the "
        "evaluated one; look at dr.",
    ),
    Code(
        "WS106",
        "Balance of contexts",
        "Weighted events have other contexts than the traffic, so propensities are wrong although the mean weight "
        "may be right. The clipped value, ips and snips are withheld.",
        "Two epochs with 80 and 20 % of a context, an action always shown in one and never in the other: the mean "
        "weight is 1.00 and the value wrong.",
        "As for WS105: another source of propensities, with the epochs in which the logging policy changed; look at "
        "dr.",
    ),
    Code(
        "WS107",
        "Users who come back",
        "Rewards must be independent across events, or across the units that the log names (--unit). The log names "
        "none, and a column may look like one.",
        "Values do not suffer, bounds and intervals do: where users kept page and ad for 20 visits, one of 20 "
        "policies that gain nothing was certified in up to 75 % of simulated logs at a level of 5 %, in all with "
        "heavy users; with the unit named in none of 60.",
        "Name whoever comes back: unit=... (--unit COLUMN).",
    ),
    Code(
        "WS108",
        "Units that were in training",
        "Units of the evaluated window have events outside of it, and rewards of a unit go together: what was fitted "
        "on their earlier rewards is not independent of the later ones. Nothing is certified of such policies.",
        "Where users kept action and context, an argmax over training means that gained nothing would have been "
        "certified in 25 to 75 % of simulated logs.",
        "Split by unit, events.split(folds=...), or evaluate on units that are new.",
    ),
    Code(
        "WS109",
        "Units in several epochs",
        "Units come back in later epochs, so that these are not independent of earlier ones. Intervals are those of "
        "whole units, approximate, and nothing is certified.",
        "Bounds over epochs would have certified one of 20 policies that gain nothing in up to 57 % of simulated logs.",
        "Evaluate each unit's first epoch alone: events.first_epochs() (--first-epochs).",
    ),
    Code(
        "WS110",
        "Epochs that overlap in time",
        "Some epochs began before others had ended: later events of one may react to rewards of another. Nothing is "
        "certified.",
        "Bounds over epochs hold given all that came before an epoch, which nobody can say of epochs that overlap.",
        "Divide the log by hour, day or week, or leave out the time of the changeover.",
    ),
    Code(
        "WS111",
        "Reaction to rewards",
        "No choice, budget, availability or traffic inside the window (or epoch) may react to rewards inside it; "
        "reacting to earlier rewards is fine.",
        "A logging policy that shows more of what did well makes values too low: by 3 to 17 % for learners that "
        "update every night. One that stops what did well makes them too high: by 3 to 7 % for ads that stop after "
        "ten or three clicks, and tight lower bounds were wrong in 83 % of simulated months.",
        "Run audit, which tests for it and recommends an epoch. Count within epochs (--epoch day), or evaluate a "
        "shorter and later window.",
    ),
    Code(
        "WS112",
        "Late rewards",
        "Every event must have had the same time to get its reward. Here the events of the last 24 hours earned less "
        "than day-to-day changes explain.",
        "What was shown last looks worse than it is: an action shown in the last days only is undervalued by the "
        "share of its rewards that are still to come.",
        "Leave out events that are younger than the time a reward may take, by time only: join with --window does "
        "it, or evaluate until then (until=..., --until).",
    ),
    Code(
        "WS113",
        "Logs sampled by outcome",
        "No event may be missing, or there more than once, because of its reward: negatives thinned out, bots "
        "filtered by their clicks. A log cannot tell, except that a round ratio of outcomes gives it away.",
        "Arithmetic: of a reward rate of 2 %, keeping one negative in ten makes 17 %, and contexts and actions with "
        "few rewards are thinned the most. All values, gains and bounds are of another traffic.",
        "Ask whoever wrote the log. Read the log before it was thinned; there are no sampling weights here.",
    ),
    Code(
        "WS114",
        "A policy that defers",
        "Where a policy chooses nothing of its own, as one that fit learned with safe=True (--safe), logging's choice "
        "stands, and is counted as what logging does in the evaluated window.",
        "Its value there is what logging earned, and its gain there is zero. If the policy is to replace logging for "
        "good, nobody chooses there any more.",
        "Keep the logging policy running for the contexts in which the policy returns null.",
    ),
)
