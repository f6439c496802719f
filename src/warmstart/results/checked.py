"""Whether an evaluation meets stated conditions: for pipelines, which act on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from warmstart.core import CHECK_MARK, counted, percent, printable, quoted
from warmstart.results.display import Result, TextTable, fields_of
from warmstart.results.verdict import Verdict

if TYPE_CHECKING:
    from warmstart.results.estimate import ValueEstimate
    from warmstart.results.evaluation import Evaluation

SUITE = "warmstart check"


@dataclass(frozen=True)
class Condition:
    """What was asked, what the evaluation says, and whether that is enough. ``key``: as the settings call it."""

    key: str
    asked: str
    measured: str
    met: bool


@dataclass(frozen=True, repr=False)
class Checked(Result):
    """Whether a policy meets all conditions, one by one. It is true in an ``if`` where all are met."""

    policy: str
    tau: float
    met: bool
    conditions: tuple[Condition, ...]
    verdict: Verdict
    version: str

    def __bool__(self) -> bool:
        return self.met

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dictionaries, as ``--json`` prints it."""
        parts = fields_of(self)
        version = parts.pop("version")
        return {**self._head(), "why": self.why, **parts, "warmstart_version": version}

    @property
    def failed(self) -> tuple[Condition, ...]:
        """Return the conditions that are not met."""
        return tuple(one for one in self.conditions if not one.met)

    @property
    def why(self) -> str:
        """Say in one line why the check failed, or that it did not."""
        about = f"{quoted(self.policy)} at tau {self.tau:g}"
        if self.met:
            return f"CHECK PASSED: {about} meets {counted(len(self.conditions), 'condition')}."
        parts = [f"{one.key} is {one.measured}, asked was {one.asked}" for one in self.failed]
        return f"CHECK FAILED: {about}: {'; '.join(parts)}."

    @property
    def headline(self) -> list[str]:
        """Return the answer in one line."""
        return [self.why]

    @property
    def tables(self) -> list[TextTable]:
        """Return the conditions."""
        rows = [(one.key, one.asked, one.measured, "yes" if one.met else "NO") for one in self.conditions]
        return [TextTable("Conditions", ("condition", "asked", "measured", "met"), rows, left=4)]

    @property
    def notes(self) -> list[str]:
        """Return the verdict."""
        return [f"VERDICT: {self.verdict.title}. {self.verdict.text}"]

    def _rows(self) -> list[dict[str, Any]]:
        return [{"policy": self.policy, "tau": self.tau, **fields_of(one)} for one in self.conditions]

    def to_junit(self) -> str:
        """Return the conditions as test cases in the XML of JUnit, which build servers show."""
        cases = []
        for one in self.conditions:
            name = quoteattr(printable(f"{one.key}: {one.asked}"))
            said = printable(f"{one.key} is {one.measured}, asked was {one.asked}")
            failure = "" if one.met else f"<failure message={quoteattr(said)}>{escape(printable(self.why))}</failure>"
            cases.append(
                f"    <testcase classname={quoteattr(printable(self.policy))} name={name}>{failure}</testcase>"
            )
        counts = f'tests="{len(self.conditions)}" failures="{len(self.failed)}" errors="0"'
        lines = ['<?xml version="1.0" encoding="UTF-8"?>', CHECK_MARK.decode(), f"<testsuites {counts}>"]
        return "\n".join(
            [*lines, f'  <testsuite name="{SUITE}" {counts}>', *cases, "  </testsuite>", "</testsuites>\n"]
        )

    def to_markdown(self) -> str:
        """Return a summary in Markdown, for the page of a run."""
        rows = [
            f"| {'✅' if one.met else '❌'} | {_cell(one.key)} | {_cell(one.asked)} | {_cell(one.measured)} |"
            for one in self.conditions
        ]
        head = [
            CHECK_MARK.decode(),
            f"### {_cell(self.why)}",
            "",
            f"**{_cell(self.verdict.title)}.** {_cell(self.verdict.text)}",
        ]
        return "\n".join([*head, "", "| | condition | asked | measured |", "|---|---|---|---|", *rows, ""])


def judge(evaluation: Evaluation, estimate: ValueEstimate, verdict: Verdict, asked: dict[str, Any]) -> list[Condition]:
    """Return the conditions that were asked for, and whether they are met.

    Args:
        evaluation: The evaluation.
        estimate: The policy that is judged, at its tau.
        verdict: What the evaluation says of it.
        asked: The conditions, as ``check`` takes them.
    """
    conditions = []
    if kinds := asked["verdict"]:
        conditions.append(Condition("verdict", " or ".join(kinds), verdict.words, verdict.kind in kinds))
    if (evidence := asked["evidence"]) is not None:
        enough = ("certified",) if evidence == "certified" else ("certified", "estimated")
        conditions.append(Condition("evidence", evidence, verdict.evidence, verdict.evidence in enough))
    if (least := asked["gain_lower"]) is not None:
        proven = verdict.gain_lower
        shown = "not certified" if proven is None else f"{proven:.6g}"
        conditions.append(Condition("gain_lower", f"at least {least:g}", shown, proven is not None and proven >= least))
    if asked["keep_guards"]:
        statuses = {"holds": "proven to hold", "fails": "broken", "cannot-tell": "not proven to hold"}
        for guard in estimate.guards:
            said = statuses[guard.status]
            conditions.append(Condition("guard", f"{guard.guard} proven to hold", said, guard.status == "holds"))
    if (share := asked["support"]) is not None:
        supported = estimate.support.supported
        conditions.append(Condition("support", f"at least {percent(share)}", percent(supported), supported >= share))
    if asked["no_alarms"]:
        rings = estimate.withheld
        conditions.append(Condition("no_alarms", "none rings", rings or "none rings", rings is None))
    for code in asked["no_codes"]:
        finding = _finding(evaluation, code)
        conditions.append(Condition("no_codes", f"no {code}", finding or "none", finding is None))
    if (fewest := asked["min_events"]) is not None:
        events = evaluation.windows.evaluated.events
        conditions.append(Condition("min_events", f"at least {fewest:,}", f"{events:,}", events >= fewest))
    return conditions


def _finding(evaluation: Evaluation, code: str) -> str | None:
    """Return which warning or broken assumption has a code."""
    if any(one.code == code and one.level == "warning" for one in evaluation.remarks):
        return f"a warning ({code})"
    broken = next((one for one in evaluation.assumptions if one.code == code and one.is_broken), None)
    return None if broken is None else f"{broken.result}, that {broken.name} ({code})"


def _cell(text: str) -> str:
    """Return text that Markdown shows as it is."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>|#" else sign for sign in printable(text))
