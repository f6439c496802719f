"""A Spark cluster on this machine, from the pyspark package: a master and workers as separate processes.

Starts it, runs a command in which MASTER stands for its address, stops it:

    python scripts/spark_cluster.py --workers 2 -- \
        warmstart evaluate log.parquet --context page --action ad --reward click --policy uniform --engine MASTER
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

HOST = "127.0.0.1"
PATIENCE_SECONDS = 60.0


class Cluster:
    """A master and workers, each a process group of its own, so that one can be killed with all it runs."""

    def __init__(self, workers: int = 2, *, cores: int = 1, memory: str = "1g") -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="spark-cluster-", ignore_cleanup_errors=True)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._size = (workers, cores, memory)
        self.master = ""

    @property
    def environment(self) -> dict[str, str]:
        """Return what a driver's environment needs beside its own: this machine's Python, and its own address."""
        return {**os.environ, "SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable}

    def __enter__(self) -> Self:
        try:
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _begin(self) -> None:
        workers, cores, memory = self._size
        log = self._start("master", "org.apache.spark.deploy.master.Master", "--host", HOST, "--port", "0")
        self.master = self._wait(log, r"Starting Spark master at (spark://\S+)")
        size = ("--cores", str(cores), "--memory", memory, "--work-dir", self._folder.name)
        for number in range(workers):
            log = self._start(
                f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *size, "--host", HOST, self.master
            )
            self._wait(log, "Successfully registered with (master)")

    def __exit__(self, *_: object) -> None:
        for number in reversed(range(len(self._processes))):
            self._kill(number)
        self._folder.cleanup()

    def kill_worker(self, number: int) -> None:
        """Kill a worker and its executors, without a warning."""
        self._kill(number + 1)

    def _kill(self, number: int) -> None:
        process = self._processes[number]
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _start(self, name: str, *command: str) -> Path:
        import pyspark

        home = Path(pyspark.__file__).parent
        log = Path(self._folder.name) / f"{name}.log"
        settings = {
            "SPARK_HOME": str(home),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_DIRS": self._folder.name,
        }
        with log.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603  a program of the package
                [home / "bin" / "spark-class", *command, "--webui-port", "0"],
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**self.environment, **settings},
                start_new_session=True,
            )
        self._processes.append(process)
        return log

    def _wait(self, log: Path, pattern: str) -> str:
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            if found := re.search(pattern, log.read_text(errors="replace")):
                return found[1]
            if self._processes[-1].poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"The cluster did not start:\n{log.read_text(errors='replace')}")


def main() -> int:
    """Start a cluster, run the command, stop the cluster; return what the command returned."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="how many workers (2)")
    parser.add_argument("--cores", type=int, default=1, metavar="N", help="cores of each (1)")
    parser.add_argument("--memory", default="1g", metavar="SIZE", help="memory of each (1g)")
    parser.add_argument("command", nargs="+", help="after --: the command to run; MASTER in it is the address")
    asked = parser.parse_args()
    with Cluster(asked.workers, cores=asked.cores, memory=asked.memory) as cluster:
        command = [cluster.master if word == "MASTER" else word for word in asked.command]
        return subprocess.run(command, env=cluster.environment, check=False).returncode  # noqa: S603  the user's own


if __name__ == "__main__":
    sys.exit(main())
