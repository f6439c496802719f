"""Codes of remarks, assumptions and errors: one for every kind, with what it means, why it matters and what to do.

WS1xx assumptions, WS2xx data, WS3xx usage, WS4xx engine and output, WS5xx saved files. Numbers in the texts were
measured by the studies that ``docs/concepts/assumptions.md`` and the guides name, or are said to be arithmetic.
"""

from __future__ import annotations

from warmstart.core.assumption_codes import ASSUMPTIONS
from warmstart.core.code import Code

# What the first digit says.
FAMILIES = {
    "WS1": "assumptions",
    "WS2": "data",
    "WS3": "usage",
    "WS4": "engine and output",
    "WS5": "saved files",
}

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
        "An outcome is known in some of the events only; null, NaN and infinity are unknown.",
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
    Code(
        "WS220",
        "Times that are numbers",
        "The times of a log are integers that are no times since 1970: numbers of days, or of steps.",
        "With 20 or more events each on average they count as days: a day is one number, for live actions and epochs, "
        "and number 0 is shown as 1970-01-01. Else they only say what came first: all events are in one day.",
        "Nothing, if they are that; else turn them into timestamps.",
    ),
    Code(
        "WS221",
        "One name for several models",
        "Several models that are no versions of it answered to one name in a log of calls: it is that of a router.",
        "The action is the model that answered; with --model request it is the name, and all of them are one action.",
        "Nothing, if a router chose among them; --model request, if what is judged is the name.",
    ),
    Code(
        "WS222",
        "Models whose names are alike",
        "Names of models in a log of calls differ only by their provider (openai/gpt-4o) or by case.",
        "Each is an action of its own: one model's calls are divided, and policies that choose one of the names have "
        "less support.",
        "If they are one model, give them one name in the log; two providers of a model may well be two actions.",
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
        "WS302",
        "A settings file that cannot be used",
        "A settings file (warmstart.toml) has a key or a table that does not exist, a value of another type, another "
        "version, or is no TOML; the message gives file and line.",
        "Nothing was computed: a setting that is misspelt would otherwise be left out without a word. The exit code is "
        "2.",
        "Correct the line. Editors that know the schema of the file show such errors.",
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
        "WS403",
        "Text that a spreadsheet would run",
        "A CSV file has text that begins with =, +, -, @ or a tab, which spreadsheets take for formulas.",
        "Whoever can write into a log could make somebody's spreadsheet run it. The text is written as it is, because "
        "other programs find contexts and actions by it.",
        "Import such columns as text, or write Parquet.",
    ),
    Code(
        "WS404",
        "A GPU that is not there, or too small",
        "A GPU was asked for, and there is no CuPy, no GPU or no compiler for it, or what is to be "
        "learned does not fit into its memory.",
        "Nothing was computed: what was asked of a GPU is not done elsewhere in silence.",
        "Install warmstart[gpu] where there is an NVIDIA GPU, take fewer weights (--weight-bits), or ask for none.",
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

CODES: dict[str, Code] = {one.code: one for one in (*ASSUMPTIONS, *_DATA, *_OTHERS)}
