"""For readers who never heard of propensities: our words, with the field's in brackets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warmstart.core import shortened

GLOSSARY = """\
The question (off-policy evaluation, counterfactual evaluation)
A log holds what was known, what was shown, and what came of it. It holds nothing about what was not shown. Yet if, in
the same situation, now one thing and now another was shown, the log can tell what each of them earned, and so what a
different way of choosing would have earned.

Context{context}
What was known before something was shown: a page, a query, a user.

Action{action}
What was shown (the field also says arm or item). One event is one action shown in one context.

Reward{reward}
What came of it, such as a click. Values are mean rewards per event.

Unit (cluster)
Whoever comes back, such as a user: rewards may depend on each other within a unit, not across units.

Epoch
A stretch of the log inside which nothing reacts to rewards inside it, such as the time between two updates of a model.

Logging policy (behaviour policy)
Whatever chose the actions in this log: rules, a model, a budget. It may change every day.

Propensity, weight (inverse propensity, importance weight)
How often the logging policy showed an action in a context. Nobody wrote it down, so it is counted from the log itself.
A reward is weighted by 1 / propensity: what was shown rarely stands for more.

Tau (clipping or trimming constant)
The smallest propensity that is taken at face value. An action shown more rarely counts for less than it should: the
estimate then falls short rather than overshoots.

Value (policy value, clipped IPS estimate); best estimate (doubly robust or self-normalised estimate)
The value counts only what the log shows, so that it can be bounded; the best estimate also says what the rest may earn,
and is no bound.

Supported, clipped, unsupported, undecided (overlap, positivity)
Traffic on which a policy's choice was shown at least tau of the time; shown, but more rarely; never shown in that
context; or on which the policy says nothing.

Gain (lift, uplift); contested
What the policy earns more than logging on the same traffic. Contested is supported traffic in contexts with two actions
or more: only there can policies differ.

Weight ratio
An action's share in the evaluated window divided by the propensity used. Weights from another window multiply its
reward by that: above 1 counts too much.

Interval (confidence interval)
Where the true number lies, unless chance played a trick that it plays in 5 of 100 cases, provided that the assumptions
hold.

Certified ('at least', 'at most')
Ends that hold for all the traffic, what was never shown included: there the reward may be anything from the lowest to
the highest possible.

Drift and reaction
Drift: the same action in the same context earns more, or less, as time passes. Reaction: the logging policy shows an
action more, or less, because of what it just earned. Either may bend the estimates.

p-value
How often chance alone would give as large an effect. Below 0.01 is called a sign; of a hundred logs without any effect,
one shows such a sign."""


def glossary(columns: Mapping[str, Any] | None = None) -> list[tuple[str, str]]:
    """Return terms with their explanations; with the log's own columns, if they are known."""
    names = dict.fromkeys(("context", "action", "reward"), "")
    if columns is not None:
        for role in names:
            given = columns[role] if role == "context" else [columns[role]]
            names[role] = f" (here: {', '.join(shortened(name, 30) for name in given)})"
    entries = (entry.split("\n", 1) for entry in GLOSSARY.split("\n\n"))
    return [(term.format(**names), text.replace("\n", " ")) for term, text in entries]
