"""Decisions that were fitted on rewards: until when, and what is certified of them."""

from datetime import timedelta

import pytest
from tests.support.logs import decisions, moment, random_log, read

import warmstart as ws
from warmstart.pipeline.trained import parse_trained_until
from warmstart.policy import parse_policies

MINE = decisions({(f"x{i}", "a1"): 1.0 for i in range(6)})


@pytest.fixture(scope="module")
def test_window():
    """Days 4 to 7; the first event is on day 4, at noon."""
    return read(random_log(1), "duckdb").split(at=moment(3) + timedelta(hours=2))[1]


def codes(found):
    return [remark.code for remark in found.remarks]


@pytest.mark.parametrize("until", [moment(6), moment(6).isoformat(), moment(4) + timedelta(seconds=1), "2027-01-01"])
def test_decisions_fitted_inside_the_window_have_no_certified_ends(test_window, until):
    free, found = (ws.evaluate({"mine": MINE}, test_window, tau=0.1, trained_until=t) for t in ("never", until))
    assert free["mine"].certified_lower is not None
    assert free["mine"].gain.certified.guarantee == "finite-sample"
    assert (found["mine"].certified_lower, found["mine"].certified_upper) == (None, None)
    gain = found["mine"].gain.certified
    assert (gain.guarantee, gain.lower, gain.upper, gain.joint_lower) == ("approximate", None, None, None)
    assert found["mine"].gain.decisive is found["mine"].gain.estimated
    assert "No end is certified." in str(found)
    certified = next(table for table in found.tables if table.title.startswith("Gain"))
    assert certified.rows[0][4:6] == ("-", "-")
    assert found["mine"].value == free["mine"].value
    assert found.learned_here == ("mine",)
    assert "no end is certified" in str(found)
    assert ws.select(found).policy is None
    assert "WS103" not in codes(found)


@pytest.mark.parametrize("until", ["never", moment(4), moment(2), "2026-10-01"])
def test_decisions_fitted_before_the_window_or_never_are_certified_and_nothing_is_said(test_window, until):
    found = ws.evaluate({"mine": MINE}, test_window, tau=0.1, trained_until=until)
    assert found["mine"].certified_lower is not None
    assert found.learned_here == ()
    assert "WS103" not in codes(found)


def test_if_nobody_says_the_ends_are_shown_with_what_they_rest_on(test_window):
    found = ws.evaluate({"mine": MINE, "uniform": "uniform"}, test_window, tau=0.1)
    assert found["mine"].certified_lower is not None
    (remark,) = [one for one in found.remarks if one.code == "WS103"]
    assert "'mine'" in remark.text
    assert "'uniform'" not in remark.text
    assert "fixed before the evaluated window" in remark.text
    assert str(remark) in found.notes


def test_keywords_and_learned_policies_are_not_asked(test_window):
    found = ws.evaluate(["logging", "uniform", "uniform-all", "constant:a1"], test_window, tau=0.1)
    assert codes(found) == []


def test_a_name_says_it_of_one_policy(test_window):
    both = {"mine": MINE, "other": MINE}
    found = ws.evaluate(both, test_window, tau=0.1, trained_until={"mine": moment(6)})
    assert found["mine"].certified_lower is None
    assert found["other"].certified_lower is not None
    assert "'other'" in next(remark.text for remark in found.remarks if remark.code == "WS103")


@pytest.mark.parametrize("name", ["nobody", "uniform"])
def test_a_name_that_is_no_table_of_decisions_is_refused(test_window, name):
    with pytest.raises(ws.UsageError, match=f"'{name}', which is no table of decisions. There are 'mine'"):
        ws.evaluate({"mine": MINE, "uniform": "uniform"}, test_window, tau=0.1, trained_until={name: "never"})


def test_without_times_only_never_can_be_said():
    events = read(random_log(1), "duckdb", time=False)
    assert (
        ws.evaluate({"mine": MINE}, events, tau=0.1, trained_until="never", estimators=["ips"])["mine"].certified_lower
        is not None
    )
    with pytest.raises(ws.UsageError, match="times of the events are not known"):
        ws.evaluate({"mine": MINE}, events, tau=0.1, trained_until="2026-10-03")


def test_what_is_no_time_is_refused(test_window):
    with pytest.raises(ws.UsageError, match="Cannot read 'soon' as a time"):
        ws.evaluate({"mine": MINE}, test_window, tau=0.1, trained_until="soon")


def test_on_the_command_line_a_name_stands_before_the_last_equals_sign():
    named = parse_policies({"a": MINE, "b=c": MINE, "uniform": "uniform"})
    assert parse_trained_until([], named) == {}
    assert parse_trained_until(["never"], named) == {"a": "never", "b=c": "never"}
    assert parse_trained_until(["b=c=2026-10-01", "never"], named) == {"a": "never", "b=c": "2026-10-01"}
    for texts in (["never", "2026-10-01"], ["a=never", "a=2026-10-01"]):
        with pytest.raises(ws.UsageError, match="given twice"):
            parse_trained_until(texts, named)
