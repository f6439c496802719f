"""What people look at: the terminal."""

from warmstart.report.page import save_report
from warmstart.report.progress import Share, Working
from warmstart.report.terminal import show

__all__ = ["Share", "Working", "save_report", "show"]
