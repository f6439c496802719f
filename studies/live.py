"""``python -m studies.live``: the exact value of a policy that chooses every day, and the estimate of its table."""

from __future__ import annotations

import argparse

import warmstart as ws
from studies.months import feasible, markdown, month, spread, supported

TAU = 0.01


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--events", type=int, default=1_000_000)
    options = parser.parse_args()
    found: dict[str, list[list[float]]] = {}
    for seed in range(options.seeds):
        with month(scale="small", events=options.events, seed=seed) as drawn:
            policies = {
                "best feasible ad, live or not": drawn.world.best_policy(feasible(drawn, "train")),
                "best live ad of the day": drawn.world.best_daily_policy(events=drawn.test),
                "uniform among feasible ads, live or not": feasible(drawn, "train"),
                "uniform among live feasible ads": ws.policy_table("uniform", drawn.test, train=drawn.train),
            }
            for name, table in policies.items():
                estimate = ws.evaluate({"it": table}, drawn.test, train=drawn.train, tau=TAU)["it"]
                seen = supported(table, drawn.test, TAU)
                values = [drawn.world.true_value(t, events=drawn.test) for t in (table, seen)]
                found.setdefault(name, []).append([*values, estimate.value, estimate.support.unsupported])
    head = ["policy", "true value of its table", "of that, on supported traffic", "estimate", "unsupported traffic"]
    rows = [
        [name, *(spread(column) for column in columns[:3]), f"{sum(columns[3]) / len(columns[3]):.0%}"]
        for name, columns in ((name, list(zip(*runs, strict=True))) for name, runs in found.items())
    ]
    print(markdown(head, rows))


if __name__ == "__main__":
    main()
