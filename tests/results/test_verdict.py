"""What to do about a policy: the words follow from the ends, and bounds in words are never better than they are."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.core import percent
from warmstart.results import Amounts
from warmstart.results.remarks import unseen_contexts


def log(means=(0.3, 0.5), events=4_000, *, seed=0, only_one=0.0, **more):
    """Two contexts, two ads at random; ``only_one``: the share of a third context, in which a0 alone was shown."""
    rng = np.random.default_rng(seed)
    x = rng.choice(3, events, p=[(1 - only_one) / 2, (1 - only_one) / 2, only_one])
    a = np.where(x == 2, 0, rng.integers(0, 2, events))
    r = (rng.random(events) < np.array(means)[a]).astype(float)
    columns = {"page": x.astype(str), "ad": np.char.add("a", a.astype(str)), "click": r}
    return pa.table(columns | {name: rule(a) for name, rule in more.items()})


def evaluated(table, policies=("constant:a1",), *, read=None, **options):
    events = ws.read_events(table, context="page", action="ad", reward="click", **read or {})
    return ws.evaluate(list(policies), events, tau=0.05, **options)


@pytest.fixture(scope="module")
def better():
    return evaluated(log(only_one=0.2), ["constant:a1", "logging"])


def test_a_policy_that_is_proven_better_is_to_be_used_where_it_is_supported(better):
    verdict = better.verdict
    gain = better["constant:a1"].gain.certified
    assert (verdict.kind, verdict.evidence, verdict.policy) == ("better", "certified", "constant:a1")
    assert (verdict.gain, verdict.gain_lower) == (gain.difference, gain.joint_lower)
    assert verdict.share == better["constant:a1"].support.supported
    assert verdict.title == "Use 'constant:a1' on the 80 % of traffic where this log supports it"
    assert "raises 'click' by at least" in verdict.text
    assert "On the other 20 % its choices were rarely or never shown: keep what was shown" in verdict.text
    assert verdict.settle == ()


def test_what_is_not_there_is_answered_with_what_is(better):
    with pytest.raises(KeyError, match="no policy 'a1': there are 'constant:a1', 'logging'"):
        better["a1"]
    with pytest.raises(KeyError, match=r"no policy 'logging' at tau 0\.9"):
        better["logging", 0.9]
    with pytest.raises(KeyError, match="no outcome 'clicks': there are 'click'"):
        better.of_outcome("clicks")


def test_bounds_in_words_are_never_better_than_they_are(better):
    stated = float(re.search(r"at least ([0-9.]+) per 1,000 events", better.verdict.text)[1])
    assert stated <= 1000 * better.verdict.gain_lower < stated * 1.1
    for value, times in itertools.product((0.0123456, 1.999, 0.99999, 12345.678, 3e-7), (1, 1000)):
        shown = float(Amounts(times, "event", None).at_least(value).split()[0].replace(",", ""))
        assert shown <= times * value * (1 + 1e-8)
        for sign in (1, -1):
            end = float(Amounts(times, "event", None).bound(sign * value, sign).replace(",", ""))
            assert sign * end <= times * value * (1 + 1e-8)


def test_a_policy_that_is_proven_worse_is_not():
    found = evaluated(log(means=(0.5, 0.3)))
    assert (found.verdict.kind, found.verdict.evidence) == ("worse", "certified")
    assert found.verdict.title.startswith("Keep what was shown")
    assert "lowers 'click' by at least" in found.verdict.text


def test_less_of_a_cost_is_better_and_gains_are_improvements():
    worse = evaluated(log(), read={"minimize": "click"}).verdict
    assert (worse.kind, worse.evidence) == ("worse", "certified")
    assert worse.gain < 0
    better = evaluated(log(means=(0.5, 0.3)), read={"minimize": "click"}).verdict
    assert (better.kind, better.evidence) == ("better", "certified")
    assert 0 < better.gain_lower < better.gain
    assert "lowers 'click' by at least" in better.text
    assert "+" not in better.text


def test_the_same_only_with_a_margin_that_holds_the_whole_interval():
    table = log(means=(0.4, 0.4), events=20_000)
    assert evaluated(table).verdict.kind == "cannot-tell"
    ends = evaluated(table)["constant:a1"].gain.certified
    wide = max(-ends.joint_lower, ends.joint_upper)
    assert evaluated(table, margin=1.01 * wide).verdict.kind == "same"
    assert evaluated(table, margin=0.99 * wide).verdict.evidence != "certified"
    for margin in (0, -1, float("inf"), float("nan")):
        with pytest.raises(ws.UsageError, match="margin"):
            evaluated(table, margin=margin)


def test_the_same_where_it_is_supported_is_not_called_the_same_everywhere():
    verdict = evaluated(log(means=(0.4, 0.4), events=20_000, only_one=0.5), margin=0.03).verdict
    assert (verdict.kind, verdict.evidence) == ("same", "certified")
    assert verdict.title.startswith("Either will do on the 50 % of traffic where this log supports it: ")
    assert "On the other 50 % its choices were rarely or never shown" in verdict.text


def test_agreeing_with_a_logger_that_had_no_choice_is_no_finding():
    rows = {"page": ["p", "q"] * 500, "ad": ["a0", "a1"] * 500, "click": [0.0, 1.0, 1.0, 0.0] * 250}
    alone = evaluated(pa.table(rows), margin=0.01)
    gain = alone["constant:a1"].gain.certified
    assert (gain.joint_lower, gain.joint_upper, gain.contested) == (0, 0, 0)
    assert alone.verdict.kind == "cannot-tell"
    events = ws.read_events(pa.table(rows), context="page", action="ad", reward="click")
    agreeing = ws.evaluate({"it": {"p": "a0", "q": "a1"}}, events, tau=0.05, margin=0.01).verdict
    assert (agreeing.kind, agreeing.evidence, agreeing.share) == ("same", "certified", 1)


def test_ends_of_an_interval_in_words_are_rounded_outwards():
    table = log(means=(0.4, 0.4), events=20_000)
    for options in ({"margin": 0.5}, {"estimators": ()}):
        found = evaluated(table, **options)
        gain = found["constant:a1"].gain.certified
        low, high = (
            float(end) for end in re.search(r"by ([+-][0-9.]+) to ([+-][0-9.]+) per", found.verdict.text).groups()
        )
        assert low <= 1000 * gain.joint_lower < low * 0.9
        assert high * 0.9 < 1000 * gain.joint_upper <= high
        assert found.headline[2].startswith("Certified: this interval holds with a confidence of 95 %")


def test_bounds_that_do_not_decide_are_told_where_there_is_no_estimate():
    found = evaluated(log(means=(0.4, 0.4)), estimators=())
    assert (found.verdict.kind, found.verdict.evidence) == ("cannot-tell", "certified")
    assert found.verdict.settle
    assert found.verdict.gain_lower == found["constant:a1"].gain.certified.joint_lower


def test_where_bounds_do_not_decide_the_best_estimate_does_and_says_that_it_proves_nothing():
    found = evaluated(log(means=(0.4, 0.45), events=2_800, seed=3))
    gain = found["constant:a1"].gain
    assert gain.certified.joint_lower < 0 < gain.estimated.lower
    verdict = found.verdict
    assert (verdict.kind, verdict.evidence) == ("better", "estimated")
    assert verdict.title.startswith("Not proven")
    assert "That is not proven" in verdict.text
    assert "no certified bound decides" in found.headline[2]
    times = ((gain.certified.difference - gain.certified.joint_lower) / gain.certified.difference) ** 2
    [more] = [text for text in verdict.settle if text.startswith("More log")]
    stated = int(re.search(r"about ([0-9,]+) events in all", more)[1].replace(",", ""))
    assert stated == pytest.approx(2_800 * times, rel=0.06)
    split = replace(found, windows=replace(found.windows, train=found.windows.evaluated))
    assert f"about {stated:,} evaluated events, instead of 2,800, would prove" in split.verdict.settle[0]


def test_what_a_log_cannot_tell_it_does_not_and_exploration_would():
    found = evaluated(log(means=(0.4, 0.4), events=1_500, only_one=0.9))
    verdict = found.verdict
    assert verdict.kind == "cannot-tell"
    assert any(text.startswith("Exploration") for text in verdict.settle)
    never = pa.table({"page": ["p"] * 50, "ad": ["a0"] * 50, "click": [1.0, 0.0] * 25})
    found = evaluated(never, allow_unknown_actions=True)
    assert (found.verdict.evidence, found.verdict.share) == ("unsupported", 0)
    assert found.verdict.settle[0].startswith("Exploration: show its choices now and then")
    alone = pa.table({"page": ["p"] * 50, "ad": ["a0"] * 49 + ["a1"], "click": [1.0, 0.0] * 25})
    assert evaluated(alone).verdict.evidence in ("unsupported", "estimated")


def test_of_what_the_log_cannot_tell_that_with_evidence_comes_first():
    """An estimate of a small loss says more than nothing does."""
    found = evaluated(log(means=(0.4, 0.405), seed=2), ["constant:a1"])
    one = found["constant:a1"]
    assert (found.verdict.kind, found.verdict.evidence) == ("cannot-tell", "estimated")
    loss = replace(one.gain.estimated, difference=-0.001, lower=-0.03, upper=0.03)
    loses = replace(one, gain=replace(one.gain, estimated=loss))
    silent = replace(one, policy="silent", gain=replace(one.gain, certified=None, estimated=None))
    both = replace(found, policies=(silent, loses))
    assert both.verdict_on(silent).evidence == "unsupported"
    assert both.verdict.policy == "constant:a1"


def test_where_a_policy_says_nothing_choices_would_settle_it_not_exploration():
    found = evaluated(log(means=(0.4, 0.4), events=1_500, only_one=0.8), [{"0": "a1"}])
    share = percent(found.policies[0].support.undecided)
    assert found.verdict.kind == "cannot-tell"
    assert f"On {share} of traffic it makes no choice." in found.verdict.text
    assert found.verdict.settle[0] == f"Choices on the {share} of traffic where it makes none"
    assert not any(text.startswith("Exploration") for text in found.verdict.settle)
    learned = replace(found, remarks=(*found.remarks, unseen_contexts("learned", 0.9)))
    assert "--contexts FILE" in learned.verdict.settle[0]


def test_a_policy_that_learned_from_these_events_has_no_verdict(tmp_path):
    events = ws.read_events(log(), context="page", action="ad", reward="click")
    verdict = ws.evaluate({"own": ws.fit(events)}, events, tau=0.05).verdict
    assert (verdict.kind, verdict.evidence) == ("cannot-tell", "unsupported")
    assert "learned from these very events" in verdict.text
    assert verdict.settle == ("Later events than those it learned from",)


def test_guards_that_are_not_kept_forbid_and_another_policy_is_looked_for():
    table = log(cost=lambda a: np.where(a == 1, 0.9, 0.1))
    found = evaluated(table, ["constant:a1"], read={"also": "cost", "minimize": "cost"}, guards=["cost<=+0.01"])
    assert found.verdict.kind == "better"
    assert found.verdict.title == "Do not use 'constant:a1': it breaks a guard"
    [guard] = found.policies[0].guards
    assert f"'cost<=+0.01' is broken (its outcome changes by {guard.span})." in found.verdict.text
    assert f"[{guard.lower:+.4g}, {guard.upper:+.4g}]" == guard.span
    assert found.verdict.text.endswith("keep what was shown.")
    same = evaluated(
        table, ["constant:a1"], read={"also": "cost", "minimize": "cost"}, guards=["cost<=+0.01"], margin=0.9
    )
    assert same.verdict.kind == "same"
    assert same.verdict.title == "Do not use 'constant:a1': it breaks a guard"
    free = evaluated(table, ["constant:a1"], read={"also": "cost", "minimize": "cost"}, guards=["cost<=+0.9"])
    assert free.verdict.title.startswith("Use 'constant:a1'")
    assert free.verdict.text.endswith("Guard 'cost<=+0.9' holds.")
    both = evaluated(
        table, ["constant:a0", "constant:a1"], read={"also": "cost", "minimize": "cost"}, guards=["cost<=+0.01"]
    )
    assert both.verdict_on(both["constant:a0"]).kind == "worse"
    assert both.verdict.policy == "constant:a1"


def test_the_selected_policy_is_spoken_of_first_also_where_it_is_for_some_segments(better):
    rng = np.random.default_rng(0)
    x, a = rng.integers(0, 2, 6_000), rng.integers(0, 2, 6_000)
    r = (rng.random(6_000) < np.where(x == a, 0.6, 0.3)).astype(float)
    table = pa.table({"page": x.astype(str), "ad": np.char.add("a", a.astype(str)), "click": r})
    found = evaluated(table, ["constant:a0", "constant:a1"], by="page")
    chosen = ws.select(found)
    assert chosen.segments
    assert found.verdict.policy == chosen.policy
    assert "where it is proven better: in '" in found.verdict.title
    assert found.verdict.gain_lower == chosen.gain_lower
    assert found.verdict.segments == chosen.segments
    [[segment]] = chosen.segments
    other = {"0": "1", "1": "0"}[segment]
    assert found.verdict.text.endswith(f"Elsewhere keep what was shown: it is proven worse in '{other}'.")
    used = [one for one in found.segments if one.policy == chosen.policy and one.segment in chosen.segments]
    assert found.verdict.gain == pytest.approx(sum(one.share * one.gain.certified.difference for one in used))
    assert found.verdict.gain > found.verdict.gain_lower
    assert found.verdict.share == pytest.approx(sum(one.share * one.support.supported for one in used))
    assert f"on {100 * found.verdict.share:.0f} % of all traffic" in found.verdict.text


def test_more_log_is_not_asked_for_to_prove_the_opposite_of_the_estimate():
    found = evaluated(log(means=(0.4, 0.41)))
    estimate = found["constant:a1"]
    assert any(one.startswith("More log") for one in found.verdict_on(estimate).settle)
    estimated = replace(estimate.gain.estimated, difference=-estimate.gain.certified.difference)
    against = replace(estimate, gain=replace(estimate.gain, estimated=estimated))
    assert not any(one.startswith("More log") for one in found.verdict_on(against).settle)


def test_traffic_that_weights_nearly_cover_is_no_guess():
    """At a tau of .55 an action with a share of a half is clipped, but weights stand for nine tenths of it."""
    events = ws.read_events(log(means=(0.4, 0.41)), context="page", action="ad", reward="click")
    text = ws.evaluate("constant:a1", events, tau=0.55).verdict.text
    guessed = float(
        re.search(r"supports 0 % of traffic; .* a model's guess stands in \(alone on ([0-9.]+) % of all\)", text)[1]
    )
    assert 5 < guessed < 15


def test_an_alarm_about_propensities_is_in_the_verdict():
    found = evaluated(log(means=(0.4, 0.45), events=3_000, seed=3))
    one = found["constant:a1"]
    alarmed = replace(
        found, policies=(replace(one, withheld="WS105"),), propensities=replace(found.propensities, name="model")
    )
    assert "the propensities fail a check (WS105)" in alarmed.verdict.text
    assert any(text.startswith("Propensities that fit") for text in alarmed.verdict.settle)


@pytest.mark.parametrize("source", ["train", "all"])
def test_an_alarm_about_counts_of_another_window_is_none_about_the_estimate(source):
    """That uses the evaluated window's own."""
    found = evaluated(log(means=(0.4, 0.45), events=3_000, seed=3))
    one, named = replace(found["constant:a1"], withheld="WS105"), replace(found.propensities, name=source)
    alarmed = replace(found, policies=(one,), propensities=named)
    assert alarmed.verdict.text == found.verdict.text
    assert alarmed.verdict.settle == found.verdict.settle


def test_another_outcome_has_its_own_baseline_and_no_margin():
    table = log(cost=lambda a: np.where(a == 1, 7.0, 3.0))
    read = {"also": "cost", "minimize": "cost", "ranges": {"cost": (0, 10)}}
    cost = evaluated(table, ["constant:a1", "logging"], read=read, margin=0.01).of_outcome("cost")
    assert cost.log.mean_reward == pytest.approx(cost["logging"].value)
    assert "what was shown got 5.0" in cost.headline[-1]
    assert cost.margin is None
    assert (cost.verdict.kind, cost.verdict.evidence) == ("worse", "certified")


def test_joint_ends_decide(better):
    """An end that only its own interval has above zero proves nothing among several policies."""
    one = better["constant:a1"]
    gain = replace(one.gain.certified, lower=0.01, joint_lower=-0.01)
    found = replace(better, policies=(replace(one, gain=replace(one.gain, certified=gain)),))
    assert found.verdict.evidence == "estimated"


def test_the_verdict_comes_first_everywhere(better):
    title = better.verdict.title
    assert str(better).splitlines()[0] == f"VERDICT: {title}."
    assert better._repr_html_().startswith("<p><strong>VERDICT: ")
    found = better.to_dict()
    assert list(found)[:3] == ["schema", "kind", "verdict"]
    assert found["verdict"]["title"] == title
    assert [one["verdict"] and one["verdict"]["kind"] for one in found["policies"]] == ["better", None]
    first = better.tables[0]
    assert first.title.startswith("Decision table: change of click per 1,000 events")
    assert first.rows[0][1] == "better, certified"
    assert evaluated(log(), ["logging"]).verdict is None


def test_the_reward_the_baseline_the_log_and_its_span_are_named(better, tmp_path):
    about = better.headline[-1]
    assert "'click': more is better" in about
    mean = better["logging"].value
    assert better.log.mean_reward == pytest.approx(mean)
    assert f"what was shown got {1000 * mean:,.0f} per 1,000 events" in about
    assert "4,000 events" in about
    import pyarrow.parquet as pq

    pq.write_table(log(), tmp_path / "clicks.parquet")
    assert "clicks.parquet" in evaluated(tmp_path / "clicks.parquet").headline[-1]


def test_per_unit_the_verdict_does_not_promise_an_amount_for_every_unit():
    """Values per unit are means of events in which units weigh alike, not sums over a unit's visits."""
    table = log(user=lambda a: np.arange(len(a)) // 4)
    found = evaluated(table, read={"unit": "user"}, per="unit")
    assert found.log.mean_reward == pytest.approx(np.mean(table["click"].to_numpy()), abs=0.01)
    assert "per 1,000 events (units weighted alike) of all traffic" in found.verdict.text
