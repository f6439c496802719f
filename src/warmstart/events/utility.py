"""A utility: a weighted sum of outcomes, valued as one more outcome. It is formed event by event, before any sum."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING

from warmstart.core import REWARD, Outcome, UsageError, quoted

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events.log_table import LogTable
    from warmstart.events.window import Events

# The reward's own column, once a utility stands in its place.
REWARD_ITSELF = "reward_itself"
HOW = "Write a weighted sum of outcomes, such as 'quality - 50*cost'; names with spaces in backticks."


@dataclass(frozen=True)
class Utility:
    """``constant`` + the sum over outcomes of weight * outcome, in their own units."""

    text: str
    weights: Mapping[str, float]
    constant: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Utility:
        """Read a weighted sum of outcomes.

        >>> Utility.parse("quality - 50*cost").weights
        {'quality': 1.0, 'cost': -50.0}
        """
        names: list[str] = []

        def stand_in(found: re.Match[str]) -> str:
            names.append(found[1] or found[0])
            return f" name_{len(names) - 1} "  # apart from what stands beside it

        plain = re.sub(r"`([^`]+)`|(?<![\w.])[^\W\d]\w*", stand_in, text)
        try:
            terms = _terms(ast.parse(plain.strip(), mode="eval").body)
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
            raise UsageError(f"{quoted(text)} is no utility.", HOW) from None
        weights: dict[str, float] = {}
        for key, weight in terms.items():
            if key is not None:
                name = names[int(key.removeprefix("name_"))]
                weights[name] = weights.get(name, 0.0) + weight
        numbers = [*weights.values(), terms.get(None, 0.0)]
        if not all(weights.values()) or not weights or not all(map(isfinite, numbers)):
            raise UsageError(f"{quoted(text)} weighs no outcome.", HOW)
        return cls(" ".join(text.split()), weights, terms.get(None, 0.0))


def _terms(node: ast.expr) -> dict[str | None, float]:
    """Return the weights of names, and the constant, by None, of a linear expression."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return {None: float(value)}
        case ast.Name(id=name):
            return {name: 1.0}
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as op, operand=operand):
            return _scaled(_terms(operand), -1.0 if isinstance(op, ast.USub) else 1.0)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            added = _scaled(_terms(right), -1.0 if isinstance(op, ast.Sub) else 1.0)
            first = _terms(left)
            return {key: first.get(key, 0.0) + added.get(key, 0.0) for key in {**first, **added}}
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
            first, second = _terms(left), _terms(right)
            if set(second) == {None} and not (isinstance(op, ast.Div) and not second[None]):
                return _scaled(first, 1 / second[None] if isinstance(op, ast.Div) else second[None])
            if set(first) == {None} and isinstance(op, ast.Mult):
                return _scaled(second, first[None])
    raise ValueError("not a weighted sum")


def _scaled(terms: Mapping[str | None, float], factor: float) -> dict[str | None, float]:
    return {key: factor * weight for key, weight in terms.items()}


def with_utility(evaluated: Events, train: Events | None, utility: Utility) -> tuple[Events, Events | None]:
    """Return windows in which a utility stands first among the outcomes, and the reward second."""
    log = _utility_log(evaluated.log, utility)
    weighed = replace(evaluated, log=log)
    if train is None:
        return weighed, None
    return weighed, replace(train, log=log if train.log is evaluated.log else _utility_log(train.log, utility))


def _utility_log(log: LogTable, utility: Utility) -> LogTable:
    outcomes = {outcome.name: outcome for outcome in log.outcomes}
    for name in utility.weights:
        if name not in outcomes:
            listed = ", ".join(map(quoted, outcomes))
            raise UsageError(
                f"The utility names {quoted(name)}, which is no outcome of the log.",
                f"Its outcomes are {listed}; --also names more.",
            )
        if outcomes[name].known < 1:
            raise UsageError(
                f"{quoted(name)} is unknown in {1 - outcomes[name].known:.1%} of events, and so is their utility.",
                "Leave those events out of the log, or the outcome out of the utility.",
            )
    if utility.text in outcomes:
        raise UsageError(f"The utility is called {quoted(utility.text)}, as an outcome is.", "It is that outcome.")
    low, high = _range(log.outcomes, utility)
    if not (isfinite(high - low) and high > low):
        raise UsageError(f"The utility {quoted(utility.text)} has no range.", "Give its outcomes other weights.")
    first = Outcome(utility.text, REWARD, low, high, parts=tuple(utility.weights))
    others = (replace(log.outcomes[0], column=REWARD_ITSELF), *log.outcomes[1:])
    table = with_sum(log.table, log.outcomes, utility)
    return replace(log, table=table, outcomes=(first, *others), utility=utility)


def _parts(outcomes: Sequence[Outcome], utility: Utility) -> list[tuple[float, Outcome]]:
    by_name = {outcome.name: outcome for outcome in outcomes}
    return [(weight, by_name[name]) for name, weight in utility.weights.items()]


def _range(outcomes: Sequence[Outcome], utility: Utility) -> tuple[float, float]:
    """Return the lowest and the highest value that a utility can have."""
    ends = [sorted((weight * one.low, weight * one.high)) for weight, one in _parts(outcomes, utility)]
    low, high = (utility.constant + sum(pair[i] for pair in ends) for i in (0, 1))
    return low, high


def with_sum(table: ir.Table, outcomes: Sequence[Outcome], utility: Utility) -> ir.Table:
    """Return a log with its utility in the place of the reward, scaled to [0, 1] as all outcomes are.

    Args:
        table: The log.
        outcomes: Its outcomes, the reward first.
        utility: The weighted sum.
    """
    low, high = _range(outcomes, utility)
    parts = _parts(outcomes, utility)
    # An outcome is low + width * value.
    offset = utility.constant + sum(weight * one.low for weight, one in parts) - low
    scaled = [table[one.column] * (weight * one.width / (high - low)) for weight, one in parts]
    total: ir.Value = sum(scaled[1:], scaled[0]) + offset / (high - low)
    # Sums of scaled numbers may leave [0, 1] by rounding.
    return table.mutate(**{REWARD_ITSELF: table[REWARD], REWARD: total.clip(lower=0.0, upper=1.0)})
