"""Lines and blocks of text: what is a context, what an action, what is wrong with a line."""

import pytest
from tests.support.vw import check_malformed, features_by_key, import_text

import warmstart as ws

ADF = "shared | x\n0:1:0.5 | a\n| b\n\n"


def test_equal_features_are_one_context_in_whatever_order_and_spelling(tmp_path):
    lines = ["| a b:2 |n c", "|n c | b:2.0 a", "|  a  b:1 b:1\t|n c ", "|n:1 c | a:1 b:2 z:0"]
    result, rows = import_text(tmp_path, "".join(f"1:0 {line}\n" for line in lines))
    assert len({row["context"] for row in rows}) == 1
    assert list(features_by_key(result.contexts, "context").values()) == [{"a": 1.0, "b": 2.0, "n^c": 1.0}]


def test_other_features_are_other_contexts(tmp_path):
    lines = ["| a b", "| a b:2", "|n a b", "| a |b b", "| a%20b", "| a^b", "|a b", "| ab", "|"]
    _, rows = import_text(tmp_path, "".join(f"1:0 {line}\n" for line in lines))
    assert len({row["context"] for row in rows}) == len(lines)


def test_in_blocks_lines_are_actions_and_the_shared_line_is_the_context(tmp_path):
    result, rows = import_text(tmp_path, ADF + "| b\n0:-1:0.25 | a\n\n| a\n| b")
    contexts, actions = features_by_key(result.contexts, "context"), features_by_key(result.actions, "action")
    rewarded = [
        (contexts[r["context"]], actions[r["action"]], r["cost"], [*(next(iter(actions[a])) for a in r["feasible"])])
        for r in rows
    ]
    assert rewarded == [({"x": 1.0}, {"a": 1.0}, 1.0, ["a", "b"]), ({}, {"a": 1.0}, -1.0, ["b", "a"])]
    assert (result.about["examples"], result.about["unlabelled"]) == (3, 1)


def test_of_several_costs_the_one_with_a_probability_was_shown(tmp_path):
    _, rows = import_text(tmp_path, "1:1 2:2:0.7 3:3 | d\n2 1:1:0.5 | e\n")
    assert [(row["action"], row["cost"], row["feasible"]) for row in rows] == [
        ("2", 2.0, ["1", "2", "3"]),
        ("1", 1.0, ["2", "1"]),
    ]


def test_equal_actions_of_an_event_are_told(tmp_path):
    result, _ = import_text(tmp_path, "0:0:0.5 | a\n| a\n\n0:0:0.5 | a\n| b\n\n")
    assert result.about["equal_actions"] == 1
    assert any("equal features" in note for note in result.notes)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("1:0 | a\n2:1:0.5\n", 2, "no bar"),
        ("1:0 | a\nx:0 | a\n", 2, "'x:0' is not action:cost"),
        ("1:0 | a\n\r\n1:zero | a\n", 3, "no number"),
        ("1:nan | a\n", 1, "not finite"),
        ("1:0:0 | a\n", 1, "not in (0, 1]"),
        ("1:0:1.5 | a\n", 1, "not in (0, 1]"),
        ("1:0| a\n", 1, "touches the bar"),
        ("1:0 2:1 | a\n", 1, "which was shown"),
        ("0:0 | a\n", 1, "numbered from 1"),
        ("1:0 | a:1:2\n", 1, "two colons"),
        ("1:0 | a:inf\n", 1, "not finite"),
        ("1:0 | a:\n", 1, "no value"),
        ("1:0 |n:x a\n", 1, "no number"),
        ("1:0 |a^b c\n", 1, "holds a ^"),
        (b"1:0 | a\n1:0 | \xff\n", 2, "not UTF-8"),
        (ADF + "0:1 | a\n0:0 | b\n", 6, "second action"),
        (ADF + "shared | a\n", 5, "no action"),
        (ADF + "| a\nshared | b\n", 6, "first line of a block"),
    ],
)
def test_a_malformed_line_is_named_and_leaves_nothing_behind(tmp_path, text, line, what):
    check_malformed(tmp_path, text, line, what)


def test_an_exported_block_without_a_tag_to_take_the_key_from_is_malformed(tmp_path):
    with pytest.raises(ws.MalformedLineError, match=r"line 1: it has no tag"):
        import_text(tmp_path, "0:1:0.5 'a| a\n'b| b\n\n", from_export=True, format="cb_adf")


def test_a_tag_that_holds_half_a_character_is_a_malformed_line(tmp_path):
    (tmp_path / "log.vw").write_text("1:0.5:0.5 'a%ED%A0%80 | x\n1:0.5:0.5 'ok | b\n2:0.5:0.5 'ok | b\n")
    options = {"format": "cb", "from_export": True}
    with pytest.raises(ws.MalformedLineError, match="not UTF-8"):
        ws.import_vw(tmp_path / "log.vw", tmp_path / "out", **options)
    result = ws.import_vw(tmp_path / "log.vw", tmp_path / "out", skip_malformed=True, **options)
    assert (result.about["events"], result.about["malformed"]["lines"]) == (2, 1)
