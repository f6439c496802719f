"""audit of logs that lack something, and what it prints."""

import json
import re
from datetime import UTC, datetime, timedelta
from functools import cache

import pyarrow as pa
import pytest
from tests.support import audit_reference as plain
from tests.support.audit_logs import CLOSE, gappy_log, read, same, table

import warmstart as ws

CONTROL = "\x1b[31m\u202e\n\x07"


def rewarded(reward, seed=5):
    return [(x, a, reward, day, second) for x, a, _, day, second in gappy_log(seed)]


def few():
    """A log for asking several engines quickly."""
    return gappy_log(6, events=60)


def parsed(audit):
    """What JSON says, refusing NaN and infinities, which are no JSON."""

    def refuse(name):
        raise AssertionError(f"{name} in JSON")

    return json.loads(audit.to_json(), parse_constant=refuse)


LOGS = {
    "plain": lambda: ws.audit(read(gappy_log(5))),
    "no time": lambda: ws.audit(read(gappy_log(5), time=False)),
    "one day": lambda: ws.audit(read([(*row[:3], 0, row[4]) for row in gappy_log(5)])),
    "one event": lambda: ws.audit(read([("x", "a", 1.0, 0, 5)])),
    "one context, two days": lambda: ws.audit(read([("x", "a", 1.0, 0, 5), ("x", "a", 0.0, 1, 5)])),
    "every context once": lambda: ws.audit(read([(f"x{i}", "a", i % 2, i // 5, i) for i in range(15)])),
    "every context once, in equal halves": lambda: ws.audit(read([("x", "a", 1.0, 0, 5), ("y", "a", 0.0, 1, 5)])),
    "no rewards": lambda: ws.audit(read(rewarded(0.0))),
    "all rewards 1": lambda: ws.audit(read(rewarded(1.0))),
    "the same fraction always": lambda: ws.audit(read(rewarded(0.1))),
    "a mean reward below 0": lambda: ws.audit(read(gappy_log(5), scale=(-1, 1))),
    "several columns": lambda: ws.audit(read([((x, len(a)), a, *rest) for x, a, *rest in gappy_log(5)])),
}


@cache
def audit_of(log):
    return LOGS[log]()


every_log = pytest.mark.parametrize("log", LOGS)


@every_log
def test_json_holds_every_number_and_no_nan(log):
    audit = audit_of(log)
    found = parsed(audit)
    assert found["log"]["events"] == audit.log.events
    assert set(found) == {
        *("log", "exploration", "origin", "checks", "context_drift", "churn", "power", "explore", "units", "epochs"),
        *("schema", "kind", "reward_range", "verdict", "warmstart_version", "assumptions", "headline", "explanations"),
    }
    assert found["verdict"] == list(audit.verdict)


@every_log
def test_tables_align(log):
    for shown in audit_of(log).tables:
        assert {len(row) for row in shown.rows} <= {len(shown.header)}
        assert all(isinstance(cell, str) for row in shown.rows for cell in row)
        title, header, rule, *rows = shown.text().split("\n")
        assert title == shown.title
        assert len(rows) == len(shown.rows)
        assert max(len(line) for line in (header, *rows, rule)) == len(rule)


@every_log
def test_the_verdict_is_three_sentences_that_come_first(log):
    audit = audit_of(log)
    assert len(audit.verdict) == 3
    for sentence in audit.verdict:
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert not re.search(r"None|nan|inf\b", sentence)
    first, *others = audit.headline
    assert first == f"VERDICT: {audit.verdict[0]}"
    assert audit.verdict[1] in others
    assert any(text.startswith(audit.verdict[2]) for text in others)
    assert not any("VERDICT" in text for text in others)
    assert others[-1].startswith(f"'{audit.log.columns['reward']}': what was shown got ")
    assert str(audit).startswith(f"VERDICT: {audit.verdict[0]}")


def test_without_time_nothing_is_said_of_the_calendar(any_engine):
    rows = few()
    audit = ws.audit(read(rows, any_engine, time=False))
    assert (audit.origin, audit.checks, audit.context_drift, audit.churn) == (None, (), None, None)
    assert (audit.log.first, audit.log.last, audit.log.days, audit.log.duplicates) == (None, None, None, None)
    assert any("Without a time column" in note for note in audit.notes)
    assert not audit.exploration.live
    taus = sorted({*plain.TAUS, audit.power.tau})
    expected = plain.support(rows, plain.uniform(rows, rows, live=False), taus)
    assert [(at.uniform, at.choice, at.error) for at in audit.exploration.support] == [
        pytest.approx(row[1:], **CLOSE) for row in expected
    ]
    same(audit.power, {k: v for k, v in plain.power(rows, audit.power.tau).items() if k != "more_log"})


def test_with_time_nothing_is_said_of_its_lack():
    assert not any("Without a time column" in note for note in audit_of("plain").notes)


def test_a_log_of_one_day_has_no_next_day_and_no_halves(any_engine):
    rows = [(*row[:3], 0, row[4]) for row in few()]
    audit = ws.audit(read(rows, any_engine))
    for check in audit.checks:
        assert (check.effect, check.z, check.p_value, check.clustered_p, check.cells) == (None, None, None, None, 0)
        assert not check.fires
    assert audit.context_drift is None
    assert audit.origin.switch_days == ()
    assert audit.origin.switches_per_context == 0
    assert audit.origin.calendar is None
    assert audit.origin.entropy == pytest.approx(audit.origin.entropy_within_day, **CLOSE)
    assert (audit.churn.actions_all_window, audit.churn.traffic_all_window) == (1, 1)
    assert (audit.churn.weight_ratio_all, audit.churn.overweighted_train) == (None, None)
    assert audit.log.days == 1
    assert sum("The log has a single day, so nobody can tell" in note for note in audit.notes) == 2


def test_a_log_of_one_event_can_say_next_to_nothing(any_engine):
    audit = ws.audit(read([("x", "a", 1.0, 0, 5)], any_engine))
    assert (audit.log.events, audit.log.cells, audit.log.duplicates) == (1, 1, 0)
    assert audit.exploration.effective_actions == 1
    assert audit.exploration.even.contexts == 0
    assert audit.origin.one_action_days is None
    assert (audit.power.contested, audit.power.smallest_gain) == (0, None)
    assert audit.explore.rows == (("x", "a", 1, 1.0, 1.0),)
    assert audit.verdict[0].startswith("Next to nothing")


@pytest.mark.parametrize("year", [1, 1969, 2328, 9999])
def test_the_last_microsecond_of_a_year_is_in_its_last_day(any_engine, year):
    last = datetime(year, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    log = pa.table({"x": ["x", "x"], "a": ["a", "b"], "r": [1, 0], "t": [last, last - timedelta(hours=1)]})
    audit = ws.audit(ws.read_events(log, context="x", action="a", reward="r", time="t", engine=any_engine))
    assert audit.log.days == 1
    assert audit.origin.context_days == 1
    assert audit.origin.one_action_days == 0


def test_contexts_seen_once_in_equal_halves_say_nothing_of_context_drift(any_engine):
    """Whatever the halves, the chi-square is the same: no surprise in it."""
    rows = [(f"x{i}", "a", 0.0, i // 4, i) for i in range(8)]
    found = ws.audit(read(rows, any_engine)).context_drift
    assert found.unseen_before == 1
    assert found.distance == 0
    assert found.p_value is None or found.p_value > 0.05


def test_without_rewards_there_is_no_gain_to_prove(any_engine):
    audit = ws.audit(read([(x, a, 0.0, *rest) for x, a, _, *rest in few()], any_engine))
    assert audit.log.reward_rate == 0
    assert [check.p_value for check in audit.checks] == [None, None]
    assert audit.power.smallest_gain is None
    assert [more.times for more in audit.power.more_log] == [None, None]
    assert [plan.smallest_gain for plan in audit.explore.experiments] == [None, None, None]
    assert audit.power.contested > 0


@pytest.mark.parametrize("reward", [1.0, 0.1])
def test_rewards_that_never_differ_do_not_fire_a_check(reward):
    audit = ws.audit(read(rewarded(reward)))
    assert not any(check.fires for check in audit.checks)
    assert audit.log.reward_rate == pytest.approx(reward)


def test_a_verdict_of_next_to_nothing_does_not_name_much_traffic_as_its_reason():
    """Nearly all traffic is contested; what is lacking is a mean reward above zero, beside which a gain is inputs."""
    for log in ("no rewards", "a mean reward below 0"):
        audit = audit_of(log)
        assert audit.power.contested > 0.5
        assert audit.power.smallest_gain is None
        assert not re.search(r"Next to nothing.*: on \d\d.* were two actions", audit.verdict[0])


def test_a_gain_of_many_times_reads_as_english():
    """Four clicks on a hundred actions: only a policy that earns many times as much could be proven better."""
    rows = [("x", f"a{i % 100}", float(i < 4), 0, i) for i in range(1000)]
    audit = ws.audit(read(rows))
    assert audit.power.smallest_gain > 10
    assert "times as much" in audit.verdict[0]
    assert "as much more" not in audit.verdict[0]


def test_of_taus_that_cost_the_same_the_largest_is_recommended():
    """No action is shown less than a tenth of the time: taus up to .1 give one estimate, .1 the best interval."""
    rows = [("x", "a" if i % 10 else "b", float(i % 3 == 0), 0, i) for i in range(3000)]
    audit = ws.audit(read(rows))
    assert len({at.error for at in audit.exploration.support if at.tau <= 0.1}) == 1
    assert audit.power.tau == 0.1


def test_a_scale_changes_rewards_and_not_what_is_surprising():
    plain_log, scaled = ws.audit(read(gappy_log(5))), ws.audit(read(gappy_log(5), scale=(0, 5)))
    assert scaled.log.reward_rate == pytest.approx(5 * plain_log.log.reward_rate)
    assert scaled.power.smallest_gain == pytest.approx(plain_log.power.smallest_gain)
    assert scaled.power.sampling == pytest.approx(5 * plain_log.power.sampling)
    assert scaled.power.blind == pytest.approx(5 * plain_log.power.blind)
    for check, other in zip(scaled.checks, plain_log.checks, strict=True):
        assert check.effect == pytest.approx(5 * other.effect)
        assert check.p_value == pytest.approx(other.p_value)


def test_dates_alone_do_not_make_duplicates(any_engine):
    rows = few()
    assert ws.audit(read(rows, any_engine)).log.duplicates > 0
    audit = ws.audit(read(rows, any_engine, whole_days=True))
    assert audit.log.duplicates is None
    assert "not known" in str(audit)
    assert audit.log.days == 9


def test_a_column_of_dates_is_a_time():
    log = table(gappy_log(5))
    log = log.set_column(log.column_names.index("time"), "time", log["time"].cast(pa.timestamp("us")).cast(pa.date32()))
    by_date = ws.audit(ws.read_events(log, context="context", action="action", reward="reward", time="time"))
    by_time = audit_of("plain")
    assert by_date.log.duplicates is None
    assert [check.z for check in by_date.checks] == pytest.approx([check.z for check in by_time.checks])
    for part in ("origin", "churn"):
        numbers = {k: v for k, v in vars(getattr(by_time, part)).items() if k != "switch_days"}
        same(getattr(by_date, part), numbers)


def test_control_characters_of_a_log_do_not_reach_the_screen():
    rows = [(f"{CONTROL}{x}", f"{CONTROL}{a}", *rest) for x, a, *rest in gappy_log(5)]
    log = table(rows).rename_columns([f"{CONTROL}{name}" for name in table(rows).column_names])
    names = {name: f"{CONTROL}{name}" for name in ("context", "action", "reward", "time")}
    audit = ws.audit(ws.read_events(log, **names))
    assert audit.explore.rows[0][0].startswith(CONTROL)
    shown = str(audit)
    assert all(c.isprintable() or c == "\n" for c in shown)
    assert shown.count("\n") == str(audit_of("plain")).count("\n")
    assert "\\x1b[31m" in shown


def test_names_that_are_no_text_survive_json():
    log = pa.table(
        {
            "page": pa.array([1, 2, 2], pa.int64()),
            "day": pa.array([0, 1, 1], pa.date32()),
            "ad": pa.array(["a", "b", "c"]),
            "click": [1.0, 0.0, 1.0],
        }
    )
    audit = ws.audit(ws.read_events(log, context=["page", "day"], action="ad", reward="click"))
    assert parsed(audit)["explore"]["rows"] == [[1, "1970-01-01", "a", 1, pytest.approx(1 / 3), 1.0]]
    assert audit.explore.columns == ("page", "day", "ad", "events", "traffic", "reward")


def test_only_a_log_that_was_read_is_audited():
    with pytest.raises(ws.UsageError, match="not a log that was read"):
        ws.audit(table(gappy_log(5)))


def test_steps_are_told_in_words():
    steps = []
    ws.audit(read(few()), on_progress=steps.append)
    assert steps[0] == "looking for duplicates"
    assert "testing for drift and reaction" in steps


def test_nothing_is_left_in_the_engine(duckdb):
    events = read(few(), duckdb)
    before = set(duckdb.backend.list_tables())
    ws.audit(events)
    assert set(duckdb.backend.list_tables()) == before
