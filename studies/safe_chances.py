"""``python -m studies.safe_chances``: are the simulated chances of a safe fit's report those that come true?

Logs of the worlds of ``studies.safe``, whose truth is known. Of each, the chance that argmax, caution and safety are
worse than logging is simulated as ``fit`` does it, and each setting learns from the log itself. Beside the chances
stands the share of logs in which it then is worse; where argmax is concerned also for logs in which its chance was
said to be small, middling and large, all worlds together.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
from benchmarks.records import Rows

from studies.best_estimate import publish
from studies.safe import CAUTION, PROOF, SIZES, TAU, WORLDS, World, cells
from warmstart.estimators import improve, propose
from warmstart.pipeline.safe_chances import compare_settings
from warmstart.reward import Examples, learn_estimated

DELTA = 0.05
SETTINGS = ("argmax", "cautious", "safe")
BANDS = ((0.0, 0.05), (0.05, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.01))


class Judged(NamedTuple):
    """What was said of the settings and what came true: chances to be worse, mean gains; whether worse, gains."""

    chances: list[float]
    gains: list[float]
    worse: list[bool]
    gained: list[float]


def one_log(name: str, size: int, seed: int, simulated: int) -> Judged:
    """Simulate the chances of one log, and learn from it."""
    rng = np.random.default_rng([list(WORLDS).index(name), size, seed])
    world = World.draw(name, rng)
    first, later = world.log(round(size * (1 - PROOF)), rng), world.log(round(size * PROOF), rng)
    (a, of_a), (b, _), (both, _) = (cells(log) for log in (first, later, first + later))
    bold = propose(*cells(first + later, leaning=False), tau=TAU, caution=0.0)
    sure = bold.only(bold.gains * np.sqrt(bold.events) > CAUTION * np.sqrt(bold.noise))
    safe = improve(a, b, of_a, tau=TAU, delta=DELTA)
    n, s = both.n, both.rewards
    examples = Examples(both.contexts, both.actions, n, s, s, (first + later)[0].sum(axis=1)[both.contexts])
    known = learn_estimated(examples, np.full(len(n), s.sum() / n.sum()), *world.means.shape)
    found, _ = compare_settings((a, b), known, tau=TAU, delta=DELTA, first_leans=True, seed=seed, most=simulated)
    said = {one.setting: one for one in found}
    gained = [world.gain(one, first + later) / size for one in (bold, sure, safe)]
    chances, gains = ([getattr(said[name], part) for name in SETTINGS] for part in ("worse", "gain"))
    return Judged(chances, gains, [gain < -1e-12 for gain in gained], gained)


def line(some: list[Judged]) -> dict[str, Any]:
    """Return what was said and what came true, on average."""
    row: dict[str, Any] = {"logs": len(some)}
    for i, name in enumerate(SETTINGS):
        row[f"{name}: said"] = float(np.mean([one.chances[i] for one in some]))
        row[f"{name}: true"] = float(np.mean([one.worse[i] for one in some]))
    for i, name in enumerate(SETTINGS):
        row[f"{name}: gain said, true"] = [
            1_000 * float(np.mean([getattr(one, part)[i] for one in some])) for part in ("gains", "gained")
        ]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=100, help="how many logs of every world and size")
    parser.add_argument("--simulated", type=int, default=40, help="how many logs are simulated for each")
    parser.add_argument("--record", action="store_true", help="keep the table in benchmarks/results")
    options = parser.parse_args()
    rows: Rows = {}
    everything: list[Judged] = []
    for name in WORLDS:
        if name == "null":  # Nothing is worse there, and nothing better.
            continue
        for size in SIZES:
            logs = [one_log(name, size, seed, options.simulated) for seed in range(options.logs)]
            rows[f"{name}, {size:,} events"] = line(logs)
            everything += logs
    for low, high in BANDS:
        some = [one for one in everything if low <= one.chances[0] < high]
        if some:
            said, true = (float(np.mean([getattr(one, part)[0] for one in some])) for part in ("chances", "worse"))
            rows[f"argmax said {low:.0%} to {min(high, 1):.0%}"] = {
                "logs": len(some),
                "argmax: said": said,
                "argmax: true": true,
            }
    publish("safe-chances", rows, {"logs": options.logs, "simulated": options.simulated}, record=options.record)


if __name__ == "__main__":
    main()
