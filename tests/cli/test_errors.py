"""Errors in the data, through the command line: exit code 1, one line and a hint, no traceback, nothing written."""

import subprocess
import sys

import pytest

GOOD = "page,ad,click,at\np,a,1,2026-01-01\np,b,0,2026-01-02\n"
CASES = {
    "no such file": (None, [], 1, "There is no file"),
    "no such column": (GOOD, ["--context", "pge"], 1, "has no column 'pge'"),
    "empty file": ("", [], 1, "log.csv"),
    "no rows": ("page,ad,click,at\n", [], 1, "no rows"),
    "null": (GOOD + "p,,1,2026-01-02\n", [], 1, "'ad' in 1 row"),
    "not a number": (GOOD.replace("p,b,0", "p,b,often"), [], 1, "has type string"),
    "outside": (GOOD.replace("p,b,0", "p,b,7"), [], 1, "outside [0, 1]"),
    "bad time": (GOOD.replace("2026-01-02", "soon"), ["--time", "at"], 1, "'at' is no time in 1 row"),
    "empty window": (GOOD, ["--time", "at", "--test-from", "2030-01-01"], 1, "later window has no events"),
    "no time": (GOOD, ["--test-fraction", "0.5"], 2, "without a time column"),
    "twice": (GOOD, ["--context", "page", "--context", "page"], 2, "given 2 times"),
    "bad range": (GOOD, ["--reward-range", "1", "0"], 2, "is not a range"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_data_is_told_in_a_line(tmp_path, case):
    content, extra, code, message = CASES[case]
    if content is not None:
        (tmp_path / "log.csv").write_text(content)
    context = [] if "--context" in extra else ["--context", "page"]
    command = [
        sys.executable,
        "-m",
        "warmstart",
        "evaluate",
        "log.csv",
        *context,
        "--action",
        "ad",
        "--reward",
        "click",
    ]
    ran = subprocess.run(
        [*command, "--policy", "uniform", "--tau", "0.1", *extra],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == code, ran.stderr
    assert message in ran.stderr
    assert ran.stderr.startswith("error: ")
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ([] if content is None else ["log.csv"])


def test_drop_nulls_goes_on_and_says_how_many(tmp_path):
    (tmp_path / "log.csv").write_text(GOOD + "p,,1,2026-01-02\n")
    command = [sys.executable, "-m", "warmstart", "evaluate", "log.csv", "--context", "page", "--action", "ad"]
    ran = subprocess.run(
        [*command, "--reward", "click", "--policy", "uniform", "--tau", "0.1", "--drop-nulls"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "1 row without a value left out" in ran.stdout
