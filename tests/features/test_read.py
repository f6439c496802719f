"""Tables of contexts and actions as they are read: the same features from whatever they come."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warmstart as ws
from warmstart.engine import connect
from warmstart.features import KeyEncoder, read_features

TABLE = pa.table(
    {
        "page": range(6),
        "city": pa.array(["New York", "York", None] * 2).dictionary_encode(),
        "words": [["a", "b"], ["c"], []] * 2,
    }
)
FRAMES = {
    "arrow": lambda _: TABLE,
    "pandas": lambda _: TABLE.to_pandas(),
    "polars": lambda _: pl.from_arrow(TABLE).with_columns(pl.col("city").cast(pl.String).cast(pl.Categorical)),
    "parquet": lambda folder: pq.write_table(TABLE, folder / "pages.parquet") or folder / "pages.parquet",
}


@pytest.mark.parametrize("frame", FRAMES)
def test_categories_of_frames_are_categories_as_they_are_in_parquet(frame, tmp_path):
    keys = KeyEncoder.of(pa.table({"context_0": range(6)}))
    options = {"bits": 12, "cross_only": False, "strict": True, "what": "pages"}
    found = read_features(connect(), FRAMES[frame](tmp_path), {"context_0": "page"}, keys, **options)
    assert found.settings.kinds == {"words": "words", "city": "category"}
    usual = read_features(connect(), FRAMES["parquet"](tmp_path), {"context_0": "page"}, keys, **options)
    assert np.array_equal(found.rows.buckets, usual.rows.buckets)
    assert np.array_equal(found.rows.values, usual.rows.values)


def test_a_pandas_categorical_beside_words_is_read():
    levels = pd.Categorical([3, 1])
    pages = pd.DataFrame({"page": [0, 1], "words": [["a"], ["b"]], "city": pd.Categorical(["New York", "York"])})
    pages["level"] = levels
    keys = KeyEncoder.of(pa.table({"context_0": [0, 1]}))
    found = read_features(
        connect(), pages, {"context_0": "page"}, keys, bits=8, cross_only=False, strict=True, what="pages"
    )
    assert found.settings.left_out == ()
    assert found.settings.kinds == {"words": "words", "city": "category", "level": "category"}


@pytest.mark.parametrize(
    "columns",
    [
        {"x": [1.0, np.inf, -np.inf]},
        {"x": pa.array([1.0, np.inf, -np.inf], pa.float32())},
        {"x": [[1.0, 2.0], [np.inf, np.inf], [0.0, -np.inf]]},
        {"x": pa.array([[1.0, 2.0], [np.inf, np.inf], [0.0, -np.inf]], pa.list_(pa.float64(), 2))},
        {"words": [["a", "b"]] * 3, "x": [[1.0, 2.0], [np.inf, np.inf], [0.0, -np.inf]]},
    ],
)
def test_infinite_numbers_are_refused_where_features_are_learned_and_at_the_edge_later(columns):
    pages = pa.table({"page": range(3), **columns})
    options = {"bits": 8, "cross_only": False, "strict": True, "what": "pages"}
    read = partial(read_features, connect(), pages, {"context_0": "page"}, **options)
    with pytest.raises(ws.MissingValueError, match="pages has infinite numbers: 'x' in 2 rows"):
        read(KeyEncoder.of(pa.table({"context_0": range(3)})))
    settings = read(KeyEncoder.of(pa.table({"context_0": [0]}))).settings
    read(KeyEncoder.of(pa.table({"context_0": range(3)})), settings=settings)
