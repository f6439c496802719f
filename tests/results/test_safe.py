"""What a safe fit says: where it departs, and what would prove the gain that was left."""

from dataclasses import replace

import pytest

from warmstart.core import Window
from warmstart.results import Learned, SafeImprovement
from warmstart.results import TestedSet as OneSet
from warmstart.results.safe import about_safety

PROVEN = OneSet(contexts=3, share=0.2, gain=0.01, lower=0.001, guards=True, proven=True)
MISSED = replace(PROVEN, lower=-0.001, proven=False)
SAFE = SafeImprovement(
    split="event",
    delta=0.05,
    tau=0.02,
    events=(650, 350),
    contexts=3,
    departs=0.2,
    gain=0.01,
    at_least=0.001,
    unproven=0.02,
    log_needed=None,
    tested=(PROVEN,),
    settings=(),
    simulated=0,
)


@pytest.mark.parametrize(
    ("log_needed", "tested", "said"),
    [
        (2.5, (PROVEN, MISSED), "A log 2.5 times as long would probably prove it."),
        (None, (PROVEN, MISSED), "only further events can tell."),
        (None, (PROVEN,), "which a longer log would test."),
        (None, (), "a longer log, or exploration, shows more of them."),
    ],
)
def test_a_gain_that_was_left_comes_with_what_would_prove_it(log_needed, tested, said):
    lines = about_safety(replace(SAFE, log_needed=log_needed, tested=tested))
    line = next(line for line in lines if "left for want of proof" in line)
    assert line.startswith("An expected gain of 0.02 an event")
    assert line.endswith(said)


@pytest.mark.parametrize(("departs", "said"), [(0.2, "20 % of the traffic only"), (1.0, "100 % of the traffic")])
def test_a_policy_that_departs_nearly_everywhere_does_not_depart_only_there(departs, said):
    empty = {key: {} for key in ("columns", "contexts", "actions", "fit_taus_tried", "sources")}
    learned = Learned(
        **empty,
        window=Window(1_000),
        events=1_000,
        cells=9,
        learned_from="cells",
        fit_tau=1.0,
        rate=None,
        training_loss=None,
        seed=0,
        version="0",
        safe=replace(SAFE, departs=departs),
    )
    assert learned.headline[0] == f"Proven no worse than what was shown: it departs from that on {said}"
