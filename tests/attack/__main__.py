"""Attack the commands that write, and what they lean on: ``python -m tests.attack [--times N] [PART ...]``.

``make attack`` runs all of it; ``--record`` keeps the counts for docs/reliability.md.
"""

import argparse
import math
import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.tables import publish
from tests.attack.cuts import attack_cluster, attack_postgres
from tests.attack.kills import INTERRUPTED, KILLED, attack
from tests.attack.load import check_again, check_at_once
from tests.attack.workplace import COMMANDS, build
from tests.support.postgres_server import programs, server_with_reader

OUTCOMES = {0: "done", 1: "refused", 2: "refused", INTERRUPTED: "interrupted", KILLED: "killed"}
MEGABYTE = 1_000_000
# What a process may hold more after the second half of its evaluations.
MOST_GROWTH = 10 * MEGABYTE


def kills(names, times, seed, minutes):
    """Attack commands, each in turn, while there are minutes left, and yield a row of counts for each."""
    until = time.monotonic() + 60 * minutes
    with TemporaryDirectory() as place:
        inputs, out = Path(place, "inputs"), Path(place, "out")
        inputs.mkdir()
        build(inputs)
        for name in names:
            # Each has its part of the time that is left.
            now = time.monotonic()
            own = now + (until - now) / (len(names) - names.index(name))
            row = {"attacks": 0, "killed": 0, "interrupted": 0, "refused": 0, "done": 0, "broken outputs": 0}
            for (_, code), number in attack(inputs, out, [name], times, seed, own).items():
                row["attacks"] += number
                row[OUTCOMES[code]] += number
            yield name, row


def load(times, processes):
    """Evaluate in one process and in many at once; return a row for each."""
    with TemporaryDirectory() as place:
        inputs, out = Path(place, "inputs"), Path(place, "out")
        inputs.mkdir()
        out.mkdir()
        build(inputs, policy=False)
        _, half, whole = check_again(inputs, times, MOST_GROWTH)
        check_at_once(inputs, processes, out / "page.html")
    grown = (whole["memory"] - half["memory"]) / MEGABYTE
    one = {"evaluations": times, "tables left": 0, "files left": 0, "open files more": 0, "MB more": round(grown, 1)}
    return {"one process": one, f"{processes} processes at once": {"evaluations": processes, "files left": 0}}


def lost(part, names):
    """Cut connections to a database, or kill a worker of a cluster, in some commands or all; a row by command."""
    if part == "postgres":
        with server_with_reader() as server:
            found = attack_postgres(server, names)
        return {f"Postgres, {name}": counted(errors, same) for name, (errors, same) in found.items()}
    found = attack_cluster(names)
    return {f"Spark, {name}": counted(sum(map(bool, codes)), codes.count(0)) for name, codes in found.items()}


def counted(errors, same):
    return {"cuts": errors + same, "same answer": same, "error of ours": errors, "other": 0}


def main():
    parts = [*COMMANDS, "load", "postgres", "cluster"]
    parser = argparse.ArgumentParser(prog="python -m tests.attack")
    parser.add_argument("parts", nargs="*", default=parts, metavar="PART", help=f"{', '.join(parts)}, cluster:COMMAND")
    parser.add_argument("--times", type=int, default=10, help="random moments for each signal and command")
    parser.add_argument("--evaluations", type=int, default=1_000, help="in one process")
    parser.add_argument("--processes", type=int, default=16, help="at once")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no attack on commands after so many")
    parser.add_argument("--record", action="store_true", help="keep the counts in benchmarks/results")
    asked = parser.parse_args()
    rows = {}
    for name, row in kills([name for name in asked.parts if name in COMMANDS], asked.times, asked.seed, asked.minutes):
        rows[name] = row
        sys.stdout.write(f"{name}: {row}\n")
        sys.stdout.flush()
    if rows:
        publish("attacks", rows, {"random moments a signal": asked.times}, record=asked.record)
    if "load" in asked.parts:
        publish("load", load(asked.evaluations, asked.processes), {}, record=asked.record)
    for part, present in (("postgres", programs() is not None), ("cluster", shutil.which("java") is not None)):
        names = [one.partition(":")[2] for one in asked.parts if one.startswith(f"{part}:")]
        if (part in asked.parts or names) and present:
            publish(f"lost-{part}", lost(part, names), {}, record=asked.record)
        elif part in asked.parts or names:
            sys.stdout.write(f"NOT TRIED for want of it: {part}\n")


if __name__ == "__main__":
    main()
