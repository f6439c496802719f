"""Lines of text and JSON: what is a context, what an action; what is wrong with a line; what is left behind."""

import gzip
import json

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warmstart as ws
from warmstart.interop.vw.features import canonical, escaped, unescaped, unescaped_word, word
from warmstart.interop.vw.formats import vw_features
from warmstart.interop.vw.seen import SeenKeys
from warmstart.interop.vw.text_features import features_of, parsed

ADF = "shared | x\n0:1:0.5 | a\n| b\n\n"
MULTI = '"c":{"_multi":[{"f":1},{"f":2}]}'


def read(tmp_path, text, **options):
    path = tmp_path / "log.vw"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = ws.import_vw(path, tmp_path / "out", **options)
    return found, pq.read_table(found.events).to_pylist()


def words(path, key):
    return {row[key]: dict(zip(row["words"], row["weights"], strict=True)) for row in pq.read_table(path).to_pylist()}


def test_a_log_without_probabilities_has_no_propensity_column(tmp_path):
    found, rows = read(tmp_path, "1:-1 | a b\n2:0 | a b\n")
    assert [set(row) for row in rows] == [{"context", "action", "reward", "cost"}] * 2
    assert found.about["propensities"] == 0
    events = ws.read_events(found.events, context="context", action="action", reward="reward")
    assert ws.evaluate("constant:1", events, tau=0.1)["constant:1"].value == 1.0


def test_with_probabilities_read_events_takes_them(tmp_path):
    found, rows = read(tmp_path, "1:-1:0.25 | a\n2:0:0.75 | a\n")
    assert [row["propensity"] for row in rows] == [0.25, 0.75]
    events = ws.read_events(found.events, context="context", action="action", reward="reward", propensity="propensity")
    assert ws.evaluate("constant:1", events, tau=0.1)["constant:1"].value == 2.0


def test_equal_features_are_one_context_in_whatever_order_and_spelling(tmp_path):
    lines = ["| a b:2 |n c", "|n c | b:2.0 a", "|  a  b:1 b:1\t|n c ", "|n:1 c | a:1 b:2 z:0"]
    found, rows = read(tmp_path, "".join(f"1:0 {line}\n" for line in lines))
    assert len({row["context"] for row in rows}) == 1
    assert list(words(found.contexts, "context").values()) == [{"a": 1.0, "b": 2.0, "n^c": 1.0}]


def test_other_features_are_other_contexts(tmp_path):
    lines = ["| a b", "| a b:2", "|n a b", "| a |b b", "| a%20b", "| a^b", "|a b", "| ab", "|"]
    _, rows = read(tmp_path, "".join(f"1:0 {line}\n" for line in lines))
    assert len({row["context"] for row in rows}) == len(lines)


def test_features_read_as_vowpal_wabbit_reads_them():
    assert dict(parsed("ns:2 a b:3")) == {"ns^a": 2.0, "ns^b": 6.0}
    assert list(parsed("x :1 :2 |x :5")) == [("x^0", 1.0), ("x^1", 2.0), ("x^0", 5.0)]
    assert dict(parsed("a c:x d:1e3")) == {"a^c^x": 1.0, "a^d": 1000.0}


def test_in_blocks_lines_are_actions_and_the_shared_line_is_the_context(tmp_path):
    found, rows = read(tmp_path, ADF + "| b\n0:-1:0.25 | a\n\n| a\n| b")
    contexts, actions = words(found.contexts, "context"), words(found.actions, "action")
    told = [
        (contexts[r["context"]], actions[r["action"]], r["cost"], [*(next(iter(actions[a])) for a in r["feasible"])])
        for r in rows
    ]
    assert told == [({"x": 1.0}, {"a": 1.0}, 1.0, ["a", "b"]), ({}, {"a": 1.0}, -1.0, ["b", "a"])]
    assert (found.about["examples"], found.about["unlabelled"]) == (3, 1)


def test_of_several_costs_the_one_with_a_probability_was_shown(tmp_path):
    _, rows = read(tmp_path, "1:1 2:2:0.7 3:3 | d\n2 1:1:0.5 | e\n")
    assert [(row["action"], row["cost"], row["feasible"]) for row in rows] == [
        ("2", 2.0, ["1", "2", "3"]),
        ("1", 1.0, ["2", "1"]),
    ]


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
        ('{"c":{}}\n', 1, "no actions"),
        ("{" + MULTI + "}\n{nonsense\n", 2, "no JSON"),
        ('{"_label_cost":0,"_labelIndex":2,' + MULTI + "}\n", 1, "index 2"),
        ('{"_label_cost":0,' + MULTI + "}\n", 1, "which action was shown"),
        ('{"_label_cost":"x",' + MULTI + "}\n", 1, "_label_cost is no number"),
        ('{"Timestamp":"yesterday",' + MULTI + "}\n", 1, "is no time"),
        ('{"c":{"_slots":[{}],"_multi":[{}]}}\n', 1, "slots"),
    ],
)
def test_a_malformed_line_is_named_and_leaves_nothing_behind(tmp_path, text, line, what):
    with pytest.raises(ws.MalformedLineError) as caught:
        read(tmp_path, text)
    assert caught.value.line == line
    assert caught.value.file == str(tmp_path / "log.vw")
    assert what in caught.value.what
    assert f"log.vw, line {line}: " in caught.value.message
    assert [path.name for path in tmp_path.iterdir()] == ["log.vw"]


def test_malformed_lines_can_be_counted_instead(tmp_path):
    found, rows = read(tmp_path, "1:0 | a\nrubbish\n2:-1 | a\n1:0:9 | a\n", skip_malformed=True)
    assert len(rows) == 2
    assert found.about["malformed"]["lines"] == 2
    assert "line 2" in found.about["malformed"]["first"][0]
    assert any("2 malformed lines" in note for note in found.notes)


def test_a_terminal_cannot_be_talked_to_through_a_log(tmp_path):
    with pytest.raises(ws.MalformedLineError) as caught:
        read(tmp_path, "1:0 | a\n\x1b[31m:0 | a\n")
    assert "\x1b" not in caught.value.message


def test_gzipped_files_and_several_files_read_alike(tmp_path):
    plain, packed = tmp_path / "a.vw", tmp_path / "b.vw.gz"
    plain.write_text("1:0 | a\n")
    packed.write_bytes(gzip.compress(b"2:-1 | a\r\n"))
    found = ws.import_vw([plain, packed], tmp_path / "out")
    rows = pq.read_table(found.events).to_pylist()
    assert [(row["action"], row["reward"]) for row in rows] == [("1", 0.0), ("2", 1.0)]
    assert rows[0]["context"] == rows[1]["context"]


def test_a_torn_gzip_file_is_an_error_and_leaves_nothing(tmp_path):
    path = tmp_path / "a.vw.gz"
    path.write_bytes(gzip.compress(b"2:-1 | a\n" * 10_000)[:-20])
    with pytest.raises(ws.SourceError):
        ws.import_vw(path, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["a.vw.gz"]


def test_an_interruption_leaves_nothing(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("2:-1 | a\n" * 10_000)

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ws.import_vw(path, tmp_path / "out", on_progress=interrupt)
    assert [path.name for path in tmp_path.iterdir()] == ["a.vw"]


@pytest.mark.parametrize(
    ("costs", "stated", "low", "high", "rewards"),
    [
        ([-1, 0, -0.5], None, -1, 0, [1, 0, 0.5]),
        ([0, 1, 0.25], None, 0, 1, [1, 0, 0.75]),
        ([2, -2, 0], None, -2, 2, [0, 1, 0.5]),
        ([5, 5], None, 4, 5, [0, 0]),
        ([0, 1], (-1, 3), -1, 3, [0.75, 0.5]),
    ],
)
def test_costs_become_rewards_by_the_stated_rule(tmp_path, costs, stated, low, high, rewards):
    found, rows = read(tmp_path, "".join(f"1:{cost} | a\n" for cost in costs), cost_range=stated)
    assert (found.about["costs"]["low"], found.about["costs"]["high"]) == (low, high)
    assert [row["reward"] for row in rows] == rewards
    assert [row["cost"] for row in rows] == costs


def test_costs_outside_the_stated_range_are_refused(tmp_path):
    with pytest.raises(ws.RewardRangeError):
        read(tmp_path, "1:2 | a\n", cost_range=(0, 1))
    assert [path.name for path in tmp_path.iterdir()] == ["log.vw"]


def test_wrong_calls_are_usage_errors(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("1:0 | a\n")
    for options in ({"format": "csv"}, {"cost_range": (1, 0)}, {"format": "dsjson", "choice_first": True}):
        with pytest.raises(ws.UsageError):
            ws.import_vw(path, tmp_path / "out", **options)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine.txt").touch()
    with pytest.raises(ws.UsageError):
        ws.import_vw(path, tmp_path / "there")
    with pytest.raises(ws.SourceError):
        ws.import_vw(tmp_path / "absent", tmp_path / "out")


def test_decision_service_lines_keep_time_id_and_drop(tmp_path):
    line = {
        "_label_cost": -1,
        "_label_Action": 2,
        "pdrop": 0.5,
        "EventId": "e",
        "Timestamp": "2021-02-04T16:31:29.5Z",
        "c": {"_multi": [{"f": "1"}, {"f": "2", "_tag": "second"}]},
    }
    found, [row] = read(tmp_path, json.dumps(line))
    assert (row["event_id"], row["drop"], row["time"].isoformat()) == ("e", 0.5, "2021-02-04T16:31:29.500000+00:00")
    assert words(found.actions, "action")[row["action"]] == {"f2": 1.0}
    tags = {r["action"]: r["tag"] for r in pq.read_table(found.actions).to_pylist()}
    assert tags[row["action"]] == "second"


def test_equal_actions_of_an_event_are_told(tmp_path):
    found, _ = read(tmp_path, "0:0:0.5 | a\n| a\n\n0:0:0.5 | a\n| b\n\n")
    assert found.about["equal_actions"] == 1
    assert any("equal features" in note for note in found.notes)


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMESPACES = NAMES.filter(lambda text: "^" not in text)
WEIGHTS = st.floats(allow_nan=False, allow_infinity=False).filter(bool)


@given(NAMES)
def test_escapes_leave_nothing_that_text_gives_a_meaning_and_are_undone(name):
    spelled = escaped(name)
    assert spelled
    assert not set(spelled) & set(" \t\r\n:|\x0b\x0c\x85\u2028")
    assert len(spelled.split()) == 1
    assert unescaped(spelled) == name


@given(st.lists(st.tuples(NAMESPACES, NAMES, WEIGHTS), max_size=6, unique_by=lambda part: part[:2]))
def test_any_features_survive_text(parts):
    features = canonical((word(namespace, name), weight) for namespace, name, weight in parts)
    text = vw_features(features)
    assert "\n" not in text
    assert canonical((unescaped_word(spelled), weight) for spelled, weight in parsed(text[1:])) == features


@given(st.text(st.sampled_from("ab%^_. "), max_size=12))
def test_the_quick_way_for_plain_words_is_the_same_as_the_long_one(text):
    spelled, features = features_of(f" {text}")
    slow = canonical(parsed(f" {text}"))
    assert features == slow
    assert spelled == slow.text


@given(st.lists(st.lists(st.binary(min_size=16, max_size=16).map(lambda b: bytes([b[0] % 4]) + b[1:2] + b"\0" * 14))))
def test_keys_are_new_once(batches):
    seen, known = SeenKeys(), set()
    for batch in batches:
        new = [batch[i] for i in seen.add(batch)] if batch else []
        assert len(new) == len(set(new))
        assert set(new) == set(batch) - known
        known |= set(batch)
    assert len(seen) == len(known)
