"""What an action is expected to earn in a context: models learned from the cells, or the events, of a window."""

from warmstart.reward.by_cell import learn_by_cell
from warmstart.reward.examples import Examples, Numbering
from warmstart.reward.learner import CELL_PASSES, Learned, Learner, event_stream, first_of_contexts
from warmstart.reward.product import ProductModel
from warmstart.reward.settings import FitSettings

__all__ = [
    "CELL_PASSES",
    "Examples",
    "FitSettings",
    "Learned",
    "Learner",
    "Numbering",
    "ProductModel",
    "event_stream",
    "first_of_contexts",
    "learn_by_cell",
]
