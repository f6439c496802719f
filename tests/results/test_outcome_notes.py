"""Notes about outcomes, guards, prices and segments: there when they are used, and only then."""

import re

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws

STARTS = {
    "outcomes": "All outcomes of a policy",
    "guards": "Guards are about",
    "price": "A price is",
    "segments": "Segments share",
}


def events(**options):
    rng, n = np.random.default_rng(1), 900
    log = {"page": rng.choice(["p", "q", "r"], n), "ad": rng.choice(["a", "b"], n), "click": rng.integers(0, 2, n)}
    log["spent"] = pa.array(np.where(rng.random(n) < 0.1, np.nan, rng.random(n) * 0.1), from_pandas=True)
    return ws.read_events(pa.table(log), context="page", action="ad", reward="click", **options)


def told(result):
    return {what for what, start in STARTS.items() if any(note.startswith(start) for note in result.notes)}


@pytest.mark.parametrize(
    ("options", "asked", "expected"),
    [
        ({}, {}, set()),
        ({"also": "spent"}, {}, {"outcomes", "price"}),
        ({"also": "spent", "minimize": "spent"}, {"guards": "spent<=+1"}, {"outcomes", "guards", "price"}),
        ({}, {"by": "page"}, {"segments"}),
    ],
)
def test_notes_are_there_when_used_and_only_then(options, asked, expected):
    result = ws.evaluate("uniform", events(**options), tau=0.1, **asked)
    assert told(result) == expected
    sure = next(note for note in result.notes if note.startswith("With probability"))
    assert ("outcomes" in sure, "segments" in sure) == ("also" in options, "by" in asked)


def test_a_minimized_reward_is_bounded_from_above():
    # Nobody knows what 'b' spends on page q, a third of the traffic: it may be all of the range.
    log = {"page": ["p", "p", "q"] * 200, "ad": ["a", "b", "a"] * 200, "spent": [0.1, 0.3, 0.2] * 200}
    options = {"context": "page", "action": "ad", "reward": "spent", "minimize": "spent"}
    result = ws.evaluate(["constant:b", "logging"], ws.read_events(pa.table(log), **options), tau=0.1)
    [note] = [note for note in result.notes if note.startswith("With probability")]
    [end] = re.findall(r"expected 'spent' on this window's traffic is at most ([0-9.]+) \(constant:b\)", note)
    one = result["constant:b"]
    assert one.upper < one.joint_upper < float(end)
    assert float(end) == pytest.approx(1000 * (one.joint_upper + 1 / 3), abs=10)
    assert float(end) >= 1000 * (one.joint_upper + 1 / 3)
    assert any("less is better" in table.title for table in result.tables)
