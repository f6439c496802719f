"""What holds fuzzing to its limits finds an example that hangs, and memory that grows."""

import itertools
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.attack import fuzzing


def test_an_example_that_hangs_is_found(monkeypatch):
    monkeypatch.setattr(fuzzing, "HANG", 0.05)

    @fuzzing.fuzzed
    @given(some.just(1))
    def attack(_):
        time.sleep(5)

    start = time.monotonic()
    with pytest.raises(AssertionError, match="takes more than"):
        attack()
    assert time.monotonic() - start < 5


def test_memory_that_grows_is_found(monkeypatch):
    monkeypatch.setattr(fuzzing, "ENOUGH_FOR_GROWTH", 4)
    held = []
    monkeypatch.setattr(fuzzing, "memory", lambda: 100_000_000 * len(held))

    @fuzzing.fuzzed
    @given(some.integers())
    def attack(_):
        held.append(1)

    with pytest.raises(AssertionError, match="bytes more"):
        attack()


def test_while_there_is_time_further_examples_are_tried(monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(fuzzing, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    monkeypatch.setattr(fuzzing, "SECONDS", 4 * fuzzing.EXAMPLES)
    tried = []

    @fuzzing.fuzzed
    @given(some.integers())
    def attack(number):
        tried.append(number)

    attack()
    assert len(tried) > fuzzing.EXAMPLES


def test_after_its_time_no_further_example_is_tried(monkeypatch):
    monkeypatch.setattr(fuzzing, "SECONDS", -1)
    tried = []

    @fuzzing.fuzzed
    @given(some.integers())
    def attack(number):
        tried.append(number)

    attack()
    assert not tried
