"""What cannot fit into memory is refused before it is allocated."""

import subprocess
import sys

import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.core import memory


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A system with 8 GB free, in a container of 5 of which 3 are used."""
    (tmp_path / "meminfo").write_text("MemTotal:       16000000 kB\nMemAvailable:    7812500 kB\n")
    (tmp_path / "memory.max").write_text("5000000000\n")
    (tmp_path / "memory.current").write_text("3000000000\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    monkeypatch.setattr(memory, "_of_limit", lambda: None)
    return tmp_path


def test_the_least_of_machine_and_container_is_free(system):
    assert memory.free_memory() == 2_000_000_000
    (system / "memory.max").write_text("max\n")
    assert memory.free_memory() == 8_000_000_000
    (system / "meminfo").write_text("nothing known\n")
    assert memory.free_memory() is None
    memory.check_memory(10**18, "Weights", "")


def test_more_than_is_free_is_refused_with_both_sizes(system):
    memory.check_memory(1_900_000_000, "Weights", "")
    with pytest.raises(ws.EngineError, match=r"Weights take 2\.1 GB of memory, and 2\.0 GB are free\.") as refused:
        memory.check_memory(2_100_000_000, "Weights", "Take fewer.")
    assert refused.value.hint == "Take fewer."


def test_fit_refuses_weights_that_do_not_fit(monkeypatch):
    log = pa.table({"x": ["p", "q"] * 40, "a": ["a", "b", "b", "a"] * 20, "r": [0, 1] * 40})
    events = ws.read_events(log, context="x", action="a", reward="r")
    monkeypatch.setattr(memory, "free_memory", lambda: 10_000_000)
    with pytest.raises(ws.EngineError, match=r"The weights of 1 learning rate take 0\.1 GB .*free"):
        ws.fit(events)


def test_an_address_space_too_small_for_numeric_libraries_is_refused_at_once(tmp_path):
    """OpenBLAS would ask for its buffers for ever."""

    def limit():
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000))

    done = subprocess.run(
        [sys.executable, "-m", "warmstart", "audit", "log.parquet", "--context", "a", "--action", "b", "--reward", "c"],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: The address space is limited to 2.0 GB, and 3 GB are needed. (WS402)\n")


def test_a_thread_that_cannot_be_started_is_want_of_memory():
    assert memory.is_exhausted(RuntimeError("can't start new thread"))
    unknown = "Unknown error: Failed to launch worker thread: Resource temporarily unavailable"
    assert memory.is_exhausted(pa.ArrowException(unknown))
    assert not memory.is_exhausted(RuntimeError("something else"))
    assert not memory.is_exhausted(ws.SourceError("can't start new thread"))
