"""Attribution of outcomes to impressions, as expressions: one sort of the keys that have outcomes, no product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import ibis

from warmstart.core import REWARD, TIME

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.results import Duplicates

SHOWN_AT, KNOWN, COUNT, OUTCOME_TIME = "shown_at", "known", "outcomes", "outcome_time"


@dataclass(frozen=True)
class Rules:
    """When an outcome counts: less than ``window`` microseconds after its impression (None: for ever).

    ``until``: outcomes are known up to there, in microseconds since 1970; ``keep_young``: impressions whose window ends
    later are written too.
    """

    duplicates: Duplicates
    window: int | None
    until: int | None
    keep_young: bool

    def too_young(self, shown_at: ir.Value) -> ir.BooleanValue:
        """Tell whether an impression's window ends after the moment up to which outcomes are known."""
        if self.window is None or self.until is None:
            return _never(shown_at)
        return shown_at + self.window > self.until

    def left_out(self, shown_at: ir.Value) -> ir.BooleanValue:
        """Tell whether an impression is not written."""
        return _never(shown_at) if self.keep_young else self.too_young(shown_at)


def attributed(impressions: ir.Table, outcomes: ir.Table, keys: Sequence[str]) -> ir.Table:
    """Return the outcomes with the time of the last impression of their key at or before them (null: none).

    ``known`` tells whether the key was shown at all.
    """
    shown = impressions.semi_join(outcomes, list(keys))
    rows = ibis.union(
        shown.select(*keys, TIME, **{REWARD: ibis.null("float64"), "is_outcome": ibis.literal(0, "int8")}),
        outcomes.select(*keys, TIME, REWARD, is_outcome=ibis.literal(1, "int8")),
    )
    shown_at = (rows.is_outcome == 0).ifelse(rows[TIME], ibis.null("int64"))
    # An impression at the same moment comes first.
    so_far = ibis.window(group_by=list(keys), order_by=[rows[TIME], rows.is_outcome], preceding=None, following=0)
    of_key = ibis.window(group_by=list(keys))
    rows = rows.mutate(**{SHOWN_AT: shown_at.max().over(so_far), KNOWN: shown_at.max().over(of_key).notnull()})
    return rows.filter(rows.is_outcome == 1).drop("is_outcome")


def outcome_counts(rows: ir.Table, rules: Rules) -> ir.Table:
    """Count the attributed outcomes that reward no impression, by the reason."""
    shown = rows[SHOWN_AT].notnull()
    late = _late(rows, rules)
    return rows.agg(
        never_shown=count_true(~rows[KNOWN]),
        before=count_true(rows[KNOWN] & ~shown),
        outside_window=count_true(shown & late),
        of_too_young=count_true(shown & ~late & rules.left_out(rows[SHOWN_AT])),
    )


def rewards(rows: ir.Table, keys: Sequence[str], rules: Rules) -> ir.Table:
    """Return rewards by impression: keys, shown_at, reward, outcome_time (of the first), outcomes (how many)."""
    rows = rows.filter(rows[SHOWN_AT].notnull() & ~_late(rows, rules) & ~rules.left_out(rows[SHOWN_AT]))
    group = [*keys, SHOWN_AT]
    rows = rows.mutate(**{OUTCOME_TIME: rows[TIME].min().over(ibis.window(group_by=group))})
    reward = rows[REWARD]
    earliest = (rows[TIME] == rows[OUTCOME_TIME]).ifelse(reward, ibis.null("float64"))
    total = {"sum": reward.sum(), "first": earliest.max()}.get(rules.duplicates, reward.max())
    return rows.group_by(*group).agg(**{REWARD: total, OUTCOME_TIME: rows[TIME].min(), COUNT: rows.count()})


def impression_counts(impressions: ir.Table, rules: Rules) -> ir.Table:
    """Count the impressions that are too young, and those that are left out for it."""
    time = impressions[TIME]
    return impressions.agg(too_young=count_true(rules.too_young(time)), left_out=count_true(rules.left_out(time)))


def repeated_keys(impressions: ir.Table, rewarded: ir.Table, keys: Sequence[str], *, also_in_time: bool) -> ir.Table:
    """Return keys of rewarded impressions that other impressions have too; ``also_in_time``: at the same time."""
    group = [*keys, *([TIME] if also_in_time else [])]
    with_reward = rewarded.select(*keys, **{TIME: rewarded[SHOWN_AT]}).select(*group).distinct()
    counted = impressions.semi_join(with_reward, group).group_by(*group).agg(impressions=lambda rows: rows.count())
    return counted.filter(counted.impressions > 1)


def with_rewards(impressions: ir.Table, rewarded: ir.Table, keys: Sequence[str], rules: Rules) -> ir.Table:
    """Return the impressions that are written, with their reward (0 without an outcome) and its time."""
    written = impressions.filter(~rules.left_out(impressions[TIME]))
    rewarded = rewarded.rename({f"of_{name}": name for name in (*keys, REWARD)})
    same_key = [written[name] == rewarded[f"of_{name}"] for name in keys]
    rows = written.left_join(rewarded, [*same_key, written[TIME] == rewarded[SHOWN_AT]])
    columns = [name for name in impressions.columns if name.startswith("column_")]
    return rows.select(*columns, OUTCOME_TIME, **{REWARD: rows[f"of_{REWARD}"].coalesce(0.0)})


def _late(rows: ir.Table, rules: Rules) -> ir.BooleanValue:
    if rules.window is None:
        return _never(rows[TIME])
    return rows[TIME] - rows[SHOWN_AT] >= rules.window


def _never(column: ir.Value) -> ir.BooleanValue:
    return column.isnull() & column.notnull()


def count_true(condition: ir.BooleanValue) -> ir.Value:
    """Return the number of rows where a condition holds."""
    return condition.cast("int64").sum().coalesce(0)
