"""Codes of remarks, assumptions and errors: one for every kind, with what it means, why it matters and what to do.

WS1xx assumptions, WS2xx data, WS3xx usage, WS4xx engine and output, WS5xx saved files. Numbers in the texts were
measured by the studies that ``docs/concepts/assumptions.md`` and the guides name, or are said to be arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Code:
    """One kind of remark, assumption or error.

    ``meaning``: what the program says with it. ``why``: what happens to results, measured where it was measured.
    ``remedy``: what to do.
    """

    code: str
    title: str
    meaning: str
    why: str
    remedy: str


# What the first digit says.
FAMILIES = {
    "WS1": "assumptions",
    "WS2": "data",
    "WS3": "usage",
    "WS4": "engine and output",
    "WS5": "saved files",
}

_ASSUMPTIONS = (
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
        "policy changed, or more context columns; look at dr.",
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

_DATA = (
    Code(
        "WS200",
        "Something in the data",
        "The data cannot be used as they are; the message says what and where.",
        "Nothing was computed: what cannot be right is refused rather than guessed.",
        "Follow the hint of the message.",
    ),
    Code(
        "WS201",
        "A context column that never repeats",
        "A context column differs in more than 90 % of the events.",
        "With it in the context nothing repeats, so nothing can be counted, and nothing is certified.",
        "Leave out what only tells events apart, or name it as event_id (--event-id).",
    ),
    Code(
        "WS202",
        "Actions that the log never shows",
        "A share of a policy's traffic is on actions that the log never shows.",
        "No log can say what they earn: that traffic counts as unsupported.",
        "Are actions spelled as in the log? Otherwise only exploration can tell.",
    ),
    Code(
        "WS203",
        "A range far wider than the data",
        "An outcome's values fill less than a fifth of its range.",
        "Bounds pay for the whole range, estimates do not.",
        "Give a narrower one (--range NAME=LO:HI), by what is possible and not by what was seen.",
    ),
    Code(
        "WS204",
        "An outcome with nulls",
        "An outcome is known in some of the events only.",
        "Estimates are of these, as if the others were like them; bounds take the worst possible value for the others.",
        "Find out why it is missing. If that goes with the outcome itself, believe the bounds alone.",
    ),
    Code(
        "WS205",
        "An outcome that may be a cost",
        "More of an outcome counts as better, and its name suggests the contrary.",
        "The verdict would recommend what makes it larger.",
        "If less of it is better, say so: minimize=... (--minimize NAME).",
    ),
    Code(
        "WS206",
        "A column that joined the context",
        "A column of segments is no part of the context, and joined it for this evaluation.",
        "Propensities are counted within it, so that support may be smaller.",
        "Nothing; or name segments by a context column, or a column of --contexts.",
    ),
    Code(
        "WS207",
        "Events that are there twice",
        "Event ids occur more than once, or rows are equal in every column, time included, more often than chance "
        "makes them.",
        "Every copy counts as an event of its own: intervals are too narrow (if all events are there twice, by a "
        "factor of 1.4: arithmetic), and values are off where only some events are copied, such as those with a "
        "reward.",
        "Remove copies before reading the log. Several rows of one request, such as a slate, are not copies: name "
        "the request as unit (--unit).",
    ),
    Code(
        "WS208",
        "A source that cannot be read",
        "A file, table or frame is absent, empty, or of a form that cannot be read.",
        "Nothing was computed.",
        "Check the path, the format and your rights; the message names the source.",
    ),
    Code(
        "WS209",
        "A column that is absent or cannot serve",
        "A column is not there, or has a type that cannot be what it was named as.",
        "Nothing was computed.",
        "Compare the name with the columns that the hint lists; cast the column if its type is wrong.",
    ),
    Code(
        "WS210",
        "Missing values",
        "Nulls, NaN or infinity stand where a value is needed.",
        "To leave such rows out silently could bend results: whether a reward is missing may go with what it was.",
        "Fill or remove them, or leave these rows out knowingly: --drop-nulls.",
    ),
    Code(
        "WS211",
        "Values outside their range",
        "A reward or another outcome has values outside its range, which is 0 to 1 unless you say so.",
        "Bounds hold only for outcomes whose range is known beforehand.",
        "State what is possible: ranges={...} (--range NAME=LO:HI).",
    ),
    Code(
        "WS212",
        "Propensities that are no probabilities",
        "The column of logged propensities has values outside (0, 1], or some so small that an action's weights add up "
        "to more than all traffic.",
        "Weights are one over them; a wrong column gives wrong values.",
        "Was another number logged? Leave the column out to have propensities counted or modelled.",
    ),
    Code(
        "WS213",
        "A window without events",
        "A window, a fold or a log has no events, or too few to learn from.",
        "Nothing was computed.",
        "Compare the window with the times of the log, which the hint gives.",
    ),
    Code(
        "WS214",
        "Decisions that are no policy",
        "A table of decisions has probabilities that do not add up, actions that the log never shows, or contexts "
        "that are not in the log.",
        "Nothing was computed.",
        "Are contexts and actions written as in the log? For new actions: --allow-unknown-actions.",
    ),
    Code(
        "WS215",
        "A line that cannot be read",
        "A line of a text log is not in the format it should have; the message gives file and line.",
        "Nothing was written, or such lines were left out because you said so: they may differ from the others.",
        "Repair or remove the line.",
    ),
    Code(
        "WS216",
        "Traffic that a learned policy leaves undecided",
        "A learned policy chooses nothing on a share of the traffic: in contexts that its training never saw, or where "
        "no action that it knows is live.",
        "Values count nothing there, gains count logging: both say less of the policy than it could do.",
        "Pass a table of contexts with the features that it learned from: contexts=... (--contexts FILE).",
    ),
    Code(
        "WS217",
        "Contexts or actions without features",
        "Contexts or actions of the log have no row in the tables of features.",
        "What learns from these features knows nothing of them: they are all alike to it.",
        "Complete the tables, or leave them out so that contexts and actions are their own features.",
    ),
    Code(
        "WS218",
        "Actions that cannot be told apart",
        "Several actions of an event have equal features, and count as one action.",
        "Values are of the action that they make together; its logged probability is that of one of them only.",
        "Add a feature that tells the actions apart, such as their id, to what is logged.",
    ),
    Code(
        "WS219",
        "Outcomes that belong to nothing",
        "No outcome could be joined with any impression.",
        "All rewards are zero, or absent.",
        "Compare the keys of both tables: their names, types and spelling.",
    ),
)

_OTHERS = (
    Code(
        "WS301",
        "A wrong call or command",
        "An option, argument or combination of them cannot be used, whatever the data.",
        "Nothing was computed. The exit code is 2.",
        "Follow the hint; --help lists options and examples.",
    ),
    Code(
        "WS401",
        "Output that cannot be written",
        "A result cannot be written: the disk is full, or the place may not be written to.",
        "Outputs are written whole or not at all, so nothing half-written is left.",
        "Free space, or name another place.",
    ),
    Code(
        "WS402",
        "The engine gave up",
        "DuckDB, Spark or a database could not finish a query: memory, disk, connection, or a log that changed "
        "meanwhile.",
        "Nothing was computed.",
        "Follow the hint: more memory (--memory-limit) or disk, fewer threads, or Spark (--engine spark).",
    ),
    Code(
        "WS501",
        "A saved file that is damaged",
        "A saved policy, result or monitor's file is damaged, was changed, or is no file of that kind.",
        "Every part is checked on loading, because wrong numbers would not show.",
        "Restore the file, or save it again.",
    ),
    Code(
        "WS502",
        "A saved file of a later version",
        "A saved policy or result was written by a version of warmstart that this one cannot read.",
        "Nothing was loaded: fields may have another meaning.",
        "Install that version or a later one.",
    ),
)

CODES: dict[str, Code] = {one.code: one for one in (*_ASSUMPTIONS, *_DATA, *_OTHERS)}
