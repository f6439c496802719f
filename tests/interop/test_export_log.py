"""Export: what Vowpal Wabbit makes of it, and what comes back."""

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from estimators.bandits import ips
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.logs import random_log, read, table
from tests.support.vw import average_loss, examples, vw

import warmstart as ws
from warmstart.interop.vw.text_features import parse_features

TAU = 0.1

FILES = {"vw-cb": "train.vw", "vw-adf": "train.vw", "dsjson": "train.json"}

# x0 shows a1, a3 and a4 less often than tau.
ROWS = random_log(3)


def propensities(rows):
    cells = Counter((x, a) for x, a, *_ in rows)
    contexts = Counter(x for x, *_ in rows)
    return {(x, a): n / contexts[x] for (x, a), n in cells.items()}


@pytest.fixture
def events(duckdb):
    return read(ROWS, duckdb)


@pytest.mark.parametrize("to", FILES)
def test_what_was_exported_imports_as_the_same_events(events, to, tmp_path):
    ws.export(events, tmp_path / FILES[to], to=to, tau=TAU)
    result = ws.import_vw(tmp_path / FILES[to], tmp_path / "back", from_export=True)
    back = pq.read_table(result.events).to_pylist()
    numbers = pq.read_table(tmp_path / "train.actions.parquet")["action"].to_pylist()
    named = {str(i + 1): action for i, action in enumerate(numbers)} if to == "vw-cb" else {a: a for a in numbers}
    floored = propensities(ROWS)
    assert min(floored.values()) < TAU
    assert Counter((r["context"], named[r["action"]], r["reward"], r["propensity"]) for r in back) == Counter(
        (x, a, r, max(floored[x, a], TAU)) for x, a, r, _ in ROWS
    )
    if to != "vw-cb":
        shown = {x: sorted({a for y, a, *_ in ROWS if y == x}) for x, *_ in ROWS}
        assert all(row["feasible"] == shown[row["context"]] for row in back)
    if to == "dsjson":
        assert Counter(row["time"] for row in back) == Counter(table(ROWS)["time"].to_pylist())


@pytest.mark.parametrize("to", FILES)
def test_events_come_in_the_order_of_time_and_always_the_same(events, to, tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        ws.export(events, tmp_path / name / "train.vw", to=to, tau=TAU)
    assert (tmp_path / "one" / "train.vw").read_bytes() == (tmp_path / "other" / "train.vw").read_bytes()
    ws.export(events, tmp_path / "train.parquet", to="parquet", tau=TAU)
    times = pq.read_table(tmp_path / "train.parquet")["time"].to_pylist()
    assert times == sorted(times)


@pytest.mark.parametrize(("to", "options"), [("vw-cb", ["--cb", 5]), ("vw-adf", ["--cb_adf"])])
def test_vowpal_wabbit_sees_every_event(events, to, options, tmp_path):
    ws.export(events, tmp_path / "train.vw", to=to, tau=TAU)
    assert examples(vw(*options, "-d", tmp_path / "train.vw")[1]) == len(ROWS)


def test_decision_service_log_is_learned_as_the_text_is(events, tmp_path):
    """The same examples and, digit for digit, the same predictions of the model learned from them."""
    predicted = []
    for to, name, options in (("vw-adf", "text.vw", []), ("dsjson", "json.json", ["--dsjson"])):
        path = tmp_path / name
        ws.export(events, path, to=to, tau=TAU)
        said = vw("--cb_explore_adf", "-q", "::", *options, "-d", path, "-f", tmp_path / "model")[1]
        assert examples(said) == len(ROWS)
        contexts = path.with_name(f"{path.stem}.contexts.vw")
        vw("-t", "-i", tmp_path / "model", "-d", contexts, "-p", tmp_path / f"{to}.txt")
        predicted.append((tmp_path / f"{to}.txt").read_text())
    assert predicted[0] == predicted[1]


def test_ips_of_vowpal_wabbit_is_ours(events, tmp_path):
    """--eval with --cb_type ips: every line begins with the policy's choice."""
    ws.export(events, tmp_path / "train.vw", to="vw-cb", tau=TAU)
    choice = {f"x{i}": 1 + (i * 2) % 5 for i in range(6)}
    lines = []
    for line in (tmp_path / "train.vw").read_text().splitlines():
        context = line.partition("'")[2].partition("|")[0]
        lines.append(f"{choice[context]} {line}\n")
    (tmp_path / "eval.vw").write_text("".join(lines))
    decisions = pa.table({"context": list(choice), "action": [f"a{number - 1}" for number in choice.values()]})
    ours = ws.evaluate({"fixed": decisions}, events, tau=TAU, estimators=["ips"])["fixed"].value
    assert ours > 0
    theirs = average_loss(vw("--cb", 5, "--eval", "--cb_type", "ips", "-d", tmp_path / "eval.vw")[1])
    assert -theirs == pytest.approx(ours, abs=2e-6)
    estimator = ips.Estimator()
    result = ws.import_vw(tmp_path / "eval.vw", tmp_path / "back", choice_first=True, from_export=True)
    for row in pq.read_table(result.events).to_pylist():
        estimator.add_example(row["propensity"], row["reward"], float(row["choice"] == row["action"]))
    assert estimator.get() == pytest.approx(ours)


def test_parquet_has_the_logs_columns_with_propensity_and_weight(events, tmp_path):
    ws.export(events, tmp_path / "train.parquet", to="parquet", tau=TAU)
    result = pq.read_table(tmp_path / "train.parquet")
    assert result.column_names == ["context", "action", "reward", "time", "propensity", "weight"]
    counted = propensities(ROWS)
    assert Counter(tuple(row.values()) for row in result.to_pylist()) == Counter(
        (*row.values(), counted[row["context"], row["action"]], 1 / max(counted[row["context"], row["action"]], TAU))
        for row in table(ROWS).to_pylist()
    )


def test_logged_propensities_are_exported_where_the_log_has_them(duckdb, tmp_path):
    log = pa.table({"x": ["p", "p"], "a": [1, 2], "r": [1.0, 0.0], "p": [0.02, 0.9]})
    events = ws.read_events(log, context="x", action="a", reward="r", propensity="p", engine=duckdb)
    ws.export(events, tmp_path / "train.vw", to="vw-cb", tau=TAU)
    assert sorted((tmp_path / "train.vw").read_text().splitlines()) == [
        "1:-1:0.1 'p|context x=p",
        "2:0:0.9 'p|context x=p",
    ]
    ws.export(events, tmp_path / "train.vw", to="vw-cb", tau=TAU, propensities="counts")
    assert "1:-1:0.5 'p|" in (tmp_path / "train.vw").read_text()


def test_features_of_any_kind_become_words(duckdb, tmp_path):
    rows = [("x", "a", 1.0, 0), ("y", "b", 0.0, 0)]
    contexts = pa.table({"context": ["y", "x"], "words": [["n^big", "w"], ["w"]], "weights": [[1.0, 2.5], [1.0]]})
    actions = pa.table(
        {
            "action": ["a"],
            "title": ["Cold Brew: 50%"],
            "price": [2],
            "hot": [False],
        }
    )
    result = ws.export(
        read(rows, duckdb), tmp_path / "train.vw", to="vw-adf", tau=TAU, contexts=contexts, actions=actions
    )
    assert result.bare == 1
    blocks = sorted((tmp_path / "train.vw").read_text().split("\n\n"))
    assert blocks[1:] == [
        "shared 'x| w\n0:-1:1 'a| 50 brew cold hot=False price:2",
        "shared 'y| w:2.5 |n big\n0:0:1 'b|",
    ]


def test_a_key_twice_among_the_features_is_refused_and_nothing_is_left(events, tmp_path):
    contexts = pa.table({"context": ["x0", "x0"], "words": [["a"], ["b"]]})
    with pytest.raises(ws.DataError, match="two rows for one key"):
        ws.export(events, tmp_path / "train.vw", to="vw-cb", tau=TAU, contexts=contexts)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("as_file", [False, True])
def test_an_empty_table_of_features_leaves_every_context_without(events, tmp_path, as_file):
    contexts = pa.table({"context": pa.array([], pa.string()), "words": pa.array([], pa.list_(pa.string()))})
    if as_file:
        pq.write_table(contexts, tmp_path / "contexts.parquet")
    source = tmp_path / "contexts.parquet" if as_file else contexts
    exported = ws.export(events, tmp_path / "train.vw", to="vw-cb", tau=TAU, contexts=source)
    assert exported.bare == 6
    assert all(line.endswith("|") for line in (tmp_path / "train.vw").read_text().splitlines())


@pytest.mark.parametrize(
    "options",
    [{"to": "csv", "tau": 0.1}, {"to": "vw-cb", "tau": 0}, {"to": "vw-cb", "tau": 2}]
    + [{"to": "vw-cb", "tau": 0.1, "propensities": name} for name in ("logged", "model")],
)
def test_wrong_calls_are_usage_errors(events, tmp_path, options):
    with pytest.raises(ws.UsageError):
        ws.export(events, tmp_path / "train.vw", **options)


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(NAMES, NAMES, st.sampled_from([0.0, 0.1, 1 / 3, 1.0])), min_size=1, max_size=30),
    st.sampled_from(sorted(FILES)),
)
def test_any_names_and_rewards_survive_the_way_out_and_back(duckdb, tmp_path_factory, rows, to):
    folder = tmp_path_factory.mktemp("odd")
    log = pa.table({name: [row[i] for row in rows] for i, name in enumerate(("x", "a", "r"))})
    events = ws.read_events(log, context="x", action="a", reward="r", engine=duckdb)
    ws.export(events, folder / "train.vw", to=to, tau=TAU)
    result = ws.import_vw(
        folder / "train.vw", folder / "back", from_export=True, format={"vw-cb": "cb", "vw-adf": "cb_adf"}.get(to, to)
    )
    back = pq.read_table(result.events).to_pylist()
    numbers = pq.read_table(folder / "train.actions.parquet")["a"].to_pylist()
    action = (lambda key: numbers[int(key) - 1]) if to == "vw-cb" else (lambda key: key)
    assert Counter((row["context"], action(row["action"]), row["reward"]) for row in back) == Counter(rows)
    described = {row["context"]: row["words"] for row in pq.read_table(result.contexts).to_pylist()}
    assert described == {x: [f"context^x={x}"] for x, _, _ in rows}


@pytest.mark.parametrize("to", FILES)
def test_every_engine_writes_the_same_file(any_engine, duckdb, to, tmp_path):
    written = []
    for engine in (any_engine, duckdb):
        ws.export(read(ROWS[:40], engine), tmp_path / "train.vw", to=to, tau=TAU)
        written.append((tmp_path / "train.vw").read_text() + (tmp_path / "train.contexts.vw").read_text())
    assert written[0] == written[1]


def test_tags_and_features_with_odd_characters_are_one_token_each(duckdb, tmp_path):
    rows = [("a page: 50%|x", "an ad\nof two lines", 1.0, 0)]
    ws.export(read(rows, duckdb), tmp_path / "train.vw", to="vw-adf", tau=TAU)
    lines = (tmp_path / "train.vw").read_text().splitlines()
    assert lines[0] == "shared 'a%20page%3A%2050%25%7Cx|context context=a%20page%3A%2050%25%7Cx"
    assert len(lines) == 3
    assert len(list(parse_features(lines[1].partition("|")[2]))) == 1
