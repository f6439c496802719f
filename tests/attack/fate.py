"""Run a command to a chosen fate: ``python -m tests.attack.fate before|after|size|memory N COMMAND...``.

``before`` and ``after``: killed at its Nth rename, by SIGKILL, which leaves no time to clean up; without so many it
runs to its end. ``size``: no file may become larger than N bytes, as on a full disk. ``memory``: no more address
space than N bytes. ``none``: nothing happens. The
month of ``demo`` is a small one.
"""

import os
import resource
import signal
import sys


def main():
    moment, number, *words = sys.argv[1:]
    sys.argv[:] = ["warmstart", *words]
    renames = 0
    if moment == "size":
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(number), int(number)))
    elif moment == "memory":
        resource.setrlimit(resource.RLIMIT_AS, (int(number), int(number)))

    def watched(rename):
        def renamed(*arguments, **options):
            nonlocal renames
            renames += 1
            if renames == int(number) and moment == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = rename(*arguments, **options)
            if renames == int(number) and moment == "after":
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return renamed

    # What pathlib calls too.
    os.rename, os.replace = watched(os.rename), watched(os.replace)
    if words[0] == "demo":
        from warmstart.simulation import ad_settings

        ad_settings.SCALES = {"small": {"events": 20_000, "n_contexts": 300, "n_actions": 150}}
    from warmstart.cli import program

    program()


if __name__ == "__main__":
    main()
