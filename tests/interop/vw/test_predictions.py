"""What Vowpal Wabbit predicts for exported contexts comes back as a policy."""

from collections import Counter

import pyarrow.parquet as pq
import pytest
from tests.support.logs import random_log, read
from tests.support.vw import average_loss, vw

import warmstart as ws

TAU = 0.1

# x0 shows a1, a3 and a4 less often than tau.
ROWS = random_log(3)


@pytest.fixture
def events(duckdb):
    return read(ROWS, duckdb)


def test_a_policy_that_vowpal_wabbit_learned_comes_back_and_is_evaluated(events, tmp_path):
    path, model, predicted = tmp_path / "train.vw", tmp_path / "model", tmp_path / "predicted.txt"
    ws.export(events, path, to="vw-cb", tau=TAU)
    said = vw("--cb", 5, "--cb_type", "ips", "-d", path, "-f", model)[1]
    assert average_loss(said) < 0
    vw("-t", "-i", model, "-d", tmp_path / "train.contexts.vw", "-p", predicted)
    result = ws.import_predictions(predicted, path, tmp_path / "decisions.parquet", first_number=None)
    rows = pq.read_table(result.path).to_pylist()
    assert [row["context"] for row in rows] == [f"x{i}" for i in range(6)]
    numbers = [int(line.split()[0]) for line in predicted.read_text().splitlines() if line.strip()]
    assert [row["action"] for row in rows] == [f"a{number}" for number in numbers]
    assert ws.evaluate(str(result.path), events, tau=TAU, estimators=["ips"])["decisions"].support.undecided == 0


def test_probabilities_come_back_over_the_feasible_actions(events, tmp_path):
    path, model, predicted = tmp_path / "train.vw", tmp_path / "model", tmp_path / "predicted.txt"
    ws.export(events, path, to="vw-adf", tau=TAU)
    vw("--cb_explore_adf", "--epsilon", 0.2, "-q", "::", "-d", path, "-f", model)
    vw("-t", "-i", model, "-d", tmp_path / "train.contexts.vw", "-p", predicted)
    with pytest.raises(ws.UsageError, match="sum to 1"):
        ws.import_predictions(predicted, path, tmp_path / "decisions.parquet")
    result = ws.import_predictions(predicted, path, tmp_path / "decisions.parquet", scores="probabilities")
    rows = pq.read_table(result.path).to_pylist()
    assert {(row["context"], row["action"]) for row in rows} == {(x, a) for x, a, *_ in ROWS}
    sums = Counter()
    for row in rows:
        sums[row["context"]] += row["probability"]
    assert all(total == pytest.approx(1) for total in sums.values())
    assert ws.evaluate(str(result.path), events, tau=TAU, estimators=["ips"])["decisions"].matched == len(ROWS)


@pytest.fixture(scope="module")
def small(duckdb, tmp_path_factory):
    """Two contexts, of three and two actions, in both kinds of text."""
    rows = [("x", a, 1.0, 0) for a in ("a", "b", "c")] + [("y", "b", 0.0, 0), ("y", "c", 0.0, 0)]
    folder = tmp_path_factory.mktemp("small")
    for to in ("vw-cb", "vw-adf"):
        ws.export(read(rows, duckdb), folder / f"{to}.vw", to=to, tau=TAU)
    return folder


def predict(small, tmp_path, text, to="vw-adf", **options):
    (tmp_path / "p.txt").write_text(text)
    result = ws.import_predictions(tmp_path / "p.txt", small / f"{to}.vw", tmp_path / "d.parquet", **options)
    return [tuple(row.values()) for row in pq.read_table(result.path).to_pylist()]


def test_of_scores_the_least_cost_is_chosen_and_numbers_are_of_the_feasible_actions(small, tmp_path):
    assert predict(small, tmp_path, "0:0.5,2:-1,1:3 x\n\n1:0.1,0:0.2 y\n\n") == [("x", "c", 1.0), ("y", "c", 1.0)]
    assert predict(small, tmp_path, "2 x\n\n0 y\n\n") == [("x", "c", 1.0), ("y", "b", 1.0)]


def test_lone_numbers_count_from_0_or_1_and_must_be_told_where_they_do_not_tell(small, tmp_path):
    assert predict(small, tmp_path, "3\n1\n", to="vw-cb") == [("x", "c", 1.0), ("y", "a", 1.0)]
    assert predict(small, tmp_path, "0\n1\n", to="vw-cb") == [("x", "a", 1.0), ("y", "b", 1.0)]
    with pytest.raises(ws.UsageError, match="from 0 or from 1"):
        predict(small, tmp_path, "1\n2\n", to="vw-cb")
    assert predict(small, tmp_path, "1\n2\n", to="vw-cb", first_number=0) == [("x", "b", 1.0), ("y", "c", 1.0)]
    assert predict(small, tmp_path, "1\n2\n", to="vw-cb", first_number=1) == [("x", "a", 1.0), ("y", "b", 1.0)]
    with pytest.raises(ws.UsageError, match="count from 0"):
        predict(small, tmp_path, "0\n2\n", to="vw-cb", first_number=1)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("0 x\n", "fewer"),
        ("0 x\n0 y\n0 z\n", "more"),
        ("0 y\n0 x\n", "of the context 'y'"),
        ("0 x\n2 y\n", "index 2"),
        ("0 x\nnonsense y\n", "no prediction"),
        ("0:nan x\n0 y\n", "not finite"),
    ],
)
def test_predictions_that_are_not_of_these_contexts_are_refused(small, tmp_path, text, what):
    with pytest.raises(ws.DataError, match=what):
        predict(small, tmp_path, text)
    assert not [path for path in tmp_path.iterdir() if "d.parquet" in path.name]


def test_scores_that_sum_to_no_1_are_no_probabilities(small, tmp_path):
    with pytest.raises(ws.DataError, match="no probabilities"):
        predict(small, tmp_path, "0:0.5,1:0.1,2:0.2\n0:0.5,1:0.5\n", scores="probabilities")
