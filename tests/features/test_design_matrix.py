"""Contexts as a matrix: what columns become, what unseen values do, how wide it may be."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from warmstart.core.errors import ColumnError, UsageError
from warmstart.features import ContextMatrix, other_folds, scikit_learn, weighted_copy
from warmstart.features.design_matrix import MOST_CATEGORIES, WORD_BITS


def learned(weights=None, **columns):
    table = pa.table(columns)
    weights = np.ones(table.num_rows) if weights is None else np.array(weights, float)
    return ContextMatrix.learn(table, weights), table


def applied(weights=None, **columns):
    matrix, table = learned(weights, **columns)
    return matrix.apply(table)


DAYS = [dt.date(2024, 2, 28), dt.date(2024, 2, 29), dt.date(2024, 3, 2)]


@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        ([1.0, 2.0, 4.0], [1, 2, 4]),
        (pa.array([1, 2, 2], pa.uint8()), [1, 2, 2]),
        ([True, False, False], [1, 0, 0]),
        ([Decimal("1.5"), Decimal("2.5"), Decimal("2.5")], [1.5, 2.5, 2.5]),
        (DAYS, [0, 1, 3]),
        (pa.array(DAYS).cast(pa.timestamp("ns")), [0, 1, 3]),
        (pa.array(DAYS).cast(pa.timestamp("us", "UTC")), [0, 1, 3]),
        (pa.array([dt.time(1), dt.time(2), dt.time(4)]), [1, 2, 4]),
        (pa.array([2.0, 3.0, 3.0]).dictionary_encode(), [2, 3, 3]),
    ],
)
def test_numbers_and_times_have_weighted_mean_zero_and_spread_one(column, numbers):
    weights = np.array([2.0, 1.0, 5.0])
    x = np.array(numbers, float)
    mean = np.average(x, weights=weights)
    spread = np.sqrt(np.average((x - mean) ** 2, weights=weights))
    found = applied(weights, x=column)
    assert found.shape == (3, 1)
    assert found[:, 0] == pytest.approx((x - mean) / spread, abs=1e-9)


def test_another_table_is_scaled_by_what_was_learned():
    matrix, _ = learned(x=[0.0, 2.0])
    assert matrix.apply(pa.table({"y": ["other"], "x": [5.0]})).tolist() == [[4.0]]


def test_constant_columns_are_zero_whatever_comes_later():
    weights = np.random.default_rng(0).random(50)
    matrix, table = learned(weights, x=[0.1] * 50, t=[dt.datetime(2024, 1, 1, 7)] * 50)
    assert not matrix.apply(table).any()
    assert not matrix.apply(pa.table({"x": [9.0], "t": [dt.datetime(2030, 1, 1)]})).any()


def test_integers_of_few_values_are_categories_as_well_as_numbers():
    assert applied(hour=list(range(24))).shape == (24, 24 + 1 + 1)
    assert applied(price=list(range(100))).shape == (100, 1)
    assert applied(flag=[0, 1, 1]).shape == (3, 1)


def test_a_category_has_a_column_and_unseen_ones_share_the_last():
    matrix, table = learned(shop=["b", "a", "b", "c"])
    assert matrix.apply(table).tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]]
    assert matrix.apply(pa.table({"shop": ["new", "a", ""]})).tolist() == [[0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int8(), "string")])
def test_every_kind_of_string_is_a_category(kind):
    matrix, table = learned(shop=pa.array(["b", "a", "b"], kind))
    assert matrix.apply(table).tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]


def test_the_categories_of_most_events_are_kept():
    values = [f"v{i:03}" for i in range(MOST_CATEGORIES + 5)]
    weights = np.where(np.arange(len(values)) < 5, 0.5, 1.0)
    found = applied(weights, page=values)
    assert sparse.issparse(found)
    assert found.shape == (len(values), MOST_CATEGORIES + 1)
    assert found[:5, -1].toarray().ravel().tolist() == [1] * 5
    assert (found[5:, :-1].toarray() == np.eye(MOST_CATEGORIES)).all()


def test_text_is_hashed_words_of_length_one_and_ids_are_no_text():
    matrix, table = learned(title=["red fox runs home", "the fox", "a red fox"])
    found = matrix.apply(table)
    assert sparse.isspmatrix_csr(found)
    assert found.dtype == np.float64
    assert found.shape == (3, 1 << WORD_BITS)
    assert np.sqrt(found.multiply(found).sum(axis=1)) == pytest.approx(np.ones((3, 1)))
    assert (found[0].multiply(found[2])).nnz == 2
    assert matrix.apply(pa.table({"title": ["", "never seen words"]})).shape == (2, 1 << WORD_BITS)
    assert applied(key=["550e8400-e29b-41d4-a716-446655440000", "2024-05-01 x"]).shape == (2, 3)


def test_columns_stand_side_by_side():
    found = applied(x=[0.0, 2.0], shop=["a", "b"], seen=[True, False])
    assert isinstance(found, np.ndarray)
    assert found.tolist() == [[-1, 1, 0, 0, 1], [1, 0, 1, 0, -1]]


def test_columns_that_cannot_serve_are_refused():
    with pytest.raises(ColumnError, match="'words' has type list"):
        learned(words=[["a"], ["b"]])
    with pytest.raises(ColumnError, match="no columns"):
        ContextMatrix.learn(pa.table({}), np.zeros(0))
    matrix, _ = learned(page=["a", "b"])
    with pytest.raises(ColumnError, match=r"no column 'page'. Did you mean 'pages'?"):
        matrix.apply(pa.table({"pages": ["a"]}))


def test_a_fold_learns_from_the_events_of_the_others():
    found = dict(other_folds(np.array([1.0, 2.0, 0.0, 1.0]), np.array([0, 1, 1, 4])))
    assert {fold: rows.tolist() for fold, rows in found.items()} == {0: [1, 3], 1: [0, 3], 4: [0, 1]}
    with pytest.raises(UsageError, match="two folds"):
        list(other_folds(np.ones(3), np.zeros(3, dtype=np.int64)))


def test_a_copy_is_unfitted_and_seeded():
    from sklearn.linear_model import Ridge
    from sklearn.tree import DecisionTreeRegressor

    assert weighted_copy(DecisionTreeRegressor(), 7).random_state == 7
    assert weighted_copy(DecisionTreeRegressor(random_state=3), 7).random_state == 3
    assert not hasattr(weighted_copy(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]), 0), "coef_")


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    def absent(name, *rest):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("warmstart.features.folds.import_module", absent)
    with pytest.raises(UsageError, match=r"warmstart\[models\]"):
        scikit_learn("base")


@pytest.mark.parametrize("largest", [1e-300, 1.0, 1e300, 1.7e308])
def test_numbers_of_any_size_are_standardised_alike(largest):
    contexts = pa.table({"x": np.array([-1.0, 0.25, 0.5, 1.0]) * largest})
    matrix = ContextMatrix.learn(contexts, np.array([1.0, 2.0, 3.0, 4.0]))
    rows = matrix.apply(contexts)[:, 0]
    assert rows == pytest.approx(np.array([-1.5, -0.25, 0.0, 0.5]) / np.sqrt(0.3375))
    far = matrix.apply(pa.table({"x": [1.7e308, -1.7e308, 0.0]}))
    assert np.isfinite(far).all()
