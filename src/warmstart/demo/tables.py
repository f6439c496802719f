"""The paper's table as text, with the truth beside every estimate, and what to conclude from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import percent
from warmstart.results import TextTable

if TYPE_CHECKING:
    from warmstart.demo.experiment import Experiment, Line
    from warmstart.results import SourceName


def experiment_tables(experiment: Experiment) -> list[TextTable]:
    """Return the paper's table twice: propensities counted in the evaluated window, and in all data."""
    return [_table(experiment, "counts"), _table(experiment, "all")]


def _table(experiment: Experiment, propensities: SourceName) -> TextTable:
    own = propensities == "counts"
    header = ["method", "tau", "estimate", *(["interval"] if own else []), "should be", "truth", "supported"]
    header += ["at least", "gain, certified"] if own else ["too high by"]
    rows = []
    for line in (line for line in experiment.lines if line.propensities == propensities):
        row = [
            line.method,
            "any" if line.method == "logging" else f"{line.tau:g}",
            f"{line.estimate:.4f}",
            *([f"[{line.lower:.4f}, {line.upper:.4f}]"] if own else []),
            f"{line.visible:.4f}",
            f"{line.truth:.4f}",
            percent(line.supported),
        ]
        if own:
            row += ["-" if line.certified_lower is None else f"{line.certified_lower:.4f}", _gain(line)]
        else:
            row.append(percent(line.estimate / line.visible - 1) if line.visible > 0 else "-")
        rows.append(row)
    words = "the evaluated window (our default)" if own else "all data (the paper's choice)"
    return TextTable(f"The paper's table, weights from {words}", header, rows, left=1)


def _gain(line: Line) -> str:
    if line.gain is None or line.gain_lower is None or line.gain_upper is None or line.method == "logging":
        return "-"
    return f"{line.gain:+.4f} [{line.gain_lower:+.4f}, {line.gain_upper:+.4f}]"


def experiment_notes(experiment: Experiment) -> list[str]:
    """Return what to know about the tables: the audit's verdict, what columns mean, and the conclusion."""
    truth = (
        "'should be' is the truth that the estimate is of: what the policy earns where it is supported, in part where "
        "clipped, nothing elsewhere. 'truth' is what it earns on all of this traffic. Both are computed from the "
        "simulated world, not from its log."
    )
    methods = (
        "learned: our defaults. learned-paper: words only, one pass over the events, weights with tau .05. uniform: at "
        "random among the feasible ads (the paper's Random). naive: the best of all ads by the model, shown there or "
        "not."
    )
    notes = [*(f"The log: {line}" for line in experiment.audit.verdict), truth, methods]
    if any(line.method == "safe" for line in experiment.lines):
        notes.append(
            "safe: departs from logging only where a part of the training events proves what another proposed, and "
            "leaves the choice to logging elsewhere, and on days on which it has no proven ad (fit --safe)."
        )
    if experiment.sampled:
        notes.append(
            "Here naive decides only for pages with a click, which is all that its estimate needs; its truth is from a "
            "sample of pages."
        )
    return [*notes, *_conclusion(experiment)]


def _conclusion(experiment: Experiment) -> list[str]:
    lines = {(line.method, line.propensities, line.tau): line for line in experiment.lines}
    tau = experiment.lines[0].tau
    learned, uniform, naive = (lines[name, "counts", tau] for name in ("learned", "uniform", "naive"))
    logging, paper = lines["logging", "counts", tau], lines["learned", "all", tau]
    better = (
        f"CONCLUSION: Where the log can tell, the learned policy earns {_gain(learned)} an event more than what was "
        f"shown (random: {_gain(uniform)}); in truth it earns {learned.truth:.4f} on all the traffic, against "
        f"{logging.truth:.4f} for what was shown and {uniform.truth:.4f} for random."
    )
    beware = (
        f"CONCLUSION: Weights from all data make it look {percent(paper.estimate / paper.visible - 1)} better than it "
        f"is there; and of naive, whose choices were hardly ever shown, the log says {naive.estimate:.4f} where the "
        f"truth is {naive.truth:.4f}: what a log cannot tell, it cannot tell."
    )
    safe = lines.get(("safe", "counts", tau))
    if safe is None:
        return [better, beware]
    never = (
        f"CONCLUSION: On the events that proved it the safe policy is worse than logging with a chance of 5 % at most; "
        f"later, it earns {safe.truth:.4f} in truth, against {logging.truth:.4f} for what was shown and "
        f"{learned.truth:.4f} for the learned one. By the log, it gains {_gain(safe)} an event."
    )
    return [better, beware, never]
