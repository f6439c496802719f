"""The divisions into epochs that are compared."""

import numpy as np

from warmstart.events import HOUR
from warmstart.propensity.divisions import MOST_EPOCHS, Epoching, divisions, finest_unit

MONDAY = 20_731 * 24  # 5 October 2026, in hours since 1970


def test_a_month_has_weeks_days_and_blocks_but_no_hours():
    units = np.repeat(MONDAY + np.arange(28 * 24), 5)
    found = divisions(units, HOUR, np.ones(len(units)))
    counts = {name: int(epochs.max()) + 1 for name, epochs in found.items()}
    assert counts["one week"] == 4
    assert counts["one day"] == 28
    assert "one hour" not in counts
    # Four blocks are the four weeks.
    assert "one of 4 equal blocks of time" not in counts
    assert list(counts.values()) == sorted(counts.values())
    assert max(counts.values()) <= MOST_EPOCHS
    assert (np.diff(found["one week"]) >= 0).all()
    assert (found["one day"] == np.arange(len(units)) // (24 * 5)).all()


def test_epochs_of_next_to_no_events_are_not_tried():
    units = MONDAY + np.arange(28 * 24)
    found = divisions(units, HOUR, np.ones(len(units)) * 0.5)
    assert {int(epochs.max()) + 1 for epochs in found.values()} == {2, 4, 8}


def test_short_windows_are_divided_finely_and_units_divide_an_hour():
    assert finest_unit(0, 30 * 24 * HOUR) == HOUR
    for span in (HOUR // 2, 3 * HOUR, 20 * HOUR, 1):
        unit = finest_unit(10**15, 10**15 + span)
        assert HOUR % unit == 0
        assert span // unit >= 100 or unit == 1


def test_what_was_compared_is_said():
    text = Epoching("one day", 20, {"": 1.28, "one week": 1.27, "one day": 1.19}, same_contexts=False).detail
    assert "one day (20)" in text
    assert "one model 1.2800" in text
    assert "contexts differ" in text
    assert "no division into epochs beat" in Epoching("", 1, {"": 1.2, "one day": 1.3}).detail
