"""Simulate a month of ads and write it to disk, day by day and chunk by chunk."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from warmstart.core import Progress, silent, write_output
from warmstart.simulation.ad_events import events_of_day
from warmstart.simulation.ad_logger import AdLogger
from warmstart.simulation.ad_population import Population, chunks
from warmstart.simulation.ad_settings import AdSettings
from warmstart.simulation.ad_users import AdUsers
from warmstart.simulation.ad_words import Vocabulary, word_columns
from warmstart.simulation.ad_world import FORMAT, AdWorld
from warmstart.simulation.streams import Stream, stream

WORDS_CHUNK = 50_000


def simulate(
    out: str | Path, *, scale: str = "small", threads: int | None = None, on_progress: Progress = silent, **numbers: Any
) -> AdWorld:
    """Write a month of ads whose truth is known, and return it.

    The same seed writes the same bytes, whatever the threads.

    Args:
        out: a new folder, for ``events.parquet`` (page, ad, click, shown_at, and user if there are users),
            ``contexts.parquet`` and ``actions.parquet`` (words, frequencies, text), ``truth/``.
        scale: ``"small"``, ``"medium"`` or ``"paper"``.
        threads: how many to use.
        on_progress: called with the step and the share of it that is done.
        numbers: every number of ``AdSettings`` by name; ``users=UserSettings(...)`` lets users come back,
            ``learner=LearnerSettings(...)`` lets the logger learn.
    """
    settings = AdSettings.of_scale(scale, **numbers)
    workers = threads or os.cpu_count() or 1
    with write_output(out, folder=True) as folder:
        truth = folder / "truth"
        truth.mkdir()
        on_progress("drawing pages and ads")
        population = Population.draw(settings)
        logger = AdLogger(population)
        _write_events(folder, population, logger, on_progress)
        _write_words(folder, population, workers, on_progress)
        population.save(truth)
        np.save(truth / "starts.npy", logger.start, allow_pickle=False)
        np.save(truth / "stops.npy", np.minimum(logger.stop, settings.days).astype(np.int16), allow_pickle=False)
        about = {"format": FORMAT, "scale": population.scale, "settings": settings.to_dict()}
        (truth / "world.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    return AdWorld.open(out)


def _write_events(folder: Path, population: Population, logger: AdLogger, on_progress: Progress) -> None:
    settings = population.settings
    shape = (settings.days, 2 if settings.hidden else 1, settings.n_contexts)
    users = None if settings.users is None else AdUsers(population, settings.users)
    # In memory: a file mapped into it would end the process where the disk is full. A byte a page and day.
    chosen = np.empty(shape, np.int8)

    def events_of(day: int) -> pa.Table:
        chosen[day] = logger.choose(day)
        return events_of_day(logger, users, day, chosen[day])

    tables = map(events_of, range(settings.days))
    _write_tables(folder / "events.parquet", tables, settings.days, partial(on_progress, "writing events"))
    np.save(folder / "truth" / "chosen.npy", chosen, allow_pickle=False)


def _write_words(folder: Path, population: Population, workers: int, on_progress: Progress) -> None:
    settings = population.settings
    vocabulary = Vocabulary(settings)
    spelled = pa.array(vocabulary.words())

    def pages_of(part: int, rows: slice) -> pa.Table:
        rng = stream(settings.seed, Stream.PAGE_WORDS, part)
        drawn = vocabulary.texts(
            population.page_topics[rows], population.page_weight[rows], settings.context_words, rng
        )
        return pa.table({"page": np.arange(rows.start, rows.stop), **word_columns(drawn, spelled)})

    def ads_of(part: int, rows: slice) -> pa.Table:
        rng = stream(settings.seed, Stream.AD_WORDS, part)
        drawn = vocabulary.texts(population.ad_topics[rows], population.ad_weight[rows], settings.action_words, rng)
        return pa.table({"ad": np.arange(rows.start, rows.stop), **word_columns(drawn, spelled)})

    for name, what, size, make in (
        ("actions", "ads", settings.n_actions, ads_of),
        ("contexts", "pages", settings.n_contexts, pages_of),
    ):
        parts = chunks(size, WORDS_CHUNK)
        tables = _in_order(make, parts, workers)
        _write_tables(folder / f"{name}.parquet", tables, len(parts), partial(on_progress, f"writing {what}"))


def _write_tables(path: Path, tables: Iterable[pa.Table], number: int, report: Callable[[float], None]) -> None:
    with ExitStack() as stack:
        writer = None
        for i, table in enumerate(tables):
            report(i / number)
            writer = writer or stack.enter_context(pq.ParquetWriter(path, table.schema, compression="zstd"))
            writer.write_table(table)


def _in_order(make: Callable[[int, slice], pa.Table], parts: Iterable[slice], workers: int) -> Iterator[pa.Table]:
    """Yield parts in order, made by threads a few ahead."""
    waiting: list[Future[pa.Table]] = []
    with ThreadPoolExecutor(workers) as pool:
        for part, rows in enumerate(parts):
            waiting.append(pool.submit(make, part, rows))
            if len(waiting) > workers:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()
