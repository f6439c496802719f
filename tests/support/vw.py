"""Vowpal Wabbit itself, as a command; logs in its formats, imported."""

import re
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

import warmstart as ws

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def vw(*arguments):
    """Run it and return what it prints."""
    command = [sys.executable, "-m", "vowpalwabbit", "--no_stdin", *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return ran.stdout, ran.stderr


def average_loss(text):
    return float(re.search(r"average loss = (\S+)", text).group(1))


def examples(text):
    return int(re.search(r"number of examples = (\d+)", text).group(1))


def audited(text):
    """The features of every line of --audit: sets of (word, weight)."""
    lines = []
    for line in text.splitlines():
        if line.startswith("\t"):
            parts = [part.rsplit(":", 3) for part in line.strip().split("\t")]
            lines.append({(name, float(weight)) for name, _, weight, _ in parts if name != "Constant"})
    return lines


def import_text(folder, text, **options):
    """Import a log in Vowpal Wabbit's text or JSON; return what was imported, and its events."""
    path = folder / "log.vw"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    imported = ws.import_vw(path, folder / "out", **options)
    return imported, pq.read_table(imported.events).to_pylist()


def features_by_key(path, key):
    return {row[key]: dict(zip(row["words"], row["weights"], strict=True)) for row in pq.read_table(path).to_pylist()}


def check_malformed(folder, text, line, what):
    """Importing a log must fail, name the file, the line and what is wrong with it, and leave nothing behind."""
    with pytest.raises(ws.MalformedLineError) as caught:
        import_text(folder, text)
    assert caught.value.line == line
    assert caught.value.file == str(folder / "log.vw")
    assert what in caught.value.what
    assert f"log.vw, line {line}: " in caught.value.message
    assert [path.name for path in folder.iterdir()] == ["log.vw"]
