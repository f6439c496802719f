"""Write the sample that ``warmstart demo --llm`` draws its traffic from: python scripts/routing_sample.py"""

from __future__ import annotations

import csv
import gzip
import io
import os
from hashlib import md5
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("WARMSTART_DATA", ROOT.parent / "shared" / "data"))
SAMPLE = ROOT / "src" / "warmstart" / "demo" / "routing_sample" / "questions.csv.gz"
# Of subjects with so many short prompts, so many of them at the most, in the order of their MD5.
LEAST, MOST, LONGEST = 80, 90, 400


def main() -> None:
    """Read the whole set, write a part of it."""
    with gzip.open(DATA / "llm_routing" / "mmlu_routing.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    by_subject: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_subject.setdefault(row["subject"], []).append(row)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["subject", "prompt", "small", "large"])
    for subject, questions in sorted(by_subject.items()):
        short = [row for row in questions if len(row["prompt"]) <= LONGEST]
        if len(short) >= LEAST:
            short.sort(key=lambda row: md5(row["prompt"].encode(), usedforsecurity=False).digest())
            for row in short[:MOST]:
                writer.writerow([subject, row["prompt"], row["mixtral_correct"], row["gpt4_correct"]])
    SAMPLE.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


if __name__ == "__main__":
    main()
