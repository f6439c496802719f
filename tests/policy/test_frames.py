"""Frames of pandas and polars go in, and come out."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.support.logs import random_log, read

import warmstart as ws
from warmstart.policy.frames import as_given, as_table

CONTEXTS = pa.table({"context": ["c0", "c1", "c0"], "colour": pa.array(["red", None, "blue"])})


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.from_arrow], ids=["pandas", "polars"])
def test_a_frame_is_a_table_and_back(frame):
    given = frame(CONTEXTS.to_pandas() if frame is pd.DataFrame else CONTEXTS)
    assert as_table(given).to_pylist() == CONTEXTS.to_pylist()
    assert type(as_given(CONTEXTS, given)) is type(given)
    assert as_table(as_given(CONTEXTS, given)).to_pylist() == CONTEXTS.to_pylist()


def test_a_learned_policy_chooses_for_frames_and_keeps_their_index():
    policy = ws.fit(read(random_log(1), "duckdb"))
    contexts = CONTEXTS.select(["context"])
    best = policy.choose_table(contexts)
    polars = policy.choose_table(pl.from_arrow(contexts), pl.DataFrame({"action": ["a0", "a1"]}))
    assert polars["action"].is_in(["a0", "a1"]).all()
    assert polars.columns == best.column_names
    pandas = policy.choose_table(contexts.to_pandas().set_index(pd.Index([7, 8, 9])))
    assert list(pandas.index) == [7, 8, 9]
    assert pandas["action"].to_list() == best["action"].to_pylist()


def test_what_is_no_table_is_refused():
    with pytest.raises(ws.UsageError, match="A 'list' is no table"):
        as_table([{"context": "c0"}])
