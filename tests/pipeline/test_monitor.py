"""Following policies on a growing log: lines that stay, bounds at every look, late and missing rows."""

import importlib
import json
from dataclasses import astuple, replace

import numpy as np
import pyarrow as pa
import pytest
from tests.support.epoch_worlds import NAMES, World, as_table, day, decisions, draw

import warmstart as ws
from warmstart.results import EpochFacts, EpochLength

WORLD = World("epsilon-greedy", epochs=6, events=120, rate=0.3)
LOG = draw(WORLD, 0)
POLICIES = {"mine": as_table(decisions(WORLD)), "uniform": "uniform"}


def read(table, **options):
    return ws.read_events(table, **NAMES, **{"epoch": "day", **options})


def until(epochs, table=None):
    """The rows of the first epochs, as they arrive."""
    table = LOG.table if table is None else table
    return table.filter(pa.array(np.arange(table.num_rows) < epochs * WORLD.events))


def look(out, epochs, policies=None, *, table=None, **options):
    return ws.monitor(POLICIES if policies is None else policies, read(until(epochs, table)), out, **options)


def numbers(line):
    return [[value for value in astuple(one.estimate) if not isinstance(value, str)] for one in line.policies]


@pytest.fixture
def out(tmp_path):
    return tmp_path / "monitor.jsonl"


@pytest.fixture(autouse=True)
def unsuspecting(monkeypatch):
    """Looking for reaction takes as long as a look; the command's tests do."""
    monkeypatch.setattr(importlib.import_module("warmstart.pipeline.audit"), "recommended_epoch", lambda _: None)


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A file after two epochs."""
    path = tmp_path_factory.mktemp("begun") / "monitor.jsonl"
    look(path, 3)
    return path.read_text()


class TestLines:
    def test_daily_looks_one_look_and_evaluate_say_the_same(self, out, tmp_path):
        days = 4
        for epochs in range(1, days + 1):
            found = look(out, epochs, until=day(epochs))
            assert (found.new, len(found.lines)) == (1, epochs)
        at_once = look(tmp_path / "other.jsonl", days, until=day(days))
        assert at_once.new == days
        evaluated = ws.evaluate(
            POLICIES, read(until(days)), delta=0.05 / 8, estimators=(), trained_until="never", propensities="counts"
        )
        for i, (line, other) in enumerate(zip(found.lines, at_once.lines, strict=True)):
            assert line.epoch == other.epoch == day(i)[:10]
            assert np.array(numbers(line)) == pytest.approx(np.array(numbers(other)), abs=1e-9)
            expected = [
                [v for v in astuple(evaluated[name].by_epoch[i]) if not isinstance(v, str)] for name in POLICIES
            ]
            assert np.array(numbers(line)) == pytest.approx(np.array(expected), abs=1e-9)

    def test_a_look_may_be_repeated(self, out):
        first = look(out, 4)
        written = out.read_bytes()
        again = look(out, 4)
        assert (first.new, again.new) == (3, 0)
        assert out.read_bytes() == written
        assert again.lines == tuple(replace(line) for line in first.lines)

    def test_the_last_epoch_waits_until_it_is_over(self, out):
        found = look(out, 3)
        assert [line.epoch for line in found.lines] == [day(0)[:10], day(1)[:10]]
        assert found.waiting == day(2)[:10]
        assert look(out, 3, until=day(3)).new == 1

    def test_training_comes_before(self, out):
        found = look(out, 6, since=day(2), until=day(6))
        assert [line.epoch for line in found.lines] == [day(e)[:10] for e in range(2, 6)]
        train, events = read(LOG.table).split(at=day(2))
        expected = ws.evaluate(
            POLICIES, events, train=train, delta=0.05 / 8, estimators=(), trained_until="never", feasible_from="all"
        )
        for i, line in enumerate(found.lines):
            own = [[v for v in astuple(expected[name].by_epoch[i]) if not isinstance(v, str)] for name in POLICIES]
            assert np.array(numbers(line)) == pytest.approx(np.array(own), abs=1e-9)


class TestArrivals:
    def test_late_rows_are_counted_and_left_out(self, out):
        before = look(out, 4)
        late = pa.concat_tables([LOG.table, LOG.table.slice(0, 7)])
        found = ws.monitor(POLICIES, read(late), out, until=day(6))
        assert found.late == {day(0)[:10]: 7}
        assert found.lines[:3] == before.lines
        assert "7 for" in str(found)

    def test_rows_that_vanish_are_named(self, out):
        look(out, 4)
        found = ws.monitor(POLICIES, read(LOG.table.slice(5)), out, until=day(6))
        assert found.vanished == {day(0)[:10]: 5}

    def test_missing_days_are_named_and_stay_out(self, out):
        missing = LOG.table.filter(pa.array(LOG.epoch != 2))
        found = ws.monitor(POLICIES, read(missing), out, until=day(6))
        assert [line.missing for line in found.lines] == [(), (), (day(2)[:10],), (), ()]
        again = look(out, 6, until=day(6))
        assert (again.new, again.late) == (0, {day(2)[:10]: WORLD.events})


class TestPolicies:
    def test_later_ones_begin_later_with_less(self, out):
        first = look(out, 3, {"mine": POLICIES["mine"], "uniform": "uniform"}, until=day(3))
        assert [one.delta for one in first.last.policies] == [0.05 / 4] * 2
        more = {**POLICIES, "always": "constant:0"}
        second = look(out, 4, more, until=day(4))
        assert [one.delta for one in second.last.policies] == [0.05 / 4, 0.05 / 4, 0.05 / 4]
        third = look(out, 5, {**more, "other": "constant:1"}, until=day(5))
        assert [one.delta for one in third.last.policies][-1] == 0.05 / 8
        assert [one.since for one in third.last.policies] == [day(0)[:10], day(0)[:10], day(3)[:10], day(4)[:10]]
        late = third.last.policies[2].estimate
        assert late.value_so_far == pytest.approx(
            np.mean([line.policies[2].estimate.value for line in third.lines[3:]]), abs=1e-12
        )

    def test_a_name_stands_for_one_policy(self, out, begun):
        out.write_text(begun)
        with pytest.raises(ws.UsageError, match="chooses otherwise"):
            look(out, 4, {**POLICIES, "mine": as_table(decisions(WORLD, 7))})
        look(out, 4, {"mine": POLICIES["mine"]})
        with pytest.raises(ws.UsageError, match="left out of an earlier look"):
            look(out, 5)

    def test_units_that_come_back_certify_nothing(self, out):
        users = LOG.table.set_column(LOG.table.column_names.index("user"), "user", pa.array(np.arange(720) % 50))
        found = ws.monitor(POLICIES, read(users, unit="user"), out, until=day(6))
        assert {one.estimate.gain_lower_so_far for line in found.lines for one in line.policies} == {None}
        assert "nothing is certified" in str(found)


class TestProof:
    """What was once not proven stays so, and nothing is proven of what was learned from the same rewards."""

    def test_units_that_came_back_once_are_remembered(self, out):
        users = np.arange(720)
        users[LOG.epoch == 2] = users[LOG.epoch == 1]
        table = LOG.table.set_column(LOG.table.column_names.index("user"), "user", pa.array(users))
        for epochs in (2, 3, 5):
            found = ws.monitor(POLICIES, read(until(epochs, table), unit="user"), out, until=day(epochs))
        proven = [line.policies[0].estimate.gain_lower_so_far is not None for line in found.lines]
        assert proven == [True, True, False, False, False]

    def test_units_that_come_back_later_have_no_say_before(self, out):
        users = np.arange(720)
        users[LOG.epoch == 5] = users[LOG.epoch == 1]
        table = LOG.table.set_column(LOG.table.column_names.index("user"), "user", pa.array(users))
        events = read(table, unit="user")
        early = ws.evaluate(POLICIES, events.until(day(4)), trained_until="never")
        assert early["mine"].certified_lower is not None
        assert ws.evaluate(POLICIES, events, trained_until="never")["mine"].certified_lower is None
        found = ws.monitor(POLICIES, events, out)
        assert found.last.policies[0].estimate.lower_so_far is not None

    def test_rows_of_units_that_vanish(self, out):
        table = LOG.table.set_column(LOG.table.column_names.index("user"), "user", pa.array(np.arange(720)))
        ws.monitor(POLICIES, read(until(3, table), unit="user"), out, until=day(3))
        found = ws.monitor(POLICIES, read(table.slice(5), unit="user"), out, until=day(6))
        assert found.last.policies[0].estimate.lower_so_far is None

    def test_a_policy_that_learned_from_these_epochs_is_refused(self, out):
        learned = ws.fit(read(until(3)))
        with pytest.raises(ws.UsageError, match="learned from events of the epochs"):
            look(out, 6, {"learned": learned})
        found = look(out, 6, {"learned": learned}, since=day(3), until=day(6))
        assert [line.epoch for line in found.lines] == [day(e)[:10] for e in range(3, 6)]
        with pytest.raises(ws.UsageError, match="'mine' learned from events"):
            look(out.with_name("other.jsonl"), 6, trained_until=day(2))

    def test_actions_that_the_log_never_shows_are_refused(self, out):
        with pytest.raises(ws.DecisionError, match="never occurs"):
            look(out, 3, {"typo": "constant:99"})
        assert (
            look(out, 3, {"typo": "constant:99"}, allow_unknown_actions=True).last.policies[0].estimate.supported == 0
        )

    def test_a_value_of_a_column_is_over_when_the_next_begins(self, out):
        versions = read(until(3), epoch="version")
        found = ws.monitor(POLICIES, versions, out, until=day(9))
        assert len(found.lines) == 2
        assert found.waiting is not None


class TestAlarms:
    def test_drift_and_lost_support(self, out):
        rewards = np.where(LOG.epoch == 5, 1.0, LOG.r)
        actions = np.where(LOG.epoch == 4, (decisions(WORLD).argmax(axis=1)[LOG.x] + 1) % 4, LOG.a)
        table = LOG.table.set_column(2, "reward", pa.array(rewards)).set_column(1, "action", pa.array(actions))
        assert table.column_names == LOG.table.column_names
        found = ws.monitor({"mine": POLICIES["mine"]}, read(table), out, until=day(6))
        alarms = [" ".join(line.alarms) for line in found.lines]
        assert "Lost support" in alarms[4]
        assert "Drift" in alarms[5]
        assert not alarms[0]

    def test_reaction(self, out, monkeypatch):
        row = EpochLength("day", "a day", 4, 1.0, 1.0, 0.1, 0.05, 100.0, 0.001, 0.001, reacts=True)
        module = importlib.import_module("warmstart.pipeline.audit")
        monkeypatch.setattr(module, "recommended_epoch", lambda _: EpochFacts((row,), 0.05))
        assert "reacts to rewards within a day" in " ".join(look(out, 4).alarms)


class TestFile:
    def test_settings_must_stay(self, out, begun):
        out.write_text(begun)
        for options in ({"delta": 0.1}, {"tau": 0.05}, {"since": day(1)}):
            with pytest.raises(ws.UsageError, match="was begun with"):
                look(out, 4, **options)

    @pytest.mark.parametrize(
        "change",
        [
            lambda line: line.replace('"logs": [', '"logs": [NaN, '),
            lambda line: line[: len(line) // 2],
            lambda line: line.replace('"events": 120', '"events": -1'),
            lambda line: json.dumps({**json.loads(line), "policies": [{}]}),
            lambda line: line.replace('"supported": 1.0', '"supported": 0.9').replace("0.", "0.1", 1),
            lambda _: "",
        ],
    )
    def test_a_file_that_was_changed_is_refused(self, out, begun, change):
        *lines, last = begun.splitlines()
        out.write_text("\n".join([*lines, change(last)]) + "\n")
        with pytest.raises(ws.DataError, match="not what a monitor wrote"):
            look(out, 4)

    def test_what_cannot_be_read_is_refused(self, out, tmp_path):
        out.write_bytes(b"\xff\xfe\x00")
        for path in (out, tmp_path):
            with pytest.raises(ws.DataError, match="not what a monitor wrote"):
                look(path, 3)

    def test_another_file_is_not_replaced(self, out):
        out.write_text("mine\n")
        with pytest.raises(ws.DataError, match="not what a monitor wrote"):
            look(out, 3)
        assert out.read_text() == "mine\n"

    def test_it_shows_and_converts(self, out, tmp_path):
        found = look(out, 4)
        assert set(found.to_pandas()["policy"]) == set(POLICIES)
        assert json.loads(found.to_json())["lines"][0]["events"] == WORLD.events
        page = ws.save_report(found, tmp_path / "page.html").read_text()
        assert "Policies on a growing log" in page
        assert "cannot be told from logging" in page
