"""The home page: its commands and its program, on a CSV file that nothing else has seen; its picture's numbers."""

import csv
import random
import re
import shlex
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from scripts.picture import PAGE, PICTURE, picture
from tests.support.commands import warmstart

HOME = Path(__file__).parents[2] / "docs" / "index.md"


@pytest.fixture(scope="module")
def unseen(tmp_path_factory):
    """Tickets of a support desk, as an export has them."""
    folder, rng, start = tmp_path_factory.mktemp("unseen"), random.Random(5), datetime(2026, 9, 1, 8)
    replies, queues = ["short", "steps", "video"], ["billing", "login", "delivery"]
    with (folder / "log.csv").open("w", newline="") as file:
        write = csv.writer(file).writerow
        write(["created_at", "queue", "language", "template", "solved", "ticket"])
        for ticket in range(9_000):
            queue = rng.choice(queues)
            template = replies[(ticket // 900 + queues.index(queue)) % 3]
            solved = rng.random() < (0.5 if template == "steps" else 0.3)
            at = start + timedelta(minutes=5 * ticket)
            write([at, queue, rng.choice(["en", "de"]), template, int(solved), f"T-{ticket:05}"])
    return folder


def test_a_csv_that_nobody_has_seen_gets_a_verdict_in_three_commands(unseen, monkeypatch):
    (block,) = re.findall(r"^```bash\n(.*?)^```$", HOME.read_text(), flags=re.DOTALL | re.MULTILINE)
    commands = block.splitlines()
    assert len(commands) == 3
    for line in commands:
        ran = warmstart(*shlex.split(line)[1:], cwd=unseen)
        assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("VERDICT: Use 'constant:steps' on all traffic.")
    (program,) = re.findall(r"^```python\n(.*?)^```$", HOME.read_text(), flags=re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(unseen)
    exec(compile(program, "<home>", "exec"), {})


def test_the_picture_has_the_numbers_of_the_gallery():
    assert PICTURE.read_text() == picture(PAGE.read_text()), "run python scripts/picture.py"
    for number in re.findall(r"0\.\d{3}", PICTURE.read_text()):
        assert number in PAGE.read_text()
