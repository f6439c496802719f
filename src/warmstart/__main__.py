"""``python -m warmstart``."""

from warmstart.cli import main

if __name__ == "__main__":
    main()
