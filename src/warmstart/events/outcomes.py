"""One outcome in the place of the reward: views of windows and of sums, so that all that values rewards values it.

Sums of the k-th outcome have names that end in ``_of_k``. An outcome that is null in some events has its own counts
there too, ``n_of_k``: the events in which it is known, whose sums the others hold. It can be looked at in three ways:
``known``, only these events; ``low`` and ``high``, all events, with the low or the high end of the range for a null.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from warmstart.core import REWARD, UsageError, quoted

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.core import Outcome
    from warmstart.events.log_table import LogTable
    from warmstart.events.window import Events

Fill = Literal["known", "low", "high"]
# A column of views for bounds: what rewards are more where a coefficient is negative, for the worst end of the range.
IF_NEGATIVE = "if_negative"
OF = "_of_"
# What a view takes from counts: the sums of rewards, and the events that they are over.
COUNT_OF = {
    "reward_sum": "n",
    "reward_sq_sum": "n",
    "context_reward_sum": "context_n",
    "context_reward_sq_sum": "context_n",
    "context_reward_sum_train": "context_n_train",
}


def of(name: str, k: int) -> str:
    """Return the name of a column of sums for the k-th outcome; the reward, the first, has the plain one."""
    return f"{name}{OF}{k}" if k else name


def with_outcomes(table: ir.Table, names: Iterable[str]) -> list[str]:
    """Return those of the names, for every outcome, that are columns of a table."""
    wanted = set(names)
    return [name for name in table.columns if name.partition(OF)[0] in wanted]


def first_outcome(table: ir.Table) -> ir.Table:
    """Return sums of the first outcome alone."""
    return table.drop(*(name for name in table.columns if OF in name))


def outcome_view(table: ir.Table, k: int, fill: Fill = "known") -> ir.Table:
    """Return sums with the k-th outcome in the place of the reward."""
    if not k:
        return table
    ending = f"{OF}{k}"
    own = {name.removesuffix(ending): table[name] for name in table.columns if name.endswith(ending)}
    if fill != "known":
        unknown = {name: table[count] - own[count] for name, count in COUNT_OF.items() if name in own and count in own}
        own = {name: value for name, value in own.items() if name in COUNT_OF}
        if fill == "high":
            own |= {name: own[name] + more for name, more in unknown.items()}
        sign = 1.0 if fill == "low" else -1.0
        shifts = {IF_NEGATIVE: "reward_sum", f"context_{IF_NEGATIVE}": "context_reward_sum"}
        own |= {name: sign * unknown[of_sum] for name, of_sum in shifts.items() if of_sum in unknown}
    return table.select(*(name for name in table.columns if OF not in name and name not in own), **own)


def outcome_windows(
    evaluated: Events, train: Events | None, k: int, fill: Fill, total: float
) -> tuple[Events, Events | None]:
    """Return the windows with the k-th outcome in the place of the reward.

    Args:
        evaluated: The evaluated window.
        train: The training window, if there is one.
        k: The number of the outcome.
        fill: What stands for a null.
        total: What the events of the evaluated window that the view has count together.
    """
    if not k:
        return evaluated, train
    log = _outcome_log(evaluated.log, k, fill)
    if evaluated.units is None:
        viewed = replace(evaluated, log=log, window=replace(evaluated.window, events=round(total)))
    else:
        viewed = replace(evaluated, log=log, units=total)
    if train is None:
        return viewed, None
    return viewed, replace(train, log=log if train.log is evaluated.log else _outcome_log(train.log, k, fill))


def _outcome_log(log: LogTable, k: int, fill: Fill) -> LogTable:
    outcome = log.outcomes[k]
    value, table = log.table[outcome.column], log.table
    if outcome.known < 1 and fill == "known":
        table = table.filter(value.notnull())
        value = table[outcome.column]
    elif outcome.known < 1:
        value = value.coalesce(0.0 if fill == "low" else 1.0)
    table = table.mutate(**{REWARD: value})
    return replace(log, table=table, outcomes=(replace(outcome, column=REWARD),), utility=None)


def maximized(events: Events) -> Events:
    """Return events whose reward should be large: one that should be small is turned around in its range."""
    log = events.log
    if not log.outcomes[0].minimize:
        return events
    return replace(events, log=replace(log, table=log.table.mutate(**{REWARD: 1.0 - log.table[REWARD]})))


def check_outcomes(train: Events, evaluated: Events) -> None:
    """Refuse windows of logs whose outcomes differ."""
    own, others = (_described(events.log.outcomes) for events in (train, evaluated))
    if own[1:] != others[1:] or own[0][1:] != others[0][1:]:
        raise UsageError(
            f"The training log has the outcomes {_listed(train.log.outcomes)}, the evaluated log "
            f"{_listed(evaluated.log.outcomes)}.",
            "Read both with the same outcomes (also=...) and ranges, in the same order.",
        )


def _described(outcomes: Sequence[Outcome]) -> list[tuple[str, float, float]]:
    return [(outcome.name, outcome.low, outcome.high) for outcome in outcomes]


def _listed(outcomes: Sequence[Outcome]) -> str:
    return ", ".join(f"{quoted(outcome.name)} in [{outcome.low:g}, {outcome.high:g}]" for outcome in outcomes)
