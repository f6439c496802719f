"""Where to explore first: contexts with much traffic and a single action."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis

from warmstart.auditing.power import smallest_gain
from warmstart.core.names import ACTION
from warmstart.results import Experiment, ExploreFirst

if TYPE_CHECKING:
    from warmstart.events import Cells

SHARES = (0.01, 0.05, 0.10)


def explore_first(cells: Cells, *, most: int = 1000) -> ExploreFirst:
    """List the busiest contexts with one action, and say what giving some of their traffic to another would prove."""
    table, columns = cells.table, cells.columns
    alone = table.filter(table.context_actions == 1)
    found = cells.engine.fetch(
        alone.agg(
            contexts=alone.count(),
            n=alone.n.sum().coalesce(0.0),
            rewards=alone.reward_sum.sum().coalesce(0.0),
            squares=alone.reward_sq_sum.sum().coalesce(0.0),
        )
    )[0]
    busiest = alone.order_by(ibis.desc("n"), *columns.keys).limit(most)
    low, high = cells.evaluated.log.reward_range
    events = cells.evaluated.window.events
    rows = tuple(
        (
            *(row[key] for key in columns.keys),
            round(row["n"]),
            row["n"] / events,
            low + (high - low) * row["reward_sum"] / row["n"],
        )
        for row in cells.engine.fetch(busiest.select(*columns.keys, "n", "reward_sum"))
    )
    experiments = []
    for share in SHARES:
        gain = smallest_gain(found["squares"] * (1 / share - 1), found["rewards"], (low, high), found["n"])
        experiments.append(Experiment(share, round(share * found["n"]), gain))
    given = columns.fixed_to_given
    return ExploreFirst(
        contexts=found["contexts"],
        traffic=found["n"] / events,
        columns=(*(given[key] for key in (*columns.context_keys, ACTION)), "events", "traffic", "reward"),
        rows=rows,
        experiments=tuple(experiments),
    )
