"""For readers who never heard of propensities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warmstart.core.text import shortened


def glossary(columns: Mapping[str, Any] | None = None) -> list[tuple[str, str]]:
    """Explain the words of a page; with the log's own columns, if they are known."""
    mine = {}
    if columns is not None:
        mine = {
            "context": ", ".join(shortened(name, 30) for name in columns["context"]),
            **{name: shortened(columns[name], 30) for name in ("action", "reward")},
        }
    return [
        (
            "The question",
            (
                "A log holds what was known, what was shown, and what came of it. It holds nothing about what was not "
                "shown. Yet if, in the same situation, now one thing and now another was shown, the log can tell what "
                "each of them earned, and so what a different way of choosing would have earned."
            ),
        ),
        (f"Context{_in(mine, 'context')}", "What was known before something was shown: a page, a query, a user."),
        (f"Action{_in(mine, 'action')}", "What was shown. One event is one action shown in one context."),
        (f"Reward{_in(mine, 'reward')}", "What came of it, such as a click. Values are mean rewards per event."),
        (
            "Logging policy",
            "Whatever chose the actions in this log: rules, a model, a budget. It may change every day.",
        ),
        (
            "Propensity",
            (
                "How often the logging policy showed an action in a context. Nobody wrote it down, so it is counted "
                "from the log itself."
            ),
        ),
        (
            "Tau",
            (
                "The smallest propensity that is taken at face value. An action shown more rarely counts for less than "
                "it should: the estimate then falls short rather than overshoots."
            ),
        ),
        (
            "Supported, clipped, unsupported, undecided",
            (
                "Traffic on which a policy's choice was shown at least tau of the time; shown, but more rarely; never "
                "shown in that context; or on which the policy says nothing."
            ),
        ),
        ("Contested", "Supported traffic in contexts with two actions or more: only there can policies differ."),
        (
            "Interval",
            (
                "Where the true number lies, unless chance played a trick that it plays in 5 of 100 cases, provided "
                "that the assumptions hold."
            ),
        ),
        (
            "Certified ('at least', 'at most')",
            (
                "Ends that hold for all the traffic, what was never shown included: there the reward may be anything "
                "from the lowest to the highest possible."
            ),
        ),
        (
            "Drift and reaction",
            (
                "Drift: the same action in the same context earns more, or less, as time passes. Reaction: the logging "
                "policy shows an action more, or less, because of what it just earned. Either may bend the estimates."
            ),
        ),
        (
            "p-value",
            (
                "How often chance alone would give as large an effect. Below 0.01 is called a sign; of a hundred logs "
                "without any effect, one shows such a sign."
            ),
        ),
    ]


def _in(names: Mapping[str, str], word: str) -> str:
    return f" (here: {names[word]})" if word in names else ""
