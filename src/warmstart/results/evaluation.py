"""The answer to "what would these policies have earned?", as one value that shows and saves well."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from warmstart.core.names import WindowName
from warmstart.core.text import counted, quoted, shortened
from warmstart.core.window import Window
from warmstart.results.contribution import Contribution
from warmstart.results.estimate import ValueEstimate
from warmstart.results.propensities import PropensitySource
from warmstart.results.text_table import TextTable

ASSUMPTIONS = (
    "It rests on this: (1) the context columns hold everything the logging policy used that also predicts the "
    "reward - this cannot be tested from the log; (2) an action's mean reward in a context does not drift "
    "inside the window; (3) nothing inside the window reacts to rewards inside it; (4) the policy was not "
    "chosen with this window's rewards; and rewards are independent across events."
)


@dataclass(frozen=True)
class LogSummary:
    """The whole log given: training and evaluated windows together."""

    events: int
    contexts: int
    actions: int
    cells: int
    dropped: int
    one_action_share: float

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON shows it."""
        return dict(vars(self))


@dataclass(frozen=True)
class Windows:
    """Which events gave what: the evaluated traffic, the weights, the feasible sets."""

    evaluated: Window
    train: Window | None
    weights_from: WindowName
    feasible_from: WindowName
    live: bool
    whole_log: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the windows as JSON shows them."""
        return {
            "evaluated": self.evaluated.to_dict(),
            "train": self.train and self.train.to_dict(),
            "weights_from": self.weights_from,
            "feasible_from": self.feasible_from,
            "live": self.live,
        }


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Estimates for several policies and taus on one window. Iterates over its estimates."""

    policies: tuple[ValueEstimate, ...]
    windows: Windows
    log: LogSummary
    reward_range: tuple[float, float]
    version: str
    learned_here: tuple[str, ...] = ()
    contributions: tuple[Contribution, ...] = ()
    propensities: PropensitySource | None = None

    def __iter__(self) -> Iterator[ValueEstimate]:
        return iter(self.policies)

    def __len__(self) -> int:
        return len(self.policies)

    def __getitem__(self, key: str | tuple[str, float]) -> ValueEstimate:
        """Return the estimate of a policy by its name, or by name and tau where there are several taus.

        A name alone gives the first tau asked for.
        """
        name, tau = key if isinstance(key, tuple) else (key, None)
        for estimate in self.policies:
            if estimate.policy == name and tau in (None, estimate.tau):
                return estimate
        raise KeyError(key)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dictionaries, as ``--json`` prints it."""
        found = {
            "policies": [estimate.to_dict() for estimate in self.policies],
            "windows": self.windows.to_dict(),
            "log": {**self.log.to_dict(), "reward_range": list(self.reward_range)},
            "propensities": None if self.propensities is None else self.propensities.to_dict(),
            "warmstart_version": self.version,
        }
        if self.contributions:
            found["contributions"] = [
                {**vars(part), "name": [str(v) for v in part.name]} for part in self.contributions
            ]
        return found

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def tables(self) -> list[TextTable]:
        """Return what people look at: the values, the traffic they rest on, the comparison with logging."""
        return list(self.named_tables().values())

    def named_tables(self) -> dict[str, TextTable]:
        """Return the tables by name: values, estimates, traffic, against_logging, propensities."""
        estimates = self._estimates()
        tables = {"values": self._values()} | ({} if estimates is None else {"estimates": estimates})
        tables |= {"traffic": self._traffic(), "against_logging": self._against_logging()}
        return tables if self._own_weights() else tables | {"propensities": self._propensities()}

    def notes(self) -> list[str]:
        """Return in plain words what the numbers are and what they rest on."""
        source = [] if self.propensities is None else self.propensities.notes()
        return [*self._warnings(), *self._about_windows(), *source, *self._about_numbers(), ASSUMPTIONS]

    def __str__(self) -> str:
        return "\n\n".join([*(table.text() for table in self.tables()), "\n".join(self.notes())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes())
        return "".join(table.html() for table in self.tables()) + notes

    def _own_weights(self) -> bool:
        return self.windows.weights_from == "evaluated"

    def shown(self) -> Iterator[tuple[tuple[str, str], ValueEstimate]]:
        """Yield the estimates to show with their first two cells; logging has no tau and is shown once."""
        shown = set()
        for estimate in self.policies:
            if not (estimate.is_logging and estimate.policy in shown):
                shown.add(estimate.policy)
                yield (shortened(estimate.policy, 30), "any" if estimate.is_logging else f"{estimate.tau:g}"), estimate

    @cached_property
    def _decimals(self) -> int:
        """Show two digits of the smallest value or width in the tables."""
        sizes = [abs(e.value) for e in self.policies] + [e.upper - e.lower for e in self.policies]
        gains = [e.gain for e in self.policies]
        sizes += [g.upper - g.lower for g in gains if g.upper is not None and g.lower is not None]
        low, high = self.reward_range
        smallest = min((size for size in sizes if size > 1e-9 * (high - low)), default=high - low)
        return min(max(1 - math.floor(math.log10(smallest)), 0), 12)

    def number(self, value: float | None, *, signed: bool = False) -> str:
        """Show a value with as many digits as the table needs."""
        if value is None:
            return "-"
        return f"{round(value, self._decimals) + 0.0:{'+' if signed else ''}.{self._decimals}f}"

    def _span(self, lower: float | None, upper: float | None) -> str:
        return "-" if lower is None or upper is None else f"[{self.number(lower)}, {self.number(upper)}]"

    @property
    def _first(self) -> ValueEstimate:
        """Return the estimate whose labels are those of the table: logging's are better than most."""
        return next((e for e in self.policies if not e.is_logging), self.policies[0])

    def _from_outside(self) -> bool:
        return self.propensities is not None and not self.propensities.certifies

    def _values(self) -> TextTable:
        first = self._first
        rows = [
            (
                *names,
                *(self.number(e.value), self._span(e.lower, e.upper)),
                *(self.number(e.certified_lower), self.number(e.certified_upper)),
                self.number(None if e.best is None else e.best.value),
            )
            for names, e in self.shown()
        ]
        title = f"Value per event (interval: {first.interval}, {1 - first.delta:.6g}, {first.guarantee})"
        header = ("policy", "tau", "value", "interval", "at least", "at most", "best estimate")
        return TextTable(title, header, rows, left=1)

    def _estimates(self) -> TextTable | None:
        if all(len(e.estimates) < 2 and not self._modelled(e) for e in self.policies):
            return None
        rows = [
            (*names, point.estimator, self.number(point.value), self._span(point.lower, point.upper))
            for names, e in self.shown()
            for point in e.estimates
        ]
        header = ("policy", "tau", "estimator", "value", "interval, approx.")
        return TextTable("Best estimates of the whole: point estimates, no bounds", header, rows, left=1)

    def _modelled(self, estimate: ValueEstimate) -> bool:
        return any(point.estimator != "snips" for point in estimate.estimates)

    def _traffic(self) -> TextTable:
        header = ("policy", "tau", "supported", "clipped", "unsupported", "undecided", "matched", "effective")
        rows = [
            (
                *names,
                *(f"{share:.1%}" for share in vars(e.support).values()),
                *(f"{e.matched:,}", f"{e.effective_sample_size:,.0f}"),
            )
            for names, e in self.shown()
        ]
        return TextTable("The traffic behind it (shares of traffic; events that match)", header, rows, left=1)

    def _against_logging(self) -> TextTable:
        header = ("policy", "tau", "traffic", "contested", "policy", "logging", "gain", "interval")
        rows = []
        for names, e in self.shown():
            s = e.gain
            rows.append(
                (
                    *(*names, f"{s.share:.1%}", f"{s.contested:.1%}"),
                    *(self.number(s.value), self.number(s.logging), self.number(s.difference, signed=True)),
                    self._span(s.lower, s.upper),
                )
            )
        where = "that the policy decides" if self._from_outside() else "where the policy is supported"
        return TextTable(f"Against logging, per event of the traffic {where}", header, rows, left=1)

    def _propensities(self) -> TextTable:
        header = ("policy", "tau", "mean rho", "counted too much", "propensity error", "the paper's bound")
        rows = [
            (
                *(*names, f"{e.weight_ratio.mean:.3f}", f"{e.weight_ratio.above_one:.1%}"),
                *(self.number(e.propensity_error.tight), self.number(e.propensity_error.paper)),
            )
            for names, e in self.shown()
            if e.weight_ratio is not None and e.propensity_error is not None
        ]
        title = f"What weights from {self._window_words(self.windows.weights_from)} do to the estimate"
        return TextTable(title, header, rows, left=1)

    def _window_words(self, window: WindowName) -> str:
        words = {"evaluated": "the evaluated window", "train": "the training window"}
        return words.get(window, "all data (the paper's choice)")

    def _warnings(self) -> list[str]:
        if not self.learned_here:
            return []
        names = ", ".join(quoted(name) for name in self.learned_here)
        what = "learned from events of the evaluated window: the value is too high, and no end is certified"
        return [f"WARNING: {names} {what}. Evaluate on later events."]

    def _about_windows(self) -> list[str]:
        windows, log = self.windows, self.log
        lines = [f"Evaluated: {windows.evaluated}."]
        if windows.train is not None:
            lines.append(f"Training: {windows.train}.")
        else:
            whole = windows.whole_log
            lines.append(
                (
                    "No split was asked: the evaluated window is the whole log"
                    if whole
                    else "There is no training window"
                )
                + ", and feasible actions come from the evaluated window. "
                f"{log.one_action_share:.1%} of its traffic is in contexts where a single action was shown."
            )
        if windows.live:
            live = ", live on the day (UTC)"
        elif any(e.policy == "uniform" for e in self.policies):
            live = ", assuming that they could be shown all window"
        else:
            live = ""
        lines.append(
            f"Weights from {self._window_words(windows.weights_from)}; "
            f"feasible actions from {self._window_words(windows.feasible_from)}{live}."
        )
        if log.dropped:
            lines.append(f"{counted(log.dropped, 'row')} without a value left out.")
        return [*lines, *self._about_tau()]

    def _about_tau(self) -> list[str]:
        chosen = [e.tau_choice for e in self.policies if e.tau_choice is not None]
        if not chosen:
            return []
        low, high = self.reward_range
        rate = self.number(low + (high - low) * chosen[0].rate)
        start = "tau was chosen for the least expected error, from contexts, actions and"
        if self._from_outside():
            return [f"{start} the mean reward of what a policy matched."]
        known = (
            f"the training window's mean reward, {rate}"
            if chosen[0].rate_is_known
            else "no mean reward, for want of a training window (it is never far from the best, whatever that is)"
        )
        return [f"{start} {known}; the evaluated rewards had no say, so the intervals hold as they are."]

    def _about_numbers(self) -> list[str]:
        first = self._first
        if self._from_outside():
            lead = ""
        elif first.guarantee == "approximate":
            lead = (
                f"The interval '{first.interval}' is approximate, so no end is certified; 'bets' gives ends that are."
            )
        elif self._own_weights():
            names = dict.fromkeys(e.policy for e in self.policies if e.policy not in self.learned_here)
            bounds = ", ".join(self._promise(name) for name in names)
            lead = (
                "No end is certified."
                if not names
                else (
                    f"With probability {1 - first.delta:.6g}, for all rows at once, expected earnings on this window's "
                    f"traffic are at least {bounds} per event."
                )
            )
        else:
            lead = (
                f"Weights from {self._window_words(self.windows.weights_from)} multiply each chosen action's reward by "
                "rho = its share in this window / the propensity used; above 1 it counts too much. 'at least' and "
                "'at most' use the evaluated window's own counts."
            )
        nothing = "nothing" if self.reward_range[0] == 0 else f"the lowest reward, {self.reward_range[0]:g},"
        meaning = (
            "'value' is the mean of reward x probability / max(propensity, tau): in full where the policy is "
            f"supported, in part where clipped, {nothing} where its action was never shown or it says nothing."
        )
        if not self._from_outside():
            meaning += " 'at least' and 'at most' bound expected earnings on all this traffic, each row for itself."
        return [*([lead] if lead else []), meaning, *self._about_estimates()]

    def _about_estimates(self) -> list[str]:
        best = next((e.best for e in self.policies if not e.is_logging and e.best is not None), None)
        if best is None:
            return []
        first = best.estimator
        words = {
            "snips": "the value divided by the share of weight behind it, as if what is not supported earned like the "
            "rest",
            "dm": "what the reward model expects everywhere",
            "ips": "the value itself",
        }
        what = words.get(first, "the reward model's expectation, corrected by the log where it has evidence")
        return [f"'best estimate' ({first}) is a point estimate of all traffic, and no bound: {what}."]

    def _promise(self, policy: str) -> str:
        best = max((e for e in self.policies if e.policy == policy), key=lambda e: e.joint_lower)
        return f"{self.number(best.joint_lower)} ({shortened(policy, 30)})"
