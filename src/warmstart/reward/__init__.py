"""Reward models: the expected reward of an action in a context, learned from the cells or the events of a window."""

from warmstart.reward.by_action import Regressions
from warmstart.reward.by_cell import CellMeans, open_cell_means
from warmstart.reward.distributed_part import NUMBER, BroadcastFeatures
from warmstart.reward.distributed_sgd import DistributedLearner, partition_count
from warmstart.reward.examples import SUMS, Examples
from warmstart.reward.learner import (
    CELL_PASSES,
    CELLS_TO_CHOOSE_WITH,
    LearnedRewards,
    Learner,
    event_stream,
    rank_feasible,
)
from warmstart.reward.product import ProductModel, Stream
from warmstart.reward.settings import FitSettings

__all__ = [
    "CELLS_TO_CHOOSE_WITH",
    "CELL_PASSES",
    "NUMBER",
    "SUMS",
    "BroadcastFeatures",
    "CellMeans",
    "DistributedLearner",
    "Examples",
    "FitSettings",
    "LearnedRewards",
    "Learner",
    "ProductModel",
    "Regressions",
    "Stream",
    "event_stream",
    "open_cell_means",
    "partition_count",
    "rank_feasible",
]
