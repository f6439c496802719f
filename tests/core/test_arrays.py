"""Arrays by way of buffers hold what Arrow's own conversions hold."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from warmstart.core.arrays import to_arrow, to_numpy


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([3, 1, 2], pa.int64()),
        ([3, None, 2], pa.int32()),
        ([0.5, None, -1.0], pa.float64()),
        ([True, False, True], pa.bool_()),
        ([], pa.int64()),
        ([None, None], pa.float64()),
        ([Decimal("0.25"), None], pa.decimal128(5, 2)),
    ],
)
def test_numbers_are_those_of_arrow_itself(values, kind):
    whole = pa.array([*values, *values], kind)
    for column in (whole, whole.slice(1), pa.chunked_array([whole, whole.slice(2)]), pa.chunked_array([], kind)):
        theirs = column.to_numpy(zero_copy_only=False).astype(float)
        np.testing.assert_array_equal(to_numpy(column), theirs)


def test_nulls_may_stand_for_a_number_of_the_same_type():
    found = to_numpy(pa.array([4, None, 6], pa.int32()).slice(1), null=-1)
    assert found.tolist() == [-1, 6]
    assert found.dtype == np.int32
    assert to_numpy(pa.array([True, None]), null=-1).tolist() == [1, -1]


@pytest.mark.parametrize("kind", ["int64", "int32", "float32", "float64", "uint32", "bool"])
def test_arrow_gets_what_numpy_has(kind):
    values = np.arange(20).astype(kind)[::3]
    assert to_arrow(values).equals(pa.array(values))
    known = values.astype(int) % 2 == 0
    assert to_arrow(values, known).equals(pa.array(values, mask=~known))
    assert to_arrow(values[:0]).equals(pa.array(values[:0]))
