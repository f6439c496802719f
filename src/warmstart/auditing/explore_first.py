"""Where to explore first: contexts with the most traffic among those with a single action."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis

from warmstart.auditing.power import smallest_gain
from warmstart.core import ACTION
from warmstart.events import free_texts, without_texts
from warmstart.results import Experiment, ExploreFirst

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from warmstart.events import Cells

SHARES = (0.01, 0.05, 0.10)


def explore_first(cells: Cells, *, most: int = 1000, name_texts: bool = False) -> ExploreFirst:
    """Return the busiest contexts with one action, and the smallest gain that an experiment on them could detect.

    Contexts that are free text, such as prompts, are numbered, and only named with ``name_texts``, and in ``named``.
    """
    table, columns = cells.table, cells.columns
    single = table.filter(table.context_actions == 1)
    sums = single.agg(
        contexts=single.count(),
        n=single.n.sum().coalesce(0.0),
        rewards=single.reward_sum.sum().coalesce(0.0),
    )
    totals = cells.engine.fetch(sums)[0]
    busiest = single.order_by(ibis.desc("n"), *columns.keys).limit(most)
    low, high = cells.evaluated.log.reward_range
    events = cells.evaluated.window.events
    result = cells.engine.fetch(busiest.select(*columns.keys, "n", "reward_sum"))
    hidden = {} if name_texts else free_texts(cells.engine, cells.contexts, columns.context_keys, events)

    def shown(some: Sequence[Mapping[str, Any]]) -> tuple[tuple[Any, ...], ...]:
        return tuple(
            (
                *(row[key] for key in columns.keys),
                round(row["n"]),
                row["n"] / events,
                low + (high - low) * row["reward_sum"] / row["n"],
            )
            for row in some
        )

    experiments, rewards, alone = [], totals["rewards"], totals["n"]
    variance = rewards * (1 - rewards / alone) if alone else 0.0
    for share in SHARES:
        gain = smallest_gain(variance * (1 / share - 1), rewards, (low, high), alone)
        experiments.append(Experiment(share, round(share * totals["n"]), gain))
    given = columns.fixed_to_given
    names = (*(given[key] for key in (*columns.context_keys, ACTION)), "events", "traffic", "reward")
    return ExploreFirst(
        contexts=totals["contexts"],
        traffic=totals["n"] / events,
        columns=names,
        rows=shown(without_texts(result, hidden)),
        experiments=tuple(experiments),
        named=shown(result) if hidden else (),
    )
