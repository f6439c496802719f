"""Features of a line of text are those that Vowpal Wabbit reads."""

from hypothesis import given
from hypothesis import strategies as st

from warmstart.interop.features import canonical
from warmstart.interop.vw.text_features import parse_features, read_features


def test_features_read_as_vowpal_wabbit_reads_them():
    assert dict(parse_features("ns:2 a b:3")) == {"ns^a": 2.0, "ns^b": 6.0}
    assert list(parse_features("x :1 :2 |x :5")) == [("x^0", 1.0), ("x^1", 2.0), ("x^0", 5.0)]
    assert dict(parse_features("a c:x d:1e3")) == {"a^c^x": 1.0, "a^d": 1000.0}


@given(st.text(st.sampled_from("ab%^_. "), max_size=12))
def test_the_quick_way_for_plain_words_is_the_same_as_the_long_one(text):
    spelled, features = read_features(f" {text}")
    slow = canonical(parse_features(f" {text}"))
    assert features == slow
    assert spelled == slow.text
