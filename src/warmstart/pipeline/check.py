"""Hold an evaluation to stated conditions."""

from __future__ import annotations

from collections.abc import Sequence

from warmstart.core import CODES, UsageError, __version__, quoted
from warmstart.pipeline.check_settings import EVIDENCE, KINDS, check_conditions
from warmstart.results import Checked, Evaluation, judge


def check(
    evaluation: Evaluation,
    *,
    judged: str | None = None,
    verdict: str | Sequence[str] = (),
    evidence: str | None = None,
    gain_lower: float | None = None,
    keep_guards: bool = True,
    support: float | None = None,
    no_alarms: bool = False,
    no_codes: str | Sequence[str] = (),
    min_events: int | None = None,
) -> Checked:
    """Tell whether an evaluation meets conditions: the answer is true, or false with one line why.

    Args:
        evaluation: What ``evaluate`` returned.
        judged: The policy that the conditions are about, at its first tau; by default the one of the verdict.
        verdict: What the verdict must be: "better", "same", "worse", "cannot-tell", or one of several.
        evidence: What it must rest on: "certified", or "estimated" (either of the two).
        gain_lower: The certified improvement on logging, per event of all traffic, is at least this. The bound holds
            for all policies and taus of the evaluation at once.
        keep_guards: Whether all guards must be proven to hold, if there are any.
        support: The log supports the policy on at least this share of the traffic.
        no_alarms: No alarm of propensities rings that are not counts of the evaluated window.
        no_codes: No warning has one of these codes, and no assumption of one fails.
        min_events: The evaluated window has at least so many events.

    >>> import pyarrow as pa, warmstart as ws
    >>> log = pa.table({"page": ["p"] * 400, "ad": ["a", "b"] * 200, "click": [1, 0] * 200})
    >>> events = ws.read_events(log, context="page", action="ad", reward="click")
    >>> bool(check(ws.evaluate("constant:a", events), verdict="better", evidence="certified"))
    True
    """
    check_conditions(gain_lower, support)
    kinds, codes = ([one] if isinstance(one, str) else list(one) for one in (verdict, no_codes))
    for word, known in (*((kind, KINDS) for kind in kinds), *([(evidence, EVIDENCE)] if evidence else [])):
        if word not in known:
            raise UsageError(f"{quoted(word)} is none of {', '.join(known)}.")
    codes = [code.upper() for code in codes]
    if unknown := [code for code in codes if code not in CODES]:
        raise UsageError(f"There is no code {quoted(unknown[0])}.", "warmstart explain lists them.")
    if judged is None:
        first = evaluation.verdict
        if first is None:
            raise UsageError("There is no policy but logging to judge.", "Evaluate another one.")
        estimate, said = evaluation[first.policy, first.tau], first
    else:
        names = [one.policy for one in evaluation if not one.is_logging]
        if judged not in names:
            raise UsageError(
                f"There is no policy {quoted(judged)} to judge.",
                f"There are {', '.join(map(quoted, dict.fromkeys(names)))}.",
            )
        estimate = evaluation[judged]
        said = evaluation.verdict_on(estimate)
    asked = {"verdict": kinds, "evidence": evidence, "gain_lower": gain_lower, "keep_guards": keep_guards}
    asked |= {"support": support, "no_alarms": no_alarms, "no_codes": codes, "min_events": min_events}
    conditions = judge(evaluation, estimate, said, asked)
    if not conditions:
        raise UsageError(
            "No condition is stated, so that nothing could fail.",
            "State one: verdict, evidence, gain_lower, support, ... under [check] in warmstart.toml, or as options.",
        )
    met = all(one.met for one in conditions)
    return Checked(estimate.policy, estimate.tau, met, tuple(conditions), said, __version__)
