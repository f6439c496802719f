"""Simulated months, split as the paper splits its data, and the truth that an estimate can hope for."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import warmstart as ws

NAMES: dict[str, Any] = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
TRAIN_SHARE = 35 / 54


class Month(NamedTuple):
    world: ws.AdWorld
    train: ws.Events
    test: ws.Events


@contextmanager
def month(**numbers: Any) -> Iterator[Month]:
    """Simulate a month in a temporary folder and split it in time."""
    with tempfile.TemporaryDirectory() as folder:
        world = ws.simulate(Path(folder) / "month", **numbers)
        train, test = ws.read_events(world.events_path, **NAMES).split(fraction=TRAIN_SHARE)
        yield Month(world, train, test)


def feasible(found: Month, window: Any) -> pa.Table:
    """List the actions of the test window's pages that a window has shown."""
    return ws.policy_table("uniform", found.test, train=found.train, feasible_from=window, live=False)


def cells(events: ws.Events) -> pa.Table:
    """Sum a window into page, ad, n, clicks, page_n."""
    table = events.table
    summed = table.group_by("context_0", "action").agg(n=table.count(), clicks=table.reward.sum())
    found = events.engine.fetch_arrow(summed)
    found = found.rename_columns(["page", "ad", "n", "clicks"])
    of_page = found.group_by("page").aggregate([("n", "sum")]).rename_columns(["page", "page_n"])
    return found.join(of_page, "page")


def supported(policy: pa.Table, events: ws.Events, tau: float) -> pa.Table:
    """Reduce a policy to what an estimate on the window can see: probability * min(1, propensity / tau)."""
    rows = policy.join(cells(events).select(["page", "ad", "n", "page_n"]), ["page", "ad"], join_type="inner")
    p = rows["n"].to_numpy() / rows["page_n"].to_numpy()
    seen = rows["probability"].to_numpy() * np.minimum(1, p / tau)
    return pa.table({"page": rows["page"], "ad": rows["ad"], "probability": seen})


def best_seen(found: Month, *, prior: float = 50.0) -> pa.Table:
    """Choose on every page the ad with the highest click rate in training, pulled towards the mean of all."""
    rows = cells(found.train)
    clicks, n = rows["clicks"].to_numpy(), rows["n"].to_numpy()
    score = (clicks + prior * clicks.sum() / n.sum()) / (n + prior)
    page, ad = rows["page"].to_numpy(), rows["ad"].to_numpy()
    order = np.lexsort((ad, -score, page))
    first = np.ones(len(order), dtype=bool)
    first[1:] = page[order][1:] != page[order][:-1]
    chosen = order[first]
    return pa.table({"page": page[chosen], "ad": ad[chosen], "probability": np.ones(len(chosen))})


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a table for the docs."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def spread(values: Sequence[float], digits: int = 4) -> str:
    """Show a mean and, if they differ, the lowest and highest."""
    mean, low, high = np.mean(values), min(values), max(values)
    return f"{mean:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"
