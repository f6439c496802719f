"""How much memory this process may still take, so that what cannot fit is refused before it is allocated."""

from __future__ import annotations

import sys
from pathlib import Path

from warmstart.core.errors import EngineError, WarmstartError

# What Python and Arrow say of a thread that could not be started.
NO_THREAD = ("can't start new thread", "launch worker thread")
# Below this address space, in bytes, OpenBLAS asks for its buffers again and again, and what draws charts aborts.
LEAST = 3_000_000_000
MEMINFO, CGROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def check_memory(needed: int, what: str, hint: str) -> None:
    """Refuse to allocate more bytes than are free; where the system does not say, nothing is refused.

    Systems hand out memory that they do not have, and later end a process that uses it.
    """
    free = free_memory()
    if free is not None and needed > free:
        raise EngineError(f"{what} take {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free.", hint)


def check_address_space() -> None:
    """Refuse an address space in which numeric libraries would wait for memory for ever."""
    limit = _address_space()
    if limit is not None and limit < LEAST:
        raise EngineError(
            f"The address space is limited to {limit / 1e9:.1f} GB, and {LEAST / 1e9:.0f} GB are needed.",
            "Raise it (ulimit -v); --memory-limit limits what is really used.",
        )


def is_exhausted(error: Exception) -> bool:
    """Tell whether an error says that no thread could be started, for want of memory or of a limit."""
    return not isinstance(error, WarmstartError) and any(words in str(error) for words in NO_THREAD)


def free_memory() -> int | None:
    """Return how many bytes are free: of the machine, of the container, and of a limit of the address space."""
    return min((free for free in (_of_machine(), _of_container(), _of_limit()) if free is not None), default=None)


def peak_gigabytes() -> float | None:
    """Return the most memory that this process has used; None on systems that do not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    # macOS counts bytes, other systems kilobytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 ** (3 if sys.platform == "darwin" else 2)


def _of_machine() -> int | None:
    try:
        fields = dict(line.split(":", 1) for line in MEMINFO.read_text().splitlines() if ":" in line)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, ValueError, KeyError, IndexError):
        return None


def _of_container() -> int | None:
    try:
        return int((CGROUP / "memory.max").read_text()) - int((CGROUP / "memory.current").read_text())
    except (OSError, ValueError):  # no limit is written as "max"
        return None


def _of_limit() -> int | None:
    limit = _address_space()
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return None if limit is None else limit - pages * resource.getpagesize()
    except (ImportError, OSError, ValueError, IndexError):
        return None


def _address_space() -> int | None:
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError, ValueError):
        return None
    return None if limit == resource.RLIM_INFINITY else limit
