"""Ask random small logs of every engine: ``python -m tests.differential [--duckdb N] [--postgres N] [--spark N]``."""

import argparse
import math
import sys
import time
from contextlib import contextmanager, nullcontext

from tests.attack.recording import keep, recorded
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


# So many logs are asked between two records.
STEP = 50


def ask_here(here, seed, counts):
    """Hold DuckDB to the reference."""
    asked = question(seed)
    result = here.ask(asked)
    if isinstance(result, str):
        return "refused"
    counts["numbers by event"] += check(asked, result)
    return "answered"


def ask_both(here, other, seed):
    """Hold another engine to DuckDB."""
    asked = question(seed)
    results = here.ask(asked), other.ask(asked)
    if any(isinstance(result, str) for result in results):
        kinds = {result.partition(":")[0] if isinstance(result, str) else "answer" for result in results}
        assert len(kinds) == 1, results
        return "refused"
    found = differences(*(result.to_dict() for result in results))
    assert not found, found[:5]
    return "answered"


def attack(name, number, options):
    """Ask an engine logs until there are so many; return the counts."""
    known = recorded("differential", name) if options.resume else None
    own = {"numbers by event": 0} if name == "duckdb" else {}
    counts = known or {"logs": 0, "answered": 0, "refused": 0, **own, "differ": 0}
    until = time.monotonic() + 60 * options.minutes
    here = Here()
    with ENGINES.get(name, nullcontext)() as other:
        while counts["logs"] < number and time.monotonic() < until:
            seed = options.seed + counts["logs"]
            try:
                outcome = ask_both(here, other, seed) if other else ask_here(here, seed, counts)
            except AssertionError as error:
                outcome = "differ"
                sys.stdout.write(f"DIFFERS: {name}, seed {seed}: {error}\n")
            counts["logs"] += 1
            counts[outcome] += 1
            if counts["logs"] % STEP == 0 or counts["logs"] == number:
                keep("differential", {name: counts}, record=options.record)
    if counts["logs"] % STEP and counts["logs"] < number:
        keep("differential", {name: counts}, record=options.record)
    return counts


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.differential")
    for name, number in {"duckdb": 2_000, "postgres": 200, "spark": 60}.items():
        parser.add_argument(f"--{name}", type=int, default=number, help="how many logs")
    parser.add_argument("--seed", type=int, default=0, help="of the first")
    parser.add_argument("--minutes", type=float, default=math.inf, help="of each engine at the most")
    parser.add_argument("--record", action="store_true", help="keep the counts in benchmarks/results")
    parser.add_argument("--resume", action="store_true", help="go on from what was recorded at this commit")
    options = parser.parse_args()
    asked = {name: getattr(options, name) for name in ("duckdb", *ENGINES) if getattr(options, name)}
    counts = [attack(name, number, options) for name, number in asked.items()]
    sys.exit(1 if any(one["differ"] for one in counts) else 0)


if __name__ == "__main__":
    main()
