"""A benchmark that got a quarter worse is noticed; so is one that nobody recorded."""

import pytest
from benchmarks.suite import Benchmark

from benchmarks import check, records

ROW = "whole log"
SETTINGS = {"events": 5, "runs": 3}


def rows(**changes):
    columns = {"time / floor": 2.0, "CPU / floor": 3.0, "peak memory, MB": 400}
    return {ROW: {name: value * changes.get(name, 1) for name, value in columns.items()}}


def compared(measured, *kept):
    recorded = [{"commit": f"c{i}", "settings": SETTINGS, "rows": one} for i, one in enumerate(kept)]
    return check.compare(measured, recorded, SETTINGS)


@pytest.mark.parametrize("column", ["time / floor", "CPU / floor", "peak memory, MB"])
def test_a_quarter_worse_fails_and_less_passes(column):
    worse = compared(rows(**{column: 1.26}), rows())
    assert [one.column for one in worse if one.is_worse(check.QUARTER)] == [column]
    assert check.status(worse, check.QUARTER) == 1
    assert check.status(compared(rows(**{column: 1.24}), rows()), check.QUARTER) == 0
    assert check.status(compared(rows(**{column: 0.1}), rows()), check.QUARTER) == 0


def test_slow_downs_of_less_than_a_quarter_add_up():
    creeping = [rows(**{"time / floor": 1.2**i}) for i in range(3)]
    found = compared(creeping[2], *creeping[:2])
    assert [one.change < check.QUARTER for one in found] == [True] * 3
    assert [(one.column, one.best[1]) for one in found if one.is_worse(check.QUARTER)] == [("time / floor", "c0")]


def test_a_slow_down_that_was_accepted_is_the_best_from_then_on(tmp_path):
    records.append("evaluate", rows(), SETTINGS, tmp_path)
    records.append("evaluate", rows(**{"time / floor": 2}), SETTINGS, tmp_path, accepted="certified ends")
    kept = records.read("evaluate", tmp_path)
    assert kept[1]["accepted"] == "certified ends"
    for factor, status in ((2.4, 0), (2.6, 1)):
        assert check.status(check.compare(rows(**{"time / floor": factor}), kept, SETTINGS), check.QUARTER) == status


@pytest.mark.parametrize("kept", [[], [{}], [{"another row": {}}], [{ROW: {"time / floor": None}}]])
def test_what_has_no_record_is_said(kept):
    found = compared(rows(), *kept)
    assert [one.before for one in found] == [None] * 3
    assert check.status(found, check.QUARTER) == 2


def test_nothing_compared_is_not_a_pass():
    assert check.status([], check.QUARTER) == 2


def test_ratios_of_ours_to_ours_are_not_compared():
    assert compared({ROW: {"time / evaluate": 9.0}}, {ROW: {"time / evaluate": 1.0}}) == []


def test_only_what_is_slower_twice_counts(tmp_path):
    records.append("evaluate", rows(), SETTINGS, tmp_path)
    for second, status in ((1.0, 0), (1.3, 1)):
        measured = iter([rows(**{"time / floor": 1.5}), rows(**{"time / floor": second})])
        benchmark = Benchmark(lambda measured=measured, **_: {"evaluate": next(measured)}, SETTINGS)
        found = check.findings(check.measure(benchmark, check.QUARTER, tmp_path), SETTINGS, tmp_path)["evaluate"]
        assert check.status(found, check.QUARTER) == status
