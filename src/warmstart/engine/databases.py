"""URLs of databases: which ones are meant, what may be shown of them, and how they are opened."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import ibis

from warmstart.core.errors import SourceError, UsageError
from warmstart.core.text import first_lines, printable, quoted

if TYPE_CHECKING:
    from ibis.backends import BaseBackend

# A path object leaves one of the two slashes.
URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/{1,2}")
SECRETS = ("password", "passwd", "pwd", "secret", "token", "private_key")
STORAGES = ("file", "hdfs", "s3", "s3a", "gs", "abfs", "abfss", "wasb", "wasbs", "dbfs")
EXTRAS = {"postgres": "warmstart[postgres]"}
OURS = {"duckdb": "Name the DuckDB file itself.", "pyspark": "Pass engine='spark' (--engine spark)."}


def has_scheme(source: Any) -> bool:
    """Tell whether a source is written as a URL, of whatever kind."""
    return isinstance(source, str | Path) and URL.match(str(source)) is not None


def is_url(source: Any) -> bool:
    """Tell whether a source is the URL of a database."""
    return isinstance(source, str) and has_scheme(source) and not is_storage(source)


def is_storage(source: Any) -> bool:
    """Tell whether a source is a file or folder in a storage that clusters read."""
    return isinstance(source, str) and has_scheme(source) and _kind(source) in STORAGES


def _rest(url: str) -> str:
    return URL.sub("", url, count=1)


def without_credentials(url: str) -> str:
    """Return what may be shown of a URL: the kind of database, the server, the database."""
    who, _, rest = _rest(url).rpartition("@")
    # What stands before the @ may also be the name of a container.
    rest = f"{who}@{rest}" if who and ":" not in who and is_storage(url) else rest
    rest = rest.split("?", 1)[0].split("#", 1)[0]
    return printable(f"{_kind(url)}://{rest}")


def check_url(url: str) -> None:
    """Refuse a URL with a password in it: it would stay in the history of a shell, and in the list of processes."""
    rest = _rest(url)
    # A password may hold any character if it was not escaped, so the last @ counts, wherever it is.
    in_front = ":" in rest.rpartition("@")[0]
    asked = parse_qsl(rest.partition("?")[2], keep_blank_values=True)
    if in_front or any(part in name.lower() for name, _ in asked for part in SECRETS):
        raise UsageError(
            "The URL has a password in it.",
            "Leave it out: Postgres takes it from PGPASSWORD or the password file (~/.pgpass), Spark has settings.",
        )
    try:
        urlsplit(url).port  # noqa: B018  it is looked at when it is asked for
    except ValueError:
        # Without the URL: what is in the place of the port may be a password.
        raise UsageError("The URL's port is no number.", "Write postgres://USER@HOST:PORT/DATABASE.") from None


def connect_database(url: str) -> BaseBackend:
    """Connect to the database behind a URL, to read only where it can be told to."""
    check_url(url)
    kind = _kind(url)
    if kind in OURS:
        raise UsageError(f"{quoted(kind)} is not named by a URL.", OURS[kind])
    if kind not in entry_points(group="ibis.backends").names:
        raise UsageError(f"There is no database of the kind {quoted(kind)}.", "Try postgres://USER@HOST/DATABASE.")
    where = without_credentials(url)
    if kind == "sqlite" and not Path(_rest(where)).is_file():
        raise SourceError(f"There is no file {quoted(where)}.")
    try:
        backend = ibis.connect(url)
        if kind == "postgres":
            backend.con.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
    except ImportError as error:
        extra = EXTRAS.get(kind, f"ibis-framework[{kind}]")
        raise UsageError(
            f"Reading from {kind} needs a driver that is not here.", f"Install it with: pip install '{extra}'"
        ) from error
    except Exception as error:  # every database driver has errors of its own
        raise SourceError(
            f"Cannot connect to {where}: {first_lines(error, 2)}",
            "Is the server there, and the password in PGPASSWORD or the password file?" if kind == "postgres" else "",
        ) from error
    return backend


def _kind(url: str) -> str:
    return url.split(":", 1)[0].lower().replace("postgresql", "postgres")
