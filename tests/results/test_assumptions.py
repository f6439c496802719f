"""What a result rests on, as table, notes and JSON."""

import dataclasses

import pytest
from tests.support.logs import random_log, read
from tests.support.saved_results import MAKERS, saved

import warmstart as ws
from warmstart.core import CODES
from warmstart.report import save_report
from warmstart.results.assumptions import FINDINGS, TITLE, Assumption, assumption_notes, assumptions_table

HOLDS = Assumption("WS105", "propensities are right", "counts", "holds", "Nothing.")
BAD = Assumption("WS112", "all rewards had arrived", "the <b>last</b> day earned 60 %", "suspicious", "Values.")


def test_a_table_is_compact_or_full():
    compact, full = assumptions_table([HOLDS, BAD]), assumptions_table([HOLDS, BAD], full=True)
    assert compact.rows == [("WS105", "propensities are right", "holds"), ("WS112", BAD.name, "suspicious")]
    assert [row[3:] for row in full.rows] == [("counts", "Nothing."), (BAD.checked, "Values.")]
    assert len(full.header) == len(full.rows[0]) == full.left


def test_notes_warn_of_what_is_broken_and_define_the_words_in_use():
    warning, words = assumption_notes([HOLDS, BAD])
    assert warning.startswith("WARNING: Suspicious, that all rewards had arrived: ")
    assert warning.endswith("(WS112)")
    assert all((f"'{word}':" in words) == (word in ("holds", "suspicious")) for word in FINDINGS)
    assert len(assumption_notes([HOLDS, BAD], but=["WS112"])) == 1
    assert assumption_notes([]) == []


def test_an_assumption_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        HOLDS.result = "violated"


@pytest.mark.parametrize("name", [name for name in MAKERS if name.startswith(("evaluation", "audit"))])
def test_every_evaluation_and_audit_lists_known_codes_once(name):
    found = saved(name)
    codes = [one.code for one in found.assumptions]
    assert set(codes) <= set(CODES)
    assert len(set(codes)) == len(codes) == (9 if isinstance(found, ws.Evaluation) else 7)
    assert codes[0] == "WS101"
    assert found.to_dict()["assumptions"] == [dataclasses.asdict(one) for one in found.assumptions]
    (table,) = [table for table in found.tables if table.title == TITLE]
    assert [row[0] for row in table.rows] == codes
    for one in found.assumptions:
        assert one.matters.endswith("."), one
        assert not one.checked.endswith("."), one


def test_the_same_is_not_said_twice():
    shown = str(saved("evaluation"))
    assert "It rests on this" not in shown
    assert shown.count(TITLE) == 2  # the table, and the note that defines its words


def test_the_page_has_all_columns_and_escapes_them(tmp_path, duckdb):
    found = dataclasses.replace(ws.evaluate("uniform", read(random_log(1), duckdb), tau=0.1), assumptions=(HOLDS, BAD))
    page = save_report(found, tmp_path / "page.html").read_text()
    assert "What this rests on: look into WS112" in page
    assert "the &lt;b&gt;last&lt;/b&gt; day earned 60 %" in page
    assert "the <b>last" not in page
    assert "what depends on it" in page
    assert "<b>" not in found._repr_html_()


def test_an_evaluation_of_an_earlier_version_has_none(tmp_path):
    import json

    told = saved("evaluation").to_dict()
    del told["assumptions"]
    (tmp_path / "old.json").write_text(json.dumps(told))
    old = ws.load_result(tmp_path / "old.json")
    assert old.assumptions == ()
    assert TITLE not in str(old)


def test_a_word_that_is_none_is_refused(tmp_path):
    import json

    told = saved("evaluation").to_dict()
    told["assumptions"][0]["result"] = "fine"
    (tmp_path / "broken.json").write_text(json.dumps(told))
    with pytest.raises(ws.SavedFileError, match=r"assumptions\[0\]\.result"):
        ws.load_result(tmp_path / "broken.json")
