"""Names of features: escapes are undone."""

from hypothesis import given
from tests.support.vw import NAMES

from warmstart.interop.features import escape, unescape


@given(NAMES)
def test_escapes_leave_nothing_that_text_gives_a_meaning_and_are_undone(name):
    spelled = escape(name)
    assert spelled
    assert not set(spelled) & set(" \t\r\n:|\x0b\x0c\x85\u2028")
    assert len(spelled.split()) == 1
    assert unescape(spelled) == name
