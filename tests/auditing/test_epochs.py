"""Which epoch an audit recommends for later windows."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.support import epoch_reference as plain
from tests.support.reacting_loggers import START, calendar, learner, learner_at_every_event, read

import warmstart as ws
from warmstart.auditing import epoch_facts
from warmstart.auditing.epochs import judged
from warmstart.pipeline import recommended_epoch
from warmstart.results import EpochLength

NAMES = {"context": "context", "action": "action", "reward": "reward", "time": "time"}


def rng(seed=0):
    return np.random.default_rng(seed)


def length(name, p_value, **options):
    given = {"epochs": 1, "choice": 1.0, "supported": 0.5, "response": 0.02, "visible": 0.01, "stretches": 400.0}
    given |= {} if p_value is not None else {"response": None, "visible": None, "stretches": 0.0}
    return EpochLength(name, name, **{**given, **options}, p_value=p_value, clustered_p=p_value)


@pytest.mark.parametrize(
    ("p_values", "reacts"),
    [
        ((0.5, 0.5, 0.5, 0.5), (False, False, False, False)),
        ((1e-9, 1e-9, 0.5, 0.5), (True, True, False, False)),
        ((1e-9, 1e-9, 1e-9, 1e-9), (True, True, True, True)),
        # What reacts within a day reacts within a week, whose own test need not show it.
        ((0.5, 0.5, 1e-9, 0.5), (True, True, True, False)),
        # Four tests: one of .003 may be chance, or not.
        ((0.5, 0.5, 0.003, 0.5), (None, None, None, None)),
        ((1e-9, 0.5, 0.5, 0.005), (True, None, None, None)),
        ((0.009, None, None, None), (True, None, None, None)),
    ],
)
def test_lengths_are_tested_from_the_longest_on(p_values, reacts):
    names = ("all", "week", "day", "hour")
    rows = judged([length(name, p) for name, p in zip(names, p_values, strict=True)])
    assert tuple(row.reacts for row in rows) == reacts


def test_a_column_tells_of_the_whole_window_but_not_of_a_day():
    rows = [length("all", 0.5), length("version", 1e-9, nested=False), length("day", 0.5)]
    assert [row.reacts for row in judged(rows)] == [True, True, False]
    rows = [length("all", 1e-9), length("day", 0.5), length("version", 1e-9, nested=False)]
    assert [row.reacts for row in judged(rows)] == [True, False, False]


def test_no_reaction_is_told_only_where_one_as_strong_would_have_been_found():
    rows = [length("all", 1e-9, response=0.02), length("day", 0.5, visible=0.03)]
    assert [row.reacts for row in judged(rows)] == [True, None]
    rows[1] = replace(rows[1], visible=0.01)
    assert [row.reacts for row in judged(rows)] == [True, False]


def test_where_nothing_reacts_some_length_must_compare_enough():
    few = [length("all", 0.5, stretches=30.0), length("hour", 0.5, stretches=900.0)]
    assert [row.reacts for row in judged(few)] == [None, None]
    assert [row.reacts for row in judged([*few, length("day", 0.5)])] == [False, False, False]


def test_a_logger_that_is_updated_every_night_needs_epochs_of_a_day():
    facts = recommended_epoch(read(learner(rng(), "thompson", every=1.0)))
    assert facts.recommended == "day"
    day = next(row for row in facts.lengths if row.name == "day")
    assert [row.reacts for row in facts.lengths] == [True, True, False, False]
    assert "Within a day no reaction was found" in facts.verdict
    assert "epoch='day' (--epoch day)" in facts.verdict
    assert "use it on later ones" in facts.verdict
    assert 0.9 < day.supported <= day.choice


def test_a_logger_that_follows_the_calendar_needs_no_epochs():
    for sharp in (True, False):
        facts = recommended_epoch(read(calendar(rng(), sharp=sharp, per_day=3000)))
        assert (facts.recommended, facts.lengths[0].reacts) == (None, False)
        assert "count over the whole window" in facts.verdict


def test_a_logger_that_is_updated_at_every_event_has_no_epoch():
    log = learner_at_every_event(rng(), "greedy", contexts=300, days=4, per_day=12_000, rate=0.3)
    facts = recommended_epoch(read(log))
    assert facts.recommended is None
    assert all(row.reacts for row in facts.lengths)
    assert "even within an hour" in facts.verdict
    assert "log-propensities.md" in facts.verdict


def test_a_logger_that_is_sharp_within_a_day_has_no_support():
    x, _, r, time = calendar(rng(), sharp=True, contexts=60)
    best = (np.floor(time).astype(int) * 7 + x) % 4
    for day in range(1, 14):
        was, now = np.floor(time) == day - 1, np.floor(time) == day
        for context in range(60):
            seen = r[was & (x == context)]
            if len(seen) and seen.mean() > 0.1:
                best[now & (x == context)] = best[was & (x == context)][0]
    facts = recommended_epoch(read((x, best, r, time)))
    assert facts.recommended is None
    assert facts.lengths[0].reacts is True
    assert "Within a day it is all but deterministic" in facts.verdict
    assert facts.lengths[2].supported == 0


def test_a_small_log_cannot_tell():
    facts = recommended_epoch(read(learner(rng(), "thompson", every=1.0, days=3, per_day=60)))
    assert facts.recommended is None
    assert {row.reacts for row in facts.lengths} == {None}
    assert "cannot be told" in facts.verdict


def test_dates_tell_nothing_of_what_happens_within_a_day():
    x, a, r, time = learner(rng(), "thompson", every=1.0)
    facts = recommended_epoch(read((x, a, r, np.floor(time))))
    assert [row.name for row in facts.lengths] == ["all", "week", "day"]
    assert facts.lengths[-1].p_value is None
    assert facts.recommended is None
    assert "Whether it does within a day cannot be told" in facts.verdict


def test_a_window_of_a_day_has_hours_only():
    x, a, r, time = calendar(rng(), sharp=False, days=1)
    facts = recommended_epoch(read((x, a, r, time)))
    assert [row.name for row in facts.lengths] == ["all", "hour"]
    z, *_ = plain.epoch_test(x, a, r, np.zeros(len(x), int), np.floor(time * 6).astype(int))
    assert facts.lengths[0].p_value == pytest.approx(plain.p_value(z))


def test_a_window_is_judged_by_its_own_events():
    log = learner(rng(), "thompson", every=1.0)
    early, _ = read(log).split(at="2026-10-12")
    first = [part[log[3] < 7] for part in log]
    found, expected = (epoch_facts(events).lengths for events in (early, read(first)))
    assert [row.name for row in found] == [row.name for row in expected] == ["all", "day", "hour"]
    assert [row.p_value for row in found] == pytest.approx([row.p_value for row in expected])


def versions(log, hours):
    """A log with the version of its model, which lasts so many hours."""
    x, a, r, time = log
    at = pa.array(START + np.floor(time * 86_400e6).astype(np.int64), pa.timestamp("us", "UTC"))
    version = [f"v{number:03}" for number in np.floor(time * 24 / hours).astype(int)]
    return pa.table({"context": x, "action": a, "reward": r, "time": at, "week": version})


def test_an_epoch_column_is_a_length_too(engine):
    x, a, r, time = log = learner(rng(1), "thompson", every=0.5, contexts=6, days=6, per_day=400)
    table = versions(log, 12)
    facts = recommended_epoch(ws.read_events(table, **NAMES, epoch="column:week", engine=engine))
    assert [row.name for row in facts.lengths] == ["all", "day", "column:week", "hour"]
    row = facts.lengths[2]
    slot = np.floor(time * 144 + 1e-9).astype(int)
    epoch = slot // 72
    first, last = (np.array([end(slot[epoch == e]) for e in range(12)])[epoch] for end in (min, max))
    z, *_ = plain.epoch_test(x, a, r, epoch, (slot - first) * 6 // (last - first + 1))
    assert row.epochs == 12
    assert row.p_value == pytest.approx(plain.p_value(z), rel=1e-6)
    assert row.choice == pytest.approx(plain.support(x, a, epoch, 0.01)[0])


def test_versions_of_a_model_are_recommended_where_a_day_is_too_long():
    log = learner(rng(2), "thompson", every=0.25, contexts=100, per_day=4000)
    facts = recommended_epoch(ws.read_events(versions(log, 6), **NAMES, epoch="column:week"))
    assert facts.recommended == "column:week"
    assert "(--epoch column:week)" in facts.verdict


def test_contexts_that_do_not_repeat_and_logs_without_times_have_no_epochs():
    x, a, r, time = calendar(rng(), sharp=True, days=2)
    facts = recommended_epoch(read((np.arange(len(x)), a, r, time)))
    assert (facts.lengths, facts.recommended) == ((), None)
    assert "contexts do not repeat" in facts.verdict
    table = pa.table({"context": x, "action": a, "reward": r})
    events = ws.read_events(table, context="context", action="action", reward="reward")
    assert recommended_epoch(events) is None
    audit = ws.audit(events)
    assert audit.epochs is None
    assert audit.to_dict()["epochs"] is None


def test_audit_asks_at_its_own_tau_and_shows_what_it_found(tmp_path):
    audit = ws.audit(read(learner(rng(), "thompson", every=1.0)))
    assert audit.epochs.tau == audit.power.tau
    assert audit.epochs.verdict in audit.notes
    assert audit.epochs.reacts
    assert "signs of drift or reaction" in replace(audit, checks=()).verdict[1]
    assert "signs of drift or reaction" not in replace(audit, checks=(), epochs=None).verdict[1]
    assert "Does the logging policy react to rewards inside an epoch?" in str(audit)
    found = audit.to_dict()["epochs"]
    assert found["recommended"] == "day"
    assert found["verdict"] == audit.epochs.verdict
    assert found["lengths"][0]["p_value"] == audit.epochs.lengths[0].p_value
    ws.save_report(audit, tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text()
    assert "The logging policy reacts to rewards within a week, not within a day" in page
