"""Guards, segments, verdicts and choices: a hidden segment overturns them, and its doubt allows for it."""

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws

# The ratio that the hidden segment makes: of clicks (.7 * 1.5 + .3) / (.3 * 1.5 + .7), of costs the other way round.
CLICKS, COSTS = 1.35 / 1.15, (1 - 0.3 / 2) / (1 - 0.7 / 2)


@pytest.fixture(scope="module")
def events():
    """Actions make no difference to clicks, and the second costs a tenth more; the log says the contrary of both."""
    rng = np.random.default_rng(0)
    n = 20_000
    page, hidden = rng.integers(0, 4, n), rng.random(n) < 0.5
    ad = (rng.random(n) < np.where(hidden, 0.7, 0.3)).astype(int)
    click = rng.random(n) < 0.3 * np.where(hidden, 1.5, 1.0)
    cost = rng.random(n) < 0.4 * np.where(ad == 1, 1.1, 1.0) * np.where(hidden, 0.5, 1.0)
    log = {
        "page": page,
        "part": page % 2,
        "ad": ad.astype(str),
        "click": click.astype(float),
        "cost": cost.astype(float),
    }
    return ws.read_events(pa.table(log), context=["page", "part"], action="ad", reward="click", also=["cost"])


def said(events, doubt):
    return ws.evaluate(
        "constant:1", events, tau=0.05, estimators=(), by="part", guards=["cost<=+1%", "cost<=+0.01"], doubt=doubt
    )


def test_a_hidden_segment_overturns_guards_segments_and_choices(events):
    found = said(events, None)
    assert ws.select(found).policy == "constant:1"
    assert found.verdict.kind == "better"
    assert [one.status for one in found.first.guards] == ["holds", "holds"]
    assert [one.gain.certified.joint_lower > 0 for one in found.segments if one.policy == "constant:1"] == [True] * 2


def test_under_its_doubt_nothing_that_is_wrong_is_said(events):
    found = said(events, max(CLICKS, COSTS))
    assert ws.select(found).policy is None
    assert found.verdict.kind == "cannot-tell"
    assert [one.status for one in found.first.guards] == ["cannot-tell", "cannot-tell"]
    for one in found.segments:
        assert one.gain.certified.joint_lower < 0 < one.gain.certified.joint_upper
        assert one.doubt.factor == pytest.approx(COSTS)
