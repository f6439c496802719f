"""A month of a router's calls as LiteLLM logs them, drawn from questions that two models have answered."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SMALL, LARGE = "mixtral-8x7b-instruct", "gpt-4-1106-preview"
MODELS = (SMALL, LARGE)
CALLS, DAYS, START = 20_000, 28, datetime(2026, 10, 5, tzinfo=UTC)
# In dollars: of a token; a prompt has one for every four letters, and an answer here has twenty.
PRICES, ANSWER = {SMALL: 0.6e-6, LARGE: 9e-6}, 20
# Shares of calls that the cache answers, that fail, and whose answers are judged.
CACHED, FAILING, JUDGED = 0.03, 0.02, 0.8
HOURS_TO_JUDGE = 12.0


@dataclass(frozen=True)
class Question:
    """A question, and by model whether it is answered rightly and what that costs."""

    subject: str
    prompt: str
    right: Mapping[str, int]
    cost: Mapping[str, float]


@dataclass(frozen=True)
class MonthFiles:
    """What a month left: spend logs, and the prompts and judgements that these do not hold."""

    spend: Path
    prompts: Path
    judged: Path


def questions() -> list[Question]:
    """Return the questions of the bundled sample; its licences lie beside it."""
    packed = files("warmstart.demo").joinpath("routing_sample", "questions.csv.gz").read_bytes()
    rows = csv.DictReader(gzip.decompress(packed).decode().splitlines(keepends=True))
    return [_question(row) for row in rows]


def _question(row: Mapping[str, str]) -> Question:
    tokens = len(row["prompt"]) / 4 + ANSWER
    right = {SMALL: int(row["small"]), LARGE: int(row["large"])}
    return Question(row["subject"], row["prompt"], right, {model: tokens * PRICES[model] for model in MODELS})


def write_month(folder: Path, seed: int) -> MonthFiles:
    """Write a month of calls. Each day's rules send some subjects to the large model; nothing is drawn or logged."""
    rng, asked = np.random.default_rng(seed), questions()
    subjects = sorted({question.subject for question in asked})
    large = rng.random((DAYS, len(subjects))) < rng.uniform(0.3, 0.7, len(subjects))
    drawn = rng.integers(0, len(asked), CALLS)
    minutes = np.sort(rng.integers(0, DAYS * 24 * 60, CALLS))
    folder.mkdir(parents=True)
    result = MonthFiles(*(folder / name for name in ("spend.jsonl", "prompts.csv", "judged.csv")))
    with (
        result.spend.open("w", encoding="utf-8") as spend,
        result.prompts.open("w", encoding="utf-8", newline="") as prompts,
        result.judged.open("w", encoding="utf-8", newline="") as judged,
    ):
        texts, judgements = csv.writer(prompts), csv.writer(judged)
        texts.writerow(["request", "prompt"])
        judgements.writerow(["request", "judged_at", "right"])
        for i, (number, minute) in enumerate(zip(drawn.tolist(), minutes.tolist(), strict=True)):
            question, at = asked[number], START + timedelta(minutes=minute)
            model = MODELS[int(large[minute // (24 * 60), subjects.index(question.subject)])]
            request = f"chatcmpl-{i}"
            spend.write(json.dumps(_row(request, at, model, question, rng.random(2))) + "\n")
            texts.writerow([request, question.prompt])
            if rng.random() < JUDGED:
                later = at + timedelta(hours=float(rng.exponential(HOURS_TO_JUDGE)))
                judgements.writerow([request, later.isoformat(), question.right[model]])
    return result


def _row(request: str, at: datetime, model: str, question: Question, chance: NDArray[np.float64]) -> dict[str, object]:
    """Return a row of LiteLLM_SpendLogs."""
    cached, failed = chance[0] < CACHED, chance[1] < FAILING
    return {
        "request_id": request,
        "call_type": "acompletion",
        "model": model,
        "model_group": "auto",
        "startTime": at.isoformat(),
        "endTime": (at + timedelta(seconds=2)).isoformat(),
        "spend": 0.0 if cached or failed else question.cost[model],
        "status": "failure" if failed else "success",
        "cache_hit": "True" if cached else "None",
        "request_tags": [question.subject],
    }
