"""fit(safe=True): proposes on a part of the events, proves on the others, and defers elsewhere."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import warmstart as ws
from warmstart.estimators import worth
from warmstart.results.safe import about_safety
from warmstart.reward import learn_estimated

PAGES, ADS = 8, 3
NAMES = {"context": "page", "action": "ad", "reward": "click"}


def table_of(seed=0, events=6_000, gain=0.25, **more):
    """On the first half of the pages ad 1 is better by a gain; elsewhere all ads are alike."""
    rng = np.random.default_rng(seed)
    x, a = rng.integers(0, PAGES, events), rng.choice(ADS, events, p=[0.6, 0.3, 0.1])
    click = rng.random(events) < 0.3 + gain * (a == 1) * (x < PAGES // 2)
    minutes = np.arange(events) * (10 * 24 * 60) // events
    at = np.datetime64("2026-10-01", "us") + minutes.astype("timedelta64[m]")
    cost = 0.2 + 0.3 * (a == 1)
    user = rng.integers(0, events // 3, events)
    return pa.table({"page": x, "ad": a, "click": click, "at": at, "cost": cost, "user": user, **more})


def safe_fit(table, *, read=None, **options):
    events = ws.read_events(table, **NAMES, **({"time": "at"} if read is None else read))
    return ws.fit(events, model="cells", fit_tau=1.0, safe=True, **options), events


def acting(policy):
    return set(policy.decisions["page"].to_pylist())


def test_it_acts_where_the_gain_is_plain_and_says_what_is_proven():
    policy, events = safe_fit(table_of())
    safe = policy.learned.safe
    assert set(range(PAGES // 2)) <= acting(policy)
    assert all(policy.choose({"page": page})[0] == 1 for page in range(PAGES // 2))
    assert safe.split == "time"
    assert sum(safe.events) == len(events)
    assert 0 < safe.at_least < safe.gain
    assert safe.tested[0].proven
    assert policy.window == events.window
    assert {one.setting for one in safe.settings} == {"argmax", "cautious", "safe"}
    simulated = next(one for one in safe.settings if one.setting == "safe")
    assert simulated.worse <= 0.05
    assert abs(simulated.departs - safe.departs) < 0.1
    assert any("departs from logging" in line for line in policy.summary())


@pytest.mark.parametrize(
    ("split", "leans"), [("time", [True, True]), ("unit", [True, False]), ("epoch", [False, False])]
)
def test_only_a_part_that_ended_before_the_other_began_may_lean_to_what_logging_prefers(split, leans, monkeypatch):
    # Of all events, and of the first part.
    found = []

    def seen(*arguments, leaning):
        found.append(leaning)
        return learn_estimated(*arguments, leaning=leaning)

    monkeypatch.setattr("warmstart.pipeline.safe.learn_estimated", seen)
    monkeypatch.setattr(
        "warmstart.pipeline.safe.compare_settings", lambda *_, first_leans, **__: ((), int(first_leans))
    )
    policy, _ = safe_fit(
        table_of(events=600),
        read={"time": "at", **{"unit": {"unit": "user"}, "epoch": {"epoch": "day"}}.get(split, {})},
    )
    assert policy.learned.safe.split == split
    assert found == leans
    assert policy.learned.safe.simulated == leans[1]


def test_what_later_events_propose_is_never_proven_by_earlier_ones():
    """Ad 1 was lucky on half of the pages, so that a retrained logger shows it there: only the luck is to be seen."""
    rng, half = np.random.default_rng(0), 4_000
    x, lucky = rng.integers(0, PAGES, 2 * half), np.arange(2 * half) < half
    shown = np.where(lucky | (x >= PAGES // 2), 1 / 3, 0.9)
    a = np.where(rng.random(2 * half) < shown, 1, rng.choice([0, 2], 2 * half))
    click = rng.random(2 * half) < np.where((a == 1) & (x < PAGES // 2), np.where(lucky, 0.6, 0.33), 0.3)
    at = np.datetime64("2026-10-01", "us") + (np.arange(2 * half) * 14_400 // (2 * half)).astype("timedelta64[m]")
    table = pa.table({"page": x, "ad": a, "click": click, "at": at})
    policy, _ = safe_fit(table)
    assert policy.learned.safe.tested
    assert policy.ranking.num_rows == 0
    assert policy.learned.safe.events == (half, half)


def test_an_action_that_stood_in_for_others_on_no_day_that_proved_anything_is_not_ranked():
    policy, _ = safe_fit(table_of(events=4_000, gain=0.4))
    assert policy.ranking["rank"].to_pylist() == [1] * policy.ranking.num_rows
    assert policy.choose({"page": 0})[0] == 1
    assert policy.choose({"page": 0}, [0, 2])[0] is None
    # On the last two days ad 1 is gone: of the days that prove it is the best on some, and ad 2 or 0 on the others.
    table = table_of(events=4_000, gain=0.4)
    last = np.arange(len(table)) >= 0.8 * len(table)
    gone = table.filter(~(last & (table["ad"].to_numpy() == 1)))
    policy, _ = safe_fit(gone)
    ranks = policy.ranking.group_by("page").aggregate([("rank", "max"), ("rank", "count")])
    assert ranks["rank_max"].to_pylist() == ranks["rank_count"].to_pylist()
    for page in acting(policy):
        mine = policy.ranking.filter(pc.equal(policy.ranking["page"], page))
        assert len(set(mine["ad"].to_pylist()) - {1}) <= 1
        assert 1 not in mine["ad"].to_pylist() or mine.num_rows == 2


@pytest.mark.slow
def test_without_a_gain_it_defers_everywhere_and_says_what_was_left():
    policy, events = safe_fit(table_of(gain=0.0, seed=1))
    safe = policy.learned.safe
    assert policy.ranking.num_rows == 0
    assert safe.contexts == 0
    assert safe.at_least is None
    assert safe.unproven > 0
    assert safe.more
    assert ws.evaluate([policy], events, tau=0.05, delta=0.1).policies[0].gain.certified.lower is None


@pytest.mark.slow
def test_guards_must_be_proven_too():
    policy, _ = safe_fit(table_of(), read={"time": "at", "also": ["cost"]}, guards=["cost<=+5%"])
    assert policy.ranking.num_rows == 0
    assert policy.learned.safe.tested[0].lower > 0
    assert not policy.learned.safe.tested[0].guards
    policy, _ = safe_fit(table_of(), read={"time": "at", "also": ["cost"]}, guards="cost<=+200%")
    assert acting(policy)


@pytest.mark.slow
def test_doubt_takes_more_proof():
    plain, doubted = (safe_fit(table_of(), doubt=doubt)[0].learned.safe for doubt in (None, 1.15))
    assert doubted.tested[0].lower < plain.tested[0].lower
    assert safe_fit(table_of(), doubt=3.0)[0].ranking.num_rows == 0


@pytest.mark.slow
def test_units_are_never_in_both_parts_and_epochs_prove_forward_only():
    by_unit = safe_fit(table_of(), read={"time": "at", "unit": "user"})[0].learned.safe
    assert by_unit.split == "unit"
    assert by_unit.tested[0].proven
    by_epoch = safe_fit(table_of(), read={"time": "at", "epoch": "day"})[0].learned.safe
    assert by_epoch.split == "epoch"
    assert by_epoch.tested[0].proven
    assert by_epoch.events[0] % 600 == 0
    with pytest.raises(ws.UsageError, match="come back"):
        safe_fit(table_of(), read={"time": "at", "epoch": "day", "unit": "user"})
    at_random = safe_fit(table_of(), read={})[0].learned.safe
    assert at_random.split == "event"
    assert at_random.tested[0].proven


@pytest.mark.slow
def test_a_reward_that_should_be_small_is_made_small():
    table = table_of()
    table = table.set_column(table.column_names.index("click"), "click", [~table["click"].to_numpy()])
    policy, _ = safe_fit(table, read={"time": "at", "minimize": ["click"]})
    assert set(range(PAGES // 2)) <= acting(policy)


@pytest.mark.slow
def test_an_action_that_only_the_proposing_part_shows_is_not_deployed():
    table = table_of()
    late = np.arange(len(table)) >= 0.5 * len(table)
    gone = late & (table["page"].to_numpy() == 0) & (table["ad"].to_numpy() == 1)
    policy, _ = safe_fit(table.filter(~gone))
    assert 0 not in acting(policy)
    assert 1 in acting(policy)


class ReachedError(Exception):
    """The log was about to be summed."""


def test_guards_are_read_before_anything_is_learned(monkeypatch):
    """Even where nothing is proposed; of a reward that is made small, however it is written."""

    def reached(*_):
        raise ReachedError

    monkeypatch.setattr("warmstart.pipeline.safe.open_cells", reached)
    table = table_of(events=600).rename_columns(["page", "ad", "click", "at", "click costs", "user"])
    read = {"also": ["click costs"], "minimize": ["click"]}
    for guard, message in (("nonsense", "is no guard"), ("speed<=+1%", "no outcome"), ("`click`<=+1%", "made small")):
        with pytest.raises(ws.UsageError, match=message):
            safe_fit(table, read=read, guards=guard)
    with pytest.raises(ReachedError):
        safe_fit(table, read=read, guards="click costs<=+1%")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"proof_fraction": 1.0}, "proof_fraction"),
        ({"delta": 0.7}, "delta"),
        ({"guards": ["speed<=+1%"]}, "no outcome"),
        ({"doubt": 0.5}, "doubt"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(ws.UsageError, match=message):
        safe_fit(table_of(events=600), **options)


def test_guards_without_a_proof_are_refused_and_contexts_must_repeat():
    table = table_of(events=600)
    with pytest.raises(ws.UsageError, match="safe=True"):
        ws.fit(ws.read_events(table, **NAMES), guards=["click>=-1%"])
    alone = table.set_column(0, "page", [np.arange(len(table))])
    with pytest.raises(ws.UsageError, match="do not repeat"):
        safe_fit(alone)


def test_a_reward_a_thousand_times_as_large_has_gains_a_thousand_times_as_large():
    found = []
    for size in (1, 1_000):
        table = table_of(events=2_000, gain=0.3)
        table = table.set_column(2, "click", [table["click"].to_numpy() * float(size)])
        policy, _ = safe_fit(table, read={"time": "at", "ranges": {"click": (0, size)}})
        found.append(policy.learned.safe)
    one, large = found
    gains = [
        [safe.gain, safe.at_least, safe.unproven]
        + [of.gain for of in (*safe.tested, *safe.settings, *safe.more)]
        + [of.lower for of in safe.tested]
        for safe in found
    ]
    assert one.more
    assert min(abs(gain) for gain in gains[0]) > 0
    np.testing.assert_allclose(gains[1], 1_000 * np.array(gains[0]), rtol=1e-9)
    assert large.log_needed == one.log_needed
    assert [of.worse for of in large.settings] == [of.worse for of in one.settings]


@pytest.mark.parametrize(
    ("read", "options", "said"),
    [
        ({"time": "at"}, {}, None),
        ({"time": "at"}, {"guards": ["click>=-50%"]}, "no guards,"),
        ({"time": "at", "epoch": "day"}, {"doubt": 1.1}, "no doubt or epochs,"),
        ({"unit": "user"}, {}, "no units, so that safe is not among them. Without units chances are said too small."),
    ],
)
def test_safety_is_simulated_only_where_the_simulated_logs_prove_as_the_fit_does(read, options, said):
    safe = safe_fit(table_of(events=600), read=read, **options)[0].learned.safe
    assert [one.setting for one in safe.settings] == ["argmax", "cautious", *(["safe"] if said is None else [])]
    line = next(line for line in about_safety(safe) if line.startswith("The simulated logs"))
    assert said in line if said is not None else "They have no" not in line


def test_what_rounding_leaves_of_nothing_is_no_gain_that_was_left(monkeypatch):
    monkeypatch.setattr("warmstart.pipeline.safe_report.worth", lambda *given: worth(*given) - 1e-15)
    safe = safe_fit(table_of(events=1_500, gain=0.35))[0].learned.safe
    assert safe.unproven == 0
    assert not any("left for want of proof" in line for line in about_safety(safe))
