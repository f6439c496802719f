"""Exit codes of the command line that no error carries."""

INTERRUPTED = 130
