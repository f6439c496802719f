"""Attack the commands that write, and what they lean on: ``python -m tests.attack [--times N] [PART ...]``.

``make attack`` runs all of it. With ``--record`` each part keeps its counts for docs/reliability.md as soon as it is
done; with ``--resume`` parts that were recorded at this commit are left out, so that what was cut off goes on.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.attack.cuts import ON_A_CLUSTER, attack_cluster, attack_postgres
from tests.attack.kills import BROKEN, INTERRUPTED, KILLED, UNBORN, WEIGHTS, attack
from tests.attack.load import check_again, check_at_once
from tests.attack.recording import keep, recorded
from tests.attack.workplace import COMMANDS, build
from tests.support.postgres_server import programs, server_with_reader

OUTCOMES = {0: "done", 1: "refused", 2: "refused", INTERRUPTED: "interrupted", KILLED: "killed"}
OUTCOMES |= {**dict.fromkeys(UNBORN, "before Python had started"), BROKEN: "broken outputs"}
MEGABYTE = 1_000_000
# What a process may hold more after the second half of its evaluations.
MOST_GROWTH = 10 * MEGABYTE
# Tests of fuzzing, of which each has its part of the minutes.
FUZZED = 37


def kills(names, asked):
    """Attack commands, each in turn, while there are minutes left; return how many outputs were broken."""
    until, broken = time.monotonic() + 60 * asked.minutes, 0
    with TemporaryDirectory() as place:
        inputs, out = Path(place, "inputs"), Path(place, "out")
        inputs.mkdir()
        build(inputs)
        for name in names:
            # Each has its part of the time that is left.
            now = time.monotonic()
            weights = [WEIGHTS.get(one, 1) for one in names[names.index(name) :]]
            own = now + (until - now) * weights[0] / sum(weights)
            row = dict.fromkeys(["attacks", *OUTCOMES.values()], 0)
            for (_, code), number in attack(inputs, out, [name], asked.times, asked.seed, own).items():
                row["attacks"] += number
                row[OUTCOMES[code]] += number
            if row["attacks"]:
                keep("attacks", {name: row}, record=asked.record)
            broken += row[OUTCOMES[BROKEN]]
    return broken


def load(asked):
    """Evaluate in one process and in many at once."""
    one, many = "one process", f"{asked.processes} processes at once"
    with TemporaryDirectory() as place:
        inputs, out = Path(place, "inputs"), Path(place, "out")
        inputs.mkdir()
        out.mkdir()
        build(inputs, policy=False)
        if not (asked.resume and recorded("load", many)):
            check_at_once(inputs, asked.processes, out / "page.html")
            keep("load", {many: {"evaluations": asked.processes, "files left": 0}}, record=asked.record)
        if not (asked.resume and recorded("load", one)):
            _, half, whole = check_again(inputs, asked.evaluations, MOST_GROWTH)
            grown = (whole["memory"] - half["memory"]) / MEGABYTE
            row = {"evaluations": asked.evaluations, "files left": 0, "tables left": 0, "open files more": 0}
            keep("load", {one: {**row, "MB more": round(grown, 1)}}, record=asked.record)


def postgres(names, asked):
    """Cut the connection at every query of commands."""
    with server_with_reader() as server:
        for name, (errors, same) in attack_postgres(server, names).items():
            keep("lost-postgres", {f"Postgres, {name}": counted(errors, same)}, record=asked.record)


def cluster(names, asked):
    """Kill a worker in the middle of commands."""
    for name in names or ON_A_CLUSTER:
        if not (asked.resume and recorded("lost-cluster", f"Spark, {name}")):
            codes = attack_cluster([name])[name]
            row = counted(sum(map(bool, codes)), codes.count(0))
            keep("lost-cluster", {f"Spark, {name}": row}, record=asked.record)


def counted(errors, same):
    return {"cuts": errors + same, "same answer": same, "error of ours": errors, "other": 0}


def fuzz(asked):
    """Run the tests of fuzzing with many examples; return pytest's exit code."""
    with TemporaryDirectory() as place:
        counts = Path(place, "counts")
        environment = {"WARMSTART_EXAMPLES": str(asked.examples), "WARMSTART_FUZZ_COUNTS": str(counts)}
        if asked.minutes < math.inf:
            environment["WARMSTART_FUZZ_SECONDS"] = str(60 * asked.minutes / FUZZED)
        # Not those of the limits themselves, whose memory is made up.
        tests = [str(Path(__file__).parent / f"{name}.py") for name in ("test_fuzz", "test_fuzz_files")]
        command = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", *tests]
        code = subprocess.run(command, env={**os.environ, **environment}, check=False).returncode
        lines = counts.read_text(encoding="utf-8").splitlines() if counts.exists() else []
    found = [next(iter(json.loads(line).values())) for line in lines]
    if found:
        row = {"tests": len(found), **{part: sum(one[part] for one in found) for part in ("examples", "seconds")}}
        row["MB more at the most"] = round(max(one["MB more"] for one in found), 1)
        keep("fuzzing", {"all": {**row, "tests that failed": 0 if code == 0 else 1}}, record=asked.record)
    return code


def main():
    parts = [*COMMANDS, "fuzz", "load", "postgres", "cluster"]
    parser = argparse.ArgumentParser(prog="python -m tests.attack")
    parser.add_argument("parts", nargs="*", default=parts, metavar="PART", help=f"{', '.join(parts)}, cluster:COMMAND")
    parser.add_argument("--times", type=int, default=10, help="random moments for each signal and command")
    parser.add_argument("--examples", type=int, default=3_000, help="of each fuzzing test, or in each round")
    parser.add_argument("--evaluations", type=int, default=1_000, help="in one process")
    parser.add_argument("--processes", type=int, default=16, help="at once")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=math.inf, help="of kills, and of fuzzing, at the most")
    parser.add_argument("--record", action="store_true", help="keep the counts in benchmarks/results")
    parser.add_argument("--resume", action="store_true", help="leave out what was recorded at this commit")
    asked = parser.parse_args()
    commands = [name for name in COMMANDS if name in asked.parts]
    if asked.resume:
        commands = [name for name in commands if not recorded("attacks", name)]
    failed = kills(commands, asked) if commands else 0
    if "fuzz" in asked.parts and not (asked.resume and recorded("fuzzing", "all")):
        failed += fuzz(asked)
    if "load" in asked.parts:
        load(asked)
    lost = (("postgres", postgres, programs() is not None), ("cluster", cluster, shutil.which("java") is not None))
    for part, attack_part, present in lost:
        names = [one.partition(":")[2] for one in asked.parts if one.startswith(f"{part}:")]
        if (part in asked.parts or names) and present:
            attack_part(names, asked)
        elif part in asked.parts or names:
            sys.stdout.write(f"NOT TRIED for want of it: {part}\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
