"""Ask again and again, from many sides at once, and look at what that leaves: memory, tables, files, open files."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from tests.attack.workplace import LOG
from tests.support.nested import alike

# What one process is asked for, in turn; every source that needs no fitted model, several policies and outcomes.
QUESTIONS = (
    {"policies": "uniform", "tau": 0.05},
    {"policies": ["logging", "constant:1"], "tau": [0.05, 0.2], "estimators": ["snips"]},
    {"policies": "uniform", "tau": 0.05, "propensities": "back-off"},
    {"policies": "constant:2", "tau": 0.1, "live": False, "interval": "kl"},
)
PROGRAM = """
    import json, os, sys
    from pathlib import Path
    import warmstart as ws

    times, questions = int(sys.argv[1]), json.loads(sys.argv[2])
    engine = ws.connect("duckdb", threads=1)
    names = {"context": "page", "action": "ad", "reward": "click", "time": "at"}

    def left():
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        views = "FROM duckdb_views() SELECT view_name WHERE NOT internal"
        tables = f"FROM duckdb_tables() SELECT table_name UNION ALL {views}"
        return {
            "tables": len(engine.backend.con.execute(tables).fetchall()),
            "open": len(os.listdir("/proc/self/fd")),
            "memory": pages * os.sysconf("SC_PAGE_SIZE"),
        }

    seen = []
    for i in range(times):
        question = dict(questions[i % len(questions)])
        # Every tenth in an engine of its own.
        events = ws.read_events("log.parquet", **names, engine=engine if i % 10 else "duckdb")
        answer = ws.evaluate(question.pop("policies"), events, **question)
        del events, answer
        if i + 1 in (times // 4, times // 2, times):
            seen.append(left())
    print(json.dumps(seen))
"""


def ask_again(inputs, times):
    """Evaluate so many times in one process; return what it holds after a quarter, a half and all of them."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(times), json.dumps(QUESTIONS)]
        done = subprocess.run(
            command, cwd=inputs, env={**os.environ, "TMPDIR": place}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return [*json.loads(done.stdout), {"files": sorted(path.name for path in Path(place).iterdir())}]


def at_once(inputs, processes, out):
    """Evaluate the same log in so many processes at once, all writing one output; return what each printed."""
    words = ["evaluate", *LOG, "--policy", "uniform", "--tau", "0.05", "--json", "--html", str(out)]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "warmstart", *words],
            cwd=inputs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(processes)
    ]
    answers = []
    for process in running:
        said, failed = process.communicate(timeout=600)
        assert process.returncode == 0, failed
        answers.append(json.loads(said))
    return answers


def check_again(inputs, times, most):
    """Hold a process to leave nothing, and to need at most so many more bytes after a half; return what it needed."""
    quarter, half, whole, rest = ask_again(inputs, times)
    assert half["tables"] == whole["tables"], (half, whole)
    assert whole["open"] <= half["open"], (half, whole)
    assert not rest["files"], rest
    grown = whole["memory"] - half["memory"]
    assert grown <= most, (quarter, half, whole)
    return quarter, half, whole


def check_at_once(inputs, processes, out):
    """Hold processes to one answer, and their common output to be whole."""
    answers = at_once(inputs, processes, out)
    assert len(answers) == processes
    # The threads of one process add up in any order.
    unlike = [answer for answer in answers if not alike(answer, answers[0])]
    assert not unlike, (unlike[0], answers[0])
    assert Path(out).read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert [path.name for path in Path(out).parent.iterdir()] == [Path(out).name]
