"""Vowpal Wabbit itself, as a command."""

import re
import subprocess
import sys


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
    found = []
    for line in text.splitlines():
        if line.startswith("\t"):
            parts = [part.rsplit(":", 3) for part in line.strip().split("\t")]
            found.append({(name, float(weight)) for name, _, weight, _ in parts if name != "Constant"})
    return found
