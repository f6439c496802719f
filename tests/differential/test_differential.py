"""Random small logs, as event by event in plain Python, on every engine."""

from argparse import Namespace
from dataclasses import replace
from math import inf

import pytest
from tests.conftest import need
from tests.differential.__main__ import Here, ask_here, attack
from tests.differential.compare import check, differences
from tests.differential.small_logs import question
from tests.support.postgres_server import programs

# Of those with which faults were found: units that count the same, hidden segments by unit.
FOUND = (0, 107)


def test_random_logs_are_valued_as_event_by_event():
    here, counts = Here(), {"numbers by event": 0}
    assert all(ask_here(here, seed, counts) == "answered" for seed in FOUND)
    assert counts["numbers by event"] > 100


def compared(engine, first, number):
    """Ask an engine so many logs; return the counts."""
    counts = attack(engine, number, Namespace(seed=first, minutes=inf, record=False, resume=False))
    assert counts["differ"] == 0
    return counts


def test_the_comparison_finds_what_differs(duckdb):
    asked = question(1)
    result = asked.ask(asked.table, duckdb)
    last = max(i for i, event in enumerate(asked.events) if event.r[0] != 1 / 2)
    changed = [
        replace(event, r=(1 - event.r[0], *event.r[1:])) if i == last else event for i, event in enumerate(asked.events)
    ]
    other = replace(asked, events=tuple(changed))
    with pytest.raises(AssertionError):
        check(other, result)
    assert differences(result.to_dict(), other.ask(other.table, duckdb).to_dict())


@pytest.mark.slow
def test_many_random_logs_are_valued_as_event_by_event():
    assert compared("duckdb", 300, 100)["answered"] > 80


@pytest.mark.slow
def test_postgres_says_the_same_of_random_logs():
    need("postgres", present=programs() is not None)
    assert compared("postgres", 0, 15)["answered"] > 10


@pytest.mark.slow
@pytest.mark.spark
def test_spark_says_the_same_of_random_logs(spark):
    assert compared("spark", 0, 5)["answered"] > 3
