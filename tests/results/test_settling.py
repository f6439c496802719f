"""What would settle guards that are open, and questions that a doubt leaves open: as many events as are named do."""

import math
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws

READ = {"context": "page", "action": "ad", "reward": "click", "also": "cost", "minimize": "cost"}


def log(cost, *, clicks=(0.2, 0.5), events=2_000, copies=1):
    """Two pages, two ads at random; costs are 1 in a share of each ad's events, the same in every copy."""
    rng = np.random.default_rng(0)
    page, ad = rng.integers(0, 2, events).astype(str), rng.integers(0, 2, events)
    click = rng.random(events) < np.array(clicks)[ad]
    spent = np.arange(events) * 0.6180339887 % 1 < np.array(cost)[ad]
    names = np.char.add("a", ad.astype(str))
    table = pa.table({"page": page, "ad": names, "click": click.astype(float), "cost": spent.astype(float)})
    return pa.concat_tables([table] * copies)


def evaluated(guard, cost=(0.2, 0.22), **options):
    found = {name: options.pop(name) for name in ("copies", "clicks") if name in options}
    return ws.evaluate("constant:a1", ws.read_events(log(cost, **found), **READ), tau=0.05, guards=[guard], **options)


@pytest.mark.parametrize(
    ("guard", "cost", "decision"),
    [
        ("cost<=+8%", (0.2, 0.22), "holds"),
        ("cost<=+0.02", (0.2, 0.22), "holds"),
        ("cost>=-0.04", (0.22, 0.2), "holds"),
        ("cost<=+10%", (0.2, 0.3), "is broken"),
    ],
)
def test_as_many_events_as_are_named_decide_a_guard(guard, cost, decision):
    first = evaluated(guard, cost)
    [status] = [one.status for one in first["constant:a1"].guards]
    assert (status, first.verdict.kind, first.verdict.evidence) == ("cannot-tell", "better", "certified")
    [text] = first.verdict.settle
    assert text.endswith(f"guard '{guard}' {decision}, if the change is as it seems")
    assert f"What would settle it: {text}." in first.headline
    times = float(re.search(r"about ([0-9,]+) events", text)[1].replace(",", "")) / 2_000
    assert times > 1.3
    after = {
        factor: evaluated(guard, cost, copies=round(factor * times) or 1)["constant:a1"].guards[0].status
        for factor in (0.5, 1.4)
    }
    assert after == {0.5: "cannot-tell", 1.4: decision.replace("is broken", "fails")}


def test_guards_that_hold_or_fail_or_do_not_matter_are_settled():
    assert evaluated("cost<=+0.9").verdict.settle == ()
    assert evaluated("cost<=-0.9").verdict.settle == ()
    both = ws.evaluate(
        "constant:a1", ws.read_events(log((0.2, 0.22)), **READ), tau=0.05, guards=["cost<=-0.9", "cost<=0"]
    )
    assert ([one.status for one in both.policies[0].guards], both.verdict.settle) == (["fails", "cannot-tell"], ())
    worse = evaluated("cost<=+0.05", clicks=(0.5, 0.2))
    assert (worse.verdict.kind, worse.verdict.settle) == ("worse", ())


def test_a_guard_at_its_limit_needs_much_more_log():
    found = evaluated("cost<=+0.05")
    change = found.of_outcome("cost")["constant:a1"].gain.certified.difference
    [text] = evaluated(f"cost<=+{change:.6f}").verdict.settle
    assert text.startswith("Much more log, above 50 times this one, for guard 'cost<=+0.0")


def test_what_is_nearly_proven_is_said_to_be():
    guard = evaluated("cost<=+8%")["constant:a1"].guards[0]
    close = math.floor(1000 * guard.upper) / 10
    assert evaluated(f"cost<=+{close}%").verdict.settle == (
        f"A little more log: it is nearly proven that guard 'cost<=+{close}%' holds",
    )
    found = evaluated("cost<=+0.9", clicks=(0.4, 0.44))
    one = found["constant:a1"]
    gain = replace(one.gain.certified, joint_lower=-0.001 * one.gain.certified.difference)
    nearly = replace(found, policies=(replace(one, gain=replace(one.gain, certified=gain)),))
    assert nearly.verdict.settle == ("A little more log: it is nearly proven that it raises 'click'",)


def test_what_rounding_leaves_of_no_change_asks_for_no_log():
    found = evaluated("cost<=+0.9", clicks=(0.4, 0.44))
    one = found["constant:a1"]
    gain = replace(one.gain.certified, difference=-1e-18)
    rounded = replace(found, policies=(replace(one, gain=replace(one.gain, certified=gain)),))
    [settle] = rounded.verdict.settle
    assert settle == "A margin (--margin): no change was measured, which more log can only prove to be the same"
    less = replace(gain, difference=-1e-6)
    rounded = replace(found, policies=(replace(one, gain=replace(one.gain, certified=less, estimated=None)),))
    assert any("Much more log" in settle for settle in rounded.verdict.settle)


def test_where_measured_and_estimated_changes_differ_in_direction_it_says_explore_first():
    found = evaluated("cost<=+0.9", clicks=(0.4, 0.44))
    one = found["constant:a1"]
    gain = one.gain.estimated
    against = replace(gain, difference=-0.01, lower=-0.03, upper=0.01)
    rest = replace(one.support, supported=0.8, unsupported=0.2)
    changed = replace(one, support=rest, gain=replace(one.gain, estimated=against))
    [settle] = replace(found, policies=(changed,)).verdict.settle
    assert settle.startswith("Exploration: show its choices now and then on the 20 % of traffic where they were rarely")
    [settle] = replace(found, policies=(replace(changed, support=one.support),)).verdict.settle
    assert settle.startswith("Much more log: what was measured and the best estimate do not agree on the direction")


def test_by_unit_it_asks_for_units():
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(800), 3)
    ad = rng.integers(0, 2, 800)[user]
    click = (rng.random(len(user)) < np.where(ad, 0.44, 0.4)).astype(float)
    table = pa.table({"page": ["p"] * len(user), "ad": ad.astype(str), "click": click, "user": user})
    events = ws.read_events(table, context="page", action="ad", reward="click", unit="user")
    [settle] = ws.evaluate("constant:1", events, tau=0.05).verdict.settle
    assert re.search(r"about [0-9,]+ units \(user\) in all would prove", settle)


def test_an_outcome_with_nulls_has_to_be_known_in_more_events():
    table = log((0.2, 0.22))
    cost = [None if i % 10 == 0 else one for i, one in enumerate(table["cost"].to_pylist())]
    table = table.set_column(3, "cost", pa.array(cost))
    found = ws.evaluate("constant:a1", ws.read_events(table, **READ), tau=0.05, guards=["cost<=+0.05"])
    assert found.verdict.settle == ("'cost' known in more events, for guard 'cost<=+0.05'",)
    doubted = ws.evaluate("constant:a1", ws.read_events(table, **READ), tau=0.05, guards=["cost<=+0.05"], doubt=1.1)
    assert doubted.verdict.settle[-1] == "'cost' known in all events, for guard 'cost<=+0.05'"


def test_under_a_doubt_that_is_not_all_that_is_in_the_way_more_log_is_needed_too():
    close = evaluated("cost<=+0.9", clicks=(0.4, 0.41), doubt=1.2)
    assert close["constant:a1"].doubt.tipping is None
    assert close.verdict.settle[0].endswith("; and more log, since nothing is proven without a doubt either")
    clear = evaluated("cost<=+0.05", clicks=(0.2, 0.3), doubt=3.0)
    assert clear["constant:a1"].doubt.tipping > 1
    assert clear.verdict.settle[0] == "Less doubt: all that the logging policy used, put into the context"
    assert clear.verdict.settle[-1] == "Less doubt, for guard 'cost<=+0.05'"


def test_where_propensities_are_modelled_and_fail_a_check_contexts_that_repeat_would_do_too():
    table = log((0.2, 0.22))
    table = table.set_column(0, "page", pa.array([f"{page} {i}" for i, page in enumerate(table["page"].to_pylist())]))
    found = ws.evaluate("constant:a1", ws.read_events(table, **READ), propensities="model")
    alarmed = replace(found, policies=(replace(found.policies[0], withheld="WS105"),))
    fit, repeat = alarmed.verdict.settle[:2]
    assert fit.startswith("Propensities that fit")
    assert repeat.startswith("Contexts that repeat")


def test_where_contexts_repeat_counts_would_do():
    found = evaluated("cost<=+0.9", propensities="back-off")
    assert found.verdict.settle[0].startswith("Propensities counted in these very events")
