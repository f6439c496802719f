"""Functions that run where the rows are."""

import gc

import ibis
import pyarrow as pa
import pytest


@pytest.mark.spark
@pytest.mark.slow_on_spark
def test_workers_may_forget_what_they_were_told_with_the_rows_it_was_for(spark, monkeypatch):
    from pyspark.core.broadcast import Broadcast

    forgotten = []
    monkeypatch.setattr(Broadcast, "unpersist", lambda inputs: forgotten.append(inputs.value))
    rows = spark.open_arrow(pa.table({"i": [1, 2, 3]}))
    schema = ibis.schema({"i": "int64"})
    found = spark.map_batches(rows, lambda batch, inputs: batch.slice(0, inputs - 2), schema, inputs=2)
    gc.collect()
    assert not forgotten
    assert spark.fetch(found.agg(rows=found.count()))[0]["rows"] == 0
    del found
    gc.collect()
    assert forgotten == [2]
