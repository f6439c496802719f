"""What the change of a policy is made of, and that the range left open holds every truth that the bounds allow."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.results import change_parts, left_open

NAMES = {"context": "page", "action": "ad", "reward": "gain"}


def log(low=0.0, high=1.0):
    """Two pages with two ads at random; on a third the second ad is rare, on a fourth it was never shown."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, 4_000)
    a = rng.random(4_000) < np.array([0.5, 0.5, 0.01, 0.0])[x]
    won = rng.random(4_000) < np.where(a, 0.5, 0.3) + 0.1 * (x == 3)
    return x, a, np.where(won, high, low)


def read(x, a, reward, **options):
    columns = {"page": np.char.add("p", x.astype(str)), "ad": np.where(a, "new", "old"), "gain": reward}
    return ws.read_events(pa.table(columns), **NAMES, **options)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 3.0)])
def test_what_is_left_open_is_the_certified_range_and_any_reward_elsewhere_in_the_place_of_what_was_shown(low, high):
    x, a, reward = log(low, high)
    ranges = {} if low == 0 else {"ranges": {"gain": (low, high)}}
    result = ws.evaluate({"new": "constant:new"}, read(x, a, reward, **ranges), tau=0.05)
    gain, rest = result["new"].gain.certified, x >= 2
    shown = reward[rest].sum() / len(x)
    lower, upper = left_open(result, result["new"])
    assert lower == pytest.approx(gain.joint_lower + low * rest.mean() - shown)
    assert upper == pytest.approx(gain.joint_upper + high * rest.mean() - shown)


def test_all_supported_leaves_the_certified_range_open_so_that_it_agrees_with_the_verdict():
    rng = np.random.default_rng(0)
    x, a = rng.integers(0, 8, 2_000), rng.random(2_000) < 0.1
    result = ws.evaluate("constant:old", read(x, a, (rng.random(2_000) < np.where(a, 0.5, 0.3)) * 1.0), tau=0.05)
    assert (result.verdict.kind, result.verdict.evidence) == ("worse", "certified")
    gain, [*_, last] = result["constant:old"].gain.certified, change_parts(result)
    assert (last.kind, last.start, last.end) == ("open", gain.joint_lower, gain.joint_upper)
    assert last.end < 0


def test_what_was_shown_where_a_policy_is_undecided_may_be_anything_but_nothing_changes_there():
    x, a, reward = log()
    decisions = pa.table({"page": ["p0", "p2"], "ad": ["new", "new"]})
    result = ws.evaluate({"own": decisions}, read(x, a, reward), tau=0.05, trained_until="never")
    own = result["own"]
    lower, upper = left_open(result, own)
    rest, shown = (x == 2).mean(), reward[x == 2].sum() / len(x)
    assert own.gain.certified.joint_lower - rest <= lower <= own.gain.certified.joint_lower - shown
    assert own.gain.certified.joint_upper + rest - shown <= upper <= own.gain.certified.joint_upper + rest


def test_where_nothing_is_supported_only_the_range_of_the_reward_is_known():
    x, a, reward = log()
    only = x == 3
    result = ws.evaluate("constant:new", read(x[only], a[only], reward[only]), tau=0.05, allow_unknown_actions=True)
    mean = reward[only].mean()
    assert left_open(result, result["constant:new"]) == pytest.approx((-mean, 1 - mean))


def test_rewards_that_are_partly_unknown_leave_the_whole_range_open():
    x, a, reward = log()
    result = ws.evaluate({"new": "constant:new"}, read(x, a, reward), tau=0.05)
    gain, rest = result["new"].gain.certified, (x >= 2).mean()
    ends = left_open(result, replace(result["new"], known=0.9))
    assert ends == pytest.approx((gain.joint_lower - rest, gain.joint_upper + rest))


def test_without_bounds_nothing_is_called_open():
    x, a, reward = log()
    events = read(x, a, reward)
    by_model = ws.evaluate("constant:new", events, tau=0.05, propensities="model")
    assert [one.kind for one in change_parts(by_model)] == ["guessed", "together"]
    assert change_parts(ws.evaluate({"own": ws.fit(events)}, events, tau=0.05)) == ()
