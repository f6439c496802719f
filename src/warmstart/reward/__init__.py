"""What an action is expected to earn in a context: models learned from the cells, or the events, of a window."""

from warmstart.reward.by_cell import CellMeans, open_cell_means
from warmstart.reward.examples import Examples, Numbering
from warmstart.reward.learner import CELL_PASSES, CELLS_TO_CHOOSE_WITH, Learned, Learner, event_stream, ranked
from warmstart.reward.product import ProductModel
from warmstart.reward.settings import FitSettings

__all__ = [
    "CELLS_TO_CHOOSE_WITH",
    "CELL_PASSES",
    "CellMeans",
    "Examples",
    "FitSettings",
    "Learned",
    "Learner",
    "Numbering",
    "ProductModel",
    "event_stream",
    "open_cell_means",
    "ranked",
]
