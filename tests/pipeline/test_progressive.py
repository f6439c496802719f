"""Learning and evaluating on the same log: no policy sees the rewards that it is valued by."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.support.epoch_worlds import NAMES, World, as_table, day, decisions, draw, reference

import warmstart as ws
from warmstart.results import EpochEstimate, LearningStep, trend_of

WORLD = World("epsilon-greedy", epochs=6, events=150, rate=0.3)
TAU = 0.05


@pytest.fixture(scope="module")
def log():
    return draw(WORLD, 0)


@pytest.fixture(scope="module")
def events(log):
    return ws.read_events(log.table, **NAMES)


def choices(epoch):
    """Another policy for every epoch."""
    return decisions(WORLD, seed=10 + epoch)


def learner(calls):
    def learn(window):
        calls.append(window)
        return as_table(choices(len(calls)))

    return learn


class TestFold:
    def test_every_epoch_values_what_was_learned_before_it(self, events, log):
        calls = []
        found = ws.evaluate_progressively(events, "day", fit=learner(calls), tau=TAU)
        assert [len(window) for window in calls] == [150 * e for e in range(1, 6)]
        assert [window.window.last < events.log.microseconds(day(e)) for e, window in enumerate(calls, 1)] == [True] * 5
        assert [step.learned_from for step in found.steps] == [150 * e for e in range(1, 6)]
        assert [step.epoch.epoch for step in found.steps] == [day(e)[:10] for e in range(1, 6)]
        values, gains = [], []
        for e, step in enumerate(found.steps, 1):
            exact = reference(log, choices(e), tau=TAU, start=1)
            earned = [
                totals.earned(e - 1) - (totals.earned(e - 2) if e > 1 else 0.0) for totals in (exact.value, exact.gain)
            ]
            values.append(earned[0])
            gains.append(earned[1])
            assert step.epoch.value == pytest.approx(earned[0] / 150, abs=1e-9)
            assert step.epoch.gain == pytest.approx(earned[1] / 150, abs=1e-9)
        assert found.value == pytest.approx(sum(values) / 750, abs=1e-9)
        assert found.gain == pytest.approx(sum(gains) / 750, abs=1e-9)
        assert found.lower < found.value < found.upper
        assert found.gain_lower < found.gain < found.gain_upper

    def test_one_policy_is_what_evaluate_says(self, events):
        fixed = as_table(choices(1))
        found = ws.evaluate_progressively(events, "day", fit=lambda _: fixed, tau="auto", every=2)
        train, later = ws.read_events(draw(WORLD, 0).table, **NAMES, epoch="day").split(at=day(1))
        expected = ws.evaluate({"p": fixed}, later, train=train, trained_until="never", feasible_from="all")["p"]
        assert (found.value, found.lower, found.upper) == pytest.approx(
            (expected.value, expected.lower, expected.upper), abs=1e-9
        )
        assert found.gain_lower == pytest.approx(expected.gain.certified.lower, abs=1e-9)
        assert found.last.best.estimator == "dr"

    def test_learning_anew_in_every_kth_epoch(self, events):
        calls = []
        found = ws.evaluate_progressively(events, "day", fit=learner(calls), tau=TAU, every=2, first=2)
        assert [len(window) for window in calls] == [300, 600]
        assert [step.learned_from for step in found.steps] == [300, 300, 600, 600]
        assert found.first_learned_from.events == 300

    def test_fit_learns_by_itself(self, events):
        found = ws.evaluate_progressively(events, "day", fit={"seed": 3}, every=3)
        assert found.last.policy == "learned"
        assert 0 < found.steps[-1].epoch.supported <= 1
        assert "learned anew every 3 epochs" in str(found)

    def test_a_policy_that_peeked_would_look_better(self, events, log):
        """A mutation: what is learned from the epoch itself earns more than it is worth."""
        null = draw(replace(WORLD, null=True, kind="uniform"), 1)
        table = ws.read_events(null.table, **NAMES)

        def best(window):
            rows = window.engine.fetch_arrow(window.table)
            sums = rows.group_by(["context_0", "action"]).aggregate([("reward", "mean")]).to_pandas()
            return sums.loc[sums.groupby("context_0")["reward_mean"].idxmax(), ["context_0", "action"]].rename(
                columns={"context_0": "context"}
            )

        honest = ws.evaluate_progressively(table, "day", fit=best, tau=TAU)
        whole = best(table)
        peeking = ws.evaluate_progressively(table, "day", fit=lambda _: whole, tau=TAU, every=5)
        assert peeking.gain > honest.gain + 0.02
        assert honest.gain_lower < 0


class TestTrend:
    @staticmethod
    def steps(gains):
        none = EpochEstimate("e", 100, 0.1, 1.0, *[0.0] * 12)
        return tuple(LearningStep(100 * 2**i, replace(none, gain=gain)) for i, gain in enumerate(gains))

    def test_a_line_through_gains(self):
        noise = [0.001, -0.001, 0.002, -0.002, 0.001, -0.001]
        gains = [0.01 * i + extra for i, extra in enumerate(noise)]
        found = trend_of(self.steps(gains), 0.05)
        slope, _ = np.polyfit(np.arange(6), gains, 1)
        assert found.per_doubling == pytest.approx(slope, abs=1e-12)
        assert found.lower > 0
        assert "more log would help" in found.words

    def test_noise_says_nothing(self):
        assert "cannot be told" in trend_of(self.steps([0.01, -0.02, 0.015, -0.01, 0.02, -0.015]), 0.05).words
        assert trend_of(self.steps([0.1, 0.2]), 0.05) is None


class TestRefusals:
    def test_what_is_needed(self, events):
        with pytest.raises(ws.UsageError, match="needs epochs and times"):
            ws.evaluate_progressively(events)
        with pytest.raises(ws.UsageError, match="fixed before"):
            ws.evaluate_progressively(events, "auto")
        with pytest.raises(ws.UsageError, match="without the column 'version' as epoch"):
            ws.evaluate_progressively(events, "version")
        with pytest.raises(ws.UsageError, match="none is left to value"):
            ws.evaluate_progressively(events, "day", first=6)
        for wrong in ({"every": 0}, {"every": 1.5}, {"first": "a"}):
            with pytest.raises(ws.UsageError, match="1 or more"):
                ws.evaluate_progressively(events, "day", **wrong)
        with pytest.raises(ws.UsageError, match="no setting 'nope'"):
            ws.evaluate_progressively(events, "day", fit={"nope": 1})
        with pytest.raises(ws.UsageError, match="returned no policy"):
            ws.evaluate_progressively(events, "day", fit=lambda _: None)
        with pytest.raises(ws.UsageError, match="fit must be"):
            ws.evaluate_progressively(events, "day", fit=3)

    def test_epochs_of_a_column_must_follow_one_another(self, log):
        order = np.arange(len(log.x)) % 2
        table = log.table.set_column(5, "version", pa.array([f"v{i}" for i in order]))
        mixed = ws.read_events(table, **NAMES, epoch="version")
        with pytest.raises(ws.UsageError, match="overlap in time"):
            ws.evaluate_progressively(mixed, fit=lambda _: "constant:0")

    def test_units_that_come_back_once_certify_nothing_from_then_on(self, log):
        users = np.arange(len(log.x))
        users[log.epoch == 3] = users[log.epoch == 2]
        table = log.table.set_column(log.table.column_names.index("user"), "user", pa.array(users))
        events = ws.read_events(table, **NAMES, unit="user", epoch="day")
        found = ws.evaluate_progressively(events, fit=lambda _: as_table(choices(1)), tau=TAU, every=2)
        assert [step.epoch.lower_so_far is not None for step in found.steps] == [True, True, False, False, False]
        assert found.guarantee == "approximate"

    def test_units_that_come_back_certify_nothing(self, log):
        table = log.table.set_column(log.table.column_names.index("user"), "user", pa.array(np.arange(len(log.x)) % 40))
        users = ws.read_events(table, **NAMES, unit="user", epoch="day")
        found = ws.evaluate_progressively(users, fit=lambda _: as_table(choices(1)), tau=TAU, every=5)
        assert (found.lower, found.gain_lower, found.guarantee) == (None, None, "approximate")
        assert "Nothing is certified" in found.verdict


def test_it_shows_and_converts(events, tmp_path):
    found = ws.evaluate_progressively(events, "day", fit=lambda _: as_table(choices(1)), tau=TAU, every=2)
    assert list(found.to_pandas()["learned_from"]) == [150, 150, 450, 450, 750]
    told = json.loads(found.to_json())
    assert told["along_the_way"]["gain_lower"] == found.gain_lower
    page = ws.save_report(found, tmp_path / "curve.html").read_text()
    assert "Learning and evaluation on the same log" in page
    assert "Would more log help?" in page
