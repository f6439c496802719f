"""Keys as consecutive numbers: in order, of one or several columns, -1 for an unknown one."""

import numpy as np
import pyarrow as pa
import pytest

from warmstart.features import KeyEncoder


def test_many_columns_do_not_overflow_their_numbers():
    """25 columns of 200 values each: 200^25 combinations, of which 200 rows are there."""
    rng = np.random.default_rng(0)
    rows = pa.table({f"c{i}": rng.permutation(200) for i in range(25)})
    encoder = KeyEncoder.of(rows)
    assert sorted(encoder.numbers(rows)) == list(range(200))
    mixed = rows.set_column(0, "c0", pa.array(np.roll(rows["c0"].to_numpy(), 1)))
    assert (encoder.numbers(mixed) == -1).all()


def test_a_key_that_is_not_known_has_no_number():
    known = KeyEncoder.of(pa.table({"x": [3, 1, 3], "y": ["a", "b", "b"]}))
    rows = pa.table({"x": [1, 1, 2, 3, 3], "y": ["b", "a", "b", "a", "z"]})
    assert known.numbers(rows).tolist() == [0, -1, -1, 1, -1]


def test_minus_zero_is_zero():
    encoder = KeyEncoder.of(pa.array([0.0, 1.5, -0.0]))
    assert encoder.values.to_pylist() == [0.0, 1.5]
    assert encoder.numbers(pa.array([-0.0, 0.0, 1.5, 2.0])).tolist() == [0, 0, 1, -1]
    pairs = KeyEncoder.of(pa.table({"x": [-0.0, 0.0], "y": [1, 1]}))
    assert len(pairs) == 1
    assert pairs.numbers(pa.table({"x": [0.0, -0.0], "y": [1, 2]})).tolist() == [0, -1]


@pytest.mark.parametrize("columns", [("i",), ("t", "i"), ("i", "t", "b"), ("d", "b", "t", "i")])
def test_keys_are_the_sorted_distinct_rows_and_numbers_are_their_positions(columns):
    rng = np.random.default_rng(0)
    whole = {
        "i": pa.array(rng.integers(-3, 3, 300), pa.int16()),
        "t": pa.array([None if k == 2 else f"k{k}" for k in rng.integers(0, 4, 300)]),
        "b": pa.array(rng.random(300) < 0.5),
        "d": pa.array(rng.integers(0, 4, 300), pa.timestamp("us")),
    }
    rows = pa.table({name: whole[name] for name in columns})
    encoder = KeyEncoder.of(rows)
    # Nulls come last.
    listed = [tuple((value is None, value or 0) for value in row.values()) for row in rows.to_pylist()]
    expected = sorted(set(listed))
    assert encoder.keys.schema.equals(rows.schema)
    assert len(encoder) == encoder.keys.num_rows == len(expected)
    assert encoder.numbers(rows).tolist() == [expected.index(key) for key in listed]
    assert encoder.numbers(encoder.keys).tolist() == list(range(len(encoder)))


def test_dictionaries_other_number_types_and_views_are_the_same_keys():
    encoder = KeyEncoder.of(pa.array(["b", "a"]).dictionary_encode())
    assert encoder.numbers(pa.array(["a", "b"], pa.string_view())).tolist() == [0, 1]
    assert KeyEncoder.of(pa.array([7, 5])).numbers(pa.array([5.0, 7.0])).tolist() == [0, 1]


def test_no_rows_have_no_keys():
    encoder = KeyEncoder.of(pa.table({"x": pa.array([], pa.int64()), "y": pa.array([], pa.string())}))
    assert (len(encoder), encoder.keys.num_rows) == (0, 0)
    assert encoder.numbers(pa.table({"x": [1], "y": ["a"]})).tolist() == [-1]


def test_values_are_in_order_and_unknown_actions_have_none():
    encoder = KeyEncoder.of(pa.chunked_array([["b", "c"], ["a", "b"]]))
    assert encoder.values.to_pylist() == ["a", "b", "c"]
    assert encoder.numbers(pa.array(["c", "z", "a"]).dictionary_encode()).tolist() == [2, -1, 0]
    assert KeyEncoder.of(pa.array([3, -1], pa.int8())).numbers(pa.array([-1, 3, 7])).tolist() == [0, 1, -1]
