"""The routers of ``demo --llm`` as a table, with the truth beside every estimate, and what to conclude."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.results import TextTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmstart.demo.routing import RouterLine, Routing

HEADER = ("router", "right", "interval", "truth", "change, at least", "$ per 1,000", "truth", "same cost, mixed")


def routing_tables(done: Routing) -> list[TextTable]:
    """Return what the log says by subject, which the rules went by, and by group of prompts, and the truth."""
    titles = {
        "subject": "Right answers by subject, which the router's rules went by",
        "group": "The same by group of prompts, as if the log had no subject",
        "prompt": "The same by prompt, from modelled propensities: nothing is certified",
    }
    return [_table(title, [line for line in done.lines if line.by == by]) for by, title in titles.items()]


def _table(title: str, lines: Sequence[RouterLine]) -> TextTable:
    rows = [
        (
            line.router,
            f"{line.estimate:.3f}",
            "-" if line.lower is None else f"[{line.lower:.3f}, {line.upper:.3f}]",
            f"{line.truth:.3f}",
            "-" if line.at_least is None else f"{line.at_least:+.3f}",
            "-" if line.cost is None else f"{1000 * line.cost:.2f}",
            f"{1000 * line.true_cost:.2f}",
            f"{line.same_cost:.3f}",
        )
        for line in lines
    ]
    return TextTable(title, HEADER, rows, left=1)


def routing_notes(done: Routing) -> list[str]:
    """Return what to know about the tables, and the conclusion."""
    lines = {line.router: line for line in done.lines if line.by == "subject"}
    learned, safe, logging = (lines[name] for name in ("learned", "safe", "logging"))
    truth = (
        "'truth' is computed from the questions, which both models have answered, and not from the log. 'change, at "
        "least' is certified for all routers at once. 'same cost, mixed': the truth of choosing between the two models "
        "at random, at this cost."
    )
    routers = (
        "learned: the better model of each subject, where a right answer is worth half a cent. safe: departs from the "
        "rules only where a part of the training calls proves what another proposed."
    )
    better = (
        f"CONCLUSION: The learned router answers {learned.truth:.3f} rightly for ${1000 * learned.true_cost:.2f} per "
        f"1,000 calls, where a mixture of the two models at that cost has {learned.same_cost:.3f}; the rules had "
        f"{logging.truth:.3f} for ${1000 * logging.true_cost:.2f}. The log said {learned.estimate:.3f}, and nobody had "
        "logged a probability."
    )
    never = (
        "CONCLUSION: The safe router is worth less than the rules with a chance of 5 % at most; it answers "
        f"{safe.truth:.3f} rightly for ${1000 * safe.true_cost:.2f}."
    )
    notes = [*done.imported.notes[:2], truth, routers, str(done.selection), better, never]
    doubt = next((line for line in done.by_group.headline if line.startswith("Doubt")), None)
    return notes if doubt is None else [*notes, f"By group the log lacks what the rules went by. {doubt}"]
