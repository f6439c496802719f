"""What a monitor says first: a verdict on every policy, in the units of an evaluation, never above its bounds."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.report.epoch_pages import monitor_page


@pytest.fixture(scope="module")
def monitor(tmp_path_factory):
    """Four days, two pages, two ads at random, of which the second is clicked more."""
    rng, n = np.random.default_rng(0), 8_000
    ad = rng.integers(0, 2, n)
    at = np.datetime64("2026-10-01T00:00:00") + np.sort(rng.integers(0, 4 * 86_400, n)).astype("timedelta64[s]")
    log = {"page": rng.integers(0, 2, n), "ad": ad, "at": at, "click": (rng.random(n) < 0.2 + 0.2 * ad).astype(float)}
    events = ws.read_events(pa.table(log), context="page", action="ad", reward="click", time="at", epoch="day")
    return ws.monitor({"new": "constant:1"}, events, tmp_path_factory.mktemp("m") / "monitor.jsonl", tau=0.05)


def with_ends(monitor, lower, upper):
    line = monitor.last
    estimate = replace(line.policies[0].estimate, gain_lower_so_far=lower, gain_upper_so_far=upper)
    return replace(monitor, lines=(replace(line, policies=(replace(line.policies[0], estimate=estimate),)),))


def test_the_verdict_comes_first_and_is_never_better_than_its_bound(monitor):
    [sentence] = monitor.verdict
    first, known, sure, about = monitor.headline
    assert (first, known) == ("VERDICT: Use 'new' where the log supports it.", sentence)
    assert "with a confidence of 95 % at every look" in sure
    assert about == monitor.about
    assert monitor._repr_html_().startswith("<p><strong>VERDICT: Use &#x27;new&#x27; where the log supports it.")
    assert list(monitor.to_dict())[:3] == ["schema", "kind", "verdict"]
    assert sentence not in monitor.notes
    assert "by at least 59.9 per 1,000 events of all traffic" in with_ends(monitor, 0.05999, 0.2).verdict[0]


def test_worse_and_open_are_said_with_their_ends_rounded_outwards(monitor):
    assert (
        "is worse than logging where supported: it lowers 'click' by at least 59.9"
        in with_ends(monitor, -0.2, -0.05999).verdict[0]
    )
    assert "certified -1.24 to +1.24; since" in with_ends(monitor, -0.0012345, 0.0012345).verdict[0]


def test_the_page_begins_with_what_to_do_and_names_reward_and_log(monitor):
    page = monitor_page(monitor)
    assert page.headline.title == "Use 'new' where the log supports it"
    assert page.headline.texts[0] == monitor.verdict[0]
    assert "with a confidence of 95 % at every look, for all policies together" in page.headline.texts[1]
    assert page.source.startswith("'click': more is better; what was shown got ")
    assert page.cards == []
    assert monitor_page(with_ends(monitor, -0.2, -0.1)).headline.title == "Keep what is shown: no policy is better"
    assert "the log cannot tell yet whether 'new'" in monitor_page(with_ends(monitor, -0.2, 0.1)).headline.title
    [new] = monitor.last.policies
    worse = replace(new, name="other", estimate=replace(new.estimate, gain_lower_so_far=-0.2, gain_upper_so_far=-0.1))
    both = replace(monitor, lines=(replace(monitor.last, policies=(worse, new)),))
    assert both.first is new
    [card] = monitor_page(both).cards
    assert (card.label, card.text) == ("other", both.verdict[0])
