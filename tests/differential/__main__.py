"""Ask random small logs of every engine: ``python -m tests.differential [--duckdb N] [--postgres N] [--spark N]``."""

import argparse
import math
import sys
import time
from collections import Counter
from contextlib import contextmanager, nullcontext

from benchmarks.tables import publish
from tests.differential.compare import check, differences
from tests.differential.small_logs import question
from tests.support.postgres_server import READER, server_with_reader

from warmstart.engine import connect

TYPES = {"string": "text", "int64": "bigint", "double": "double precision", "timestamp[us, tz=UTC]": "timestamptz"}


class Here:
    """DuckDB in this process."""

    def __init__(self):
        self.engine = connect("duckdb", threads=1)

    def ask(self, question):
        return question.ask(question.table, self.engine)


class Postgres:
    """A server that holds the log of every question in turn."""

    def __init__(self, server):
        self.server = server

    def ask(self, question):
        log = question.table
        columns = ", ".join(f'"{field.name}" {TYPES[str(field.type)]}' for field in log.schema)
        with self.server.admin() as admin:
            admin.execute(f"DROP TABLE IF EXISTS small; CREATE TABLE small ({columns})")
            with admin.cursor().copy("COPY small FROM STDIN") as copy:
                for row in log.to_pylist():
                    copy.write_row(tuple(row.values()))
            admin.execute(f"GRANT SELECT ON small TO {READER}")
        read = {**question.read, "table": "public.small"}
        return question.ask(self.server.url(), "duckdb", read)


class Spark:
    """A Spark session on this machine."""

    def __init__(self):
        self.engine = connect("spark")

    def ask(self, question):
        return question.ask(question.table, self.engine)


@contextmanager
def postgres():
    with server_with_reader() as server:
        yield Postgres(server)


ENGINES = {"postgres": postgres, "spark": lambda: nullcontext(Spark())}


def within(seeds, minutes):
    """Yield seeds for so many minutes."""
    until = time.monotonic() + 60 * minutes
    for seed in seeds:
        if time.monotonic() > until:
            return
        yield seed


def ask_here(seeds, counts):
    """Hold DuckDB to the reference."""
    here = Here()
    for seed in seeds:
        counts["logs"] += 1
        asked = question(seed)
        result = here.ask(asked)
        counts["refused" if isinstance(result, str) else "answered"] += 1
        if not isinstance(result, str):
            counts["numbers"] += check(asked, result)
    return counts


def ask_other(name, seeds, counts):
    """Hold another engine to DuckDB."""
    here = Here()
    with ENGINES[name]() as other:
        for seed in seeds:
            counts["logs"] += 1
            asked = question(seed)
            results = here.ask(asked), other.ask(asked)
            if any(isinstance(result, str) for result in results):
                kinds = {result.partition(":")[0] if isinstance(result, str) else "answer" for result in results}
                assert len(kinds) == 1, (seed, results)
                counts["refused"] += 1
                continue
            found = differences(*(result.to_dict() for result in results))
            assert not found, (seed, found[:5])
            counts["answered"] += 1
    return counts


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.differential")
    for name, number in {"duckdb": 2_000, "postgres": 200, "spark": 60}.items():
        parser.add_argument(f"--{name}", type=int, default=number, help="how many logs")
    parser.add_argument("--seed", type=int, default=0, help="of the first")
    parser.add_argument("--minutes", type=float, default=math.inf, help="of each engine at the most")
    parser.add_argument("--record", action="store_true", help="keep the counts in benchmarks/results")
    options, rows = parser.parse_args(), {}
    for name in ("duckdb", *ENGINES):
        number = getattr(options, name)
        seeds = within(range(options.seed, options.seed + number), options.minutes)
        if not number:
            continue
        counts = ask_here(seeds, Counter()) if name == "duckdb" else ask_other(name, seeds, Counter())
        own = {"numbers by event": counts["numbers"]} if name == "duckdb" else {}
        rows[name] = {
            "logs": counts["logs"],
            "answered": counts["answered"],
            "refused": counts["refused"],
            **own,
            "differ": 0,
        }
        answers = f"{counts['answered']:,} answered, {counts['refused']:,} refused"
        against = f"{counts['numbers']:,} numbers as event by event" if name == "duckdb" else "all numbers as DuckDB's"
        sys.stdout.write(f"{name}: {counts['logs']:,} random logs, {answers}; {against}\n")
        sys.stdout.flush()
    publish("differential", rows, {}, record=options.record)


if __name__ == "__main__":
    main()
