"""Months of a router of language models whose truth is known, for ``studies.routers``.

Questions of MMLU that two models have answered (``../shared/data/llm_routing``). A month asks 20,000 of them with
replacement, popular ones more often; another half of the questions is asked in its second half than in its first, so
that a policy which was learned in the first has seen no answer that it is judged by. Four routers:

- *daily*: every day's rules send some subjects to the large model;
- *prompt*: a score of the prompt's words and length decides, with weights and a threshold that change every day; its
  constant part is what predicts that the large model is needed;
- *thompson*: each call draws from what its subject's answers of all days before say, at a price of the large model;
- *sticky*: every user has a model, asks the same few questions again and again, and half of users pay.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import warmstart as ws
from warmstart.grouping import load_grouping

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MODELS = ("mixtral-8x7b", "gpt-4")
CALLS, DAYS, HALF = 20_000, 28, 14
MONDAY, DAY = 1_791_158_400, 86_400  # 2026-10-05
# Dollars a token, four letters of a prompt and 20 tokens of an answer.
PRICES, ANSWER = np.array([0.6e-6, 9e-6]), 20
UTILITY, PRICE = "reward - 80*cost", 80.0
# Users, the calls that each makes for one question of theirs, and how many numbers tell prompts apart.
USERS, QUESTIONS_OF_USER, NUMBERS = 300, 10, 12
DRAWS = 400


@dataclass(frozen=True, eq=False)
class Pool:
    """The questions: what both models answer and cost, by question and model; subject, group and numbers of each.

    ``wants``: how far the words and the length of a prompt tell that the large model is right where the small is not.
    """

    prompts: list[str]
    right: Floats
    cost: Floats
    names: dict[str, NDArray[Any]]
    numbers: Floats
    wants: Floats

    @classmethod
    def read(cls, path: Path, folder: Path) -> Pool:
        """Read the questions, and group their prompts (once) in a folder."""
        rows = list(csv.DictReader(gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)))
        prompts = [row["prompt"] for row in rows]
        right = np.array([[float(row["mixtral_correct"]), float(row["gpt4_correct"])] for row in rows])
        if not folder.exists():
            ws.group(pa.table({"prompt": prompts}), folder, text="prompt")
        grouping = load_grouping(folder)
        texts = pa.array(prompts)
        length = np.array([float(len(prompt)) for prompt in prompts])
        numbers = np.column_stack([np.log(length), grouping.places(texts)[:, : NUMBERS - 1]])
        numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
        slopes = np.linalg.lstsq(numbers, right[:, 1] - right[:, 0], rcond=None)[0]
        names = {"subject": [row["subject"] for row in rows], "group": grouping.assign(texts).to_pylist()}
        cost = (length[:, None] / 4 + ANSWER) * PRICES
        return cls(prompts, right, cost, {k: np.array(v) for k, v in names.items()}, numbers, numbers @ slopes)

    @cached_property
    def places(self) -> dict[str, tuple[list[str], Ints]]:
        """Return the different values of subject and group, and which each question has."""
        pairs = {name: np.unique(values, return_inverse=True) for name, values in self.names.items()}
        return {name: (values.tolist(), places.astype(np.int64)) for name, (values, places) in pairs.items()}

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Return what is known of a prompt, as columns of a log."""
        return {**self.names, **{f"z{i}": self.numbers[:, i] for i in range(NUMBERS)}}

    def means(self, by: str, of: Floats) -> Floats:
        """Return the mean of something by context and model."""
        values, x = self.places[by]
        sums = np.column_stack([np.bincount(x, column, len(values)) for column in of.T])
        return np.asarray(sums / np.bincount(x, minlength=len(values))[:, None])


@dataclass(frozen=True, eq=False)
class Calls:
    """Calls in time order: question, time in days, the model that was shown; and how likely the large one was.

    ``large``: the router's probability of the large model, by day and question.
    """

    question: Ints
    time: Floats
    model: Ints
    large: Floats

    @property
    def day(self) -> Ints:
        return self.time.astype(np.int64)

    def only(self, rows: NDArray[Any]) -> Calls:
        return Calls(self.question[rows], self.time[rows], self.model[rows], self.large)

    def first_days(self) -> Calls:
        """Return every question's calls of its first day."""
        first = np.full(self.large.shape[1], DAYS)
        np.minimum.at(first, self.question, self.day)
        return self.only(self.day == first[self.question])

    def table(self, pool: Pool) -> pa.Table:
        """Return the log, without any probability."""
        q, a = self.question, self.model
        at = pa.array(((MONDAY + self.time * DAY) * 1e6).astype(np.int64), pa.timestamp("us", "UTC"))
        columns = {name: pa.array(values[q]) for name, values in pool.columns.items()}
        columns |= {"question": pa.array(q), "time": at, "model": pa.array(np.array(MODELS)[a])}
        return pa.table({**columns, "reward": pool.right[q, a], "cost": pool.cost[q, a]})


def asked(rng: np.random.Generator, questions: int) -> tuple[Ints, Floats]:
    """Draw calls in time order: other questions in the second half of the month, and popular ones more often."""
    time = np.sort(rng.uniform(0, DAYS, CALLS))
    popular, late = rng.exponential(size=questions), rng.permutation(questions) % 2 == 1
    question = np.empty(CALLS, dtype=np.int64)
    for half in (False, True):
        weights = np.where(late == half, popular, 0.0)
        of = (time >= HALF) == half
        question[of] = rng.choice(questions, int(of.sum()), p=weights / weights.sum())
    return question, time


def daily(pool: Pool, rng: np.random.Generator) -> Calls:
    question, time = asked(rng, len(pool.right))
    subjects, of = pool.places["subject"]
    rules = rng.random((DAYS, len(subjects))) < rng.uniform(0.3, 0.7, len(subjects))
    large = rules[:, of].astype(float)
    return Calls(question, time, large[time.astype(int), question].astype(np.int64), large)


def prompt(pool: Pool, rng: np.random.Generator) -> Calls:
    question, time = asked(rng, len(pool.right))
    steady = pool.wants / pool.wants.std()
    moving = pool.numbers @ rng.normal(0, 1 / np.sqrt(NUMBERS), (NUMBERS, DAYS))
    scores = steady[:, None] + moving
    shares = rng.uniform(0.3, 0.7, DAYS)
    thresholds = np.array([np.quantile(score, share) for score, share in zip(scores.T, shares, strict=True)])
    large = (scores > thresholds).T.astype(float)
    return Calls(question, time, large[time.astype(int), question].astype(np.int64), large)


def thompson(pool: Pool, rng: np.random.Generator) -> Calls:
    question, time = asked(rng, len(pool.right))
    subjects, of = pool.places["subject"]
    day, shown = time.astype(int), np.empty(CALLS, dtype=np.int64)
    counts, large = np.ones((2, len(subjects), 2)), np.empty((DAYS, len(pool.right)))
    price = PRICE * (pool.means("subject", pool.cost) @ [-1.0, 1.0])
    for today in range(DAYS):
        calls = np.flatnonzero(day == today)
        x = of[question[calls]]
        drawn = rng.beta(*counts[:, x])
        shown[calls] = drawn[:, 1] - drawn[:, 0] > price[x]
        many = rng.beta(*np.repeat(counts[:, None], DRAWS, axis=1))
        large[today] = (many[..., 1] - many[..., 0] > price).mean(axis=0)[of]
        right = pool.right[question[calls], shown[calls]]
        np.add.at(counts, (1 - right.astype(int), x, shown[calls]), 1.0)
    return Calls(question, time, shown, large)


def sticky(pool: Pool, rng: np.random.Generator) -> Calls:
    bank, time = asked(rng, len(pool.right))
    pays = rng.random(USERS) < 0.5
    user = rng.choice(USERS, CALLS, p=rng.dirichlet(np.full(USERS, 2.0)))
    of_user = [
        np.array([rng.choice(bank[(time >= HALF) == half], QUESTIONS_OF_USER) for _ in range(USERS)])
        for half in (False, True)
    ]
    late = (time >= HALF).astype(int)
    question = np.array(of_user)[late, user, rng.integers(0, QUESTIONS_OF_USER, CALLS)]
    large = np.full((DAYS, len(pool.right)), 0.5)
    return Calls(question, time, pays[user].astype(np.int64), large)


ROUTERS: dict[str, Callable[[Pool, np.random.Generator], Calls]] = {
    "daily": daily,
    "prompt": prompt,
    "thompson": thompson,
    "sticky": sticky,
}
