"""The first screen of an evaluation's page: what explains the decision table, and what the waterfall is made of."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.report import charts
from warmstart.report.evaluation_page import evaluation_page
from warmstart.report.outcome_pages import gain_rows
from warmstart.results import left_open
from warmstart.results.guards import GuardResult

NAMES = {"context": "page", "action": "ad", "reward": "click"}


@pytest.fixture(scope="module")
def events():
    """Two contexts with two ads at random, a third in which the second ad is rare."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, 6_000)
    a = rng.random(6_000) < np.where(x == 2, 0.01, 0.5)
    click = rng.random(6_000) < np.where(a, 0.5, 0.3)
    columns = {"page": np.char.add("p", x.astype(str)), "ad": np.where(a, "new", "old"), "click": click.astype(float)}
    return ws.read_events(pa.table(columns), **NAMES)


@pytest.fixture(scope="module")
def result(events):
    return ws.evaluate({"new": "constant:new"}, events, tau=0.05)


def section(result, start):
    return next((one for one in evaluation_page(result).sections if one.title.startswith(start)), None)


def test_every_column_is_explained_and_the_supported_share_is_a_rule_to_deploy(result, events):
    glance = section(result, "Every policy at a glance")
    [table] = glance.tables
    explained = dict(glance.explained)
    assert {word.lower() for word in explained} == {*table.header} - {"policy"}
    assert "made up at least 5 % of what was shown in the same context" in explained["Supported"]
    assert "the rule to deploy" in explained["Supported"]
    by_model = ws.evaluate("constant:new", events, tau=0.05, propensities="model")
    assert "deploy" not in dict(section(by_model, "Every policy").explained)["Supported"]


def test_bars_of_the_waterfall_follow_each_other_and_only_those_drawn_are_explained(result):
    part = section(result, "Where the change of new comes from")
    [table] = part.tables
    bars = {what: (float(start), float(end)) for what, start, end in table.rows}
    gain = result["new"].gain
    assert bars["proven where supported"] == pytest.approx((0, 1000 * gain.certified.joint_lower), rel=0.01)
    assert bars["measured where supported"][0] == bars["proven where supported"][1]
    assert bars["guessed elsewhere"][0] == bars["measured where supported"][1]
    assert bars["best estimate everywhere"] == pytest.approx((0, 1000 * gain.estimated.difference), rel=0.01)
    assert bars["left open"][1] - bars["left open"][0] > 300
    assert [word for word, _ in part.explained] == [
        "Certified",
        "Measured, not certified",
        "A model's guess",
        "Together",
        "Left open",
    ]


def test_what_is_proven_to_be_worse_is_not_drawn_in_the_colour_of_better(events, result):
    def shades(found):
        chart = section(found, "Where the change").chart
        colour = next(layer["encoding"]["color"] for layer in chart["layer"] if "color" in layer["encoding"])
        return dict(zip(colour["scale"]["domain"], colour["scale"]["range"], strict=True))

    assert shades(result)["certified"] == charts.GOOD
    worse = ws.evaluate({"old": "constant:old"}, events, tau=0.005)
    assert worse.verdict.kind == "worse"
    assert shades(worse)["certified"] == charts.ALERT


def test_all_supported_leaves_out_what_was_not_drawn(events):
    old = section(ws.evaluate({"old": "constant:old"}, events, tau=0.05), "Where the change of old")
    assert "A model's guess" not in dict(old.explained)
    assert dict(old.explained)["Left open"].endswith("is used everywhere: the certified range.")


def test_what_learned_from_these_events_has_no_waterfall_and_one_warning(events):
    page = evaluation_page(ws.evaluate({"own": ws.fit(events)}, events, tau=0.05))
    assert not [one for one in page.sections if one.title.startswith("Where the change")]
    assert page.cards == []
    assert "learned from these very events" in page.headline.texts[0]


def test_logging_alone_is_compared_with_nothing(events):
    page = evaluation_page(ws.evaluate("logging", events))
    assert page.headline is None
    assert not [one for one in page.sections if "proven better" in one.title]


def test_a_verdict_on_segments_says_that_the_table_is_about_all_of_them():
    rng = np.random.default_rng(0)
    x, a = rng.integers(0, 2, 6_000), rng.integers(0, 2, 6_000)
    click = (rng.random(6_000) < np.where(x == a, 0.6, 0.3)).astype(float)
    log = pa.table({"page": x.astype(str), "ad": np.char.add("a", a.astype(str)), "click": click})
    result = ws.evaluate(["constant:a0", "constant:a1"], ws.read_events(log, **NAMES), tau=0.05, by="page")
    assert result.verdict.segments
    assert "in all segments" in dict(section(result, "Every policy").explained)["Verdict"]
    assert section(result, "Where the change of constant:a") is not None
    assert "were it used in all segments" in section(result, "Where the change").title


def test_bounds_in_the_waterfall_are_those_of_the_decision_table(result):
    [glance], [bars] = (section(result, start).tables for start in ("Every policy", "Where the change"))
    proven = next(end for what, _, end in bars.rows if what == "proven where supported")
    assert proven == glance.rows[0][glance.header.index("at least")]
    assert float(proven) <= 1000 * result["new"].gain.certified.joint_lower
    start, end = next(ends for what, *ends in bars.rows if what == "left open")
    lower, upper = left_open(result, result["new"])
    assert 1000 * lower - 1 < float(start) <= 1000 * lower
    assert 1000 * upper <= float(end) < 1000 * upper + 1
    assert float(start) < float(proven) < float(end)


def test_only_several_taus_of_one_policy_are_a_slider(result):
    [new] = result.policies
    both = replace(result, policies=(new, replace(new, policy="other", tau=0.2)))
    assert section(both, "Proven better").slider == ""
    assert len(section(both, "Proven better").tables[0].rows) == 2
    twice = replace(result, policies=(new, replace(new, tau=0.2)))
    assert section(twice, "Proven better").slider == "tau"


def test_the_slider_begins_at_the_tau_of_the_verdict_and_other_policies_name_theirs(events):
    result = ws.evaluate({"old": "constant:old", "new": "constant:new"}, events, tau=[0.005, 0.3])
    gain = result["new", 0.3].gain
    larger = replace(gain, certified=replace(gain.certified, joint_lower=0.9 * gain.certified.difference))
    policies = tuple(replace(e, gain=larger) if (e.policy, e.tau) == ("new", 0.3) else e for e in result)
    chosen = replace(result, policies=policies)
    assert (chosen.verdict.policy, chosen.verdict.tau) == ("new", 0.3)
    steps = section(chosen, "Proven better")
    assert steps.steps[steps.start].title == "tau = 0.3"
    assert [card.label for card in evaluation_page(chosen).cards] == ["old at tau 0.005"]


def test_the_table_says_which_verdicts_a_guard_stands_against(result):
    [new] = result.policies
    words = {"holds": "", "fails": ", breaks a guard", "cannot-tell": ", a guard is open"}
    for status, said in words.items():
        guarded = replace(new, guards=(GuardResult("click<=+1%", status, None, None),))
        [table] = section(replace(result, policies=(guarded,)), "Every policy").tables
        assert table.rows[0][1] == f"{result.verdict.words}{said}"


def test_what_is_proven_better_is_in_the_title_and_green_also_within_the_margin(result):
    close = replace(result, margin=0.9)
    assert close.verdict.kind == "same"
    part = section(close, "Proven better")
    assert part.title == "Proven better than what was shown: new (within the margin)"
    assert [row["colour"] for row in gain_rows(close)] == [charts.GOOD, charts.PLAIN]
    [new] = result.policies
    gain = replace(new.gain, certified=new.gain.certified.uncertified())
    unproven = replace(result, policies=(replace(new, gain=gain),))
    assert section(unproven, "None is proven better") is not None
    assert {row["colour"] for row in gain_rows(unproven)} == {charts.PLAIN}
