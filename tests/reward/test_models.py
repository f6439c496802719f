"""Every kind of reward model: it repeats itself, and is saved and loaded without a difference."""

import numpy as np
import pyarrow as pa
import pytest
from tests.support.saved_policies import small_policy

import warmstart as ws
from warmstart.reward import MODELS

KINDS = [kind for kind in MODELS if kind != "product"]
NEW = pa.table(
    {
        "page": [100, 101, 102],
        "half": [0, 1, 2],
        "topics": [["red"], ["blue", "green"], []],
        "counts": [[1.0], [2.0, 1.0], []],
        "size": [0.5, 9.0, -1.0],
        "new": [True, False, True],
    }
)


@pytest.fixture(scope="module", params=KINDS)
def policy(request):
    return small_policy(model=request.param)


def test_the_same_seed_learns_the_same(policy):
    again = small_policy(model=policy.report["model"])
    assert again.ranking.equals(policy.ranking)
    assert again.choose_table(NEW).equals(policy.choose_table(NEW))


def test_a_saved_policy_chooses_the_same_also_for_new_contexts(policy, tmp_path):
    loaded = ws.load_policy(policy.save(tmp_path / "policy"))
    assert type(loaded.model) is type(policy.model)
    assert loaded.learned == policy.learned
    assert loaded.ranking.equals(policy.ranking)
    assert loaded.choose_table(NEW).equals(policy.choose_table(NEW))
    for row in NEW.to_pylist():
        best, scores = policy.choose(row)
        again, loaded_scores = loaded.choose(row)
        assert best == again
        assert np.array_equal(scores, loaded_scores)


def test_tables_and_single_contexts_are_scored_the_same(policy):
    table = policy.choose_table(NEW)
    for i, row in enumerate(NEW.to_pylist()):
        best, scores = policy.choose(row)
        assert best == table["ad"][i].as_py()
        assert scores.max() == pytest.approx(table["score"][i].as_py(), rel=1e-5)
