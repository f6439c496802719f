"""The test for reaction inside epochs: every number against arrays, on every engine."""

import numpy as np
import pytest
from tests.support import epoch_reference as plain
from tests.support.audit_logs import CLOSE
from tests.support.reacting_loggers import calendar, learner, read

from warmstart.auditing import epoch_facts
from warmstart.auditing.epoch_sums import PARTS, PartSums, reaction

SMALL = {"contexts": 5, "days": 10, "per_day": 150}
WORLDS = {
    "learning": lambda rng: learner(rng, "thompson", every=0.5, **SMALL),
    "sharp": lambda rng: calendar(rng, sharp=True, **SMALL),
}


@pytest.mark.parametrize("name", WORLDS)
def test_support_and_reaction_are_sums_over_slices(engine, name):
    x, a, r, time = WORLDS[name](np.random.default_rng(1))
    facts = epoch_facts(read((x, a, r, time), engine), tau=0.2)
    assert [row.name for row in facts.lengths] == ["all", "week", "day", "hour"]
    for row in facts.lengths:
        epoch, part = plain.slices(time, row.name)
        assert row.epochs == len(np.unique(epoch))
        assert (row.choice, row.supported) == pytest.approx(plain.support(x, a, epoch, 0.2), **CLOSE)
        expected = plain.epoch_test(x, a, r, epoch, part)
        assert (row.p_value is None) == (expected is None)
        if expected is None and row.name == "hour":
            continue
        z, clustered, response, visible, stretches = expected
        assert row.p_value == pytest.approx(plain.p_value(z), rel=1e-6)
        assert row.clustered_p == pytest.approx(plain.p_value(clustered), rel=1e-6)
        assert (row.response, row.visible) == pytest.approx((response, visible), rel=1e-6)
        assert row.stretches == pytest.approx(stretches, rel=1e-6)


def test_the_scale_of_rewards_does_not_matter(duckdb):
    x, a, r, time = WORLDS["learning"](np.random.default_rng(2))
    plain_facts = epoch_facts(read((x, a, r, time), duckdb))
    scaled = epoch_facts(read((x, a, 4 * r - 1, time), duckdb, ranges={"reward": (-1, 3)}))
    assert [row.p_value for row in scaled.lengths] == pytest.approx([row.p_value for row in plain_facts.lengths])


def test_rewards_that_never_differ_and_policies_that_never_change_have_no_test(duckdb):
    x, a, r, time = WORLDS["learning"](np.random.default_rng(3))
    for log in ((x, a, np.ones_like(r), time), (x, x % 3, r, time)):
        assert all(row.p_value is None for row in epoch_facts(read(log, duckdb)).lengths)


def sums(part, **changes):
    """Sums of one part, with none of the other."""
    found = PartSums(4.0, 4.0, 4.0, 0.16, 40.0, 120.0, 20.0, 8.0)._replace(**changes)
    return {
        f"{name}_{field}": value if name == part else 0.0 for name in PARTS for field, value in found._asdict().items()
    }


def test_rewards_that_go_together_in_a_stretch_widen_the_deviation():
    """Terms of U squared sum to four times what they should, of which 100 of 120 are free."""
    alone, together = (reaction(sums("within", squares=squares))[0] for squares in (3.0, 16.0))
    assert alone.z == pytest.approx(2.0)
    assert together.z == pytest.approx(2.0 / np.sqrt(4.0 * 120 / 100))
    assert together.stretches == alone.stretches == pytest.approx(16 / 0.16 * 100 / 120)


def test_a_few_stretches_are_no_test():
    assert reaction(sums("between", fourth=4.0)) == (None, None)
    assert reaction(sums("between", means=120.0)) == (None, None)


def test_epochs_between_them_show_only_what_follows_winners():
    """A policy that starts to follow yesterday's winners in the middle of the day makes U between too low."""
    for score in (4.0, -4.0):
        low, rest = sums("between", score=score, squares=3.0), sums("within", squares=3.0)
        test, both = reaction({name: low[name] or rest[name] for name in low})
        assert test.z == pytest.approx(2 * np.sqrt(2) if score > 0 else 2.0)
        assert both.z == pytest.approx(2 * np.sqrt(2) if score > 0 else 0.0)
        assert both.reach == pytest.approx(20 * np.sqrt(2))
