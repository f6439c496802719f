"""A log of the paper's size, made fast: log-uniform contexts, a few actions each, chosen anew every few days."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

# Of the pages drawn log-uniformly, 3.4 M are seen at least once among the paper's 54 M events.
CONTEXTS, ACTIONS, DAYS = 4_200_000, 880_000, 30
PAPER_EVENTS = 54_000_000
FOLDER = Path(__file__).parent / "data"


def paper_log(events: int = PAPER_EVENTS) -> Path:
    """Write (once) and return a Parquet log of that many events: page, ad, click, shown_at, ordered by time."""
    path = FOLDER / f"log-{events}.parquet"
    if path.exists():
        return path
    FOLDER.mkdir(exist_ok=True)
    temporary = path.with_suffix(".part")
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false; SELECT setseed(0.5)")
    connection.execute(f"""
        COPY (
            SELECT page, (hash(page, choice) % {ACTIONS})::BIGINT AS ad,
                   (draw < 0.01 + 0.02 * ((hash(page, choice, 7) % 100) / 100)) ::TINYINT AS click,
                   TIMESTAMP '2026-10-01' + to_microseconds((moment * {DAYS * 86_400 * 1_000_000})::BIGINT) AS shown_at
            FROM (
                SELECT page, moment, draw,
                       CASE WHEN detour < 0.05 THEN (detour * 200)::INT
                            ELSE (moment * {DAYS} / (2 + page % 5))::INT % (1 + (hash(page) % 12))::INT END AS choice
                FROM (
                    SELECT exp(random() * ln({CONTEXTS}))::BIGINT AS page, i / {events} AS moment,
                           random() AS draw, random() AS detour
                    FROM range({events}) AS events(i)
                )
            )
        ) TO '{temporary}' (FORMAT parquet)
    """)
    temporary.rename(path)
    return path


def with_users(log: Path, units: int) -> Path:
    """Write (once) and return the same log with a column ``who``: so many users, each event of any of them."""
    path = log.with_name(f"{log.stem}-{units}-users.parquet")
    if path.exists():
        return path
    temporary = path.with_suffix(".part")
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false; SELECT setseed(0.25)")
    connection.execute(
        f"COPY (SELECT *, (random() * {units})::BIGINT AS who FROM '{log}') TO '{temporary}' (FORMAT parquet)"
    )
    temporary.rename(path)
    return path


def with_outcomes(log: Path, names: Sequence[str]) -> Path:
    """Write (once) and return the log with further outcomes, numbers in [0, 1] that depend on the ad and on chance."""
    path = log.with_name(f"{log.stem}-outcomes.parquet")
    if not path.exists():
        temporary = path.with_suffix(".part")
        drawn = "(hash(ad, {i}) % 500 + hash(page, shown_at, {i}) % 500) / 1000.0 AS {name}"
        columns = ", ".join(drawn.format(i=i, name=name) for i, name in enumerate(names))
        duckdb.sql(f"COPY (SELECT *, {columns} FROM '{log}') TO '{temporary}' (FORMAT parquet)")
        temporary.rename(path)
    return path


def first_action(log: Path) -> int:
    """Return the action of the smallest number in a log."""
    (row,) = duckdb.sql(f"SELECT min(ad) FROM '{log}'").fetchall()
    return int(row[0])
