"""How many examples the fuzzing tests try, what one may take, and text that is nearly of a language."""

import json
import math
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as some

# make attack asks for many; for so many seconds, further ones are tried, and no longer.
EXAMPLES = int(os.environ.get("WARMSTART_EXAMPLES", "8"))
SECONDS = float(os.environ.get("WARMSTART_FUZZ_SECONDS", "inf"))
# A file that gets a line of counts by test.
COUNTS = os.environ.get("WARMSTART_FUZZ_COUNTS")
# Seconds that an example may take, and bytes that a process may hold more after the last quarter of its examples.
HANG, MOST_GROWTH = 60, 50_000_000
ENOUGH_FOR_GROWTH = 400
LIMITED = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)


def fuzzed(test):
    """Let a test of one example try many, each for a limited time, and hold the process to memory that stays."""
    inner, seen = test.hypothesis.inner_test, []
    until = time.monotonic() + SECONDS

    def watched(*arguments, **options):
        if time.monotonic() > until:
            return
        with limited(HANG):
            inner(*arguments, **options)
        seen.append(memory())

    test.hypothesis.inner_test = watched
    attacked = LIMITED(test)

    def attack():
        start = time.monotonic()
        attacked()
        while time.monotonic() < until < math.inf:
            attacked()
        grown = seen[-1] - seen[3 * len(seen) // 4] if len(seen) >= ENOUGH_FOR_GROWTH else 0
        if COUNTS:
            name = os.environ["PYTEST_CURRENT_TEST"].partition("::")[2].partition(" ")[0]
            counts = {"examples": len(seen), "seconds": round(time.monotonic() - start), "MB more": grown / 1e6}
            with Path(COUNTS).open("a", encoding="utf-8") as file:
                file.write(json.dumps({name: counts}) + "\n")
        assert grown <= MOST_GROWTH, f"{len(seen)} examples: {grown:,} bytes more after the last quarter"

    return attack


@contextmanager
def limited(seconds):
    """Fail where a block takes longer, on systems and in threads that can be told to."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_):
        raise AssertionError(f"an example takes more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def memory():
    """Return how many bytes this process holds; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def grammar(*words):
    """Text made of the words of a language and of anything else."""
    piece = some.one_of(
        some.sampled_from(words), some.sampled_from(words), some.text(max_size=4), some.floats().map(str)
    )
    return some.lists(piece, max_size=12).map("".join)
