"""Segments beside each other: drawn towards the whole in estimates, told apart by joint ends alone."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support import outcome_logs

import warmstart as ws
from warmstart.results import CertifiedGain, EstimatedGain, Gain
from warmstart.results.segments import segment_gains

SHARES = {"at": 0.6, "be": 0.3, "ch": 0.1}


@pytest.fixture(scope="module")
def whole(duckdb):
    events = outcome_logs.read(outcome_logs.columns(), engine=duckdb)
    return ws.evaluate(["logging", "constant:a1"], events, tau=0.2, by="country")


def told(evaluation, ends, estimates=None, center=0.0):
    """The evaluation with joint ends, and estimates with their errors, by segment."""
    ends = {name: CertifiedGain(1.0, 1.0, *[0.0] * 5, "finite-sample", *pair) for name, pair in ends.items()}

    def changed(one):
        mean, error = (estimates or {}).get(one.segment[0], (0.0, 0.1))
        interval = (None, None) if error is None else (mean - 1.959964 * error, mean + 1.959964 * error)
        gain = Gain(ends[one.segment[0]], EstimatedGain("dr", mean, *interval))
        return replace(one, gain=gain, share=SHARES[one.segment[0]])

    policy = evaluation["constant:a1"]
    policy = replace(policy, gain=Gain(None, EstimatedGain("dr", center, center - 0.01, center + 0.01)))
    own = tuple(changed(one) for one in evaluation.segments if not one.is_logging)
    return segment_gains(replace(evaluation, policies=(policy,), segments=own))


def test_a_segment_differs_if_its_joint_ends_do_not_meet_those_of_the_others(whole):
    apart = told(whole, {"at": (0.2, 0.3), "be": (-0.1, 0.1), "ch": (0.0, 0.45)})
    # All but 'at': (.3 * .1 + .1 * .45) / .4 = .1875 at the most; all but 'be': .171 at the least.
    assert [one.differs for one in apart] == [True, True, False]
    assert [one.proven for one in apart] == [True, False, False]
    assert [one.worse for one in told(whole, {"at": (-0.2, 0), "be": (-0.2, -0.1), "ch": (0.1, 0.2)})] == [
        False,
        True,
        False,
    ]
    near = told(whole, {"at": (0.18, 0.3), "be": (-0.1, 0.16), "ch": (0.0, 0.45)})
    assert [one.differs for one in near] == [False, False, False]
    assert [one.to_dict()["share"] for one in near] == list(SHARES.values())


def test_where_nothing_is_supported_the_gain_is_zero(whole):
    ends = {"at": (0.2, 0.3), "be": (-0.1, 0.1), "ch": (None, None)}
    assert not any(one.differs for one in told(whole, ends))
    nothing = CertifiedGain(0.0, 0.0, None, None, None, None, None, "finite-sample")
    gains = told(whole, ends)
    last = replace(gains[2].estimate, gain=Gain(nothing, None))
    own = (gains[0].estimate, gains[1].estimate, last)
    found = segment_gains(replace(whole, policies=(whole["constant:a1"],), segments=own))
    assert [one.differs for one in found] == [True, True, True]
    assert [one.drawn for one in found][2] is None


def test_estimates_are_drawn_by_empirical_bayes(whole):
    estimates = {"at": (0.1, 0.02), "be": (0.3, 0.05), "ch": (-0.2, 0.3)}
    found = told(whole, dict.fromkeys(SHARES, (-1, 1)), estimates, center=0.15)
    share, mean, error = (np.array(part) for part in zip(*((SHARES[k], *estimates[k]) for k in SHARES), strict=True))
    spread = max((share * ((mean - 0.15) ** 2 - error**2)).sum() / share.sum(), 0.0)
    assert spread > 0
    expected = 0.15 + spread / (spread + error**2) * (mean - 0.15)
    assert [one.drawn for one in found] == pytest.approx(expected.tolist())
    assert abs(found[2].drawn - 0.15) < 0.2 * abs(-0.2 - 0.15)


def test_equal_segments_are_drawn_wholly_and_few_not_at_all(whole):
    same = told(whole, dict.fromkeys(SHARES, (-1, 1)), {"at": (0.1, 0.2), "be": (0.2, 0.2), "ch": (0.3, 0.2)}, 0.15)
    assert [one.drawn for one in same] == pytest.approx([0.15] * 3)
    alone = told(whole, dict.fromkeys(SHARES, (-1, 1)), {"at": (0.1, None), "be": (0.2, 0.2), "ch": (0.3, 0.2)}, 0.15)
    assert [one.drawn for one in alone] == [0.1, 0.2, 0.3]


def test_bounds_are_never_drawn(whole):
    for one, estimate in zip(segment_gains(whole), whole.segments[3:], strict=True):
        assert one.estimate is estimate
    assert "by country" in str(whole)
