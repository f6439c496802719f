"""What people look at: the terminal."""

from warmstart.report.progress import Share, Working
from warmstart.report.terminal import show

__all__ = ["Share", "Working", "show"]
