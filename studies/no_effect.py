"""``python -m studies.no_effect --out FOLDER``: how often do intervals of a gain hold 0 where no action has an effect?

The worlds of ``studies.best_estimate`` with rewards that go by the context alone: the true gain of every policy is 0,
whatever it chooses and however the logging policy chose. What is done is kept in FOLDER and not done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from studies.best_estimate import Row, held, measured, moments, parsed, publish, scores, share, summary
from studies.truths import GOOD, NO_EFFECT, NULL


def line(rows: Sequence[Row]) -> dict[str, Any]:
    """Return one line of the table: a world at one reward rate."""
    assert all(abs(row["gain_truth"]) < 1e-12 for row in rows)
    by_policy = {policy: [row for row in rows if row["policy"] == policy] for policy in (GOOD, NULL)}
    return {
        "logs": len(rows) // 2,
        **{f"{policy} covers 0": share(held(some, "gain_")) for policy, some in by_policy.items()},
        **{f"value, {policy}": share(held(some)) for policy, some in by_policy.items()},
        "mean gain": f"{np.mean([row['gain_value'] for row in rows]):+.4f}",
        "z of gain": moments(scores(rows, "gain_")),
        "no interval": sum(row["lower"] is None for row in rows),
        "ips withheld": sum(row["withheld"] is not None for row in rows),
    }


def main() -> None:
    options = parsed(__doc__, NO_EFFECT, logs=100)
    lines = summary(measured(NO_EFFECT, options, "no_effect"), NO_EFFECT, line)
    publish("no-effect", lines, {"logs": min(one["logs"] for one in lines.values())}, record=options.record)


if __name__ == "__main__":
    main()
