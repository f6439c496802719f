"""Conditions on an evaluation: each can fail, each says why, and none at all is a wrong call."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.support.saved_results import saved

import warmstart as ws


@pytest.fixture(scope="module")
def clear():
    log = pa.table({"page": ["p"] * 400, "ad": ["a", "b"] * 200, "click": [1, 0] * 200, "cost": [0.1, 0.9] * 200})
    events = ws.read_events(log, context="page", action="ad", reward="click", also="cost")
    return ws.evaluate({"good": "constant:a", "bad": "constant:b"}, events, tau=0.05, guards=["cost<=-0.1"])


@pytest.mark.parametrize(
    ("asked", "met", "word"),
    [
        ({"verdict": "better"}, True, ""),
        ({"verdict": ["worse", "same"]}, False, "verdict is better, certified, asked was worse or same"),
        ({"judged": "bad", "verdict": "worse", "keep_guards": False}, True, ""),
        ({"judged": "bad", "verdict": "worse"}, False, "guard is broken, asked was cost<=-0.1 proven to hold"),
        ({"evidence": "certified"}, True, ""),
        ({"gain_lower": 0.3}, True, ""),
        ({"gain_lower": 0.6}, False, "asked was at least 0.6"),
        ({"judged": "bad", "gain_lower": 0.0, "keep_guards": False}, False, "gain_lower is -0."),
        ({"support": 1.0}, True, ""),
        ({"no_alarms": True}, True, ""),
        ({"no_codes": "ws104"}, True, ""),
        ({"no_codes": "WS103"}, True, ""),
        ({"min_events": 400}, True, ""),
        ({"min_events": 401}, False, "min_events is 400, asked was at least 401"),
    ],
)
def test_every_condition_is_met_or_says_why(clear, asked, met, word):
    checked = ws.check(clear, **asked)
    assert bool(checked) is checked.met is met
    assert word in checked.why
    assert checked.why.startswith("CHECK PASSED" if met else "CHECK FAILED")


def test_what_is_not_certified_supported_or_sound_fails():
    modelled = saved("evaluation with a model")
    assert not ws.check(modelled, evidence="certified")
    assert "not certified" in ws.check(modelled, gain_lower=-1.0).why
    first = modelled.policies[0]
    alarmed = replace(modelled, policies=(replace(first, withheld="WS105"),))
    assert "no_alarms is WS105" in ws.check(alarmed, no_alarms=True).why
    supported = first.support.supported
    assert ws.check(modelled, support=supported)
    assert not ws.check(modelled, support=supported + 1e-6)
    remark = replace(modelled.remarks[0], code="WS104", level="warning")
    assert "a warning (WS104)" in ws.check(replace(modelled, remarks=(remark,)), no_codes="WS104").why
    broken = replace(modelled.assumptions[0], result="violated")
    assert not ws.check(replace(modelled, assumptions=(broken,)), no_codes=broken.code)
    fine = replace(modelled.assumptions[0], result="no sign")
    assert ws.check(replace(modelled, remarks=(), assumptions=(fine,)), no_codes=fine.code)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"keep_guards": False}, "No condition is stated"),
        ({"verdict": "beter"}, "'beter' is none of better, same"),
        ({"evidence": "proof"}, "'proof' is none of certified"),
        ({"no_codes": "WS999"}, "no code 'WS999'"),
        ({"judged": "nobody", "verdict": "same"}, "no policy 'nobody' to judge"),
        ({"gain_lower": float("nan")}, "gain_lower .* must be a finite number"),
        ({"support": 7}, "support .* must be a share from 0 to 1"),
    ],
)
def test_conditions_that_mean_nothing_are_refused(clear, asked, message):
    with pytest.raises(ws.UsageError, match=message):
        ws.check(clear, **asked)


def test_reports_say_the_same_and_are_escaped(clear):
    odd = replace(clear.policies[0], policy='<b>&"|\x1b')
    checked = ws.check(
        replace(clear, policies=(odd, *clear.policies[1:])), judged=odd.policy, gain_lower=0.1, min_events=10**9
    )
    suite = ET.fromstring(checked.to_junit()).find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "0")
    assert [case.find("failure") is None for case in suite.findall("testcase")] == [True, True, False]
    text = checked.to_markdown()
    assert "<b>" not in text
    assert text.count("❌") == 1
    assert all(line.count("|") - line.count("\\|") == 5 for line in text.splitlines() if line.startswith("|"))
