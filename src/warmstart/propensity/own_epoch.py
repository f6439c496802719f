"""What an event's own epoch says of its propensities, to judge a mixture over epochs by.

Which epoch a context fell into is chance, and most of the noise of a mean weight where every epoch is deterministic.
Given the epoch, the weight w = h(a|x) / pi(a|x) of an event is expected to be ``sum_a h(a|x) * pi_e(a|x) / pi(a|x)``,
whatever the policy h: what differs from that is the imitators' error, and little chance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warmstart.core import ACTION, EVENTS, OWN_EPOCH, PROPENSITY, ROW, SHOWN, to_arrow
from warmstart.propensity.classifier import one_thread
from warmstart.propensity.training import draw

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.propensity.classifier import PropensityModel

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# With more events the mean weight alone tells as much; the largest rows x actions x context columns: 80 MB.
MOST_ROWS, LARGEST = 10_000, 10_000_000


def own_epoch_rows(
    learned: PropensityModel,
    contexts: pa.Table,
    actions: pa.Array | pa.ChunkedArray,
    n: Floats,
    *,
    folds: Ints,
    epochs: Ints,
    seed: int = 0,
) -> pa.Table:
    """Return a sample of events, a row for every action: its propensity in all epochs, and in the event's own.

    Context columns, action, the number of the event's row, its events, whether the action was shown, both propensities.

    Args:
        learned: A mixture over epochs.
        contexts: The context columns, one row per cell, epoch and fold.
        actions: The action of every row.
        n: The events of every row.
        folds: The fold of every row.
        epochs: The epoch of every row, numbered from 0.
        seed: Of the sample.
    """
    import pyarrow as pa

    kinds = len(learned.labels)
    most = max(1, min(MOST_ROWS, LARGEST // (kinds * (contexts.num_columns + 1))))
    rows, weights = draw(n, most, np.random.default_rng([seed, 3]))
    taken, numbers = contexts.take(to_arrow(rows)), learned.labels.numbers(actions)[rows]
    both = np.full((2, len(rows), kinds), np.nan)
    with one_thread():
        for model, among in learned.batches(folds[rows]):
            both[np.ix_(np.arange(2), among, model.fitted.classes)] = model.within_epochs(
                taken.take(to_arrow(among)), epochs[rows[among]]
            )
    each, action = np.divmod(np.arange(len(rows) * kinds), kinds)
    known = np.isfinite(both[0].ravel())
    columns = {name: taken[name].take(to_arrow(each[known])) for name in taken.column_names}
    columns |= {ACTION: learned.labels.values.take(to_arrow(action[known])), ROW: to_arrow(each[known])}
    shown = (numbers[each] == action)[known].astype(np.float64)
    columns |= {EVENTS: to_arrow(weights[each[known]]), SHOWN: to_arrow(shown)}
    columns |= {
        name: to_arrow(values.ravel()[known]) for name, values in zip((PROPENSITY, OWN_EPOCH), both, strict=True)
    }
    return pa.table(columns)
