"""Simulated logs with known truth: the exact value of any policy."""

from warmstart.simulation.ad_files import simulate
from warmstart.simulation.ad_settings import SCALES, AdSettings
from warmstart.simulation.ad_world import AdWorld
from warmstart.simulation.learners import LearnerSettings
from warmstart.simulation.table_world import TableWorld
from warmstart.simulation.users import UserSettings

__all__ = ["SCALES", "AdSettings", "AdWorld", "LearnerSettings", "TableWorld", "UserSettings", "simulate"]
