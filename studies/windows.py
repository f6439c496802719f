"""``python -m studies.windows``: which window should give the weights, and which the feasible set?"""

from __future__ import annotations

import argparse
from collections import defaultdict

import warmstart as ws
from studies.months import feasible, markdown, month, spread, supported

TAU = 0.01
WINDOWS = ("all", "train", "evaluated")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--events", type=int, default=1_000_000)
    options = parser.parse_args()
    for churn in (True, False):
        found: dict[tuple[str, str], list[float]] = defaultdict(list)
        for seed in range(options.seeds):
            with month(scale="small", events=options.events, churn=churn, seed=seed) as drawn:
                for window in WINDOWS:
                    best = drawn.world.best_policy(feasible(drawn, window))
                    found[window, "true"].append(drawn.world.true_value(best, events=drawn.test))
                    seen = supported(best, drawn.test, TAU)
                    found[window, "seen"].append(drawn.world.true_value(seen, events=drawn.test))
                    for weights in WINDOWS:
                        source = "counts" if weights == "evaluated" else weights
                        how = {"train": drawn.train, "tau": TAU, "propensities": source}
                        best_value = ws.evaluate({"best": best}, drawn.test, **how)["best"]
                        ratio = best_value.weight_ratio
                        found[window, weights].append(best_value.value if ratio is None else ratio.value)
        print(f"\n{'Ads come and go' if churn else 'No ad starts or stops'}; {options.seeds} seeds, tau {TAU:g}\n")
        head = ["feasible from", "true value of best", "of that, on supported traffic"]
        head += [f"estimate, weights from {weights}" for weights in WINDOWS]
        print(markdown(head, [[w, *(spread(found[w, c]) for c in ("true", "seen", *WINDOWS))] for w in WINDOWS]))


if __name__ == "__main__":
    main()
