"""Whether the logging policy reacts to rewards, how fast, and which epoch later windows need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warmstart.core import counted, percent
from warmstart.results.display import TextTable, fields_of

# Below this share of traffic with a choice inside epochs, the logging policy is all but deterministic there.
TOO_LITTLE = 0.01
ALL = "all"
LATER = "Recommended from these events; use it on later ones."
CURE = (
    "Log propensities (docs/guides/log-propensities.md), or give a share of the traffic to actions drawn at random and "
    "evaluate on that share"
)


@dataclass(frozen=True)
class EpochLength:
    """Epochs of one length. ``name``: as ``epoch=`` takes it, or ``all``, the whole window as one epoch.

    ``choice``: the share of traffic in a (context, epoch) with more than one action; ``supported``: where two actions
    or more have a share of tau there. ``response``: how far one more reward moves an action's later share in its
    context, inside the epoch; ``visible``: the smallest that would be found with a chance of 80 %. ``stretches``: how
    many stretches of an action in a context were compared (effective number). ``clustered_p`` lets rewards of a context
    depend on each other. ``reacts``: whether the logging policy was found to react to rewards inside such an epoch;
    None if that cannot be told. ``nested``: whether shorter lengths lie inside it.
    """

    name: str
    words: str
    epochs: int
    choice: float
    supported: float
    response: float | None
    visible: float | None
    stretches: float
    p_value: float | None
    clustered_p: float | None
    reacts: bool | None = None
    nested: bool = True


@dataclass(frozen=True)
class EpochFacts:
    """Epochs of every length that the log allows, longest first.

    ``tau``: of ``supported``; ``sample``: the share of contexts (or of moments, where contexts are few) they come from.
    """

    lengths: tuple[EpochLength, ...]
    tau: float
    sample: float = 1.0

    @property
    def reacts(self) -> bool:
        """Tell whether the logging policy was found to react to rewards inside any epoch."""
        return self._reacting is not None

    @property
    def recommended(self) -> str | None:
        """Return the epoch for later windows; None if the whole window is one, none is valid, or nobody can tell."""
        row = self._longest
        if row is None or row.name == ALL or row.reacts is None or row.supported < TOO_LITTLE:
            return None
        return row.name

    @property
    def verdict(self) -> str:
        """Say in a sentence or two whether the logging policy reacts to rewards, and which epoch to use later."""
        row = self._longest
        if not self.lengths:
            return "Whether the logging policy reacts to rewards cannot be told: contexts do not repeat."
        if row is None:
            return _reacts_in_all(self.lengths[-1])
        before = f"The logging policy reacts to rewards within {self._reacting.words}. " if self._reacting else ""
        if row.supported < TOO_LITTLE:
            return before + _deterministic(row)
        if row.reacts is None:
            return before + (_unknown_inside(row) if before else self._unknown)
        if row.name == ALL:
            return f"No reaction to rewards was found ({self._smallest_p}): count over the whole window. {LATER}"
        option = f"epoch={row.name!r} (--epoch {row.name})"
        keeps = f"which keeps {percent(row.supported)} of the traffic with a choice"
        return f"{before}Within {row.words} no reaction was found ({_p(row.p_value)}): {option}, {keeps}. {LATER}"

    @property
    def title(self) -> str:
        """Say the verdict in a few words."""
        row, reacting = self._longest, self._reacting
        if row is None:
            return "The logging policy reacts to rewards, and no epoch is short enough"
        if row.reacts is None and reacting is None:
            return "Whether the logging policy reacts to rewards cannot be told"
        if reacting is None:
            return "The logging policy was not found to react to rewards"
        within = f"The logging policy reacts to rewards within {reacting.words}"
        return f"{within}, not within {row.words}" if row.reacts is False else within

    @property
    def _unknown(self) -> str:
        cannot = "Whether the logging policy reacts to rewards cannot be told"
        return f"{cannot}: no clear reaction was found ({self._smallest_p}), but the log is too small to exclude one."

    @property
    def _smallest_p(self) -> str:
        tested = [row.p_value for row in self.lengths if row.p_value is not None]
        return f"smallest of {counted(len(tested), 'p-value')}: {min(tested):.2g}" if tested else "no test"

    @property
    def _longest(self) -> EpochLength | None:
        """Return the longest epoch in which no reaction was found."""
        return next((row for row in self.lengths if not row.reacts), None)

    @property
    def _reacting(self) -> EpochLength | None:
        """Return the shortest epoch in which a reaction was found."""
        return next((row for row in reversed(self.lengths) if row.reacts), None)

    @property
    def table(self) -> TextTable:
        """Show support and reaction by the length of an epoch."""
        header = ("epoch", "epochs", "choice", f"two actions reach {self.tau:g}", "response", "visible", "p-value")
        rows = [
            (
                *(row.name, f"{row.epochs:,}", percent(row.choice), percent(row.supported)),
                *(_number(row.response), _number(row.visible), _bare(row.p_value), _bare(row.clustered_p)),
                {True: "yes", False: "no sign", None: "cannot tell"}[row.reacts],
            )
            for row in self.lengths
        ]
        title = "Does the logging policy react to rewards inside an epoch?"
        return TextTable(title, (*header, "clustered p", "reacts"), rows, left=1)

    @property
    def notes(self) -> list[str]:
        """Say what the numbers are and what they come from."""
        lines = [self.verdict]
        if not self.lengths:
            return lines
        lines.append(
            "Response: how far one more reward moves an action's later share in its context inside the epoch; visible: "
            "the smallest that would be found with a chance of 80 %. Rewards that drift while shares change look the "
            "same, and call for shorter epochs too."
        )
        if self.sample < 1:
            lines.append(f"Epochs were judged on a sample: {percent(self.sample)} of the contexts, or of the moments.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dictionaries."""
        return {**fields_of(self), "recommended": self.recommended, "verdict": self.verdict}


def _reacts_in_all(shortest: EpochLength) -> str:
    reacts = f"The logging policy reacts to rewards even within {shortest.words}"
    if shortest.name != "hour":
        return f"{reacts}, and the log has no shorter epochs: none is valid. {CURE}."
    return f"{reacts}: it seems to be updated at nearly every event, so that no epoch is valid. {CURE}."


def _deterministic(row: EpochLength) -> str:
    shown = f"two actions or more have a choice on {percent(row.supported)} of the traffic"
    return f"Within {row.words} it is all but deterministic ({shown}): counts inside epochs have no support. {CURE}."


def _unknown_inside(row: EpochLength) -> str:
    cannot = f"Whether it does within {row.words} cannot be told: as strong a reaction would not be found there"
    cure = "If you know how often its model is updated, name an epoch that is no longer (epoch=..., --epoch)"
    return f"{cannot} ({_p(row.p_value)}). {cure}; else: {CURE[0].lower()}{CURE[1:]}."


def _p(value: float | None) -> str:
    return "no test" if value is None else "p < 0.0001" if value < 0.0001 else f"p = {value:.2g}"


def _bare(value: float | None) -> str:
    return "-" if value is None else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"
