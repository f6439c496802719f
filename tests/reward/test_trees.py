"""Boosted trees: predictions are those of scikit-learn, and tables that do not suit them are refused."""

import numpy as np
import pytest
from tests.support.reward_cells import BITS, cells, features
from tests.support.saved_policies import copied, sign, small_policy
from threadpoolctl import threadpool_info, threadpool_limits

import warmstart as ws
from warmstart.features import folds
from warmstart.reward import trees
from warmstart.scoring import TreesModel, dense

SIZE, ACTIONS = 700, 4


@pytest.fixture(scope="module")
def world():
    """Contexts with numbers, gaps and categories; what is best depends on thresholds."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=SIZE)
    gaps = [None if one < 0.1 else float(one) for one in rng.random(SIZE)]
    x, _ = features(BITS[0], z=z, gaps=gaps, color=list(rng.choice(["red", "green", "blue"], SIZE)))
    a, _ = features(BITS[1], price=np.linspace(0, 1, ACTIONS), kind=["a", "b", "a", "b"])
    contexts, actions = np.repeat(np.arange(SIZE), ACTIONS), np.tile(np.arange(ACTIONS), SIZE)
    means = np.where((z[contexts] > 0.5) == (actions % 2 == 1), 0.8, 0.1)
    return x, a, cells(contexts, actions, means, 3), means


@pytest.fixture(scope="module")
def both(world):
    """What was learned, and the model of scikit-learn that it was taken from."""
    x, a, seen, _ = world
    module, found = trees.scikit_learn("ensemble"), []

    class Watched(module.HistGradientBoostingClassifier):
        def fit(self, *arguments, **options):
            found.append(self)
            return super().fit(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "HistGradientBoostingClassifier", Watched)
        return trees.learn_trees(seen, 1.0, x, a), found[0]


def test_few_rows_are_learned_by_one_thread(world):
    x, a, seen, _ = world
    module, used = trees.scikit_learn("ensemble"), []

    class Watched(module.HistGradientBoostingClassifier):
        def fit(self, *arguments, **options):
            used.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp")
            with threadpool_limits(1):
                return super().fit(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "HistGradientBoostingClassifier", Watched)
        patch.setattr(trees, "TREES", 2)
        trees.learn_trees(seen, 1.0, x, a, threads=3)
        assert set(used) == {1}
        used.clear()
        patch.setattr(folds, "MANY_ROWS", 1)
        trees.learn_trees(seen, 1.0, x, a, threads=3)
        assert set(used) == {3}


def test_predictions_are_those_of_scikit_learn_for_cells_and_for_rows_between_and_at_thresholds(world, both):
    x, a, seen, _ = world
    ours, theirs = both
    matrix = np.hstack([dense(x, ours.context_columns)[seen.contexts], dense(a, ours.action_columns)[seen.actions]])
    expected = theirs.predict_proba(matrix)[:, 1]
    assert ours.predict(seen.contexts, seen.actions, x, a) == pytest.approx(expected, rel=1e-6)
    # At a threshold a row goes to the left, and just above it to the right.
    column, at = int(ours.columns[0]), ours.thresholds[ours.columns == ours.columns[0]]
    for values in (at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf)):
        rows = np.tile(matrix[:1], (len(at), 1))
        rows[:, column] = values
        split = len(ours.context_columns)
        sides = rows[:, :split], rows[:, split:]
        sides = sides[0], np.column_stack([sides[1], np.full(len(at), -1.0)])
        left = [
            ours._left(side, np.flatnonzero((ours.columns < split) == (first == 0)), first)
            for side, first in zip(sides, (0, split), strict=True)
        ]
        odds = ours._odds(*left, np.arange(len(at)), np.arange(len(at)))
        assert odds == pytest.approx(theirs.decision_function(rows), abs=1e-9)


def test_they_find_what_depends_on_a_threshold(world, both):
    x, a, seen, means = world
    assert np.abs(both[0].predict(seen.contexts, seen.actions, x, a) - means).mean() < 0.12


def test_the_same_seed_learns_the_same(world, both):
    x, a, seen, _ = world
    again = trees.learn_trees(seen, 1.0, x, a)
    assert all(
        np.array_equal(getattr(again, name), getattr(both[0], name)) for name in ("masks", "leaves", "thresholds")
    )


def test_rewards_that_never_differ_make_no_trees(world):
    x, a, seen, _ = world
    always = type(seen)(seen.contexts, seen.actions, seen.n, seen.n, seen.n, seen.context_n)
    found = trees.learn_trees(always, 1.0, x, a)
    assert len(found.leaves) == 0
    assert found.predict(seen.contexts, seen.actions, x, a) == pytest.approx(1, abs=1e-5)


def test_many_words_are_refused(world):
    _, a, seen, _ = world
    x, _ = features(12, words=[[f"w{i}"] for i in range(SIZE)])
    with pytest.raises(ws.UsageError, match="Trees take numbers and categories"):
        trees.learn_trees(seen, 1.0, x, a)


def test_a_full_tree_of_32_leaves_finds_each_of_them():
    """Splits at 0.5, 1.5, ..., each leaving all leaves above it to larger numbers."""
    cuts = np.arange(31) + 0.5
    masks = np.array([0xFFFFFFFF & ~((1 << (i + 1)) - 1) for i in range(31)], np.uint32)
    columns = np.zeros(31, np.uint32)
    one = np.array([0], np.uint32)
    sets = np.zeros((31, 8), np.uint32)
    model = TreesModel(one, one[:0], np.array([0, 31]), columns, cuts, masks, sets, np.linspace(-3, 3, 32)[None], 0.0)
    x = trees.FeatureRows.of(np.arange(32), np.zeros(32, int), np.arange(32.0), 32)
    a = trees.FeatureRows.of(np.zeros(0, int), np.zeros(0, int), np.zeros(0), 1)
    odds = np.linspace(-3, 3, 32)
    assert model.predict(np.arange(32), np.zeros(32, int), x, a) == pytest.approx(1 / (1 + np.exp(-odds)), rel=1e-6)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return small_policy(model="trees").save(tmp_path_factory.mktemp("trees") / "policy")


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("masks.npy", lambda masks: masks * 0, "the masks of a tree must leave one of its leaves"),
        ("split_columns.npy", lambda columns: columns + 1_000, "values must be below"),
        ("context_columns.npy", lambda columns: columns[::-1].copy(), "buckets must rise"),
        ("tree_starts.npy", lambda starts: starts[::-1].copy(), "offsets must start at 0"),
        ("tree_starts.npy", lambda starts: np.append(starts, starts[-1]), "another number"),
        ("thresholds.npy", lambda cuts: cuts * np.nan, "values must be finite"),
        ("leaves.npy", lambda leaves: leaves[:, :16].copy(), "has the length 16, and leaves is 32"),
    ],
)
def test_changed_trees_are_refused_though_their_checksums_fit(saved, tmp_path, file, change, message):
    folder = copied(saved, tmp_path / "policy")
    np.save(folder / file, change(np.load(folder / file)))
    sign(folder)
    with pytest.raises(ws.SavedFileError, match=message) as error:
        ws.load_policy(folder)
    assert file.split(".")[0] in str(error.value) or file == "tree_starts.npy"


def test_actions_known_by_name_alone_are_a_category_as_in_scikit_learn():
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = np.random.default_rng(4)
    x, _ = features(BITS[0], z=rng.normal(size=SIZE))
    a, _ = features(16, name=[f"name{i}" for i in range(40)])
    contexts, actions = rng.integers(SIZE, size=4_000), rng.choice(np.delete(np.arange(40), 7), size=4_000)
    seen = cells(contexts, actions, np.where((actions * 7 % 11 < 5) == (x.values[::2][contexts] > 0), 0.8, 0.1), 1)
    ours = trees.learn_trees(seen, 1.0, x, a)
    assert (ours.columns == len(ours.context_columns) + len(ours.action_columns)).any()
    # Places of buckets in rising order are the categories.
    place = np.argsort(np.argsort([a.buckets[a.starts[i]] for i in range(40)]))
    matrix = np.column_stack([dense(x, ours.context_columns)[contexts], place[actions]])
    options = {"max_leaf_nodes": trees.LEAVES, "max_iter": trees.TREES, "learning_rate": trees.RATE, "random_state": 0}
    theirs = HistGradientBoostingClassifier(**options, categorical_features=[matrix.shape[1] - 1])
    order = np.argsort(-seen.reward_sum, kind="stable")
    assert set(seen.n) == {1.0}
    theirs.fit(matrix[order], seen.reward_sum[order])
    assert ours.predict(contexts, actions, x, a) == pytest.approx(theirs.predict_proba(matrix)[:, 1], rel=1e-5)
    unknown = features(16, name=["nobody"])[0]
    assert np.isfinite(ours.predict(contexts[:5], np.zeros(5, int), x, unknown)).all()
