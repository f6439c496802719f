"""The gain (lift) over logging, certified by constant bets on supported traffic.

    D = sum over events of u * reward / T_B,   u = probability / propensity - s(x),   T_B = sum over events of s(x)

s(x) is the policy's supported share in a context. See intervals.gain_bets for the confidence interval of D.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import ibis
import numpy as np

from warmstart.core import BEFORE, EPOCH, PROBABILITY
from warmstart.engine import float_literal
from warmstart.estimators.intervals import (
    EpochTotals,
    GainBins,
    LoggingTotals,
    UnitTotals,
    bin_ends,
    first_bin,
    gain_ends,
    relative_ends,
    unit_gain_ends,
)
from warmstart.estimators.moments import Term, Terms
from warmstart.estimators.weights import Clip, is_supported, log_bin, supported_ratio
from warmstart.events import IF_NEGATIVE, N_BEFORE, RATE_BEFORE, REWARD_SUM_BEFORE
from warmstart.results import CertifiedGain

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# How finely u is told apart, and the smallest one that is.
RATIO, SMALLEST = 1.05, 1e-4
# Expected rewards b are multiples of 1 / LEVELS, and each context's is shrunk by so many events of the average.
LEVELS, STRENGTH = 32, 20.0
BINS = ("d_bin", "e_bin", "level")
BINNED = (*BINS, "n", "rewards", "d", "e", "d_won", "e_won", "dd", "de", "ee")
# The bin of a part of u that is zero; less than this is rounding.
NO_PART, ROUNDING = first_bin(RATIO, SMALLEST) - 1, 1e-12


def sums(rows: ir.Table, tau: Clip) -> dict[str, ir.Value]:
    """Sum the rewards of policy and logging on supported traffic."""
    supported, ratio, h = is_supported(rows, tau), supported_ratio(rows, tau), rows[PROBABILITY]
    return {
        "policy_on_supported": (ratio * rows.reward_sum).sum(),
        "logging_on_supported": supported.ifelse(h * rows.context_reward_sum, 0.0).sum(),
    }


def certified_gain(
    totals: Mapping[str, float], gains: GainBins | UnitTotals | EpochTotals | None, events: float, levels: Levels
) -> CertifiedGain:
    """Return D and its finite-sample interval; logging itself (no ``gains``) gains nothing over logging, for certain.

    Args:
        totals: The sums over the weighted table.
        gains: Events and rewards by u, or units or epochs by what they gain; None for the logging policy.
        events: T, all events of the window.
        levels: The confidence levels.
    """
    traffic = totals["supported"]
    share, contested = traffic / events, totals["contested"] / events
    if traffic <= 0:
        return CertifiedGain(share, contested, None, None, None, None, None, "finite-sample")
    value, logging = totals["policy_on_supported"] / traffic, totals["logging_on_supported"] / traffic
    difference = value - logging
    ends = _ends(gains, traffic, levels.delta, sign=levels.sign)
    joint = ends if levels.choice == levels.delta else _ends(gains, traffic, levels.choice, sign=levels.sign)
    lower, upper, joint_lower, joint_upper = (
        share * end for some in (ends, joint) for end in (min(some[0], difference), max(some[1], difference))
    )
    means = share, contested, value, logging, share * difference
    relative = None
    if levels.against is not None and isinstance(gains, GainBins):
        relative = relative_ends(gains.plain, levels.against, levels.choice, levels.limits)
    return CertifiedGain(*means, lower, upper, "finite-sample", joint_lower, joint_upper, relative)


def _ends(
    gains: GainBins | UnitTotals | EpochTotals | None, traffic: float, delta: float, *, sign: bool
) -> tuple[float, float]:
    if gains is None:
        return 0.0, 0.0
    if isinstance(gains, EpochTotals):
        lower, upper = gains.ends(delta)
        return lower / traffic, upper / traffic
    if isinstance(gains, UnitTotals):
        return unit_gain_ends(gains, traffic, delta)
    return gain_ends(replace(gains.plain, sign=sign), delta)


class Threshold(NamedTuple):
    """A gain per event of all traffic which a guard asks to be above, or below, with a ``part`` of delta."""

    gain: float
    above: bool
    part: float


@dataclass(frozen=True)
class Levels:
    """``delta``: the share of intervals that may miss; ``looks``: how many policies and taus share it in joint ends.

    ``rate``, ``icc``: the mean reward, and the intraclass correlation of rewards of a unit, that were known before the
    window, if any. ``outcomes``: how many of them are told of each policy. Where guards are relative to logging's mean:
    ``limits``, theirs; ``against``, what is known of that mean; ``part``, of a look's delta, that the gain has if the
    mean needs an interval of its own. ``doubt``: what certified bounds allow for; 1 for none (see intervals.doubt).
    ``sign``: only whether the gain is above zero is asked. ``thresholds``: what guards ask of the gain, to tell at
    which doubt they tip.
    """

    delta: float
    looks: int = 1
    rate: float | None = None
    icc: float | None = None
    outcomes: int = 1
    part: float = 1.0
    against: LoggingTotals | None = None
    limits: tuple[float, ...] = ()
    doubt: float = 1.0
    sign: bool = False
    thresholds: tuple[Threshold, ...] = ()

    def of_segments(self, segments: int) -> Levels:
        """Return the levels of so many segments, of which guards say nothing."""
        return replace(self, looks=self.looks * segments, outcomes=1, part=1.0, against=None, thresholds=())

    @property
    def joint(self) -> float:
        """Return delta for the values of all looks and outcomes (Bonferroni)."""
        return self.delta / (self.looks * self.outcomes)

    @property
    def choice(self) -> float:
        """Return delta for the gains of all looks, to choose a policy by.

        That a policy gains, and that its other outcomes stay inside their limits, are proven together if each is: the
        test of all is as good as that of the worst, whatever their number (intersection-union).
        """
        return self.part * self.delta / self.looks


def events_by_coefficient(rows: ir.Table, groups: Sequence[str], tau: Clip, rate: float | None) -> ir.Table:
    """Sum events and rewards by the two parts of u = d - e and by expected reward, where actions could be compared.

    A shown event of an action that the policy may take stands for d = probability * (1 - propensity) / propensity
    others of its context, and e = s(x) - probability of it stays with logging; events of other actions, or not
    supported ones, have d = 0 and e = s(x). Where rewards are not all known, ``if_negative`` makes them the worst they
    could be: those of negative u are at the other end.

    Args:
        rows: The weighted table.
        groups: The columns by which its contexts are divided: context and further keys.
        tau: The floor of the propensity.
        rate: The mean reward of training, if it is usable.
    """
    chosen = rows.filter(rows.context_actions > 1, rows[PROBABILITY] > 0, is_supported(rows, tau))
    lacking = [IF_NEGATIVE, f"context_{IF_NEGATIVE}"] if IF_NEGATIVE in rows.columns else []
    # Few columns are a small query.
    chosen = chosen.select(
        *(*groups, PROBABILITY, "n", "reward_sum", "context_n", "context_reward_sum", *lacking),
        ratio=supported_ratio(chosen, tau),
        **{BEFORE: expected(chosen, rate)},
    )
    rest_rewards = chosen.context_reward_sum.max() - chosen.reward_sum.sum()
    if lacking:
        rest_rewards += chosen[f"context_{IF_NEGATIVE}"].max() - chosen[IF_NEGATIVE].sum()
    contexts = chosen.group_by(*groups).agg(
        share=chosen[PROBABILITY].sum(),
        rest=chosen.context_n.max() - chosen.n.sum(),
        rest_rewards=rest_rewards,
        expected=chosen[BEFORE].max(),
    )
    own = chosen.join(contexts, list(groups))
    h = own[PROBABILITY]
    own = own.mutate(d=_above_rounding(own.ratio - h), e=_above_rounding(own.share - h))
    rewards = own.reward_sum
    if lacking:
        rewards += (own.d < own.e).ifelse(own[IF_NEGATIVE], 0.0)
    epoch = [name for name in groups if name == EPOCH]
    columns = ["n", "expected", *epoch, "d", "e", "rewards"]
    rest = contexts.mutate(d=float_literal(0), e=contexts.share, n=contexts.rest, rewards=contexts.rest_rewards)
    parts = ibis.union(own.mutate(rewards=rewards).select(*columns), rest.select(*columns), distinct=False)
    # Many rows are alike, in contexts with few events: every sum below is one of events or of rewards of equal parts.
    alike = [name for name in columns if name not in ("n", "rewards")]
    parts = parts.group_by(alike).agg(n=parts.n.sum(), rewards=parts.rewards.sum())
    bins = {"d_bin": _bin(parts.d), "e_bin": _bin(parts.e), "level": level(parts.expected)}
    bins |= {name: parts[name] for name in epoch}
    n, uncertain = parts.n, parts.n * parts.expected * (1.0 - parts.expected)
    sums = {"n": n, "rewards": parts.rewards, "d": parts.d * n, "e": parts.e * n}
    sums |= {"d_won": parts.d * parts.rewards, "e_won": parts.e * parts.rewards}
    sums |= {"dd": parts.d**2 * uncertain, "de": parts.d * parts.e * uncertain, "ee": parts.e**2 * uncertain}
    return parts.group_by(**bins).agg(**{name: part.sum() for name, part in sums.items()})


def _above_rounding(part: ir.Value) -> ir.Value:
    """Return a part of u, zero where it is only rounding."""
    return (part > ROUNDING).ifelse(part, 0.0)


def _bin(part: ir.Value) -> ir.Value:
    """Return the bin of a part of u; zero has one of its own."""
    return (part > 0).ifelse(log_bin(part, RATIO, SMALLEST), NO_PART)


def share_at(i: int) -> str:
    """Return the column of the policy's supported share in a context, at the i-th tau."""
    return f"share_{i}"


def shares(rows: ir.Table, taus: Sequence[Clip]) -> dict[str, ir.Value]:
    """Sum the policy's supported probabilities at every tau: its supported share in a context."""
    h = rows[PROBABILITY]
    return {share_at(i): is_supported(rows, tau).ifelse(h, 0.0).sum() for i, tau in enumerate(taus)}


def expected_before(rows: ir.Table, rate: float | None) -> dict[str, ir.Value]:
    """Return what rewards of a context are expected to be, if anything is known of that."""
    if RATE_BEFORE in rows.columns:
        return {BEFORE: rows[RATE_BEFORE].isnull().ifelse(None, expected(rows, rate))}
    return {} if rate is None else {BEFORE: expected(rows, rate)}


def unit_terms(rows: ir.Table, tau: Clip, share: ir.Value, *, doubt: bool = False) -> Terms:
    """Return what a unit could gain, what it gains more than at worst, and what that would be with expected rewards.

    See intervals.unit_bets. Without expected rewards, the part of what it could gain that has positive u stands for
    them. And what bets are planned with: u^2, and u times the deviation of rewards if that is known.

    Args:
        rows: All rows that were shown.
        tau: The floor of the propensity.
        share: The policy's supported share in the context.
        doubt: Whether to return also the parts of u that a doubt changes.
    """
    # What rounding leaves of a zero counts as that.
    u = supported_ratio(rows, tau) - share
    u = (u.abs() < 1e-12).ifelse(0.0, u)
    above, below = (u > 0).ifelse(u, 0.0), (u < 0).ifelse(-u, 0.0)
    terms = {"size": Term(u.abs()), "won": Term(below, u), "squares": Term(u * u)}
    if EPOCH in rows.columns:
        terms["worst"] = Term(below)
    if BEFORE in rows.columns:
        b = rows[BEFORE]
        likely, deviation = above * b + below * (1.0 - b), (b * (1.0 - b)).sqrt()
        # In a first epoch, before which nothing was known, as without expected rewards.
        terms |= {"expected": Term(likely.coalesce(above)), "net": Term(u * deviation.coalesce(0.5))}
    else:
        terms["expected"] = Term(above)
    terms |= _doubted_terms(rows, tau, share, above) if doubt else {}
    return {f"gain_{name}": term for name, term in terms.items()}


def _doubted_terms(rows: ir.Table, tau: Clip, share: ir.Value, above: ir.Value) -> Terms:
    """Return the parts of u that a doubt changes: u where it is positive, and what d and e have in common.

    See events_by_coefficient and intervals.doubt: u = d - e becomes slope * d - e. With d the larger it is slope * u
    and slope - 1 times the common part, else u and as much of it.
    """
    h, supported = rows[PROBABILITY], is_supported(rows, tau)
    stands_for = supported_ratio(rows, tau) - supported.ifelse(h, 0.0)
    mixed = _above_rounding(ibis.least(stands_for, share - supported.ifelse(h, 0.0)))
    terms = {"above": Term(above), "above_won": Term(slope=above), "above_squares": Term(above * above)}
    terms |= {"mixed": Term(mixed), "mixed_won": Term(slope=mixed)}
    if BEFORE in rows.columns:
        # Where nothing was known before an epoch, the positive part stands for what is expected, as in ``expected``.
        b = rows[BEFORE].coalesce(1.0)
        terms |= {"above_expected": Term(above * b), "mixed_expected": Term(mixed * b)}
    return terms


def expected(rows: ir.Table, rate: float | None) -> ir.Value:
    """Return the mean reward of the context before, shrunk to that of all; a half if there was nothing before.

    Before is training or, in rows by epoch, training and all earlier epochs.
    """
    if RATE_BEFORE in rows.columns:
        before = rows[REWARD_SUM_BEFORE] + STRENGTH * rows[RATE_BEFORE]
        return (before / (rows[N_BEFORE] + STRENGTH)).coalesce(0.5)
    if rate is None:
        return ibis.literal(0.5)
    return (rows.context_reward_sum_train + STRENGTH * rate) / (rows.context_n_train + STRENGTH)


def usable_rate(rows: ir.Table, rate: float | None) -> float | None:
    """Return the mean reward of training if it says what to expect of contexts: rewards differed there."""
    known = "context_reward_sum_train" in rows.columns and rate is not None and 0 < rate < 1
    return rate if known else None


def level(expected: ir.Value) -> ir.Value:
    """Return the nearest multiple of 1 / LEVELS; of two the one farther from a half, so that 1 - b is rounded alike."""
    off = (expected - 0.5) * LEVELS
    steps = (off.abs() + (0.5 + 1e-9)).floor().cast("int64")
    return LEVELS // 2 + (off < 0).ifelse(-steps, steps)


def gain_bins(columns: Mapping[str, Floats], traffic: float, *, known: bool) -> GainBins:
    """Read the columns of ``events_by_coefficient``; ``known``: whether expected rewards are."""
    stands_for, against = (_part_ends(columns[name]) for name in ("d_bin", "e_bin"))
    products = tuple(columns[name] * (1.0 if known else 4.0) for name in ("dd", "de", "ee"))
    return GainBins(
        stands_for=stands_for,
        against=against,
        n=columns["n"],
        rewards=columns["rewards"],
        sums=(columns["d"], columns["e"]),
        won=(columns["d_won"], columns["e_won"]),
        products=(products[0], products[1], products[2]),
        baselines=columns["level"] / LEVELS if known else None,
        traffic=traffic,
    )


def _part_ends(bins: Floats) -> tuple[Floats, Floats]:
    low, high = bin_ends(bins.astype(np.int64), RATIO, SMALLEST)
    nothing = bins == NO_PART
    return np.where(nothing, 0.0, low), np.where(nothing, 0.0, high)
