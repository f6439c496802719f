"""Tables of ``studies.routers``: estimate, interval and truth of every policy; what missed, and what that means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from benchmarks.records import Rows

Row = dict[str, Any]
# Normal quantile of intervals for 95 %.
WIDE = 1.959964


def cells(rows: Sequence[Row]) -> Iterable[tuple[str, list[Row]]]:
    """Yield the rows of each router and context, in the order of their first."""
    for name in dict.fromkeys(f"{row['router']}, by {row['by']}" for row in rows):
        yield name, [row for row in rows if f"{row['router']}, by {row['by']}" == name]


def said(rows: Sequence[Row]) -> Rows:
    """Return means over months of what is said of every policy, and of what is true."""
    table: Rows = {}
    for name, some in cells([row for row in rows if row["doubt"] == 1.0]):
        for policy in dict.fromkeys(row["policy"] for row in some):
            own = [row for row in some if row["policy"] == policy]
            best, gains = ([row[key] for row in own if row[key]] for key in ("best", "gain"))
            sure = [row["sure"] for row in own if row["sure"]]
            table[f"{name}: {policy.removeprefix('constant:')}"] = {
                "months": len(own),
                "truth": mean(row["truth"] for row in own),
                "estimate": mean(one[0] for one in best),
                "95 % interval": ends(best),
                "certified": ends([[row["truth"], row["lower"], row["upper"]] for row in own]),
                "true gain": mean(row["gain_truth"] for row in own),
                "estimated gain": mean(one[0] for one in gains),
                "certified gain": ends(sure),
                "$ per 1,000": 1_000 * mean(row["cost"] for row in own),
                **intervals_hold(own),
                "never sent": mean(row["never_sent"] for row in own) if own[0]["never_sent"] is not None else None,
            }
    return table


def intervals_hold(rows: Sequence[Row]) -> Row:
    """Count intervals of best estimates that held the truth, of one policy."""
    best, gains = values_held(rows), gains_held(rows)
    return {
        "estimate holds": f"{sum(one for _, one in best)} of {len(best)}",
        "gain holds": f"{sum(one for _, one in gains)} of {len(gains)}" if gains else None,
    }


def held(rows: Sequence[Row]) -> Rows:
    """Return how often intervals of best estimates held the truth, and what certified bounds missed."""
    table: Rows = {}
    for name, some in cells(rows):
        plain, doubted = ([row for row in some if (row["doubt"] > 1) == doubt] for doubt in (False, True))
        line: Row = {"months": len({row["seed"] for row in plain})}
        line |= estimates_hold(plain)
        line["no interval"] = sum(not has(row["best"]) for row in plain)
        if any(has(row["sure"]) for row in plain):
            line |= counts(plain) | {f"{key}, true doubt": value for key, value in counts(doubted).items()}
        table[name] = line
    return table


def estimated(rows: Sequence[Row]) -> Rows:
    """Return how often intervals of best estimates from sums held the truth, and of how many no estimate was told."""
    table: Rows = {}
    for name, some in cells(rows):
        months = {"months": len({row["seed"] for row in some})}
        table[name] = {**months, **estimates_hold(some), "with a model": sum(not row["best"] for row in some)}
    return table


def estimates_hold(rows: Sequence[Row]) -> Row:
    """Return how often intervals held the truth."""
    return {"estimates hold": share(values_held(rows)), "gains hold": share(gains_held(rows))}


def values_held(rows: Sequence[Row]) -> list[tuple[int, bool]]:
    """Return the months of best estimates, and whether their intervals held the truth."""
    return [(row["seed"], inside(row["best"][1:3], row["truth"])) for row in rows if has(row["best"])]


def gains_held(rows: Sequence[Row]) -> list[tuple[int, bool]]:
    """Return the same of estimated gains; a policy that never departs from logging has no gain to miss."""
    known = [row for row in rows if has(row["gain"]) and row["departs"]]
    return [(row["seed"], inside(row["gain"][1:], row["gain_truth"])) for row in known]


def missed(rows: Sequence[Row]) -> Rows:
    """Return how often certified bounds missed at each delta, without a doubt and at the true one."""
    table: Rows = {}
    for delta in sorted({row["delta"] for row in rows}):
        for name, some in cells([row for row in rows if row["delta"] == delta]):
            plain, doubted = ([row for row in some if (row["doubt"] > 1) == doubt] for doubt in (False, True))
            line: Row = {"months": len({row["seed"] for row in plain})}
            line["true doubt"] = mean(row["true_doubt"] for row in plain)
            line |= told(plain) | {f"{key}, true doubt": value for key, value in told(doubted).items()}
            table[f"{name}, delta {delta:g}".replace(" 0.", " .")] = line
    return table


def learned(rows: Sequence[Row]) -> Rows:
    """Return what learned and safe policies are worth: against the mixture of the constants, and against logging."""
    table: Rows = {}
    for name, some in cells([row for row in rows if row["doubt"] == 1.0]):
        own = [row for row in some if row["policy"] == "learned"]
        more = np.array([row["truth"] - row["same_cost"] for row in own])
        errors = np.array([max(row["best"][2] - row["best"][0], row["best"][0] - row["best"][1]) for row in own]) / WIDE
        line: Row = {
            "months": len(own),
            "learned - mixture": [float(more.mean()), float(more.std(ddof=1) / np.sqrt(len(more)))],
            "below by more than one se": int((more < -errors).sum()),
            "learned: worth - logging's": mean(row["worth"] for row in own),
        }
        safe = [row for row in some if row["policy"] == "safe"]
        if safe:
            line |= {"safe: months": len(safe), "departs in": sum(row["departs"] for row in safe)}
            line |= {"below logging": sum(row["departs"] and row["gain_truth"] < 0 for row in safe)}
            line |= {"safe: true gain": mean(row["gain_truth"] for row in safe)}
        table[name] = line
    return table


def counts(rows: Sequence[Row]) -> Row:
    """Count ends of values and of gains on the wrong side of the truth, and false conclusions, of all there are."""
    ended = [row for row in rows if row["lower"] is not None and has(row["sure"])]
    if not ended:
        return dict.fromkeys(("values missed", "gains missed", "false signs"))
    value = ended_wrong(ended, lambda row: (row["lower"], row["upper"]), "truth")
    gain = ended_wrong(ended, lambda row: row["sure"][1:], "sure_truth")
    proven = [row for row in ended if row["sure"][1] > 1e-9 or row["sure"][2] < -1e-9]
    false = [row for row in proven if (row["sure"][1] > 0) != (row["sure_truth"] > 0)]
    return {
        "values missed": f"{value} of {2 * len(ended)}",
        "gains missed": f"{gain} of {2 * len(ended)}",
        "false signs": f"{len(false)} of {len(proven)}",
    }


def told(rows: Sequence[Row]) -> Row:
    """Return the same of what was told without ends of gains."""
    some = [row for row in rows if row["missed"] is not None]
    valued = [row for row in rows if row["lower"] is not None]
    if not some:
        return dict.fromkeys(("gains missed", "as if by event", "values missed", "false signs"))
    proven = [row for row in some if row["sign"]]
    false = sum((row["sign"] > 0) != (row["sure_truth"] > 0) for row in proven)
    value = ended_wrong(valued, lambda row: (row["lower"], row["upper"]), "truth")
    return {
        "gains missed": f"{sum(sum(row['missed']) for row in some)} of {2 * len(some)}",
        "as if by event": f"{sum(sum(row['missed_apart']) for row in some)} of {2 * len(some)}",
        "values missed": f"{value} of {2 * len(valued)}" if valued else None,
        "false signs": f"{false} of {len(proven)}",
    }


def ended_wrong(rows: Sequence[Row], of: Callable[[Row], Sequence[float]], truth: str) -> int:
    """Count lower ends above the truth and upper ends below it; rounding is no miss."""
    pairs = [(of(row), row[truth]) for row in rows]
    return sum((low > true + 1e-9) + (high < true - 1e-9) for (low, high), true in pairs)


def inside(interval: Sequence[float], truth: float) -> bool:
    return interval[0] - 1e-9 <= truth <= interval[1] + 1e-9


def has(estimate: Sequence[Any] | None) -> bool:
    return estimate is not None and estimate[1] is not None


def mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def ends(estimates: Sequence[Sequence[Any]]) -> list[float] | None:
    """Return the mean lower and upper end."""
    known = [one[1:3] for one in estimates if one[1] is not None]
    return [float(end) for end in np.mean(known, axis=0)] if known else None


def share(held: Sequence[tuple[int, bool]]) -> str | None:
    """Show a share and its standard error, of months: intervals of one month miss together."""
    if not held:
        return None
    months: dict[int, list[bool]] = {}
    for month, one in held:
        months.setdefault(month, []).append(one)
    p = float(np.mean([one for _, one in held]))
    off = np.array([sum(some) - p * len(some) for some in months.values()])
    error = float(np.sqrt((off**2).sum() * len(months) / max(len(months) - 1, 1))) / len(held)
    return f"{100 * p:.1f} % ({100 * error:.1f})"
