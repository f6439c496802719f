"""What codes mean, as a result."""

import dataclasses

import pytest

import warmstart as ws
from warmstart.core import CODES


def test_a_code_is_explained_whatever_its_case():
    found = ws.explain("ws104")
    assert found == ws.explain("WS104") == ws.explain("WS104", "WS104")
    assert [one.code for one in found.codes] == ["WS104"]
    entry = CODES["WS104"]
    for text in (entry.title, entry.meaning, entry.why, entry.remedy):
        assert text in str(found)


def test_several_codes_come_in_the_order_that_they_were_asked_for():
    found = ws.explain("WS501", "WS101")
    assert [one.code for one in found.codes] == ["WS501", "WS101"]
    assert str(found).index("WS501: ") < str(found).index("WS101: ")
    assert not found.tables


def test_without_a_code_there_is_a_table_of_all():
    (table,) = ws.explain().tables
    assert [row[0] for row in table.rows] == list(CODES)
    assert "WS105" in str(ws.explain())


def test_an_explanation_is_frozen_and_escaped():
    found = ws.explain("WS214")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.codes = ()
    assert "<p>" in found._repr_html_()
    assert found.to_dict()["codes"][0] == dataclasses.asdict(CODES["WS214"])


@pytest.mark.parametrize(("code", "near"), [("WS140", "WS113"), ("104", "WS104"), ("WS1004", "WS104"), ("", "WS")])
def test_an_unknown_code_is_refused_with_the_nearest(code, near):
    with pytest.raises(ws.UsageError, match="There is no code") as refused:
        ws.explain(code)
    assert near in refused.value.hint


def test_what_is_no_code_is_refused():
    with pytest.raises(ws.UsageError):
        ws.explain(104)
