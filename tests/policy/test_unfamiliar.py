"""What a policy does not know is said when it is asked about it."""

import pyarrow as pa
import pytest
from tests.support.saved_policies import small_policy

from warmstart.policy import unfamiliar

PAGES = {"topics": [["red"]] * 3, "counts": [[1.0]] * 3, "new": [True, False, True]}


@pytest.fixture(scope="module")
def policy():
    return small_policy(model="cells")


def test_what_is_known_needs_no_remark(policy):
    ads = pa.table({"ad": [0, 2], "words": ["a red car", "tea"], "price": [3.0, 2.0]})
    assert unfamiliar(policy, pa.table({**PAGES, "size": [0.0, 1.0, 2.0]}), ads) == []


def test_numbers_far_from_training_and_gaps_are_counted(policy):
    far, gap = unfamiliar(policy, pa.table({**PAGES, "size": [50.0, None, -60.0]}))
    assert far.startswith("'size': 2 of 3 contexts lie outside [")
    assert gap.startswith("'size': 1 of 3 contexts have no value")


def test_new_actions_are_counted_scored_by_features_or_left_out(policy):
    pages = pa.table({**PAGES, "size": [0.0, 1.0, 2.0]})
    (note,) = unfamiliar(policy, pages, pa.table({"ad": [0, 77]}))
    assert note == "1 of 2 actions were not in the training window: left out."
    ads = pa.table({"ad": [0, 77], "words": ["tea", "tea"], "price": [1.0, 900.0]})
    new, far = unfamiliar(policy, pages, ads)
    assert "scored by their features alone" in new
    assert far.startswith("'price': 1 of 2 actions lie outside")
