"""Plans from logs: where to explore, for how long, what to show, and what is refused."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.support.plan_worlds import (
    World,
    as_table,
    chosen_cells,
    decisions,
    expected_before,
    is_proven,
    is_proven_by_epoch,
)

import warmstart as ws
from warmstart.auditing import Continuation

NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "at"}
SHOWN = World(0.5, 8_000, 30, gain=0.1)
NEVER = replace(SHOWN, unsupported=0.7)


def drawn(world, seed=0, events=None, **explore):
    rng = np.random.default_rng(seed)
    n = world.shown(rng, events or world.events, **explore)
    return n, world.rewards(rng, n)


def read(world, seed=0, **more):
    return ws.read_events(as_table(*drawn(world, seed)), **NAMES, **more)


def true_gain(world):
    return world.lift * (world.traffic * (1 - world.shares[:, 0])).sum()


@pytest.fixture(scope="module")
def supported():
    return ws.plan({"new": decisions(SHOWN)}, read(SHOWN), gain=0.05, coverage=0.8)


@pytest.fixture(scope="module")
def exploring():
    return ws.plan({"new": decisions(NEVER)}, read(NEVER), gain=0.05, share=0.1, allow_unknown_actions=True)


def test_a_log_that_supports_the_policy_needs_more_events_and_no_exploration(supported):
    assert supported.share == 0
    assert supported.verdict.startswith("Nothing is open: this log already proves a gain of at least ")
    assert "No further log is needed. A second proof, on new events alone, would take this: " in supported.verdict
    assert "would take this: go on as now for about " in supported.verdict
    assert supported.about.startswith("'click': more is better; what was shown got ")
    assert "8,000 events, 2026-" in supported.about
    assert "(9.6 % more) is then proven with a chance of 80 %." in supported.verdict
    assert supported.table.num_rows == 0
    assert supported.table.column_names == ["page", "ad", "probability"]
    assert supported.recommended.days == pytest.approx(supported.recommended.events / 8_000 * supported.days, rel=0.01)


@pytest.mark.parametrize(("world", "share", "kind"), [(SHOWN, 0.0, None), (NEVER, 0.1, None), (NEVER, 0.1, "day")])
def test_bins_in_the_engine_plan_as_cells_one_by_one_do(world, share, kind):
    n, s = drawn(world)
    whole, gain = n.sum(axis=0), true_gain(world)
    events = ws.read_events(as_table(n, s), **NAMES, epoch=kind)
    new, unknown = {"new": decisions(world)}, {"allow_unknown_actions": True}
    plan = ws.plan(new, events, gain=gain, share=share, tau=0.05, coverage=1.0, **unknown)
    shown = n if kind else whole
    p = shown[..., 0] / np.maximum(shown.sum(axis=-1), 1)
    explored = (p < share).any(axis=0) if kind else p < share
    cells = chosen_cells(shown, expected_before(whole, s.sum(axis=0)), explored)
    lift = gain * whole.sum() / cells.change
    log = Continuation(cells, share, 0.05, lift, epochs=len(n) if kind else None)
    assert plan.options[0].contexts == explored.sum()
    assert plan.options[0].events == pytest.approx(log.times(0.8, 0.05) * whole.sum(), rel=0.02)


def test_exploration_goes_to_the_busiest_contexts_that_lack_it(exploring):
    option = exploring.recommended
    pages = set(exploring.table["page"].to_pylist())
    assert option.contexts == len(pages) < 21
    n, _ = drawn(NEVER)
    traffic = n.sum(axis=(0, 2))
    lacking = [i for i in range(30) if n[:, i, 0].sum() < 0.1 * traffic[i]]
    busiest = sorted(lacking, key=lambda i: -traffic[i])[: len(pages)]
    assert {f"p{i}" for i in busiest} == pages
    assert option.traffic == pytest.approx(traffic[busiest].sum() / traffic.sum())
    covered = 1 - traffic[[i for i in lacking if i not in busiest]].sum() / traffic.sum()
    assert covered >= 0.9 > covered - traffic[busiest[-1]] / traffic.sum()
    assert exploring.rows[0][:2] == ("p0", "a0")
    assert exploring.rows[0][2] == traffic[0]


def test_the_table_mixes_what_is_shown_with_the_policy(exploring):
    n, _ = drawn(NEVER)
    shares = n[:, 0].sum(axis=0) / n[:, 0].sum()
    rows = exploring.table.filter(pa.compute.equal(exploring.table["page"], "p0")).to_pylist()
    shown = {row["ad"]: row["probability"] for row in rows}
    expected = {f"a{a}": 0.9 * shares[a] + 0.1 * (a == 0) for a in range(4)}
    assert shown == pytest.approx({ad: p for ad, p in expected.items() if p > 0})
    totals = exploring.table.group_by("page").aggregate([("probability", "sum")])
    assert totals["probability_sum"].to_pylist() == pytest.approx([1.0] * len(totals))


def test_the_table_is_a_policy_that_evaluate_takes(exploring):
    found = ws.evaluate({"mixed": exploring.table}, read(NEVER), trained_until="never", allow_unknown_actions=True)
    assert found["mixed"].support.undecided < 0.35


def test_shares_are_compared_and_the_smallest_that_is_soon_enough_is_chosen():
    plan = ws.plan({"new": decisions(NEVER)}, read(NEVER), gain=0.1)
    lengths = [option.events for option in plan.options]
    assert lengths == sorted(lengths, reverse=True)
    assert plan.recommended.events <= plan.events
    assert all(option.events > plan.events for option in plan.options if option.share < plan.share)
    assert all(option.worst > 0 and option.change > 0 for option in plan.options)


def test_what_is_planned_for_is_what_evaluate_proves():
    """On sums, the harness of the statistical tests says the same as evaluate, with this log as the training window."""
    n, s = drawn(NEVER)
    plan = ws.plan({"new": decisions(NEVER)}, read(NEVER), gain=true_gain(NEVER), share=0.1)
    explored = np.isin([f"p{i}" for i in range(30)], plan.table["page"].to_pylist())
    tau, expected = plan.recommended.tau, expected_before(n.sum(axis=0), s.sum(axis=0))
    said = []
    for seed in range(1, 5):
        later, rewards = drawn(NEVER, seed, plan.recommended.events // 2, explored=explored, share=0.1)
        log = pa.concat_tables([as_table(n, s), as_table(later, rewards, first=len(n))])
        for epoch in (None, "day"):
            train, new = ws.read_events(log, **NAMES, epoch=epoch).split(at=f"2026-10-{1 + len(n)}")
            found = ws.evaluate({"new": decisions(NEVER)}, new, train=train, tau=tau, trained_until="never")
            if epoch is None:
                proven = is_proven(later.sum(axis=0), rewards.sum(axis=0), tau, expected)
                said.append(proven)
                assert (found["new"].gain.certified.lower > 0) == proven
            else:
                proven = is_proven_by_epoch(later, rewards, tau, expected)
                assert (found["new"].gain.certified.lower > 0) == proven
    assert len(set(said)) == 2


def test_without_a_gain_there_is_nothing_to_plan():
    worse = replace(SHOWN, gain=-0.2)
    plan = ws.plan({"new": decisions(worse)}, read(worse))
    assert plan.verdict.startswith("There is no gain to prove: the best estimate says that 'new' earns ")
    assert plan.options == ()
    assert plan.share is None
    assert ws.plan({"new": decisions(worse)}, read(worse), gain="5%").options


def test_by_default_the_best_estimate_is_planned_for():
    plan = ws.plan({"new": decisions(SHOWN)}, read(SHOWN))
    estimate = ws.evaluate({"new": decisions(SHOWN)}, read(SHOWN), trained_until="never")["new"]
    assert plan.gain == pytest.approx(estimate.gain.estimated.difference, abs=1e-9)
    assert plan.gain_from == "estimated"
    assert any("state the smallest gain that matters" in note for note in plan.notes)


def test_a_relative_gain_is_of_the_mean_reward_in_its_own_units():
    log = as_table(*drawn(SHOWN))
    dear = log.set_column(2, "click", pa.compute.multiply(log["click"], 50.0))
    plain = ws.plan({"new": decisions(SHOWN)}, ws.read_events(log, **NAMES), gain="10%", share=0.0)
    scaled = ws.read_events(dear, **NAMES, ranges={"click": (0, 50)})
    other = ws.plan({"new": decisions(SHOWN)}, scaled, gain="10%", share=0.0)
    assert other.gain == pytest.approx(50 * plain.gain)
    assert other.options[0].events == pytest.approx(plain.options[0].events, rel=1e-6)


def test_units_take_more_events_and_say_so():
    log = as_table(*drawn(SHOWN))
    users = pa.array(np.random.default_rng(0).integers(1_000, size=len(log)))
    log = log.append_column("user", users)
    by_unit = ws.plan({"new": decisions(SHOWN)}, ws.read_events(log, **NAMES, unit="user"), gain=0.05, share=0.0)
    plain = ws.plan({"new": decisions(SHOWN)}, ws.read_events(log, **NAMES), gain=0.05, share=0.0)
    assert by_unit.options[0].events > 1.3 * plain.options[0].events
    assert (by_unit.trained, plain.trained) == (False, True)
    assert any("By unit (user)" in note for note in by_unit.notes)


def test_what_is_shown_already_needs_no_exploration_and_what_is_always_shown_no_proof():
    often = ws.plan({"new": decisions(SHOWN)}, read(SHOWN), gain=0.05, share=0.001, coverage=0.5)
    assert (often.share, often.options[0].contexts) == (0.0, 0)
    one = pa.table({"page": ["p", "q"] * 50, "ad": ["a"] * 100, "click": [1.0, 0.0] * 50})
    events = ws.read_events(one, context="page", action="ad", reward="click")
    assert ws.plan("constant:a", events, gain=0.1).verdict.endswith("'constant:a' chooses what is shown already.")


def test_a_policy_of_many_choices_explores_them_all():
    plan = ws.plan("uniform-all", read(NEVER), gain=0.05, share=0.2)
    assert plan.options[0].tau == pytest.approx(0.5 * 0.2 / 4)
    assert plan.options[0].events is not None


def test_a_log_without_times_is_no_training_window():
    log = ws.read_events(as_table(*drawn(SHOWN)), context="page", action="ad", reward="click")
    plan = ws.plan({"new": decisions(SHOWN)}, log, gain=0.05, share=0.0)
    assert not plan.trained
    assert plan.options[0].days is None
    assert "days" not in plan.options_table.header


@pytest.mark.parametrize(
    ("policy", "options", "what"),
    [
        ("logging", {}, "one policy other than logging"),
        (["constant:a0", "constant:a1"], {}, "one policy other than logging"),
        ("constant:a0", {"gain": "much"}, "must be a number above 0 or a percentage"),
        ("constant:a0", {"gain": -0.1}, "must be a number above 0"),
        ("constant:a0", {"power": 1.0}, "power"),
        ("constant:a0", {"coverage": 0.0}, "coverage"),
        ("constant:a0", {"share": 1.0}, "share"),
        ("constant:a0", {"share": 0.05, "tau": 0.1}, "nothing would be supported"),
        ("constant:a0", {"tau": [0.1, 0.2]}, "one tau"),
    ],
)
def test_what_makes_no_plan_is_refused(policy, options, what):
    with pytest.raises(ws.UsageError, match=what):
        ws.plan(policy, read(replace(SHOWN, events=500)), **options)


def test_contexts_that_do_not_repeat_and_units_over_epochs_are_refused():
    log = as_table(*drawn(replace(SHOWN, events=500)))
    once = log.append_column("event", pa.array(range(len(log))))
    with pytest.raises(ws.UsageError, match="do not repeat"):
        ws.plan("constant:a0", ws.read_events(once, **NAMES | {"context": ["page", "event"]}), gain=0.1)
    with pytest.raises(ws.UsageError, match="units or with epochs"):
        ws.plan("constant:a0", ws.read_events(once, **NAMES, unit="event", epoch="day"), gain=0.1)


def test_rows_and_json_have_every_option(exploring):
    assert exploring.to_arrow()["share"].to_pylist() == [0.1]
    assert exploring.to_dict()["options"][0]["events"] == exploring.recommended.events
    assert "table" not in exploring.to_dict()
    assert math.isclose(exploring.to_dict()["gain"], 0.05)


@pytest.mark.slow
def test_a_policy_that_mixes_choices_is_proven_as_often_as_planned():
    """Three of four ads earn more, and were shown a tenth of the time each; 60 logs, a standard error of 5 points."""
    rng, lift = np.random.default_rng(1), 0.05

    def shown(n, start):
        page, ad = rng.integers(0, 10, n), rng.choice(4, n, p=[0.7, 0.1, 0.1, 0.1])
        click = rng.random(n) < 0.2 + 0.01 * page + lift * (ad > 0)
        at = np.datetime64(start) + np.sort(rng.integers(0, 30 * 86_400, n)).astype("timedelta64[s]")
        return pa.table({"page": page, "ad": ad.astype(str), "click": click.astype(float), "shown_at": at})

    names = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
    before = shown(20_000, "2026-01-01")
    planned = ws.plan("uniform", ws.read_events(before, **names), gain=lift * (0.75 - 0.3), share=0.0).options[0]
    proven = 0
    for _ in range(60):
        log = pa.concat_tables([before, shown(planned.events, "2026-03-01")])
        train, test = ws.read_events(log, **names).split(at="2026-02-15")
        found = ws.evaluate("uniform", test, train=train, tau=planned.tau, estimators=["ips"])
        proven += found["uniform"].gain.certified.lower > 0
    assert 0.65 <= proven / 60 <= 0.95


def test_a_gain_that_no_policy_can_have_is_refused():
    size = 50.0
    table = pa.table({"page": ["p", "q"] * 50, "ad": ["a", "b", "b", "a"] * 25, "click": [size, 0.0, 0.0, 0.0] * 25})
    events = ws.read_events(table, context="page", action="ad", reward="click", ranges={"click": (0, size)})
    for gain in (0.76 * size, "301%"):
        with pytest.raises(ws.UsageError, match="is impossible: rewards lie in") as caught:
            ws.plan("constant:b", events, gain=gain, share=0.1)
        assert caught.value.code == "WS301"
    assert ws.plan("constant:b", events, gain=0.75 * size, share=0.1).gain == 0.75 * size
