"""Guards, segments, verdicts and choices: a hidden segment overturns them, and its doubt allows for it."""

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws

# The ratio that the hidden segment makes: of clicks (.7 * 1.5 + .3) / (.3 * 1.5 + .7), of costs the other way round.
CLICKS, COSTS = 1.35 / 1.15, (1 - 0.3 / 2) / (1 - 0.7 / 2)


@pytest.fixture(scope="module")
def log():
    """Actions make no difference to clicks, and the second costs a tenth more; the log says the contrary of both."""
    rng = np.random.default_rng(0)
    n = 20_000
    page, hidden = rng.integers(0, 4, n), rng.random(n) < 0.5
    ad = (rng.random(n) < np.where(hidden, 0.7, 0.3)).astype(int)
    click = rng.random(n) < 0.3 * np.where(hidden, 1.5, 1.0)
    cost = rng.random(n) < 0.4 * np.where(ad == 1, 1.1, 1.0) * np.where(hidden, 0.5, 1.0)
    columns = {
        "page": page,
        "part": page % 2,
        "ad": ad.astype(str),
        "click": click.astype(float),
        "cost": cost.astype(float),
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def events(log):
    return ws.read_events(log, context=["page", "part"], action="ad", reward="click", also=["cost"])


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


def test_guards_that_hold_wrongly_tip_before_the_doubt_that_is_true(events):
    found = said(events, None)
    tips = [one.tipping for one in found.first.guards]
    assert all(1 < tip < COSTS for tip in tips)
    [line] = [text for text in found.headline if text.startswith("Doubt")]
    assert f"of up to {tips[0]:.2f} for 'cost<=+1%', {tips[1]:.2f} for 'cost<=+0.01'." in line
    [table] = [table for table in found.tables if table.title.startswith("Guards")]
    assert [row[-1] for row in table.rows] == [f"{tip:.2f}" for tip in tips]
    [segments] = [table for table in found.tables if " by part" in table.title]
    assert [row[-1] for row in segments.rows] == [f"{one.doubt.tipping:.2f}" for one in found.segments]


@pytest.mark.parametrize("scale", [50.0, pytest.param(1.0, marks=pytest.mark.slow)])
def test_guards_stand_up_to_their_tipping_point_and_no_further(log, scale):
    """Whatever the status: the last one is broken. And whatever the scale of an outcome."""
    log = log.set_column(4, "cost", pa.array(scale * log["cost"].to_numpy()))
    names = {"context": ["page", "part"], "action": "ad", "reward": "click", "also": ["cost"]}
    events = ws.read_events(log, ranges={"cost": (0, scale)}, **names)
    asked = ["cost<=+5%", f"cost<=+{0.01 * scale}", "click>=-10%", f"cost>=+{0.02 * scale}"]

    def guards(doubt):
        return ws.evaluate("constant:1", events, tau=0.05, estimators=(), guards=asked, doubt=doubt).first.guards

    plain = guards(None)
    assert [one.status for one in plain] == ["holds", "holds", "holds", "fails"]
    for i, one in enumerate(plain):
        if scale != 1 and i in (1, 2):
            continue
        assert guards(one.tipping)[i].status == one.status
        after = guards(one.tipping + 0.02)[i]
        assert after.status == "cannot-tell"
        assert after.tipping == one.tipping


@pytest.mark.parametrize("divided", [{"epoch": "day"}, pytest.param({"unit": "user"}, marks=pytest.mark.slow)])
def test_guards_tip_by_unit_and_by_epoch_too(divided):
    rng = np.random.default_rng(1)
    n = 4000
    page, ad, day = rng.integers(0, 3, n), rng.integers(0, 2, n), np.repeat(np.arange(4), n // 4)
    click, cost = rng.random(n) < 0.2 + 0.3 * ad, rng.random(n) < 0.4 - 0.1 * ad
    log = {"page": page, "ad": ad.astype(str), "click": click.astype(float), "cost": cost.astype(float)}
    log = pa.table(log | {"user": np.arange(n) // 2, "day": 1_700_000_000 + 86_400 * day})
    events = ws.read_events(log, context="page", action="ad", reward="click", also=["cost"], time="day", **divided)

    def evaluated(doubt):
        options = {"tau": 0.05, "live": False}
        return ws.evaluate("constant:1", events, guards=["cost<=+5%"], doubt=doubt, **options)

    def guard(doubt):
        return evaluated(doubt).first.guards[0]

    # By unit every doubt is a query of all units: only where one is asked for.
    assert (guard(None).tipping is None) == ("unit" in divided)
    if "unit" in divided:
        assert "the guards would still hold ('cost<=+5%'), is not known" in "".join(evaluated(None).headline)
    tipping = guard(1.01).tipping
    assert guard(tipping).status == "holds"
    after = guard(tipping + 0.3)
    assert (after.status, after.tipping) == ("cannot-tell", tipping)
