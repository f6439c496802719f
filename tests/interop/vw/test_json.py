"""Objects of JSON: what is a context, what an action, what is wrong with a line."""

import json

import pyarrow.parquet as pq
import pytest
from tests.support.vw import check_malformed, features_by_key, import_text

MULTI = '"c":{"_multi":[{"f":1},{"f":2}]}'


def test_decision_service_lines_keep_time_id_and_drop(tmp_path):
    line = {
        "_label_cost": -1,
        "_label_Action": 2,
        "pdrop": 0.5,
        "EventId": "e",
        "Timestamp": "2021-02-04T16:31:29.5Z",
        "c": {"_multi": [{"f": "1"}, {"f": "2", "_tag": "second"}]},
    }
    result, [row] = import_text(tmp_path, json.dumps(line))
    assert (row["event_id"], row["drop"], row["time"].isoformat()) == ("e", 0.5, "2021-02-04T16:31:29.500000+00:00")
    assert features_by_key(result.actions, "action")[row["action"]] == {"f2": 1.0}
    tags = {r["action"]: r["tag"] for r in pq.read_table(result.actions).to_pylist()}
    assert tags[row["action"]] == "second"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('{"c":{}}\n', 1, "no actions"),
        ("{" + MULTI + "}\n{nonsense\n", 2, "no JSON"),
        ('{"_label_cost":0,"_labelIndex":2,' + MULTI + "}\n", 1, "index 2"),
        ('{"_label_cost":0,' + MULTI + "}\n", 1, "which action was shown"),
        ('{"_label_cost":"x",' + MULTI + "}\n", 1, "_label_cost is no number"),
        ('{"Timestamp":"yesterday",' + MULTI + "}\n", 1, "is no time"),
        ('{"EventId":"\\ud800",' + MULTI + "}\n", 1, "lone surrogate"),
        ('{"EventId":"\\ud83d\\ude00\\\\ud800",' + MULTI + ',"x\\udc00":1}\n', 1, "lone surrogate"),
        ('{"c":{"_slots":[{}],"_multi":[{}]}}\n', 1, "slots"),
    ],
)
def test_a_malformed_line_is_named_and_leaves_nothing_behind(tmp_path, text, line, what):
    check_malformed(tmp_path, text, line, what)
