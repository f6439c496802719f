"""Measurements are interleaved, and relative to the floor of the same round."""

import itertools

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import measure, records


def test_every_round_has_every_case_and_every_other_one_runs_backwards():
    order = []
    calls = {name: (lambda name=name: order.append(name) or {"seconds": 1}) for name in "abc"}
    results = measure.interleave(calls, 3)
    assert "".join(order) == "abccbaabc"
    assert {name: len(runs) for name, runs in results.items()} == {"a": 3, "b": 3, "c": 3}


def test_a_slow_minute_falls_on_both_sides_of_a_ratio():
    slow = [1, 10, 1]
    ours = [{"seconds": 3 * k, "cpu_seconds": 2 * k, "peak_mb": 100} for k in slow]
    floors = [{"seconds": k, "cpu_seconds": k, "peak_mb": 50} for k in slow]
    assert measure.relative(ours, floors) == {"time / floor": 3, "CPU / floor": 2, "peak memory, MB": 100}


def test_the_last_record_of_the_same_settings_is_found_whatever_its_runs():
    settings = [{"events": events, "runs": runs} for events, runs in itertools.product((1, 2), (3, 5))]
    kept = [{"settings": one, "rows": {}} for one in settings]
    assert records.last(kept, {"events": 1, "runs": 9}) is kept[1]
    assert records.last(kept, {"events": 2}) is kept[3]
    assert records.last(kept, {"events": 3}) is None


def test_a_measured_process_says_its_time_and_memory(tmp_path):
    columns = {"page": [1, 1], "ad": [1, 2], "click": [0, 1], "shown_at": pa.array([0, 1], pa.timestamp("us"))}
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    run = measure.run_child("benchmarks.paper_scale", "floor", tmp_path / "log.parquet", "whole", "none")
    assert run["value"] == 0.5
    assert run["seconds"] > 0
    assert 10 < run["peak_mb"] < 1000
    assert run["source"] is None
