"""What people look at: the terminal."""

from warmstart.report.page import save_report
from warmstart.report.plot import plot
from warmstart.report.progress import ProgressDisplay
from warmstart.report.terminal import show

__all__ = ["ProgressDisplay", "plot", "save_report", "show"]
