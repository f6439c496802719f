"""What models that are learned fold by fold share: labels by name, the other folds, scikit-learn where it is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warmstart.core.arrays import to_numpy, without_minus_zero
from warmstart.core.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Labels:
    """The distinct actions of a log, in order; their positions are the classes of models."""

    values: pa.Array

    @classmethod
    def of(cls, actions: pa.Array | pa.ChunkedArray) -> Self:
        """Collect the distinct actions."""
        import pyarrow.compute as pc

        distinct = pc.unique(plain(actions))
        return cls(distinct.take(pc.sort_indices(distinct)))

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self, actions: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
        """Return the positions of actions; -1 for one that is not known."""
        return positions(plain(actions), self.values)


def other_folds(n: NDArray[np.float64], folds: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Give every fold the rows with events of the others: what its model may learn from."""
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


def weighted_copy(model: Any, seed: int) -> Any:
    """Copy an unfitted model whose ``fit`` takes ``sample_weight``; give it the seed if it has none."""
    if not scikit_learn("utils.validation").has_fit_parameter(model, "sample_weight"):
        raise UsageError(
            f"{type(model).__name__}.fit takes no sample_weight, but a row weighs as many events as it has.",
            "Pass a model that takes it.",
        )
    copy = scikit_learn("base").clone(model)
    if copy.get_params().get("random_state", seed) is None:
        copy.set_params(random_state=seed)
    return copy


def plain(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Put a column into one piece, without a dictionary or views, which few functions of Arrow know, or -0.0."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    plain = whole.dictionary_decode() if types.is_dictionary(whole.type) else whole
    return without_minus_zero(pc.cast(plain, "string") if types.is_string_view(plain.type) else plain)


def positions(column: pa.Array, values: pa.Array) -> NDArray[np.int64]:
    """Return where values stand in a list of them; -1 for one that does not."""
    import pyarrow.compute as pc

    cast = column if column.type == values.type else pc.cast(column, values.type)
    positions: NDArray[np.int64] = to_numpy(pc.index_in(cast, value_set=values), null=-1).astype(np.int64)
    return positions
