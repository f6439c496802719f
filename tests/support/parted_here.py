"""An engine whose parts are all in this process: learning in parts, without a cluster."""

import pyarrow as pa

from warmstart.engine import connect
from warmstart.engine.duckdb_engine import DuckDBEngine
from warmstart.engine.partitioned import PART


class PartedHere(DuckDBEngine):
    """DuckDB, with what an engine that spreads its work offers beside queries."""

    def map_batches(self, rows, function, schema, *, inputs):
        found = self.fetch_arrow(rows)
        batches = [pa.Table.from_batches([batch]) for batch in found.to_batches(max_chunksize=1_000)]
        return self._shown([function(batch, inputs) for batch in batches], schema)

    def map_partitions(self, tables, parts, function, schema, *, inputs):
        split = [self._split(table, parts) for table in tables]
        numbers = sorted({number for one in split for number in one})
        nothing = [next(iter(one.values())).slice(0, 0) for one in split]
        parts_ = [[one.get(number, empty) for one, empty in zip(split, nothing, strict=True)] for number in numbers]
        return self._shown([function(tables_, inputs) for tables_ in parts_], schema)

    def _split(self, table, parts):
        place = sum(table[key].hash() % 1_000_003 * 31 for key in parts.keys) % parts.number
        found = self.fetch_arrow(table.mutate(**{PART: (place + parts.number) % parts.number}))
        return {
            number: found.filter(pa.compute.equal(found[PART], number)) for number in found[PART].unique().to_pylist()
        }

    def _shown(self, parts, schema):
        whole, wanted = pa.concat_tables(parts), schema.to_pyarrow()
        # Spark refuses other types than those it was inputs.
        assert whole.schema.types == wanted.types, (whole.schema, wanted)
        return self.open_arrow(whole)


def parted_here():
    return PartedHere(connect("duckdb").backend)
