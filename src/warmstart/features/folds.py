"""Cross-fitting: the rows that every fold's model may learn from, and clones of scikit-learn models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.core import UsageError, WarmstartError

MANY_ROWS = 100_000


def other_folds(n: NDArray[np.float64], folds: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield every fold with the rows that its model may learn from: those of other folds that have events."""
    for fold in np.unique(folds):
        rows = np.flatnonzero((folds != fold) & (n > 0))
        if not len(rows):
            raise UsageError(f"Fold {fold} has all events: no others are left to learn from.", "Use two folds or more.")
        yield int(fold), rows


def scikit_learn(module: str) -> Any:
    """Import a module of scikit-learn, which is an extra."""
    try:
        return import_module(f"sklearn.{module}")
    except ImportError as error:
        raise UsageError("This needs scikit-learn.", "pip install 'warmstart[models]'") from error


def regressor_copy(model: Any, seed: int) -> Any:
    """Clone a scikit-learn regressor, unfitted, as ``weighted_copy`` does; a classifier is refused.

    It learns from mean rewards: a classifier refuses means, or predicts classes where expected rewards are needed.
    """
    if hasattr(model, "predict_proba") or hasattr(model, "decision_function"):
        raise UsageError(
            f"{type(model).__name__} is a classifier, and a reward model predicts mean rewards, from 0 to 1.",
            "Pass a regressor: fit(X, y, sample_weight=...) and predict(X).",
        )
    return weighted_copy(model, seed)


def few_threads(rows: int, threads: int | None) -> AbstractContextManager[Any]:
    """Limit the threads of scikit-learn and NumPy: one for few rows, else ``threads`` (None: as many as they take).

    For few rows threads cost more time than they save, and many times that on a busy machine.
    """
    scikit_learn("base")
    limits: AbstractContextManager[Any] = import_module("threadpoolctl").threadpool_limits(
        threads if rows >= MANY_ROWS else 1
    )
    return limits


def weighted_copy(model: Any, seed: int) -> Any:
    """Clone a scikit-learn model, unfitted, whose ``fit`` takes ``sample_weight``; seed it if it has no seed."""
    if not scikit_learn("utils.validation").has_fit_parameter(model, "sample_weight"):
        raise UsageError(
            f"{type(model).__name__}.fit takes no sample_weight, but a row weighs as many events as it has.",
            "Pass a model that takes it.",
        )
    # What only looks like a model of scikit-learn is copied as it is.
    copy = scikit_learn("base").clone(model, safe=False)
    if getattr(copy, "random_state", seed) is None:
        copy.random_state = seed
    return copy


@contextmanager
def users_model(model: Any) -> Iterator[None]:
    """Raise what a user's model raises while it fits or predicts as an error that names the model, with a hint."""
    try:
        yield
    except (WarmstartError, MemoryError):
        raise
    except Exception as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        hint = "It is used as models of scikit-learn are: try fit(X, y, sample_weight=...) on rows of your own."
        if "sparse" in str(error).lower():
            hint = (
                "Pass a model that takes sparse matrices, such as Ridge or RandomForestRegressor; "
                "gradient-boosted trees on dense features are model='trees' (--model trees) of fit."
            )
        raise UsageError(f"{type(model).__name__} failed: {said[0].rstrip('.')}.", hint) from error
