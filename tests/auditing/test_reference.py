"""audit against the plain-Python reference, on every engine."""

from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from tests.support import audit_reference as plain

import warmstart as ws

CLOSE = {"rel": 1e-9, "abs": 1e-9}
START = datetime(2026, 10, 1, tzinfo=UTC)


def gappy_log(seed, *, events=420, days=9):
    """Churn, contexts absent on some days, contexts of one action or one event, duplicates, rewards in quarters.

    x0 always shows a0; x1 is shown evenly; the others follow the calendar with some chance. a3 ends after day 3, a4
    begins on day 5; a5 and a6 come early and once again late. x7 to x9 are new on day 6, and no event falls on day 4.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(events):
        day = i * days // events
        day += day == 4
        x = int(rng.choice(7, p=np.arange(7, 0, -1) / 28))
        if x > 1 and (day + x) % 4 == 0:
            x = 0
        if x == 0:
            a = 0
        elif x == 1:
            a = int(rng.integers(3))
        elif rng.random() < 0.15:
            a = int(rng.integers(5))
        else:
            a = (x + (day + x) // 3) % 5
        if (a == 3 and day > 3) or (a == 4 and day < 5):
            a = 1
        reward = float(rng.choice([0, 0, 0, 0.25, 0.5, 1]))
        rows.append((f"x{x}", f"a{a}", reward, day, int(rng.integers(86_400))))
    rows += rows[10:13] + rows[10:11] + rows[-9:-7]
    rows += [("x2", "a5", 0.5, 1, 5), ("x2", "a5", 1.0, 7, 5), ("x1", "a6", 0.0, 2, 5), ("x1", "a6", 0.25, 8, 5)]
    return [*rows, ("x7", "a0", 0.5, 6, 5), ("x8", "a9", 0.0, 6, 7), ("x9", "a2", 1.0, 8, 9), ("x9", "a1", 0.0, 8, 9)]


def table(rows, *, whole_days=False, scale=(0, 1)):
    low, high = scale
    contexts, actions, rewards, days, seconds = zip(*rows, strict=True)
    times = [START + timedelta(days=d, seconds=0 if whole_days else s) for d, s in zip(days, seconds, strict=True)]
    columns = {"action": actions, "reward": [low + (high - low) * r for r in rewards]}
    columns["time"] = pa.array(times, pa.timestamp("us", "UTC"))
    if isinstance(contexts[0], tuple):
        columns |= {f"part{i}": part for i, part in enumerate(zip(*contexts, strict=True))}
    else:
        columns["context"] = contexts
    return pa.table({name: list(c) if isinstance(c, tuple) else c for name, c in columns.items()})


def read(rows, engine="duckdb", *, time=True, scale=(0, 1), **options):
    log = table(rows, scale=scale, **options)
    context = [name for name in log.column_names if name.startswith("part")] or "context"
    return ws.read_events(
        log,
        context=context,
        action="action",
        reward="reward",
        time="time" if time else None,
        reward_range=scale,
        engine=engine,
    )


def day_text(day):
    return f"{START + timedelta(days=day):%Y-%m-%d}"


def late_half(rows):
    return [row for row in rows if row[3] >= 3]


@cache
def case(name, engine):
    """A log, what of it is audited, its scale, and the audit."""
    if name == "split":
        rows = gappy_log(1)
        _, late = read(rows, engine).split(at=START + timedelta(days=3))
        return rows, late_half(rows), (0, 1), ws.audit(late), late
    if name == "several columns":
        rows = [(("p" + x[1:], int(x[1:]) % 3), *rest) for x, *rest in gappy_log(2)]
        rows += [(("p1", 7), "a2", 0.25, 3, 11)]
    else:
        rows = gappy_log(3)
    scale = {"zero to five": (0, 5), "minus one to one": (-1, 1)}.get(name, (0, 1))
    if name == "minus one to one":
        rows = [(x, a, 1 - r, *rest) for x, a, r, *rest in rows]
    events = read(rows, engine, scale=scale)
    return rows, rows, scale, ws.audit(events), events


CASES = ["plain", "split", "several columns", "zero to five", "minus one to one"]


def every_case(test):
    """Every case on DuckDB; on Spark, where an audit takes half a minute, a window of one."""
    marks = [pytest.mark.spark]
    pairs = [pytest.param(name, "duckdb", id=f"{name}-duckdb") for name in CASES]
    pairs += [
        pytest.param(name, "spark", id=f"{name}-spark", marks=marks if name == "split" else [*marks, pytest.mark.slow])
        for name in CASES
    ]
    return pytest.mark.parametrize(("name", "engine"), pairs, indirect=["engine"])(test)


def same(found, expected):
    """Hold the named attributes of a result to a dictionary of numbers."""
    for name, value in expected.items():
        assert getattr(found, name) == (value if value is None else pytest.approx(value, **CLOSE)), name


@every_case
def test_the_facts_of_the_log_are_counts(name, engine):
    _, rows, scale, audit, _ = case(name, engine)
    expected = plain.log_facts(rows, scale)
    for count in ("events_per_context", "events_per_action"):
        same(getattr(audit.log, count), expected.pop(count))
    same(audit.log, expected)
    assert audit.log.duplicates >= 2
    assert audit.log.days == 9 - min(row[3] for row in rows)
    first, last = min(row[3:] for row in rows), max(row[3:] for row in rows)
    for shown, (day, second) in ((audit.log.first, first), (audit.log.last, last)):
        assert datetime.fromisoformat(shown) == START + timedelta(days=day, seconds=second)
    assert audit.reward_range == scale


@every_case
def test_traffic_is_told_by_the_number_of_actions_of_its_context(name, engine):
    _, rows, _, audit, _ = case(name, engine)
    found = [(row.actions, row.contexts, row.traffic) for row in audit.exploration.by_actions]
    assert [row[:2] for row in found] == [row[:2] for row in plain.by_actions(rows)]
    assert [row[2] for row in found] == pytest.approx([row[2] for row in plain.by_actions(rows)], **CLOSE)
    assert audit.exploration.effective_actions == pytest.approx(plain.effective_actions(rows), **CLOSE)


@every_case
def test_support_at_every_tau_is_that_of_the_daily_uniform_policy(name, engine):
    log, rows, _, audit, _ = case(name, engine)
    h = plain.uniform(rows, log, live=True)
    assert h != pytest.approx(plain.uniform(rows, log, live=False))
    found = [(at.tau, at.uniform, at.choice, at.error) for at in audit.exploration.support]
    expected = plain.support(rows, h)
    assert np.array(found) == pytest.approx(np.array(expected), **CLOSE)
    kept = [row for row in expected if row[2] >= 0.9 * max(row[2] for row in expected)]
    least = min(row[3] for row in kept)
    assert audit.power.tau == max(row[0] for row in kept if row[3] <= least * (1 + 1e-9))
    assert audit.exploration.live


@every_case
def test_even_shares_are_rejected_where_a_chi_square_table_says_so(name, engine):
    _, rows, _, audit, _ = case(name, engine)
    contexts, rejected = plain.even_shares(rows)
    assert 0 < rejected < 1
    same(audit.exploration.even, {"contexts": contexts, "rejected": rejected})


@every_case
def test_the_origin_of_choice_is_told_by_pairs_of_events(name, engine):
    _, rows, _, audit, _ = case(name, engine)
    expected = plain.origin(rows)
    days = [
        (day_text(day), contexts, pytest.approx(share, **CLOSE)) for day, contexts, share in expected["switch_days"]
    ]
    del expected["switch_days"]
    same(audit.origin, expected)
    assert [(day.day, day.contexts, day.switched) for day in audit.origin.switch_days] == days
    assert 0.1 < audit.origin.calendar < 0.95


@every_case
def test_drift_and_reaction_are_sums_over_events(name, engine):
    _, rows, scale, audit, _ = case(name, engine)
    drift, reaction = audit.checks
    assert (drift.name, reaction.name) == ("drift", "reaction")
    same(drift, plain.drift_check(rows, scale))
    same(reaction, plain.reaction_check(rows, scale))
    assert None not in (drift.clustered_p, reaction.clustered_p)


@every_case
def test_context_drift_is_a_chi_square_of_two_halves(name, engine):
    _, rows, _, audit, _ = case(name, engine)
    expected = plain.context_drift(rows)
    assert audit.context_drift.cut == day_text(expected.pop("cut"))
    same(audit.context_drift, expected)
    assert audit.context_drift.unseen_before > 0


@every_case
def test_churn_and_weight_ratios_are_sums_over_events(name, engine):
    log, rows, _, audit, _ = case(name, engine)
    same(audit.churn, plain.churn(rows, log))
    assert 0 < audit.churn.actions_all_window < 1
    assert audit.churn.weight_ratio_train != pytest.approx(audit.churn.weight_ratio_all, rel=1e-3)


@every_case
def test_power_is_that_of_a_policy_that_takes_a_supported_action(name, engine):
    _, rows, scale, audit, _ = case(name, engine)
    expected = plain.power(rows, audit.power.tau, scale)
    assert [(more.gain, more.times) for more in audit.power.more_log] == [
        (gain, pytest.approx(times, **CLOSE)) for gain, times in expected.pop("more_log")
    ]
    same(audit.power, expected)
    assert 0 < audit.power.contested < 1
    assert audit.power.smallest_gain > 0


@every_case
def test_the_busiest_contexts_of_one_action_are_to_be_explored_first(name, engine):
    _, rows, scale, audit, _ = case(name, engine)
    expected = plain.explore(rows, scale)
    assert [row[:-2] for row in audit.explore.rows] == [row[:-2] for row in expected["rows"]]
    numbers = [np.array([row[-2:] for row in found]) for found in (audit.explore.rows, expected["rows"])]
    assert numbers[0] == pytest.approx(numbers[1], **CLOSE)
    assert [(plan.share, plan.events, plan.smallest_gain) for plan in audit.explore.experiments] == [
        (share, events, pytest.approx(gain, **CLOSE)) for share, events, gain in expected["experiments"]
    ]
    same(audit.explore, {"contexts": expected["contexts"], "traffic": expected["traffic"]})
    assert audit.explore.contexts >= 3
    assert audit.explore.to_arrow().num_rows == audit.explore.contexts
    assert audit.explore.columns[-4:] == ("action", "events", "traffic", "reward")


@pytest.mark.slow_on_spark
def test_half_of_the_traffic_kept_is_no_switch(engine):
    """Shares of 14 events whose kept parts, 1/14 + 6/14, add up to a half: not less."""
    today = [*["a"] * 1, *["b"] * 6, *["c"] * 7]
    tomorrow = [*["a"] * 1, *["b"] * 6, *["d"] * 7]
    rows = [("x", a, 0.0, day, i) for day, shown in enumerate((today, tomorrow)) for i, a in enumerate(shown)]
    rows += [("y", a, 0.0, day, 0) for day, a in enumerate("ab")]
    audit = ws.audit(read(rows, engine))
    assert audit.origin.switches_per_context == 0.5
