"""Counts within epochs through evaluate: what is refused, what is said, and how epochs are written."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.support.epoch_worlds import NAMES, World, as_table, day, decisions, draw
from tests.support.nested import alike

import warmstart as ws
from warmstart.estimators import METHODS

WORLD = World(epochs=3, events=80)


@pytest.fixture(scope="module")
def log():
    return draw(WORLD, 0)


def read(log, **options):
    return ws.read_events(log.table, **{**NAMES, "epoch": "day", **options})


def value(events, policies="uniform", **options):
    return ws.evaluate(policies, events, **{"propensities": "counts", "tau": 0.05, "estimators": (), **options})


class TestRefusals:
    def test_epochs_that_would_look_at_these_events(self, log):
        with pytest.raises(ws.UsageError, match="fixed before these events") as refused:
            value(read(log, epoch="auto"))
        assert "hour, day, week or a column" in refused.value.hint
        assert "audit" in refused.value.hint

    @pytest.mark.parametrize("interval", [name for name in METHODS if name != "bets"])
    def test_intervals_for_events_that_react_to_nothing(self, log, interval):
        with pytest.raises(ws.UsageError, match=f"'{interval}' does not hold where later epochs react") as refused:
            value(read(log), interval=interval)
        assert "--interval bets" in refused.value.hint

    def test_folds(self, log):
        train, test = read(log).split(folds=2)[0]
        for windows in ((test, train), (test, None)):
            with pytest.raises(ws.UsageError, match="folds are drawn at random") as refused:
                value(windows[0], train=windows[1])
            assert refused.value.hint == "Split the log in time."

    def test_training_after_the_window(self, log):
        early, late = read(log).split(at=day(1))
        with pytest.raises(ws.UsageError, match="training comes before the evaluated window") as refused:
            value(early, train=late)
        assert refused.value.hint == "Split the log in time."
        assert value(late, train=early)["uniform"].by_epoch

    def test_training_of_another_log_at_the_same_time(self, log):
        with pytest.raises(ws.UsageError, match="training comes before"):
            value(read(log), train=read(draw(WORLD, 1)))

    def test_a_column_without_times(self, log):
        with pytest.raises(ws.UsageError, match="which epoch came first") as refused:
            value(read(log, epoch="version", time=None))
        assert "time=" in refused.value.hint

    def test_too_large_a_table(self, log, monkeypatch):
        monkeypatch.setattr("warmstart.policy.build.MOST_ROWS", 10)
        with pytest.raises(ws.UsageError, match="'uniform-all' over all actions, contexts and epochs"):
            value(read(log), "uniform-all")


def written(log, epoch, *, minutes=None, column=None):
    table = log.table if column is None else log.table.append_column("column", [column])
    if minutes is not None:
        times = np.datetime64("2026-10-04T22:30", "us") + np.asarray(minutes) * np.timedelta64(1, "m")
        table = table.set_column(table.column_names.index("time"), "time", [times])
    found = value(ws.read_events(table, **NAMES, epoch=epoch), "logging")
    return [(one.epoch, one.events) for one in found["logging"].by_epoch]


class TestLabels:
    """Epochs are written by when they begin, in UTC, or by a column's value."""

    def test_by_time(self, log):
        minutes = np.repeat([0, 29, 100, 1600], 60)
        assert written(log, "hour", minutes=minutes) == [
            ("2026-10-04 22:00", 120),
            ("2026-10-05 00:00", 60),
            ("2026-10-06 01:00", 60),
        ]
        assert written(log, "day", minutes=minutes) == [("2026-10-04", 120), ("2026-10-05", 60), ("2026-10-06", 60)]
        assert written(log, "week", minutes=minutes) == [("2026-09-28", 120), ("2026-10-05", 120)]

    def test_before_1970(self, log):
        minutes = np.repeat([0, 1440, 2880], 80) - 60 * 24 * 365 * 60
        assert [label[:4] for label, _ in written(log, "day", minutes=minutes)] == ["1966"] * 3

    @pytest.mark.parametrize(
        ("values", "labels"),
        [
            ([10, 9, 200], ["10", "9", "200"]),
            (["b", "", "a b"], ["b", "", "a b"]),
            ([True, False, False], ["True", "False"]),
        ],
        ids=["int", "text", "bool"],
    )
    def test_by_a_column_in_the_order_of_time(self, log, values, labels):
        column = np.repeat(np.array(values, dtype=object), 80).tolist()
        found = written(log, "column", column=column)
        assert [label for label, _ in found] == labels
        assert sum(events for _, events in found) == 240

    def test_two_epochs_that_begin_together_are_in_the_order_of_their_names(self, log):
        column = np.tile(["b", "a"], 120).tolist()
        found = written(log, "column", column=column, minutes=np.repeat(np.arange(120), 2))
        assert found == [("a", 120), ("b", 120)]


class TestWords:
    def test_what_is_said(self, log):
        text = str(value(read(log), ["uniform", "logging"], tau="auto"))
        assert "Propensities are counted within 3 epochs, 2026-10-01 to 2026-10-03." in text
        assert "All bounds hold at the end of every epoch at once" in text
        assert "Every epoch's tau was chosen" in text
        assert "live in the epoch" in text
        assert "nothing inside an epoch reacts to its rewards" in text
        assert "within epochs" not in str(value(read(log, epoch=None)))

    def test_units_that_come_back(self):
        log = draw(replace(WORLD, visits=4, sticky="all"), 0)
        found = value(read(log, unit="user"), {"p": as_table(decisions(WORLD))}, trained_until="never")
        (remark,) = found.remarks
        assert (remark.code, remark.level) == ("WS109", "warning")
        assert "events.first_epochs()" in remark.text
        assert "No end is certified." in str(found)
        assert "All bounds hold at the end of every epoch" not in str(found)

    def test_numbers_by_epoch_go_to_json(self, log):
        found = value(read(log), ["uniform", "logging"], tau="auto")
        for one in json.loads(json.dumps(found.to_dict()))["policies"]:
            assert [epoch["epoch"] for epoch in one["by_epoch"]] == ["2026-10-01", "2026-10-02", "2026-10-03"]
            assert one["by_epoch"][-1]["value_so_far"] == pytest.approx(one["value"])
        assert {epoch.tau for epoch in found["logging"].by_epoch} == {1.0}

    def test_evidence_of_an_epoch_in_which_a_policy_says_nothing(self, log):
        """Its context never comes there."""
        x = np.where(log.epoch == 1, 0, log.x)
        policy = as_table(decisions(WORLD)).slice(1)
        found = value(read(replace(log, x=x)), {"p": policy}, trained_until="never", tau="auto")["p"]
        first, middle, last = found.by_epoch
        assert (middle.supported, middle.value, middle.lower, middle.upper) == (0, 0, 0, 0)
        assert middle.value_so_far == pytest.approx(first.value / 2)
        assert last.lower_so_far < last.value_so_far < last.upper_so_far


def test_until_is_an_option_of_evaluate_too(log):
    events = read(log)
    early, same = value(events, until=day(2)), value(events.until(day(2)))
    assert len(early["uniform"].by_epoch) == 2
    assert alike(early.to_dict(), same.to_dict())


def test_rewards_that_should_be_small_are_not_followed_over_epochs(log, tmp_path):
    events = read(log, minimize=NAMES["reward"])
    with pytest.raises(ws.UsageError, match="of which more is better"):
        ws.monitor("uniform", events, tmp_path / "monitor.jsonl")
    with pytest.raises(ws.UsageError, match="of which more is better"):
        ws.evaluate_progressively(events)
    assert list(tmp_path.iterdir()) == []
