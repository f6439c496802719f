"""Database URLs: recognise them, hide credentials, connect read-only."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

import ibis

from warmstart.core import SourceError, UsageError, first_lines, printable, quoted

if TYPE_CHECKING:
    from ibis.backends import BaseBackend

# pathlib.Path collapses the two slashes into one.
URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/{1,2}")
SECRETS = ("password", "passwd", "pwd", "secret", "token", "private_key")
STORAGES = ("file", "hdfs", "s3", "s3a", "gs", "abfs", "abfss", "wasb", "wasbs", "dbfs")
NO_URL = {"duckdb": "Name the DuckDB file itself.", "pyspark": "Pass engine='spark' (--engine spark)."}


def has_scheme(source: Any) -> bool:
    """Return whether a source is written as a URL of any kind."""
    return isinstance(source, str | Path) and URL.match(str(source)) is not None


def is_url(source: Any) -> bool:
    """Return whether a source is the URL of a database."""
    return isinstance(source, str) and has_scheme(source) and not is_storage(source)


def is_storage(source: Any) -> bool:
    """Return whether a source is a file or folder in cluster storage (HDFS, S3, ...), which only Spark reads."""
    return isinstance(source, str) and has_scheme(source) and _kind(source) in STORAGES


def _rest(url: str) -> str:
    return URL.sub("", url, count=1)


def without_credentials(url: str) -> str:
    """Return a URL without user and password, for messages: kind, server, database."""
    user, _, rest = _rest(url).rpartition("@")
    # In cluster storage, the part before the @ may be the name of a container.
    rest = f"{user}@{rest}" if user and ":" not in user and is_storage(url) else rest
    rest = rest.split("?", 1)[0].split("#", 1)[0]
    return printable(f"{_kind(url)}://{rest}")


def check_url(url: str) -> None:
    """Refuse a URL that contains a password: it would show in the shell's history and in the list of processes."""
    rest = _rest(url)
    # An unescaped password may contain any character, so the last @ counts.
    has_password = ":" in unquote(rest.rpartition("@")[0])
    parameters = parse_qsl(rest.partition("?")[2], keep_blank_values=True)
    if has_password or any(part in name.lower() for name, _ in parameters for part in SECRETS):
        raise UsageError(
            "The URL has a password in it.",
            "Leave it out: Postgres takes it from PGPASSWORD or the password file (~/.pgpass), Spark has settings.",
        )
    try:
        urlsplit(url).port  # noqa: B018  parsed on access
    except ValueError:
        # Do not show the URL: a password may be in the place of the port.
        raise UsageError("The URL's port is no number.", "Write postgres://USER@HOST:PORT/DATABASE.") from None


def connect_database(url: str) -> BaseBackend:
    """Return a connection to the database behind a URL; a read-only one on Postgres."""
    check_url(url)
    kind = _kind(url)
    if kind in NO_URL:
        raise UsageError(f"{quoted(kind)} is not named by a URL.", NO_URL[kind])
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
        extra = "warmstart[postgres]" if kind == "postgres" else f"ibis-framework[{kind}]"
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
