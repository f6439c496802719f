"""The settings of an evaluation, declared once for the command line, ``warmstart.toml`` and its schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from warmstart.core import Moment
from warmstart.pipeline.settings import parse_tau, shown

if TYPE_CHECKING:
    from warmstart.events import Events
    from warmstart.policy import NamedPolicy

INTERVALS = ("bets", "kl", "hoeffding", "bernstein", "gamma", "bootstrap")
PROPENSITIES = ("auto", "counts", "train", "all", "back-off", "model", "mixture", "logged")
ESTIMATORS = ("ips", "snips", "dm", "dr", "switch-dr", "shrunk-dr")
WINDOWS = ("evaluated", "train", "all")
AUTO = ("auto",)
NEVER = ("never",)


def _taus(texts: Sequence[str]) -> list[float | Literal["auto"]]:
    return [parse_tau("--tau", text) for text in texts]


def _levels(texts: Sequence[str]) -> list[list[str]]:
    return [text.split(",") for text in texts]


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings:
    """How to evaluate, as ``evaluate`` takes it."""

    contexts: Path | None = field(
        default=None,
        metadata=shown(
            "Features of contexts, as fit takes them: learned policies choose in contexts that their training never "
            "saw.",
            "FILE",
        ),
    )
    tau: list[float | Literal["auto"]] | None = field(
        default=None,
        metadata=shown(
            "The floor of the propensity (clipping constant), in (0, 1], or auto: chosen without a look at the "
            "evaluated rewards. May be repeated.  [default: auto]",
            "TAU",
            words=AUTO,
            typed=list[str],
            parse=_taus,
        ),
    )
    propensities: str = field(
        default="auto",
        metadata=shown(
            "Where propensities come from: counts of the evaluated window, train (counts of the training window), all "
            "(of both, the paper's), back-off (rare contexts borrow), model (of the context columns), mixture (of "
            "models, one for every epoch), logged, or auto.",
            "SOURCE",
            words=PROPENSITIES,
            closed=True,
        ),
    )
    coarser: list[list[str]] | None = field(
        default=None,
        metadata=shown(
            "A coarser context to borrow from: some of the context columns. May be repeated, most specific first.",
            "C1,C2",
            typed=list[str],
            parse=_levels,
        ),
    )
    feasible_from: str | None = field(
        default=None,
        metadata=shown(
            "Take feasible actions from: train (if split), evaluated or all.", "WINDOW", words=WINDOWS, closed=True
        ),
    )
    delta: float = field(default=0.05, metadata=shown("How often a confidence interval may miss."))
    interval: str = field(
        default="bets",
        metadata=shown(
            "The confidence interval: bets, kl, hoeffding, bernstein (finite-sample), gamma or bootstrap "
            "(approximate).",
            "NAME",
            words=INTERVALS,
            closed=True,
        ),
    )
    estimators: list[str] | None = field(
        default=None,
        metadata=shown(
            "A point estimate of all traffic beside the bounds: dr (doubly robust), shrunk-dr, switch-dr, snips, dm or "
            "ips. May be repeated; the best of them stands first.  [default: dr]",
            "NAME",
            flag="--estimator",
            words=ESTIMATORS,
            closed=True,
        ),
    )
    trained_until: list[str] | None = field(
        default=None,
        metadata=shown(
            "When decisions were fitted on rewards of the log last: a time, or never. No end is certified if that is "
            "inside the evaluated window. Without NAME, of all files. May be repeated.",
            "[NAME=]T|never",
            words=NEVER,
        ),
    )
    allow_unknown_actions: bool = field(
        default=False,
        metadata=shown("Let decisions name actions that the log never shows; they count as unsupported."),
    )
    per: str = field(
        default="event",
        metadata=shown(
            "Whose mean: that of events, or of units, each counting the same however often it comes.",
            "event|unit",
            words=("event", "unit"),
            closed=True,
        ),
    )
    until: Moment | None = field(
        default=None,
        metadata=shown(
            "Evaluate what was known then: the epochs that had ended. Bounds hold at all epoch ends at once.",
            "TIME",
            typed=str,
        ),
    )
    first_epochs: bool = field(
        default=False,
        metadata=shown(
            "Keep of every unit the events of its first epoch only: where units come back in later epochs, bounds hold "
            "for these."
        ),
    )
    live: bool = field(
        default=True,
        metadata=shown("Whether policies choose among the actions live on the day only.", flag="--live/--no-live"),
    )
    guards: list[str] | None = field(
        default=None,
        metadata=shown(
            "A limit on what a policy may do to an outcome, against logging: 'cost<=+2%', 'complaint<=+0.001'. May be "
            "repeated. --select takes only policies that are proven to keep all of them.",
            "LIMIT",
            flag="--guard",
        ),
    )
    utility: str | None = field(
        default=None,
        metadata=shown(
            "Judge policies by a weighted sum of outcomes in the place of the reward: 'quality - 50*cost'.", "SUM"
        ),
    )
    by: list[str] | None = field(
        default=None,
        metadata=shown(
            "A column to tell segments of the traffic apart by: of the context, of --contexts, or of the log, which "
            "then joins the context. May be given twice.",
            "COLUMN",
        ),
    )
    margin: float | None = field(
        default=None,
        metadata=shown(
            'A change of the reward per event up to this makes no difference that matters: verdicts may say "same".',
            "X",
        ),
    )
    doubt: float | None = field(
        default=None,
        metadata=shown(
            "Let bounds and gains allow for a hidden segment: in a context, events that were shown an action could "
            "earn up to R times what the others would have earned with it, or 1 / R of it; and the same of how far "
            "rewards stay below the largest.",
            "R",
        ),
    )
    name_texts: bool = field(
        default=False,
        metadata=shown("Also name contexts that are free text, such as prompts, in the page; else they are numbered."),
    )

    def window(self, events: Events) -> Events:
        """Return the events that these settings speak of."""
        events = events.first_epochs() if self.first_epochs else events
        return events if self.until is None else events.until(self.until)

    def arguments(self, named: Sequence[NamedPolicy]) -> dict[str, Any]:
        """Return what ``evaluate`` takes, but for the window."""
        from warmstart.pipeline.trained import parse_trained_until

        own = ("contexts", "propensities", "feasible_from", "delta", "interval", "allow_unknown_actions", "per", "live")
        return {
            **{name: getattr(self, name) for name in (*own, "utility", "margin", "doubt", "name_texts")},
            **{name: getattr(self, name) or () for name in ("coarser", "guards", "by")},
            "tau": self.tau or ["auto"],
            "estimators": self.estimators or ("dr",),
            "trained_until": parse_trained_until(self.trained_until or (), named),
        }
