"""``python -m warmstart``."""

from warmstart.cli import program

if __name__ == "__main__":
    program()
