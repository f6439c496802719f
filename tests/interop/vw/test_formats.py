"""What formats write reads back the same."""

from hypothesis import given
from hypothesis import strategies as st
from tests.support.vw import NAMES

from warmstart.interop.features import canonical, qualified, unescape_qualified
from warmstart.interop.vw.formats import text_features
from warmstart.interop.vw.text_features import parse_features

NAMESPACES = NAMES.filter(lambda text: "^" not in text)

WEIGHTS = st.floats(allow_nan=False, allow_infinity=False).filter(bool)


@given(st.lists(st.tuples(NAMESPACES, NAMES, WEIGHTS), max_size=6, unique_by=lambda part: part[:2]))
def test_any_features_survive_text(parts):
    features = canonical((qualified(namespace, name), weight) for namespace, name, weight in parts)
    text = text_features(features)
    assert "\n" not in text
    assert canonical((unescape_qualified(spelled), weight) for spelled, weight in parse_features(text[1:])) == features
