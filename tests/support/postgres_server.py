"""A private Postgres server, in a temporary folder, for as long as the tests run."""

import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

DEBIAN = "/usr/lib/postgresql/*/bin"
READER, PASSWORD = "reader", "s3cret-Zug:@/%41"


@dataclass(frozen=True)
class Server:
    folder: Path
    port: int

    def url(self, user=READER, database="postgres"):
        return f"postgres://{user}@127.0.0.1:{self.port}/{database}"

    def admin(self):
        """Connect as the superuser, who needs no password on the socket."""
        import psycopg

        return psycopg.connect(host=str(self.folder), port=self.port, user="admin", dbname="postgres", autocommit=True)


def programs():
    """Return the folder of the server's programs, if it is installed."""
    found = shutil.which("initdb")
    folders = [str(Path(found).resolve().parent)] if found else sorted(glob.glob(DEBIAN))
    return Path(folders[-1]) if folders and (Path(folders[-1]) / "postgres").exists() else None


@contextmanager
def running_server():
    """Start a server on a free port; the superuser comes by the socket alone, everybody else with a password."""
    folder = Path(tempfile.mkdtemp(prefix="warmstart-postgres-"))
    # The server refuses to run as root.
    user = _another_user() if os.geteuid() == 0 else None
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    identity = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    data, log = folder / "data", folder / "log"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = {"stdin": subprocess.DEVNULL, "cwd": folder, **identity}
    words = [
        "-U",
        "admin",
        "-E",
        "UTF8",
        "--locale=C.UTF-8",
        "--no-sync",
        "--auth-local=trust",
        "--auth-host=scram-sha-256",
    ]
    made = subprocess.run(
        [programs() / "initdb", *words, "-D", data],
        capture_output=True,
        check=False,
        **quiet,
    )
    assert made.returncode == 0, made.stderr.decode()
    settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": folder, "fsync": "off"}
    settings["shared_preload_libraries"] = "pg_stat_statements"
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with log.open("wb") as written:
        server = subprocess.Popen(
            [programs() / "postgres", "-D", data, "-p", str(port), *options], stdout=written, stderr=written, **quiet
        )
    try:
        yield _answering(Server(folder, port), server, log)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


def _another_user():
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise AssertionError("no user to run Postgres as")


def _answering(server, process, log):
    import psycopg

    for _ in range(300):
        try:
            server.admin().close()
        except psycopg.OperationalError:
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        else:
            return server
    raise AssertionError(f"Postgres does not answer: {log.read_text()}")


@contextmanager
def server_with_reader():
    """Start a server that a reader may connect to; the password is in the environment meanwhile."""
    before = os.environ.get("PGPASSWORD")
    os.environ["PGPASSWORD"] = PASSWORD
    try:
        with running_server() as server:
            with server.admin() as admin:
                admin.execute(f"CREATE ROLE {READER} LOGIN PASSWORD '{PASSWORD}'")
            yield server
    finally:
        os.environ.pop("PGPASSWORD")
        if before is not None:
            os.environ["PGPASSWORD"] = before
