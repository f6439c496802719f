"""Kill, limit and interrupt commands that write, and check what they leave: ``python -m tests.attack --times 50``.

At any time every output is as it was before, or whole, or absent where it was absent; no input changes; and once the
command has run to its end, no temporary file is left.
"""

import math
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

from tests.attack.workplace import check_whole, clear, command_of, contents, outputs_of, temporaries

KILLED, INTERRUPTED = -signal.SIGKILL, 130
# A signal came while Python itself started: it ends in Python's way.
UNBORN = (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP)
BROKEN = "broken"
# Larger than the files that commands begin with, smaller than what they end with.
SIZES = (500, 2_000, 20_000, 100_000)
# How many times as many random moments, and as much time, a command gets as the others: a policy has the most files.
WEIGHTS = {"fit": 4}
# With outputs of an earlier run it has nothing left to write.
ANEW = ("monitor",)


def run(inputs, words, *, fate=(), signal_after=None):
    """Run a command; return its exit code, how long it took and what it wrote on stderr."""
    fate = ("none", 0) if words[0] == "demo" and not fate else fate
    module = ("tests.attack.fate", *map(str, fate)) if fate else ("warmstart",)
    here = os.pathsep.join([os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])])  # noqa: PTH109
    start = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", *module, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=inputs,
        env={**os.environ, "PYTHONPATH": here},
    ) as process:
        if signal_after is not None:
            number, seconds = signal_after
            time.sleep(seconds)
            process.send_signal(number)
        _, said = process.communicate(timeout=300)
    return process.returncode, time.monotonic() - start, said


def replaces(name, out):
    """Tell whether a command replaces outputs of an earlier run: files, and the folder of a demo."""
    return name == "demo" or not any(path.is_dir() for path in outputs_of(name, out))


def attack_one(inputs, out, name, earlier, **fate):
    """Let a command meet its fate, check what it left, then let it run to its end; return what came of it.

    ``earlier``: outputs of an earlier run are there, and are to be replaced.
    """
    clear(out)
    words = command_of(name, out)
    if earlier:
        assert run(inputs, words)[0] == 0
    before, given = contents(out), contents(inputs)
    code, _, said = run(inputs, words, **fate)
    assert contents(inputs) == given, f"{name} changed an input"
    assert code in UNBORN or "Traceback" not in said, said
    assert code in (0, 1, 2, INTERRUPTED, KILLED, *UNBORN), (code, said)
    assert code not in UNBORN or contents(out) == before, f"{name} had written something"
    for path in outputs_of(name, out):
        if path.exists():
            check_whole(path)
        else:
            assert not any(file.split("/")[0] == path.name for file in before), f"{path.name} is lost"
    if code != KILLED:
        assert not temporaries(out), temporaries(out)
    if code == INTERRUPTED:
        assert said.splitlines()[-1] == "interrupted"
    if not earlier or replaces(name, out):
        # A folder that was written whole is not replaced: the next run says so.
        done = not replaces(name, out)
        again, _, said = run(inputs, words)
        assert done or again == 0, said
        assert not temporaries(out) or done, temporaries(out)
    return code


def attack(inputs, out, names, times, seed=0, until=math.inf):
    """Attack commands at every rename and at random moments, in every way; return how often which exit code came.

    What fails a check is printed and counted as broken. ``until``: a moment of the monotonic clock after which no
    further attack begins; the ways come in random order then.
    """
    chance, counts = random.Random(seed), Counter()
    for name in names:
        clear(out)
        _, seconds, _ = run(inputs, command_of(name, out))
        # What ends a demo earlier comes while this module, not the command, reads the simulation.
        folder_stays = not replaces(name, out)
        first = 0.3 * seconds if name == "demo" else 0.0
        fates = [{"fate": (moment, number)} for moment in ("before", "after") for number in (1, 2, 3)]
        fates += [{"fate": ("size", size)} for size in SIZES]
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            moments = times * WEIGHTS.get(name, 1)
            fates += [{"signal_after": (number, chance.uniform(first, 1.1 * seconds))} for _ in range(moments)]
        if until < math.inf:
            chance.shuffle(fates)
        for fate in fates:
            if time.monotonic() > until:
                break
            earlier = chance.random() < 0.5 and not folder_stays and name not in ANEW
            try:
                code = attack_one(inputs, out, name, earlier, **fate)
            except AssertionError as error:
                code = BROKEN
                sys.stdout.write(f"BROKEN: {name}, {fate}, earlier={earlier}: {error}\n")
            counts[name, code] += 1
    return counts
