"""``python -m studies.training_trial``: a conclusion that is known to be wrong, and the doubt at which it tips.

The National Supported Work demonstration gave training at random, and it raised earnings. Its trainees are put
together with people of the Current Population Survey, who were never offered any (LaLonde 1986; Dehejia and Wahba 1999;
the tables of the PyPI package causaldata). Such a log says that training harms, unless its context holds what people
earned before. What trainees would have earned without training, the trial's own control group tells: so the doubt that
a log really had is known too.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import warmstart as ws
from studies.best_estimate import publish

if TYPE_CHECKING:
    from benchmarks.records import Rows

# The survey's largest earnings; trainees' are cut there too.
MOST = 25_565.0
PEOPLE = ("age", "black", "married", "no_degree")
BEFORE = ("earned_1974", "earned_1975")
CONTEXTS = {
    "who they are": PEOPLE,
    "and earnings of 1974": (*PEOPLE, BEFORE[0]),
    "and earnings of 1975": (*PEOPLE, BEFORE[1]),
    "and both": (*PEOPLE, *BEFORE),
}
REWARDS = {"earned_1978": MOST, "employed_1978": 1.0}
TAU, DOUBT = 0.01, 1.5


@dataclass(frozen=True)
class Trial:
    """Trainees and the survey's people as a log, and the trial's own control group with the same columns."""

    log: pa.Table
    controls: pa.Table

    @property
    def trained(self) -> Any:
        """Return which people of the log had training."""
        return np.array(self.log["training"].to_pylist()) == "yes"

    def effect(self, reward: str) -> float:
        """Return what training adds, by the trial alone."""
        return float(self.log[reward].to_numpy()[self.trained].mean() - self.controls[reward].to_numpy().mean())

    def gain(self, reward: str) -> float:
        """Return what training nobody gains, per person of the log."""
        return -self.effect(reward) * float(self.trained.mean())

    def doubt(self, context: tuple[str, ...], reward: str) -> float:
        """Return how untrained people of the survey and the trial's control group differ, in trainees' contexts.

        On average over the trainees that have both in their context: the ratio of the means, or of how far they stay
        below the largest reward, as a doubt is meant.
        """
        there, here = (_contexts(part, context) for part in (self.log, self.controls))
        rewards, of_controls = (part[reward].to_numpy() for part in (self.log, self.controls))
        means = []
        for own in there[self.trained]:
            survey, control = (there == own) & ~self.trained, here == own
            if survey.any() and control.any():
                means.append((rewards[survey].mean(), of_controls[control].mean()))
        shown, others = np.mean(means, axis=0) / REWARDS[reward]
        ratios = shown / others, (1 - shown) / (1 - others)
        return float(max(*ratios, *(1 / ratio for ratio in ratios)))


def people() -> Trial:
    """Return trainees, the survey's people and the trial's control group."""
    from causaldata import cps_mixtape, nsw_mixtape

    trial, survey = nsw_mixtape.load_pandas().data, cps_mixtape.load_pandas().data
    trainees, controls = (trial[trial["treat"] == group] for group in (1, 0))
    return Trial(pa.concat_tables([_columns(trainees, "yes"), _columns(survey, "no")]), _columns(controls, "no"))


def _columns(of: Any, training: str) -> pa.Table:
    def band(name: str, *ends: float) -> Any:
        return np.searchsorted(ends, of[name].to_numpy(float))

    earned = np.minimum(of["re78"].to_numpy(float), MOST)
    columns = {
        "age": band("age", 22, 28, 38),
        "black": band("black", 0.5),
        "married": band("marr", 0.5),
        "no_degree": band("nodegree", 0.5),
        "earned_1974": band("re74", 0, 5_000, 15_000),
        "earned_1975": band("re75", 0, 5_000, 15_000),
        "training": [training] * len(of),
        "earned_1978": earned,
        "employed_1978": (earned > 0).astype(float),
    }
    return pa.table(columns)


def _contexts(table: pa.Table, context: tuple[str, ...]) -> Any:
    return np.array(
        [" ".join(map(str, row)) for row in zip(*(table[name].to_pylist() for name in context), strict=True)]
    )


def judge(log: pa.Table, context: tuple[str, ...], reward: str, *, doubt: float | None = None) -> ws.ValueEstimate:
    """Value "train nobody" with a context."""
    events = ws.read_events(
        log, context=list(context), action="training", reward=reward, ranges={reward: (0, REWARDS[reward])}
    )
    return ws.evaluate("constant:no", events, tau=TAU, doubt=doubt)["constant:no"]


def left_out(log: pa.Table, context: tuple[str, ...], reward: str) -> dict[str, float | None]:
    """Return the doubt that each column of a context would have made, had it been hidden."""
    found = judge(log, context, reward, doubt=DOUBT).doubt
    assert found is not None
    return {one.column: one.factor for one in found.columns}


def rows(trial: Trial) -> Rows:
    """Return a line for every reward and context."""
    lines: Rows = {}
    for reward in REWARDS:
        for name, context in CONTEXTS.items():
            found = judge(trial.log, context, reward)
            certified, estimated, doubt = found.gain.certified, found.gain.estimated, found.doubt
            assert certified is not None
            assert estimated is not None
            assert doubt is not None
            made = left_out(trial.log, context, reward)
            lines[f"{reward}: {name}"] = {
                "the trial": trial.gain(reward),
                "estimated": estimated.difference,
                "interval": [estimated.lower, estimated.upper],
                "certified": [certified.lower, certified.upper],
                "tips at": doubt.tipping,
                "estimate tips at": doubt.estimated_tipping,
                "its doubt, by the trial": trial.doubt(context, reward),
                "left out: 1974": made.get(BEFORE[0]),
                "left out: 1975": made.get(BEFORE[1]),
            }
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="keep the table in benchmarks/results")
    options = parser.parse_args()
    trial = people()
    for reward in REWARDS:
        print(f"By the trial, training adds {trial.effect(reward):,.3g} to {reward};")
        print(f"training nobody gains {trial.gain(reward):+.3g} a person, {trial.trained.mean():.2%} of whom had it.")
        for name, context in CONTEXTS.items():
            made = left_out(trial.log, context, reward)
            texts = (f"{column} {'-' if factor is None else f'{factor:.2f}'}" for column, factor in made.items())
            print(f"Leaving out a column makes, {name}: {', '.join(texts)}")
    print()
    publish("training-trial", rows(trial), {"events": trial.log.num_rows}, record=options.record)


if __name__ == "__main__":
    main()
