"""Attribution of outcomes to impressions: one sort of the keys that have outcomes, no product."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, cast

import ibis

from warmstart.core import REWARD, TIME, DataError, EmptyWindowError, with_given_names, write_output, write_parquet
from warmstart.engine import example_rows
from warmstart.joining.inputs import InputTable, count_true
from warmstart.results import DELAYS, Delay, Duplicates, Outcomes, Repeated

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.engine import LocalEngine

SHOWN_AT, KNOWN, COUNT, OUTCOME_TIME = "shown_at", "known", "outcomes", "outcome_time"


@dataclass(frozen=True)
class Rules:
    """When an outcome counts: less than ``window`` microseconds after its impression (None: for ever).

    ``until``: outcomes are known up to there, in microseconds since 1970; ``keep_young``: impressions whose window ends
    later are written too. ``leave_out``: impressions without an outcome are not written.
    """

    duplicates: Duplicates
    window: int | None
    until: int | None
    keep_young: bool
    leave_out: bool = False

    def too_young(self, shown_at: ir.Value) -> ir.BooleanValue:
        """Tell whether an impression's window ends after the moment up to which outcomes are known."""
        if self.window is None or self.until is None:
            return _never(shown_at)
        return shown_at + self.window > self.until

    def left_out(self, shown_at: ir.Value) -> ir.BooleanValue:
        """Tell whether an impression is not written."""
        return _never(shown_at) if self.keep_young else self.too_young(shown_at)

    def late(self, rows: ir.Table) -> ir.BooleanValue:
        """Tell whether an outcome comes after the window of its impression."""
        return _never(rows[TIME]) if self.window is None else rows[TIME] - rows[SHOWN_AT] >= self.window


@dataclass(frozen=True)
class Attribution:
    """Outcomes with their impressions (``attributed``) and rewards by impression (``rewards``), held in an engine."""

    impressions: InputTable
    outcomes: InputTable
    rules: Rules
    attributed: ir.Table
    rewards: ir.Table

    def check(self, repeated: Repeated) -> None:
        """Refuse rewarded impressions that cannot be told apart, and several outcomes of one, where that is asked."""
        source, keys = self.impressions, self.impressions.keys
        timed = TIME in source.given
        in_time = timed and repeated == "last"
        group = [*keys, *([TIME] if in_time else [])]
        with_reward = self.rewards.select(*keys, **{TIME: self.rewards[SHOWN_AT]}).select(*group).distinct()
        shown = source.table.semi_join(with_reward, group).group_by(*group).agg(impressions=lambda rows: rows.count())
        if example := example_rows(source.engine, shown.filter(shown.impressions > 1), source.given):
            moment = " at one moment" if in_time else ""
            hint = "Join on a column more, or remove copies" + ("." if timed else "; or name times.")
            what = f"several impressions of one key{moment} have an outcome"
            raise DataError(f"{source.where}: {what} ({example}).", hint)
        if self.rules.duplicates == "error":
            twice = self.rewards.filter(self.rewards[COUNT] > 1).drop(SHOWN_AT, OUTCOME_TIME, REWARD)
            if example := example_rows(source.engine, twice, source.given):
                hint = "Choose first, sum or max for duplicates."
                raise DataError(f"An impression has several outcomes ({example}).", hint)

    def count_outcomes(self) -> Outcomes:
        """Count the outcomes by what became of them."""
        rows, fetch = self.attributed, self.outcomes.engine.fetch
        shown, late = rows[SHOWN_AT].notnull(), self.rules.late(rows)
        unrewarding = rows.agg(
            never_shown=count_true(~rows[KNOWN]),
            before=count_true(rows[KNOWN] & ~shown),
            outside_window=count_true(shown & late),
            of_too_young=count_true(shown & ~late & self.rules.left_out(rows[SHOWN_AT])),
        )
        count = self.rewards[COUNT]
        rewarding = self.rewards.agg(rewarding=count.count(), duplicates=(count - 1).sum().coalesce(0))
        return Outcomes(self.outcomes.rows, self.outcomes.with_nulls, **fetch(unrewarding)[0], **fetch(rewarding)[0])

    def count_delays(self) -> tuple[Delay, ...]:
        """Count rewarded impressions by how late their first outcome came; none without times."""
        if TIME not in self.impressions.given:
            return ()
        delay = self.rewards[OUTCOME_TIME] - self.rewards[SHOWN_AT]
        within = {f"within_{edge}": count_true(delay <= edge * 1_000_000) for edge in DELAYS}
        result = self.impressions.engine.fetch(self.rewards.agg(**within, every=self.rewards.count()))[0]
        so_far = [0, *(int(result[name]) for name in within), int(result["every"])]
        # Up to the last of them: beyond a window there are none.
        last = so_far.index(so_far[-1])
        delays = zip((*DELAYS, None), pairwise(so_far), strict=True)
        return tuple(Delay(edge, b - a) for edge, (a, b) in delays)[:last]

    def count_too_young(self) -> int:
        """Count the impressions that are too young; refuse to leave out all."""
        source, rules, time = self.impressions, self.rules, self.impressions.table[TIME]
        young, left_out = count_true(rules.too_young(time)), count_true(rules.left_out(time))
        counts = source.engine.fetch(source.table.agg(too_young=young, left_out=left_out))[0]
        if counts["left_out"] == source.rows - source.with_nulls:
            what = "every impression is too young: outcomes are known up to one window after none of them"
            hint = "Take a shorter window, later outcomes, or keep the young (--keep-young)."
            raise EmptyWindowError(f"{source.where}: {what}.", hint)
        return int(counts["too_young"])

    def write(self, path: Path) -> int:
        """Write the impressions that are not left out, with their reward (0 without an outcome) and its time."""
        source, keys = self.impressions, self.impressions.keys
        written = source.table.filter(~self.rules.left_out(source.table[TIME]))
        rewards = self.rewards.rename({f"of_{name}": name for name in (*keys, REWARD)})
        same_key = [written[name] == rewards[f"of_{name}"] for name in keys]
        rows = written.left_join(rewards, [*same_key, written[TIME] == rewards[SHOWN_AT]])
        if self.rules.leave_out:
            rows = rows.filter(rows[COUNT].notnull())
        given = {f"column_{i}": name for i, name in enumerate(source.columns)}
        rows = rows.select(*given, OUTCOME_TIME, **{REWARD: rows[f"of_{REWARD}"].coalesce(0.0)})
        given |= {name: name for name in (REWARD, *([OUTCOME_TIME] if TIME in source.given else []))}
        tables = (with_given_names(batch, given, time=OUTCOME_TIME) for batch in source.engine.stream(rows))
        with write_output(path, force=True) as temporary:  # what may not be replaced was refused before the work
            return write_parquet(temporary, tables)


@contextmanager
def open_attribution(impressions: InputTable, outcomes: InputTable, rules: Rules) -> Iterator[Attribution]:
    """Find the impression of every outcome, and sum up the rewards of every impression."""
    engine = cast("LocalEngine", impressions.engine)
    with (
        engine.materialise(_attributed(impressions, outcomes)) as attributed,
        engine.materialise(_rewards(attributed, impressions.keys, rules)) as rewards,
    ):
        yield Attribution(impressions, outcomes, rules, attributed, rewards)


def _attributed(impressions: InputTable, outcomes: InputTable) -> ir.Table:
    """Return the outcomes with the time of the last impression of their key at or before them (null: none).

    ``known`` tells whether the key was shown at all.
    """
    keys, came = impressions.keys, outcomes.table
    shown = impressions.table.semi_join(came, keys)
    rows = ibis.union(
        shown.select(*keys, TIME, **{REWARD: ibis.null("float64"), "is_outcome": ibis.literal(0, "int8")}),
        came.select(*keys, TIME, REWARD, is_outcome=ibis.literal(1, "int8")),
    )
    shown_at = (rows.is_outcome == 0).ifelse(rows[TIME], ibis.null("int64"))
    # An impression at the same moment comes first.
    so_far = ibis.window(group_by=keys, order_by=[rows[TIME], rows.is_outcome], preceding=None, following=0)
    of_key = ibis.window(group_by=keys)
    rows = rows.mutate(**{SHOWN_AT: shown_at.max().over(so_far), KNOWN: shown_at.max().over(of_key).notnull()})
    return rows.filter(rows.is_outcome == 1).drop("is_outcome")


def _rewards(rows: ir.Table, keys: list[str], rules: Rules) -> ir.Table:
    """Return rewards by impression: keys, shown_at, reward, outcome_time (of the first), outcomes (how many)."""
    rows = rows.filter(rows[SHOWN_AT].notnull() & ~rules.late(rows) & ~rules.left_out(rows[SHOWN_AT]))
    group = [*keys, SHOWN_AT]
    rows = rows.mutate(**{OUTCOME_TIME: rows[TIME].min().over(ibis.window(group_by=group))})
    reward = rows[REWARD]
    earliest = (rows[TIME] == rows[OUTCOME_TIME]).ifelse(reward, ibis.null("float64"))
    total = {"sum": reward.sum(), "first": earliest.max()}.get(rules.duplicates, reward.max())
    return rows.group_by(*group).agg(**{REWARD: total, OUTCOME_TIME: rows[TIME].min(), COUNT: rows.count()})


def _never(column: ir.Value) -> ir.BooleanValue:
    return column.isnull() & column.notnull()
