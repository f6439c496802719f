"""Imported logs: what becomes of probabilities and costs; Vowpal Wabbit's own test files, as it reads them itself."""

import json
import re
from collections import Counter

import pyarrow.parquet as pq
import pytest
from tests.support.vw import audited, import_text, vw

import warmstart as ws


def test_a_log_without_probabilities_has_no_propensity_column(tmp_path):
    result, rows = import_text(tmp_path, "1:-1 | a b\n2:0 | a b\n")
    assert [set(row) for row in rows] == [{"context", "action", "reward", "cost"}] * 2
    assert result.about["propensities"] == 0
    events = ws.read_events(result.events, context="context", action="action", reward="reward")
    assert ws.evaluate("constant:1", events, tau=0.1, estimators=["ips"])["constant:1"].value == 1.0


def test_with_probabilities_read_events_takes_them(tmp_path):
    result, rows = import_text(tmp_path, "1:-1:0.25 | a\n2:0:0.75 | a\n")
    assert [row["propensity"] for row in rows] == [0.25, 0.75]
    names = {"context": "context", "action": "action", "reward": "reward", "propensity": "propensity"}
    events = ws.read_events(result.events, **names, ranges={"reward": (0, 9)})
    assert ws.evaluate("constant:1", events, tau=0.1, estimators=["ips"])["constant:1"].value == pytest.approx(2.0)


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
    result, rows = import_text(tmp_path, "".join(f"1:{cost} | a\n" for cost in costs), cost_range=stated)
    assert (result.about["costs"]["low"], result.about["costs"]["high"]) == (low, high)
    assert [row["reward"] for row in rows] == rewards
    assert [row["cost"] for row in rows] == costs


def test_costs_outside_the_stated_range_are_refused(tmp_path):
    with pytest.raises(ws.RewardRangeError):
        import_text(tmp_path, "1:2 | a\n", cost_range=(0, 1))
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


# file: (format, examples, events, contexts, actions, range of costs)
FILES = {
    "cb_eval": ("cb", 8, 8, 1, 2, (0, 1)),
    "cb_eval1": ("cb", 4, 4, 1, 2, (0, 1)),
    "cb_eval2": ("cb", 4, 4, 1, 2, (0, 1)),
    "cb_features_w_zero_vals.dsjson": ("dsjson", 2, 2, 1, 1, (-1, 0)),
    "cb_load.dat": ("cb_adf", 113, 113, 4, 7, (-1, 0)),
    "cb_multi_cost.dat": ("cb", 5, 5, 2, 4, (1, 4)),
    "cb_simple_pdrop.json": ("dsjson", 1, 1, 1, 2, (-1, 0)),
    "cb_test.json": ("json", 3, 2, 2, 5, (0, 1)),
    "cb_test.ldf": ("cb_adf", 3, 2, 2, 5, (0, 1)),
    "cb_test256.json": ("json", 260, 260, 2, 5, (0, 1)),
    "cb_test_medium.ldf": ("cb_adf", 15, 10, 2, 5, (0, 1)),
    "cb_test_non_binary_costs.ldf": ("cb_adf", 15, 10, 2, 5, (-0.5, 0.9)),
    "cb_test_small.ldf": ("cb_adf", 6, 4, 2, 5, (0, 1)),
    "decisionservice.json": ("dsjson", 3, 3, 3, 12, (-1, 0)),
    "dsjson_cb.json": ("dsjson", 23, 23, 16, 4, (-1, 0)),
    "explore_eval_egreedy.dat": ("cb_adf", 50, 50, 6, 9, (-1, 0)),
    "las_100_actions.txt": ("cb_adf", 2, 2, 2, 99, (-1, 0)),
    "rcv1_cb_eval": ("cb", 1000, 1000, 999, 2, (0, 1)),
    "rcv1_raw_cb_small.vw": ("cb", 1000, 1000, 999, 2, (0, 1)),
}

NOT_LOGS = {"LICENSE", "README.md", "tests.json", "ref"}

# Test of tests.json: its file and its expected output.
REFERENCES = {
    "rcv1_raw_cb_small.vw": "rcv1_raw_new_cb_ips.stderr",
    "rcv1_cb_eval": "rcv1_cb_eval.stderr",
    "cb_test.ldf": "cb_adf_mtr.stderr",
    "cb_multi_cost.dat": "cb_multi_cost.stderr",
    "decisionservice.json": "cb_adf_dsjson_metrics_.stderr",
    "cb_features_w_zero_vals.dsjson": "t609.stderr",
}


@pytest.fixture(scope="module")
def formats(data):
    return data / "vw_formats"


def imported(formats, name, folder):
    return ws.import_vw(formats / name, folder / name, choice_first=name == "rcv1_cb_eval")


def test_no_file_is_left_out(formats):
    assert {path.name for path in formats.iterdir()} - NOT_LOGS == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_file_reads_with_its_counts(formats, name, tmp_path):
    about = imported(formats, name, tmp_path).about
    costs = about["costs"]
    assert (
        about["from"].removeprefix("vw "),
        *(about[part] for part in ("examples", "events", "contexts", "actions")),
        (costs["low"], costs["high"]),
    ) == FILES[name]
    assert about["propensities"] == about["events"]
    assert about == json.loads((tmp_path / name / "about.json").read_text())
    for side in ("contexts", "actions"):
        assert pq.read_metadata(tmp_path / name / f"{side}.parquet").num_rows == about[side]


@pytest.mark.parametrize("name", REFERENCES)
def test_examples_are_those_of_the_expected_output(formats, name, tmp_path):
    expected = (formats / "ref" / REFERENCES[name]).read_text()
    assert imported(formats, name, tmp_path).about["examples"] == int(
        re.search(r"number of examples = (\d+)", expected).group(1)
    )


def test_features_are_as_many_as_vowpal_wabbit_counts(formats, tmp_path):
    result = imported(formats, "rcv1_cb_eval", tmp_path)
    sizes = {row["context"]: len(row["words"]) for row in pq.read_table(result.contexts).to_pylist()}
    events = pq.read_table(result.events)
    expected = (formats / "ref" / "rcv1_cb_eval.stderr").read_text()
    with_constants = sum(sizes[context] + 1 for context in events["context"].to_pylist())
    assert with_constants == int(re.search(r"total feature number = (\d+)", expected).group(1))
    assert set(events["choice"].to_pylist()) == {"2"}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dsjson_cb.json", ["--cb_adf", "--dsjson"]),
        ("decisionservice.json", ["--cb_adf", "--dsjson"]),
        ("cb_test.json", ["--cb_adf", "--json"]),
        ("cb_load.dat", ["--cb_adf"]),
        ("explore_eval_egreedy.dat", ["--cb_adf"]),
    ],
)
def test_words_and_weights_are_those_that_vowpal_wabbit_audits(formats, name, options, tmp_path):
    """Its audit of every action's line is the action's features and, where there are any, the shared ones."""
    result = imported(formats, name, tmp_path)
    contexts, actions = (
        {row[side]: _as_audited(row["words"], row["weights"]) for row in pq.read_table(file).to_pylist()}
        for side, file in (("context", result.contexts), ("action", result.actions))
    )
    events = pq.read_table(result.events).to_pylist()
    ours = [contexts[e["context"]] | actions[key] for e in events for key in e["feasible"]]
    audit = audited(vw(*options, "-t", "--audit", "-d", formats / name)[0])
    theirs = [_as_audited(*zip(*line, strict=True)) for line in audit]
    unlabelled_at_the_end = len(theirs) - len(ours)
    assert unlabelled_at_the_end == (2 if name == "cb_test.json" else 0)
    for one, other in zip(ours, theirs, strict=False):
        assert one == pytest.approx(other, rel=1e-5)


def _as_audited(words, weights):
    """Vowpal Wabbit shows six digits of single precision, and _ for what its text cannot hold in values of text."""
    names = [name.translate(str.maketrans(" :|", "___")) for name in words]
    return dict(zip(names, weights, strict=True))


def test_json_and_text_of_the_same_log_are_the_same_tables(formats, tmp_path):
    text, json_ = imported(formats, "cb_test.ldf", tmp_path), imported(formats, "cb_test.json", tmp_path)
    for part in ("contexts", "actions"):
        assert pq.read_table(getattr(text, part)).equals(pq.read_table(getattr(json_, part)))
    one, other = pq.read_table(text.events), pq.read_table(json_.events)
    assert one.slice(0, 1).equals(other.slice(0, 1))
    # The second block is labelled on another line in the two files.
    assert one["feasible"].equals(other["feasible"])


def test_the_reuters_log_has_its_known_labels_and_value(formats, tmp_path):
    result = imported(formats, "rcv1_raw_cb_small.vw", tmp_path)
    rows = pq.read_table(result.events).to_pylist()
    assert Counter((row["action"], row["cost"]) for row in rows) == {
        ("1", 0.0): 280,
        ("2", 1.0): 253,
        ("2", 0.0): 243,
        ("1", 1.0): 224,
    }
    events = ws.read_events(result.events, context="context", action="action", reward="reward", propensity="propensity")
    # Cost of "always 2" by inverse propensities: 253 / .5 / 1000 = .506; its reward is 1 - cost, 243 / .5 / 1000.
    assert ws.evaluate("constant:2", events, tau=0.05, estimators=["ips"])["constant:2"].value == pytest.approx(0.486)


def test_costs_come_back_from_rewards(formats, tmp_path):
    result = imported(formats, "cb_test_non_binary_costs.ldf", tmp_path)
    costs, events = result.about["costs"], pq.read_table(result.events)
    for row in events.to_pylist():
        assert 0 <= row["reward"] <= 1
        assert costs["high"] - row["reward"] * (costs["high"] - costs["low"]) == pytest.approx(row["cost"])


def test_fit_takes_the_tables(formats, tmp_path):
    result = imported(formats, "cb_load.dat", tmp_path)
    events = ws.read_events(result.events, context="context", action="action", reward="reward")
    policy = ws.fit(events, contexts=result.contexts, actions=result.actions, strict=True, weight_bits=12)
    assert policy.context_settings.weights == policy.action_settings.weights == {"words": "weights"}
