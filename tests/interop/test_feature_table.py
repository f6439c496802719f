"""Feature tables: each key once."""

from hypothesis import given
from hypothesis import strategies as st

from warmstart.interop.feature_table import SeenKeys


@given(st.lists(st.lists(st.binary(min_size=16, max_size=16).map(lambda b: bytes([b[0] % 4]) + b[1:2] + b"\0" * 14))))
def test_keys_are_new_once(batches):
    seen, known = SeenKeys(), set()
    for batch in batches:
        new = [batch[i] for i in seen.add(batch)] if batch else []
        assert len(new) == len(set(new))
        assert set(new) == set(batch) - known
        known |= set(batch)
    assert len(seen) == len(known)
