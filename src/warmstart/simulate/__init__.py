"""Worlds whose truth is known."""

from warmstart.simulate.table_world import TableWorld

__all__ = ["TableWorld"]
