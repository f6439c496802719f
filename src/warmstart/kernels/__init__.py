"""Arrays in, arrays out: the loops that no library does well. The only room with Numba: import it in functions."""

from warmstart.kernels.product import LOGISTIC, SQUARED, best_of_all, predict, step_size, train
from warmstart.kernels.sweep import daily_shares

__all__ = ["LOGISTIC", "SQUARED", "best_of_all", "daily_shares", "predict", "step_size", "train"]
