"""What ``make bench`` and ``make bench-check`` measure: the same benchmarks, at the paper's size and at a small one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.paper_log import PAPER_EVENTS
from benchmarks.records import Rows


@dataclass(frozen=True)
class Benchmark:
    """A measurement that returns tables by name; its settings say what is comparable."""

    work: Callable[..., dict[str, Rows]]
    settings: dict[str, Any]

    def run(self) -> dict[str, Rows]:
        return self.work(**self.settings)


def full(events: int = PAPER_EVENTS, runs: int = 3) -> dict[str, Benchmark]:
    from benchmarks import doubly_robust, epochs, learning, outcomes, paper_scale, units

    return {
        "paper-scale": Benchmark(paper_scale.costs, {"events": events, "runs": runs}),
        "units": Benchmark(units.costs, {"events": events, "units": events // 11, "runs": runs}),
        "epochs": Benchmark(epochs.costs, {"events": events, "runs": runs}),
        "outcomes": Benchmark(outcomes.costs, {"events": events, "runs": runs}),
        "with-dr": Benchmark(epochs.best_estimate_costs, {"events": events, "runs": runs}),
        "doubly-robust": Benchmark(doubly_robust.costs, {"events": doubly_robust.EVENTS, "seeds": 5}),
        "learning": Benchmark(
            learning.costs, {"events": learning.MONTH["events"], "examples": 60_000, "runs": 3 * runs}
        ),
    }


def small(events: int = 5_000_000, runs: int = 3) -> dict[str, Benchmark]:
    from benchmarks import doubly_robust, epochs, learning, outcomes, paper_scale, units

    return {
        "paper-scale": Benchmark(paper_scale.costs, {"events": events, "runs": runs}),
        "units": Benchmark(units.costs, {"events": events, "units": events // 11, "runs": runs}),
        "epochs": Benchmark(epochs.costs, {"events": events, "runs": runs}),
        "outcomes": Benchmark(outcomes.costs, {"events": events, "runs": runs}),
        "doubly-robust": Benchmark(doubly_robust.costs, {"events": doubly_robust.EVENTS, "seeds": runs}),
        "learning": Benchmark(learning.costs, {"events": 500_000, "examples": 20_000, "runs": 2 * runs}),
    }
