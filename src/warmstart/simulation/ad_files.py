"""Simulate a month of ads and write it to disk, day by day and chunk by chunk."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warmstart.core import Progress, silent, write_output
from warmstart.simulation.ad_logger import FOREVER, AdLogger
from warmstart.simulation.ad_population import Population
from warmstart.simulation.ad_settings import AdSettings
from warmstart.simulation.ad_words import Vocabulary, word_columns
from warmstart.simulation.ad_world import FIRST_DAY, FORMAT, AdWorld
from warmstart.simulation.streams import Stream, stream

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

MICROSECONDS = 86_400_000_000
WORDS_CHUNK = 50_000


def simulate(
    out: str | Path,
    *,
    scale: str = "small",
    threads: int | None = None,
    on_progress: Progress = silent,
    **numbers: Any,
) -> AdWorld:
    """Write a month of ads whose truth is known, and return it.

    ``out`` is a new folder: ``events.parquet`` (page, ad, click, shown_at), ``contexts.parquet`` and
    ``actions.parquet`` (words, frequencies, text; starts and ends of ads), and ``truth/``. ``scale`` is ``small``,
    ``medium`` or ``paper``; every number of ``AdSettings`` can be given by name. The same seed writes the same bytes,
    whatever the threads.
    ``on_progress`` is called with the step and the share of it that is done.
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
        _write_words(folder, population, logger, workers, on_progress)
        population.save(truth)
        np.save(truth / "starts.npy", logger.start, allow_pickle=False)
        np.save(truth / "stops.npy", np.minimum(logger.stop, settings.days).astype(np.int16), allow_pickle=False)
        about = {"format": FORMAT, "scale": population.scale, "settings": settings.to_dict()}
        (truth / "world.json").write_text(json.dumps(about, indent=2) + "\n")
    return AdWorld.open(out)


def _write_events(folder: Path, population: Population, logger: AdLogger, on_progress: Progress) -> None:
    import pyarrow.parquet as pq

    settings = population.settings
    shape = (settings.days, 2 if settings.hidden else 1, settings.n_contexts)
    chosen = np.lib.format.open_memmap(folder / "truth" / "chosen.npy", mode="w+", dtype=np.int8, shape=shape)
    writer = None
    try:
        for day in range(settings.days):
            on_progress("writing events", day / settings.days)
            chosen[day] = logger.choose(day)
            table = _events_of_day(population, logger, day, chosen[day])
            writer = writer or pq.ParquetWriter(folder / "events.parquet", table.schema, compression="zstd")
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    chosen.flush()


def _events_of_day(population: Population, logger: AdLogger, day: int, chosen: NDArray[np.int8]) -> pa.Table:
    import pyarrow as pa

    settings = population.settings
    rng = stream(settings.seed, Stream.EVENTS, day)
    size = settings.events_of_day(day)
    ranks = np.exp(rng.random(size) * np.log(settings.n_contexts + 1)).astype(np.int64)
    pages = population.page_of_rank(np.clip(ranks, 1, settings.n_contexts))
    moments = np.sort(rng.integers(MICROSECONDS, size=size))
    draws = rng.random(size, dtype=np.float32)
    segment = rng.integers(len(chosen), size=size)
    places = chosen[segment, pages]
    if settings.random_share:
        at_random = np.flatnonzero(rng.random(size) < settings.random_share)
        places[at_random] = _random_places(population.candidates[pages[at_random]], logger.live(day), rng)
    ads = population.candidates[pages, places]
    probability = population.click_probability(pages, ads)
    if settings.drift:
        probability *= population.drift(ads, day)
    if settings.hidden:
        probability *= 1 + np.float32(settings.hidden) * population.segment_sign(pages, ads) * (2 * segment - 1)
    clicks = draws < probability
    logger.end_of_day(day, pages, places, clicks)
    start = (FIRST_DAY - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return pa.table(
        {
            "page": pages,
            "ad": ads.astype(np.int64),
            "click": clicks.astype(np.int8),
            "shown_at": pa.array(start + day * MICROSECONDS + moments, pa.timestamp("us", "UTC")),
        }
    )


def _random_places(
    candidates: NDArray[np.int32], live: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.int8]:
    showable = np.append(live, False)[candidates]
    draws = np.where(showable, rng.random(candidates.shape, dtype=np.float32), -1)
    places: NDArray[np.int8] = draws.argmax(axis=1).astype(np.int8)
    return places


def _write_words(folder: Path, population: Population, logger: AdLogger, workers: int, on_progress: Progress) -> None:
    import pyarrow as pa

    settings = population.settings
    vocabulary = Vocabulary(settings)
    spelled = pa.array(vocabulary.words())

    def pages_of(part: int) -> pa.Table:
        rows = slice(part * WORDS_CHUNK, min((part + 1) * WORDS_CHUNK, settings.n_contexts))
        drawn = vocabulary.texts(
            population.page_topics[rows],
            population.page_weight[rows],
            words=settings.context_words,
            purpose=Stream.PAGE_WORDS,
            part=part,
        )
        return pa.table({"page": np.arange(rows.start, rows.stop), **word_columns(drawn, spelled)})

    def ads_of(part: int) -> pa.Table:
        rows = slice(part * WORDS_CHUNK, min((part + 1) * WORDS_CHUNK, settings.n_actions))
        drawn = vocabulary.texts(
            population.ad_topics[rows],
            population.ad_weight[rows],
            words=settings.action_words,
            purpose=Stream.AD_WORDS,
            part=part,
        )
        times = {"starts": _day_array(logger.start[rows]), "ends": _day_array(logger.stop[rows], settings.days)}
        return pa.table({"ad": np.arange(rows.start, rows.stop), **times, **word_columns(drawn, spelled)})

    _write_parts(
        folder / "actions.parquet", ads_of, settings.n_actions, workers, step="writing ads", on_progress=on_progress
    )
    _write_parts(
        folder / "contexts.parquet",
        pages_of,
        settings.n_contexts,
        workers,
        step="writing pages",
        on_progress=on_progress,
    )


def _day_array(days: NDArray[np.int16], last: int | None = None) -> pa.Array:
    """Return days as timestamps; an end beyond the month is null."""
    import pyarrow as pa

    start = (FIRST_DAY - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    beyond = np.zeros(len(days), dtype=bool) if last is None else (days >= last) | (days == FOREVER)
    return pa.array(start + days.astype(np.int64) * MICROSECONDS, pa.timestamp("us", "UTC"), mask=beyond)


def _write_parts(
    path: Path, make: Callable[[int], pa.Table], rows: int, workers: int, *, step: str, on_progress: Progress
) -> None:
    import pyarrow.parquet as pq

    parts = range(-(-rows // WORDS_CHUNK))
    writer = None
    try:
        for i, table in enumerate(_in_order(make, parts, workers)):
            on_progress(step, i / len(parts))
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _in_order(make: Callable[[int], pa.Table], parts: Iterable[int], workers: int) -> Iterator[pa.Table]:
    """Yield parts in order, made by threads a few ahead."""
    waiting: list[Future[pa.Table]] = []
    with ThreadPoolExecutor(workers) as pool:
        for part in parts:
            waiting.append(pool.submit(make, part))
            if len(waiting) > workers:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()
