"""Features: what columns become, that hashing is the same everywhere, and what lacks a row."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warmstart as ws
from warmstart.engine import connect
from warmstart.features import Features, KeyEncoder, feature_rows, read_features, settings_of_table
from warmstart.scoring import CONSTANT_VALUE, buckets

BITS = 16


def rows_of(table, keys=("key",), *, cross_only=True):
    settings = settings_of_table(table, keys, bits=BITS, cross_only=cross_only)
    return feature_rows(table, table.num_rows, settings), settings


def as_dict(rows, i):
    at = slice(rows.starts[i], rows.starts[i + 1])
    return dict(zip(rows.buckets[at].tolist(), rows.values[at].tolist(), strict=True))


def bucket(name):
    return int(buckets([name], BITS)[0])


def test_hashing_is_the_same_on_every_machine():
    assert buckets(["sport", "", "ümlaut", "a" * 1000], 24).tolist() == [16287170, 10528484, 12184942, 1299743]


def test_text_is_tokenised_and_words_have_length_one():
    rows, settings = rows_of(pa.table({"key": [1, 2, 3], "title": ["Big big sale!", "sale", None]}))
    assert settings.kinds == {"title": "text"}
    length = (2 + 1) ** 0.5
    assert as_dict(rows, 0) == pytest.approx({bucket("big"): 2**0.5 / length, bucket("sale"): 1 / length})
    assert as_dict(rows, 1) == pytest.approx({bucket("sale"): 1.0})
    assert as_dict(rows, 2) == pytest.approx({bucket("title is missing"): CONSTANT_VALUE})
    assert rows.squares.tolist() == pytest.approx([1, 1, CONSTANT_VALUE**2])


def test_a_list_with_frequencies_says_the_same_as_its_text():
    table = pa.table({"key": [1], "words": [["big", "sale"]], "often": [[2, 1]], "text": ["big sale big"]})
    listed, settings = rows_of(table)
    written, _ = rows_of(table.select(["key", "text"]))
    assert settings.kinds == {"words": "weighted words"}
    assert settings.left_out == ("text",)
    assert as_dict(listed, 0) == pytest.approx(as_dict(written, 0))


def test_categories_numbers_and_the_constant():
    table = pa.table(
        {"key": [1, 2, 3], "shop": pa.array(["a", "b", None]).dictionary_encode(), "price": [1.0, 3.0, None]}
    )
    rows, settings = rows_of(table, cross_only=False)
    assert settings.kinds == {"shop": "category", "price": "number"}
    assert as_dict(rows, 0) == pytest.approx(
        {bucket("shop=a"): CONSTANT_VALUE, bucket("price"): -0.3, bucket("constant"): CONSTANT_VALUE}
    )
    gaps = ("shop is missing", "price is missing", "constant")
    assert as_dict(rows, 2) == pytest.approx({bucket(name): CONSTANT_VALUE for name in gaps})


def test_a_gap_is_no_feature_where_training_had_none_or_nothing_else():
    full, empty = [1.0, 3.0], pa.array([None, None], "float64")
    _, settings = rows_of(pa.table({"key": [1, 2], "price": full, "size": empty}))
    assert settings.missing == ()
    later = pa.table({"price": [None, float("nan")], "size": [None, 1.0]})
    rows = feature_rows(later, 2, settings)
    assert as_dict(rows, 0) == {}
    assert list(as_dict(rows, 1)) == [bucket("size")]


def test_times_are_numbers_weekdays_months_and_hours_on_a_circle():
    moments = [datetime(2024, 5, 6, 6, tzinfo=UTC), datetime(2024, 5, 8, 6, tzinfo=UTC)]
    table = pa.table({"key": [1, 2], "at": moments, "day": [moment.date() for moment in moments]})
    rows, settings = rows_of(table)
    assert settings.kinds == {"at": "timestamp", "day": "date"}
    expected = {"at": -0.3, "at weekday=0": 0.3, "at month=5": 0.3, "at hour sine": 0.3 * 2**0.5, "at hour cosine": 0}
    expected |= {"day": -0.3, "day weekday=0": 0.3, "day month=5": 0.3}
    assert as_dict(rows, 0) == pytest.approx({bucket(name): value for name, value in expected.items()}, abs=1e-6)


def test_a_time_with_a_zone_is_its_instant():
    moments = [datetime(2024, 5, 6, 23), datetime(2024, 12, 31, 23)]
    plain, settings = rows_of(pa.table({"key": [1, 2], "at": moments}))
    zoned = pa.table({"at": pa.array(moments, pa.timestamp("ns", "UTC")).cast(pa.timestamp("ns", "Asia/Tokyo"))})
    again = feature_rows(zoned, 2, settings)
    assert [as_dict(plain, i) for i in range(2)] == [as_dict(again, i) for i in range(2)]


def test_durations_and_decimals_are_numbers_in_any_unit():
    table = pa.table(
        {"key": [1, 2], "wait": [timedelta(hours=1), timedelta(hours=3)], "price": [Decimal(1), Decimal(3)]}
    )
    rows, settings = rows_of(table)
    assert settings.kinds == {"wait": "number", "price": "number"}
    assert as_dict(rows, 0) == pytest.approx({bucket("wait"): -0.3, bucket("price"): -0.3})
    other = table.set_column(1, "wait", table["wait"].cast(pa.duration("s")))
    assert as_dict(feature_rows(other, 2, settings), 0) == as_dict(rows, 0)


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 2)])
def test_an_embedding_is_a_number_for_each_dimension(kind):
    table = pa.table({"key": [1, 2, 3], "vector": pa.array([[1, 10], [3, 30], None], kind)})
    rows, settings = rows_of(table)
    assert settings.kinds == {"vector": "embedding"}
    assert as_dict(rows, 0) == pytest.approx({bucket("vector[0]"): -0.3, bucket("vector[1]"): -0.3})
    assert as_dict(rows, 2) == {}
    with pytest.raises(ws.ColumnError, match="1 list of another length than 2"):
        feature_rows(pa.table({"vector": [[1.0, 2.0, 3.0]]}), 1, settings)


def test_a_list_of_integers_is_a_list_of_ids():
    rows, settings = rows_of(pa.table({"key": [1, 2], "tags": [[7, 9, 7], None]}))
    assert settings.kinds == {"tags": "ids"}
    assert as_dict(rows, 0) == pytest.approx({bucket("tags=7"): (2 / 3) ** 0.5, bucket("tags=9"): (1 / 3) ** 0.5})
    assert as_dict(rows, 1) == {}


def test_an_index_of_pandas_is_left_out():
    table = pa.table({"key": [5, 7], "__index_level_0__": [3, 1], "index": [0, 1], "level_0": [4, 2], "x": [1.0, 2.0]})
    _, settings = rows_of(table)
    assert settings.left_out == ("__index_level_0__", "index")
    assert settings.kinds == {"level_0": "number", "x": "number"}


def test_words_of_several_columns_are_told_apart_and_weigh_the_same():
    table = pa.table({"key": [1, 2], "on": ["yes", "no"], "body": ["no no yes", None], "tags": [[7, 9], [7]]})
    rows, settings = rows_of(table)
    assert settings.named == ("on", "body", "tags")
    third, half = 3**-0.5, 2**-0.5
    body = {bucket("body=no"): third * (2 / 3) ** 0.5, bucket("body=yes"): third * (1 / 3) ** 0.5}
    tags = {bucket(f"tags={tag}"): third * half for tag in (7, 9)}
    assert as_dict(rows, 0) == pytest.approx({bucket("on=yes"): third, **body, **tags})
    gap = {bucket("body is missing"): CONSTANT_VALUE}
    assert as_dict(rows, 1) == pytest.approx({bucket("on=no"): half, bucket("tags=7"): half, **gap})
    assert rows.names == 7


def test_words_text_times_and_numbers_are_all_features_together():
    columns = {"words": [["a", "b"]], "title": ["a c"], "at": [datetime(2024, 5, 6)], "x": [1.0], "vector": [[1.0]]}
    _, settings = rows_of(pa.table({"key": [1], **columns}))
    assert settings.left_out == ()
    assert list(settings.kinds) == list(columns)
    assert settings.named == ("words", "title")


def test_a_text_that_repeats_a_list_but_for_one_row_is_a_feature():
    rows = [["big", "sale"], ["sale"], ["big"]]
    texts = [" ".join(words) for words in rows]
    assert rows_of(pa.table({"key": range(3), "words": rows, "text": texts}))[1].left_out == ("text",)
    assert rows_of(pa.table({"key": range(3), "words": rows, "text": [*texts[:2], "small"]}))[1].left_out == ()


@pytest.mark.parametrize(("values", "expected"), [(3, 6), (40, 7), (1_000, 9)])
def test_buckets_are_twice_as_many_as_categories_between_the_least_and_the_most(values, expected):
    table = pa.table({"key": range(2_000), "city": [f"city {i % values}" for i in range(2_000)]})
    for city in (table["city"].dictionary_encode(), pa.array([[name] for name in table["city"].to_pylist()])):
        settings = settings_of_table(table.set_column(1, "city", city), ["key"], bits=(6, 9), cross_only=True)
        assert settings.bits == expected


def test_rare_words_need_fewer_buckets_than_as_many_categories():
    rng = np.random.default_rng(0)
    words = rng.zipf(1.3, (500, 20)) % 5_000
    table = pa.table({"key": range(500), "text": [" ".join(f"w{i}" for i in row) for row in words]})
    assert len(np.unique(words)) > 1 << 9
    assert settings_of_table(table, ["key"], bits=(4, 16), cross_only=True).bits <= 9


def test_features_that_share_a_bucket_are_counted():
    words = [[f"w{i}" for i in range(200)]]
    settings = settings_of_table(pa.table({"key": [1], "w": words}), ["key"], bits=5, cross_only=True)
    rows = feature_rows(pa.table({"key": [1], "w": words}), 1, settings)
    assert rows.names == 200
    assert rows.used <= 32
    assert Features(settings, rows, 0).report()["sharing_a_bucket"] == pytest.approx(1 - rows.used / 200)


@pytest.fixture
def numbers():
    return KeyEncoder.of(pa.table({"context_0": [5, 3, 9, 3]}))


def side(source, numbers, **options):
    keys = {"context_0": "page"}
    options = {"bits": BITS, "cross_only": False, "strict": False, "what": "the table of contexts", **options}
    return read_features(connect(), source, keys, numbers, **options)


def test_rows_come_in_the_order_of_the_logs_numbers_from_files_of_many_groups(tmp_path, numbers):
    table = pa.table({"page": [9, 1, 5, 3, 7], "text": ["nine", "one", "five", "three", "seven"]})
    pq.write_table(table, tmp_path / "pages.parquet", row_group_size=2)
    expected = [bucket(word) for word in ("three", "five", "nine")]
    for source in (tmp_path / "pages.parquet", table, table.to_pandas()):
        found = side(source, numbers)
        assert found.missing == 0
        for i, word in enumerate(expected):
            assert as_dict(found.rows, i)[word] == pytest.approx(1.0)


def test_a_context_without_a_row_is_counted_and_known_by_its_constant(numbers):
    table = pa.table({"page": [9, 5], "text": ["nine", "five"]})
    found = side(table, numbers)
    assert found.missing == 1
    assert as_dict(found.rows, 0) == pytest.approx({bucket("constant"): CONSTANT_VALUE})
    with pytest.raises(ws.DataError, match="1 key of the log"):
        side(table, numbers, strict=True)


def test_tables_that_cannot_be_used(numbers):
    with pytest.raises(ws.ColumnError, match="has no column 'page'"):
        side(pa.table({"pge": [1], "text": ["x"]}), numbers)
    with pytest.raises(ws.DataError, match="two rows for one key"):
        side(pa.table({"page": [5, 5], "text": ["x", "y"]}), numbers)


def test_numbers_of_keys_of_several_columns():
    rows = pa.table({"a": ["x", "y", "x"], "b": [1, 1, 2]})
    numbering = KeyEncoder.of(rows)
    assert len(numbering) == 3
    assert sorted(numbering.numbers(rows).tolist()) == [0, 1, 2]
    assert numbering.numbers(pa.table({"a": ["y", "z"], "b": [2, 1]})).tolist() == [-1, -1]
    assert np.array_equal(numbering.numbers(numbering.keys), [0, 1, 2])


def test_a_weight_below_zero_keeps_its_sign():
    rows, settings = rows_of(pa.table({"key": [1, 2], "words": [["a", "b"], ["b", "b"]], "often": [[-4, 1], [1, -5]]}))
    assert settings.kinds == {"words": "weighted words"}
    length = (4 + 1) ** 0.5
    assert as_dict(rows, 0) == pytest.approx({bucket("a"): -2 / length, bucket("b"): 1 / length})
    assert as_dict(rows, 1) == pytest.approx({bucket("b"): -1.0})


@pytest.mark.parametrize("largest", [1e300, 1.7e308])
def test_numbers_near_the_largest_are_scaled_as_others_are(largest):
    parts = np.array([-1.0, -0.5, 0.25, 1.0])
    plain, settings = rows_of(pa.table({"key": range(4), "size": parts}))
    large, scaled = rows_of(pa.table({"key": range(4), "size": parts * largest}))
    assert np.isfinite(scaled.scales["size"]).all()
    assert large.values == pytest.approx(plain.values, rel=1e-6)
    assert settings.scales["size"] == pytest.approx((-0.0625, parts.std()))
