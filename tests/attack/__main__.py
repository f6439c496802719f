"""Attack the commands that write: ``python -m tests.attack [--times N] [--seed N] [COMMAND ...]`` (``make attack``)."""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.attack.kills import attack
from tests.attack.workplace import COMMANDS, build


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.attack")
    parser.add_argument("commands", nargs="*", default=list(COMMANDS), metavar="COMMAND", help=", ".join(COMMANDS))
    parser.add_argument("--times", type=int, default=10, help="random moments for each signal and command")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with TemporaryDirectory() as place:
        inputs, out = Path(place, "inputs"), Path(place, "out")
        inputs.mkdir()
        build(inputs)
        for name in options.commands:
            counts = attack(inputs, out, [name], options.times, options.seed)
            codes = ", ".join(f"{code}: {n}" for (_, code), n in sorted(counts.items(), key=lambda item: item[0][1]))
            sys.stdout.write(f"{name}: {sum(counts.values())} attacks, exit codes {codes}; every output whole\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
