"""Worlds whose truth is known."""

from warmstart.worlds.ad_files import simulate
from warmstart.worlds.ad_settings import SCALES, AdSettings
from warmstart.worlds.ad_world import AdWorld
from warmstart.worlds.table_world import TableWorld

__all__ = ["SCALES", "AdSettings", "AdWorld", "TableWorld", "simulate"]
