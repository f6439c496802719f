"""What people look at: the terminal."""

from warmstart.report.progress import Working
from warmstart.report.terminal import show

__all__ = ["Working", "show"]
