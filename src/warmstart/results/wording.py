"""Verdicts in words: titles and reasons that never claim more than the ends they follow from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from warmstart.core import percent, quoted
from warmstart.results.amounts import Amounts

if TYPE_CHECKING:
    from warmstart.results.estimate import ValueEstimate
    from warmstart.results.evaluation import Evaluation
    from warmstart.results.guards import GuardResult, Status

Kind = Literal["better", "worse", "same", "cannot-tell"]
Evidence = Literal["certified", "estimated", "unsupported"]
Ends = tuple[float, float]
# A share of traffic that is all of it, to three digits.
EVERYWHERE = 0.9995


@dataclass(frozen=True)
class Wording:
    """Puts a verdict into words; ``proven`` and ``likely``: the ends of the improvement, certified and estimated."""

    evaluation: Evaluation
    estimate: ValueEstimate
    proven: Ends | None
    likely: Ends | None

    def words(self, kind: Kind, evidence: Evidence, gain: float | None) -> tuple[str, str]:
        """Return the decision in a few words, and its reason."""
        title, text = self._words(kind, evidence, gain)
        if kind in ("better", "same") and (statuses := self._statuses - {"holds"}):
            why = ": it breaks a guard" if "fails" in statuses else " yet: a guard is not proven to hold"
            title = f"Do not use {self._name}{why}"
        if self.estimate.guards:
            text = f"{text} Guard {', '.join(map(_guarded, self.estimate.guards))}."
            text += " Until no guard stands against it, keep what was shown." if title.startswith("Do not use") else ""
        modelled = not self.evaluation.propensities.counted
        if evidence == "estimated" and modelled and self.estimate.withheld is not None:
            text += f" But the propensities fail a check ({self.estimate.withheld}), so that this may be off."
        return title, text

    def _words(self, kind: Kind, evidence: Evidence, gain: float | None) -> tuple[str, str]:
        """Return title and text, guards apart."""
        if kind == "cannot-tell" or gain is None:
            return self._cannot_tell(gain)
        if kind == "same":
            return self._same(evidence, gain)
        if evidence == "certified":
            return self._use(gain) if kind == "better" else self._keep(gain)
        looks, do = (
            (f"Not proven: {self._name} looks better", ", so test it on part of the traffic")
            if kind == "better"
            else (f"Keep what was shown: {self._name} looks worse", "")
        )
        return f"{looks}{do}", f"{self._estimated_change(gain)}. That is not proven.{self._on_model}"

    @property
    def _name(self) -> str:
        return quoted(self.estimate.policy)

    @property
    def _statuses(self) -> set[Status]:
        return {guard.status for guard in self.estimate.guards}

    @property
    def _share(self) -> float:
        return self.estimate.support.supported

    @property
    def _where(self) -> str:
        """Say on which traffic the log supports the policy."""
        if self._share >= EVERYWHERE:
            return "on all traffic"
        return f"on the {percent(self._share)} of traffic where this log supports it"

    @property
    def _elsewhere(self) -> str:
        """Say what the log cannot tell."""
        if self._share >= EVERYWHERE:
            return ""
        none = ", or it makes none" if self.estimate.support.undecided >= 1 - EVERYWHERE else ""
        rarely = f"its choices were rarely or never shown{none}"
        tell = "showing them there now and then would tell (exploration)"
        return f"{self._rule} On the other {percent(1 - self._share)} {rarely}: keep what was shown; {tell}."

    @property
    def _rule(self) -> str:
        """Say where the log supports a policy, as a rule that could be deployed, where that is simple."""
        source = self.evaluation.propensities
        if not source.counted or source.epoch is not None:
            return ""
        return (
            f" Supported: where its choice was at least {percent(self.estimate.tau)} of what was shown in the context."
        )

    @property
    def _on_model(self) -> str:
        """Say how much of an estimate for all traffic the log does not support, and where the policy says nothing."""
        support, none = self.estimate.support, 1 - EVERYWHERE
        silent = f" On {percent(support.undecided)} of traffic it makes no choice." if support.undecided >= none else ""
        if support.clipped + support.unsupported < none:
            return silent
        estimated = self.estimate.gain.estimated
        guessed = 0.0 if estimated is None else estimated.on_model
        rest, alone = percent(support.clipped + support.unsupported), percent(guessed)
        rare = f"on {rest} its choices were rarely or never shown"
        model = "" if guessed < none else ", and there a model's guess stands in"
        model += f" (alone on {alone} of all)" if model and alone != rest else ""
        return f"{silent} The log supports {percent(self._share)} of traffic; {rare}{model}."

    @property
    def _amounts(self) -> Amounts:
        return Amounts.of(self.evaluation)

    @property
    def _reward(self) -> str:
        return quoted(self.evaluation.reward.name)

    def _change(self, improvement: float) -> str:
        """Say "raises" or "lowers" the reward."""
        raised = self.evaluation.reward.sign * improvement > 0
        return f"{'raises' if raised else 'lowers'} {self._reward}"

    def _certified_span(self, ends: Ends) -> str:
        """Show certified ends of the reward's change, rounded outwards."""
        low, high = sorted(self.evaluation.reward.sign * end for end in ends)
        return f"{self._amounts.bound(low, 1)} to {self._amounts.bound(high, -1)} {self._amounts.unit} of all traffic"

    def _use(self, gain: float) -> tuple[str, str]:
        so = "this way" if self._statuses <= {"holds"} else self._where
        return f"Use {self._name} {self._where}", f"Used {so}, it {self._at_least(gain)}.{self._elsewhere}"

    def _keep(self, gain: float) -> tuple[str, str]:
        return f"Keep what was shown: {self._name} is worse", f"Used {self._where}, it {self._at_least(gain)}."

    def _at_least(self, gain: float) -> str:
        """Say how large a certified change is at least, whichever its direction."""
        assert self.proven is not None
        least = self._amounts.at_least(min(abs(end) for end in self.proven))
        about = self._amounts.about(abs(gain))
        return f"{self._change(gain)} by at least {least}, against what was shown; best estimate {about}"

    def _same(self, evidence: Evidence, gain: float) -> tuple[str, str]:
        margin = f"within the margin of {self._amounts.times * (self.evaluation.margin or 0.0):,.6g}"
        if evidence == "certified" and self.proven is not None:
            title = f"Either will do {self._where}: {self._name} makes no difference that matters"
            span = self._certified_span(self.proven)
            return title, f"Used {self._where}, it changes {self._reward} by {span}: {margin}.{self._elsewhere}"
        text = f"{self._estimated_change(gain)}, {margin}. That is not proven.{self._on_model}"
        return f"{self._name} seems to make no difference that matters", text

    def _cannot_tell(self, gain: float | None) -> tuple[str, str]:
        title = f"Keep what was shown: the log cannot tell whether {self._name} is better"
        if self.estimate.policy in self.evaluation.learned_here:
            return title, "It learned from these very events, so that its value is too high."
        if self.likely is not None and gain is not None:
            return title, f"{self._estimated_change(gain)}.{self._on_model}"
        if self.proven is not None:
            span = self._certified_span(self.proven)
            return title, f"Used {self._where}, it changes {self._reward} by {span}.{self._elsewhere}"
        known = f"The log supports {percent(self._share)} of what it would do"
        return title, f"{known}, and there is neither a certified bound nor an interval of the best estimate."

    def _estimated_change(self, gain: float) -> str:
        """Say how the reward changes by the best estimate, with its interval."""
        assert self.likely is not None
        sign, amounts = self.evaluation.reward.sign, self._amounts
        low, high = sorted(sign * end for end in self.likely)
        span = f"approximate interval {amounts.signed_number(low)} to {amounts.signed_number(high)}"
        change = f"changes {self._reward} by {amounts.signed(sign * gain)}"
        return f"By the best estimate, used everywhere, it {change}; {span}"


def _guarded(guard: GuardResult) -> str:
    """Say whether a guard holds; if that is not proven, where its change lies."""
    words = {"holds": "holds", "fails": "is broken", "cannot-tell": "is not proven to hold"}
    open_ends = guard.status == "holds" or guard.lower is None
    span = "" if open_ends else f" (its outcome changes by {guard.span})"
    return f"{quoted(guard.guard)} {words[guard.status]}{span}"
