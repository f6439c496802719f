"""Two evaluations: what changed, and that nothing is called more than chance that is not."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.support.commands import warmstart
from tests.support.saved_results import saved

import warmstart as ws
from warmstart.results.comparison import difference_ends, standard_error


def log(rate_b, *, days, seed=0, events=800, times=True):
    """Action b pays at a rate that differs between logs; a pays .5."""
    rng = np.random.default_rng(seed)
    ads = rng.choice(["a", "b"], events)
    clicks = (rng.random(events) < np.where(ads == "a", 0.5, rate_b)).astype(int)
    when = [f"2026-10-{days[0] + i * (days[1] - days[0]) // events:02}" for i in range(events)]
    table = pa.table({"page": ["p"] * events, "ad": ads, "click": clicks, "at": when})
    return ws.read_events(table, context="page", action="ad", reward="click", time="at" if times else None)


def evaluation(*args, tau=0.05, policies=("constant:b",), **more):
    return ws.evaluate(list(policies), log(*args, **more), tau=tau)


def chances(comparison):
    return {one.what: one.chance for one in comparison.changes}


def test_a_change_larger_than_chance_is_proven_of_windows_apart():
    found = ws.compare(evaluation(0.9, days=(1, 8)), evaluation(0.1, days=(8, 15), seed=1))
    assert (found.logs, found.confidence) == ("apart", 0.9)
    assert chances(found) == {"certified gain": "proven", "estimated gain": "likely", "support": "unknown"}
    certified, estimated, _ = found.changes
    assert certified.lower <= certified.change <= certified.upper < 0
    assert estimated.lower < estimated.change < estimated.upper < 0
    assert found.verdicts == (("constant:b", "better, certified", "worse, certified"),)
    assert "Changed by more than chance: 'constant:b'" in found.headline[0]


def test_no_change_may_be_chance():
    found = ws.compare(evaluation(0.6, days=(1, 8)), evaluation(0.6, days=(8, 15), seed=1))
    assert chances(found) == {
        "certified gain": "may be chance",
        "estimated gain": "may be chance",
        "support": "unknown",
    }
    assert found.headline[0] == "No gain changed by more than chance may explain."


def test_the_same_events_differ_by_settings_and_not_by_chance():
    old, new = evaluation(0.6, days=(1, 8)), evaluation(0.6, days=(1, 8), tau=0.9)
    found = ws.compare(old, new)
    assert found.logs == "same"
    assert set(chances(found).values()) == {"settings"}
    assert {one.name for one in found.settings} == {"tau of 'constant:b'"}
    assert "due to settings" in found.headline[0]
    assert "no difference is chance" in found.notes[0]
    assert ws.compare(old, old).headline == ["Nothing differs."]


def test_every_setting_that_changes_what_is_estimated_is_compared():
    """Each is changed alone, so that none hides behind another."""
    plain = saved("evaluation with outcomes")
    log, windows = plain.log, plain.windows
    others = {
        "context": {"log": replace(log, context=("another",))},
        "unit": {"log": replace(log, unit=("user",))},
        "rows left out": {"log": replace(log, dropped=0 if log.dropped else 3)},
        "segments by": {"by": ("another",)},
        "learned here": {"learned_here": ("mine",)},
        "outcomes": {"outcomes": (plain.outcomes[0], replace(plain.outcomes[1], high=plain.outcomes[1].high + 1))},
        "estimators": {"policies": tuple(replace(one, estimates=()) for one in plain.policies)},
        "guards": {"policies": tuple(replace(one, guards=()) for one in plain.policies)},
        "training window": {"windows": replace(windows, train=None if windows.train else windows.evaluated)},
        "live": {"windows": replace(windows, live=not windows.live)},
        "doubt": {"doubt": 3.0},
        "margin": {"margin": 0.5},
    }
    for name, changed in others.items():
        found = {one.name for one in ws.compare(plain, replace(plain, **changed)).settings}
        assert name in found, name
    earlier = replace(plain, log=replace(log, context=()))
    assert not ws.compare(earlier, plain).settings


def test_overlapping_and_timeless_logs_are_compared_however_they_depend():
    old = evaluation(0.9, days=(1, 8))
    overlapping = ws.compare(old, evaluation(0.9, days=(4, 12), seed=1))
    apart = ws.compare(old, evaluation(0.9, days=(8, 15), seed=1))
    assert overlapping.logs == "overlapping"
    widths = [found.changes[1].upper - found.changes[1].lower for found in (overlapping, apart)]
    assert widths[0] == pytest.approx(widths[1] * 2**0.5, rel=0.05)
    timeless = evaluation(0.9, days=(1, 8), times=False), evaluation(0.9, days=(1, 8), seed=1, times=False)
    assert ws.compare(*timeless).logs == "unknown"
    assert ws.compare(timeless[0], timeless[0]).logs == "same"


def test_policies_of_one_evaluation_only_are_named_and_more_policies_widen_ends():
    old = evaluation(0.6, days=(1, 8), policies=("constant:b", "constant:a", "uniform"))
    new = evaluation(0.6, days=(8, 15), seed=1)
    found = ws.compare(old, new)
    assert (found.only_old, found.only_new) == (("constant:a", "uniform"), ())
    several = ws.compare(old, evaluation(0.6, days=(8, 15), seed=1, policies=("constant:b", "constant:a", "uniform")))
    one, many = found.changes[1], several.changes[1]
    assert many.upper - many.lower > one.upper - one.lower


def test_what_certifies_nothing_proves_no_change():
    old, new = evaluation(0.9, days=(1, 8)), evaluation(0.1, days=(8, 15), seed=1)
    bare = [replace(one, policies=tuple(p.uncertified() for p in one.policies)) for one in (old, new)]
    assert chances(ws.compare(*bare))["certified gain"] == "unknown"


def test_what_cannot_be_compared_is_refused():
    old = evaluation(0.6, days=(1, 8))
    with pytest.raises(ws.UsageError, match="A Selection cannot be compared"):
        ws.compare(old, ws.select(old))
    with pytest.raises(ws.UsageError, match=r"are of 'click' .0 to 1. and of 'reward'"):
        ws.compare(old, saved("evaluation"))
    with pytest.raises(ws.UsageError, match="per event, the other per unit"):
        ws.compare(old, replace(old, per="unit"))


@pytest.mark.parametrize(("correlation", "independent"), [(0.0, True), (-1.0, False), (0.5, False)])
def test_ends_of_differences_hold_for_all_policies_together(correlation, independent):
    """4,000 draws of three policies without a change; at a true level of .05, above .065 once in 100,000."""
    rng, errors, policies = np.random.default_rng(3), (0.03, 0.05), 3
    first = rng.normal(size=(4_000, policies))
    second = correlation * first + (1 - correlation**2) ** 0.5 * rng.normal(size=(4_000, policies))
    changes = errors[1] * second - errors[0] * first
    ends = difference_ends(0.0, errors, 0.05 / policies, independent=independent)
    claims = (np.abs(changes) > ends[1]).any(axis=1).mean()
    assert claims <= 0.065
    if correlation in (0.0, -1.0):
        assert claims >= 0.035


def test_an_interval_stands_for_its_error():
    assert standard_error(-1.96, 1.96, 0.05) == pytest.approx(1.0, abs=1e-4)
    assert standard_error(None, 1.0, 0.05) is None
    assert difference_ends(0.1, (None, 1.0), 0.05, independent=True) is None


def test_the_command_reads_saved_evaluations(tmp_path):
    evaluation(0.9, days=(1, 8)).save(tmp_path / "old.json")
    evaluation(0.1, days=(8, 15), seed=1).save(tmp_path / "new.json")
    ran = warmstart("compare", "old.json", "new.json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("Changed by more than chance")
    ran = warmstart("compare", "old.json", "new.json", "--json", cwd=tmp_path)
    assert json.loads(ran.stdout)["changes"][0]["chance"] == "proven"
