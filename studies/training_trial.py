"""``python -m studies.training_trial``: a conclusion that is known to be wrong, and the doubt at which it tips.

The National Supported Work demonstration gave training at random, and it raised earnings. Its trainees are put
together with people of the Current Population Survey, who were never offered any (LaLonde 1986; Dehejia and Wahba 1999;
the tables of the PyPI package causaldata). Such a log says that training harms, unless its context holds what people
earned before.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

import warmstart as ws
from studies.months import markdown

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


def people() -> tuple[pa.Table, float]:
    """Return trainees and the survey's people, and what training adds to earnings by the trial alone."""
    from causaldata import cps_mixtape, nsw_mixtape

    trial, survey = nsw_mixtape.load_pandas().data, cps_mixtape.load_pandas().data
    earned = trial["re78"].clip(upper=MOST)
    effect = earned[trial["treat"] == 1].mean() - earned[trial["treat"] == 0].mean()
    parts = [trial[trial["treat"] == 1], survey]
    column = {name: np.concatenate([part[name].to_numpy(float) for part in parts]) for name in trial.columns[1:]}

    def band(name: str, *ends: float) -> Any:
        return np.searchsorted(ends, column[name])

    log = {
        "age": band("age", 22, 28, 38),
        "black": band("black", 0.5),
        "married": band("marr", 0.5),
        "no_degree": band("nodegree", 0.5),
        "earned_1974": band("re74", 0, 5_000, 15_000),
        "earned_1975": band("re75", 0, 5_000, 15_000),
        "training": np.where(column["treat"] > 0.5, "yes", "no"),
        "earned_1978": np.minimum(column["re78"], MOST),
    }
    return pa.table(log), float(effect)


def judge(log: pa.Table, context: tuple[str, ...]) -> tuple[ws.ValueEstimate, ws.ValueEstimate]:
    """Value "train nobody" with a context, without and with a doubt."""
    events = ws.read_events(
        log, context=list(context), action="training", reward="earned_1978", ranges={"earned_1978": (0, MOST)}
    )
    plain, doubted = (ws.evaluate("constant:no", events, tau=0.01, doubt=doubt) for doubt in (None, 1.5))
    return plain["constant:no"], doubted["constant:no"]


def main() -> None:
    log, effect = people()
    share = np.mean(np.array(log["training"].to_pylist()) == "yes")
    print(f"By the trial, training adds {effect:,.0f} dollars to earnings of 1978; {share:.2%} of these people had it,")
    print(f"so that training nobody gains {-effect * share:+.1f} dollars a person.\n")
    header = ("context", "estimated gain of training nobody", "certified", "tips at (certified)", "tips at (estimated)")
    rows = []
    for name, context in CONTEXTS.items():
        plain, doubted = judge(log, context)
        certified, estimated = plain.gain.certified, plain.gain.estimated
        assert certified is not None
        assert estimated is not None
        assert plain.doubt is not None
        assert doubted.doubt is not None
        tips = [plain.doubt.tipping, plain.doubt.estimated_tipping]
        ends = (estimated.lower, estimated.upper), (certified.lower, certified.upper)
        shown = [f"{tip:.2f}" if tip is not None else "-" for tip in tips]
        texts = [f"[{low:+.1f}, {high:+.1f}]" for low, high in ends]
        rows.append((name, f"{estimated.difference:+.1f} {texts[0]}", texts[1], *shown))
        without = ", ".join(f"{one.column} {one.factor or math.nan:.2f}" for one in doubted.doubt.columns)
        print(f"Doubt that leaving out a column would make, {name}: {without}")
    print("\n" + markdown(header, rows))


if __name__ == "__main__":
    main()
