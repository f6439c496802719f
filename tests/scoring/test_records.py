"""Words of texts are Arrow's, character by character, and times are read as Arrow reads them."""

import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import warmstart as ws
from warmstart.features import TOKEN, feature_rows
from warmstart.scoring import FeatureSettings, rows_of_records
from warmstart.scoring.records import tokens


def check_characters(codes):
    known = [chr(code) for code in codes if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
    texts = [f"A{character}b" for character in known]
    theirs = pc.split_pattern_regex(pc.utf8_lower(pa.array(texts)), TOKEN).to_pylist()
    for text, words in zip(texts, theirs, strict=True):
        assert [word for word in tokens(text) if word] == [word for word in words if word], text.encode()


def test_words_of_common_scripts_are_those_of_arrow():
    check_characters(range(0x600))


@pytest.mark.slow
def test_words_of_every_character_that_python_knows_are_those_of_arrow():
    check_characters(range(0x110000))


@pytest.mark.parametrize(
    "text",
    [
        *("2024-05-01", "2024-05-01 12", "2024-05-01T12:30", "2024-05-01 12:30:15.1", "2024-02-30", "20240501"),
        *("2024-05-01T12:30:15Z", "2024-05-01T12:30:15+02:00", "2024-5-1", " 2024-05-01", "now", "٢٠٢٤-05-01"),
    ],
)
def test_a_time_as_text_is_read_as_arrow_reads_it_or_refused(text):
    settings = FeatureSettings(10, kinds={"at": "timestamp"}, scales={"at": (1.7e9, 1e7)})
    try:
        theirs = feature_rows(pa.table({"at": [text]}), 1, settings)
    except ws.ColumnError:
        with pytest.raises(ws.ColumnError, match="'at' of context 0 must be a time"):
            rows_of_records([{"at": text}], settings)
    else:
        mine = rows_of_records([{"at": text}], settings)
        assert np.array_equal(mine.buckets, theirs.buckets)
        assert mine.values == pytest.approx(theirs.values)


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_an_embedding_of_another_length_is_refused_even_where_the_numbers_of_all_are_as_many(wrong):
    scales = {f"vector[{i}]": (0.0, 1.0) for i in range(2)}
    settings = FeatureSettings(10, kinds={"vector": "embedding"}, scales=scales)
    vectors = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
    vectors[wrong], vectors[(wrong + 1) % 3] = [0.1], [0.2, 0.3, 0.4]
    first = min(wrong, (wrong + 1) % 3)
    with pytest.raises(ws.ColumnError, match=f"'vector' of context {first} has {len(vectors[first])} numbers, not 2"):
        rows_of_records([{"vector": one} for one in vectors], settings)
