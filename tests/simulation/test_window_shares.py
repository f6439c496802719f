"""What events of a window count in a true value."""

import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.simulation.window_shares import with_shares

LOG = pa.table({"x": ["p"] * 6, "a": ["b"] * 6, "r": [1.0] * 6, "user": [0, 0, 0, 1, 1, 2]})
NAMES = {"context": "x", "action": "a", "reward": "r"}
HEAVY = ws.UserSettings(visits=2, heavy_users=1, heavy_visits=3, heavy_rate=0.5)


def shares(events, users, per):
    rows = events.engine.fetch(with_shares(events, users, per).select("unit_0", "counted", "earning"))
    return sorted((row["unit_0"], row["counted"], row["earning"]) for row in rows)


def test_per_event_all_count_the_same_and_heavy_users_earn_less(engine):
    events = ws.read_events(LOG, **NAMES, unit="user", engine=engine)
    assert shares(events, HEAVY, "event") == [(0, 1, 0.5)] * 3 + [(1, 1, 1)] * 2 + [(2, 1, 1)]


def test_per_unit_a_users_events_count_one_together(engine):
    events = ws.read_events(LOG, **NAMES, unit="user", engine=engine)
    found = shares(events, HEAVY, "unit")
    assert [row[0] for row in found] == [0, 0, 0, 1, 1, 2]
    assert [row[1] for row in found] == pytest.approx([1 / 3] * 3 + [1 / 2] * 2 + [1])
    assert [row[2] for row in found] == pytest.approx([1 / 6] * 3 + [1 / 2] * 2 + [1])


def test_a_window_that_names_no_unit_is_refused_only_where_users_matter():
    events = ws.read_events(LOG, **NAMES)
    alike = ws.UserSettings(visits=2)
    assert with_shares(events, alike, "event").earning.sum().to_pyarrow().as_py() == 6
    for users, per in ((HEAVY, "event"), (alike, "unit")):
        with pytest.raises(ws.UsageError, match="depends on the window's users"):
            with_shares(events, users, per)


def test_a_world_without_users_has_no_value_per_unit():
    events = ws.read_events(LOG, **NAMES, unit="user")
    with pytest.raises(ws.UsageError, match="needs a world with users"):
        with_shares(events, None, "unit")
    with pytest.raises(ws.UsageError, match="per must be event or unit"):
        with_shares(events, HEAVY, "user")
