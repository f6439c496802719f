"""Tables of contexts that stay in the engine."""

import numpy as np
import pyarrow as pa

from warmstart.features.read_distributed import _infinite


def test_rows_with_infinite_numbers_are_counted_by_column(engine):
    columns = {"x": [1.0, np.inf, -np.inf, None, np.nan], "n": range(5), "text": list("abcde")}
    columns["vector"] = [[1.0, np.inf], [np.inf, -np.inf], [0.0, 1.0], None, []]
    rows = engine.open_arrow(pa.table(columns))
    assert _infinite(engine, rows, list(columns)) == {"x": 2, "vector": 2}
    assert _infinite(engine, rows, ["n", "text"]) == {}
