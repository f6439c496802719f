"""Saved policies: whatever is changed in a folder is a typed error that names the file, and what was saved loads."""

import copy
import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.support.saved_policies import NAMES, about, copied, sign, small_log, small_policy

import warmstart as ws
from warmstart.policy import RankingInMemory


@pytest.fixture(scope="module")
def policy():
    return small_policy()


@pytest.fixture(scope="module")
def saved(policy, tmp_path_factory):
    return ws.save_policy(policy, tmp_path_factory.mktemp("saved") / "policy")


@pytest.fixture
def folder(saved, tmp_path):
    return copied(saved, tmp_path / "policy")


def refused(folder):
    """The message of the typed error that loading raises; anything else fails the test."""
    with pytest.raises(ws.SavedFileError) as error:
        ws.load_policy(folder)
    return str(error.value)


def same(one, other):
    fields = ("columns", "window", "folds", "context_settings", "action_settings", "lowest", "report")
    arrays = ("starts", "buckets", "values", "squares")
    return (
        all(getattr(one, name) == getattr(other, name) for name in fields)
        and one.ranking.equals(other.ranking)
        and one.actions.equals(other.actions)
        and np.array_equal(one.factors, other.factors)
        and np.array_equal(one.model.weights, other.model.weights)
        and all(np.array_equal(getattr(one.action_rows, name), getattr(other.action_rows, name)) for name in arrays)
    )


FILES = sorted(
    [
        "policy.json",
        "action_keys.npy",
        "decisions.parquet",
        "weights.npy",
        "factors.npy",
        *(f"action_{part}.npy" for part in ("starts", "buckets", "values", "squares")),
    ]
)


def test_the_folder_has_the_files_that_it_names(saved):
    assert sorted(file.name for file in saved.iterdir()) == FILES == sorted(about(saved)["files"])


# Some bytes of every file; long, all of policy.json, and of others the first 100 and more of the rest.
SOME, ALL = (20, 20), (100, 50)


@pytest.mark.parametrize("counts", [SOME, pytest.param(ALL, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize("file", FILES)
def test_a_changed_byte_is_found_by_the_checksums(folder, saved, file, counts):
    path, whole = folder / file, (saved / file).read_bytes()
    first, rng = ws.load_policy(saved), np.random.default_rng(1)
    start, rest = (len(whole), 0) if file == "policy.json" and counts == ALL else counts
    for place in [*range(start), *rng.integers(min(start, len(whole) - 1), len(whole), rest)]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        try:
            loaded = ws.load_policy(folder)
        except ws.SavedFileError as error:
            assert file in str(error)  # noqa: PT017
        else:
            # A blank may become another blank.
            assert file == "policy.json"
            assert json.loads(flipped) == json.loads(whole)
            assert same(loaded, first)


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_is_cut_empty_absent_or_a_folder_is_an_error(folder, file):
    path = folder / file
    whole = path.read_bytes()
    for part in (whole[:-2], whole[: len(whole) // 2], b"", whole + b"\0"):
        path.write_bytes(part)
        assert file in refused(folder)
    path.unlink()
    if file == "policy.json":
        with pytest.raises(ws.SourceError, match=r"no policy\.json"):
            ws.load_policy(folder)
        return
    assert file in refused(folder)
    path.mkdir()
    assert file in refused(folder)


def places_in(value, path=()):
    """Every place in a JSON document, as the keys that lead there."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from places_in(part, (*path, key))


def changed(saved, path, value):
    result = copy.deepcopy(saved)
    parent = result
    for key in path[:-1]:
        parent = parent[key]
    if value is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return result


WRONG = (..., None, "word", 10**400, True, -1, 0.5, float("nan"), float("inf"), [], [[]], {}, {"word": {}})


@pytest.mark.parametrize("wrong", [WRONG[:4], pytest.param(WRONG, marks=pytest.mark.slow)], ids=["some", "all"])
def test_every_field_deleted_or_of_another_type_is_named(folder, saved, wrong):
    original = about(saved)
    for path in places_in(original):
        if path[0] == "files":
            continue
        field = ".".join(str(key) for key in path if not isinstance(key, int))
        for value in wrong:
            sign(folder, changed(original, path, value))
            try:
                loaded = ws.load_policy(folder)
            except ws.SavedFileError as error:
                said = str(error)
                # Without a model, its files are what is not known.
                assert path[0] in said or "policy.json: columns" in said or path == ("model",), (path, value, said)
                assert "policy.json" in said or ".parquet" in said or ".npy" in said
            else:
                # A value of the same kind: what was learned is as it was.
                assert loaded.actions.equals(ws.load_policy(saved).actions), field


def test_a_field_that_is_not_known_is_named(folder, saved):
    original = about(saved)
    free = ("kinds", "weights", "scales", "fit_taus_tried")
    for path in [(), *places_in(original)]:
        value = original
        for key in path:
            value = value[key]
        if isinstance(value, dict) and not (path and path[-1] in free):
            sign(folder, changed(original, (*path, "surprise"), "1"))
            where = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")
            assert f"policy.json: {where}{'.' if where else ''}surprise is not known" in refused(folder)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), 0),
        (("format",), 1),
        (("lowest",), 1.5),
        (("lowest",), -0.1),
        (("model", "width"), 64),
        (("model", "rate"), -1.0),
        (("model", "loss"), "absolute"),
        (("model", "kind"), "oracle"),
        (("model",), None),
        (("context_features", "bits"), 29),
        (("context_features", "bits"), 1),
        (("context_features", "kinds", "size"), "words"),
        (("context_features", "scales", "size"), [0.0, 0.0]),
        (("context_features", "scales", "size"), [0.0]),
        (("context_features", "weights"), {}),
        (("context_features", "named"), ["topics"]),
        (("context_features", "named"), ["size", "topics"]),
        (("columns", "context"), []),
        (("columns", "context"), ["page"]),
        (("columns", "context"), ["page", "page"]),
        (("columns", "action"), "rank"),
        (("columns", "action"), "page"),
        (("window", "start"), 2**62),
        (("window", "events"), -1),
        (("folds",), {"of": 2, "seed": 0, "fold": 2, "keys": ["page"], "rest": False}),
        (("folds",), {"of": 2, "seed": 0, "fold": 1, "keys": [], "rest": False}),
        (("report", "fit_tau"), 2.0),
        (("report", "fit_taus_tried"), {"many": 1.0}),
        (("files", "weights.npy"), ...),
        (("files", "../../secret"), ""),
    ],
)
def test_a_value_out_of_range_is_refused_with_right_checksums(folder, path, value):
    sign(folder, changed(about(folder), path, value))
    said = refused(folder)
    assert said.startswith(("policy.json: ", "decisions.parquet: "))


@pytest.mark.parametrize("text", ["", "[]", "null", "1", '{"format": 2, "format": 2}', "[" * 100_000, "\ud800", "{"])
def test_what_is_no_object_is_refused(folder, text):
    (folder / "policy.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert "policy.json" in refused(folder)


def with_column(table, name, values):
    return table.set_column(table.schema.get_field_index(name), name, values)


RANKINGS = {
    "all ranks are 1": (lambda t: with_column(t, "rank", pa.array([1] * len(t), pa.int32())), "rank must be unique"),
    "two ranks are swapped for one": (
        lambda t: with_column(t, "rank", pa.array([1, 1, *t["rank"].to_pylist()[2:]], pa.int32())),
        "rank must be unique",
    ),
    "ranks have a gap": (
        lambda t: with_column(t, "rank", pa.array([r + (r == 3) for r in t["rank"].to_pylist()], pa.int32())),
        "without gaps",
    ),
    "a rank is null": (
        lambda t: with_column(t, "rank", pa.array([None, *t["rank"].to_pylist()[1:]], pa.int32())),
        "rank must not be null",
    ),
    "a rank is 0": (
        lambda t: with_column(t, "rank", pa.array([r - 1 for r in t["rank"].to_pylist()], pa.int32())),
        "rank must be 1",
    ),
    "scores go up": (
        lambda t: with_column(t, "score", pa.array([r / 10 for r in t["rank"].to_pylist()])),
        "score must not increase with rank",
    ),
    "a score is NaN": (
        lambda t: with_column(t, "score", pa.array([float("nan")] * len(t))),
        "score must be a finite number",
    ),
    "a score is null": (
        lambda t: with_column(t, "score", pa.array([None] * len(t), pa.float64())),
        "score must be a finite number",
    ),
    "a score is 2": (lambda t: with_column(t, "score", pa.array([2.0] * len(t))), "score must be a finite number"),
    "an action is not known": (
        lambda t: with_column(t, "ad", pa.array([9] * len(t), t["ad"].type)),
        "ad must be a known action",
    ),
    "an action is null": (
        lambda t: with_column(t, "ad", pa.array([None, *t["ad"].to_pylist()[1:]], t["ad"].type)),
        "ad must be a known action",
    ),
    "an action is there twice": (
        lambda t: with_column(t, "ad", pa.array([0] * len(t), t["ad"].type)),
        "ad must not be twice in a context",
    ),
    "a context is null": (
        lambda t: with_column(t, "half", pa.array([None] * len(t), pa.int64())),
        "half must not be null",
    ),
    "a context is infinite": (
        lambda t: with_column(t, "half", pa.array([float("inf")] * len(t))),
        "half must be finite",
    ),
    "a context is a list": (lambda t: with_column(t, "half", pa.array([[1]] * len(t))), "half has the type list"),
    "actions have another type": (
        lambda t: with_column(t, "ad", t["ad"].cast("string")),
        "ad must have the type int64",
    ),
    "ranks have another type": (
        lambda t: with_column(t, "rank", t["rank"].cast("int64")),
        "rank must have the type int32",
    ),
    "scores have another type": (
        lambda t: with_column(t, "score", t["score"].cast("float32")),
        "score must have the type double",
    ),
    "a column is missing": (lambda t: t.drop_columns(["half"]), "must have the columns"),
    "a column is too many": (lambda t: t.append_column("more", t["score"]), "must have the columns"),
    "columns are in another order": (lambda t: t.select(["half", "page", "ad", "rank", "score"]), "in this order"),
    "there are no rows": (lambda t: t.slice(0, 0), "has no rows"),
}


@pytest.mark.parametrize("case", RANKINGS)
def test_a_ranking_that_is_none_is_refused_with_right_checksums(folder, case):
    change, expected = RANKINGS[case]
    pq.write_table(change(pq.read_table(folder / "decisions.parquet")), folder / "decisions.parquet")
    said = refused(sign(folder))
    assert said.startswith("decisions.parquet: ")
    assert expected in said


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([0, 1, 1], "action must be unique"),
        ([], "has no actions"),
        ([0, 1], r"decisions\.parquet: ad must be a known action|action_starts\.npy: has the length 4"),
        ([0, 1, 3], r"decisions\.parquet: ad must be a known action"),
    ],
)
def test_actions_that_are_none_are_refused_with_right_checksums(folder, actions, expected):
    np.save(folder / "action_keys.npy", np.array(actions, np.int64))
    with pytest.raises(ws.SavedFileError, match=expected):
        ws.load_policy(sign(folder))


def test_damaged_pages_are_typed_errors_with_right_checksums(folder, saved):
    file = "decisions.parquet"
    whole, rng = (saved / file).read_bytes(), np.random.default_rng(2)
    first = ws.load_policy(saved)
    for place in rng.integers(0, len(whole), 150):
        flipped = bytearray(whole)
        flipped[place] ^= int(rng.integers(1, 256))
        (folder / file).write_bytes(flipped)
        try:
            loaded = ws.load_policy(sign(folder))
        except ws.SavedFileError as error:
            assert ".parquet" in str(error) or ".npy" in str(error)  # noqa: PT017
        else:
            # Another policy, made on purpose, or the same: it is whole, and can be read.
            assert loaded.ranking.num_rows == first.ranking.num_rows


DAY = dt.datetime(2024, 1, 1)
KEYS = {
    "dictionary": pa.array(["a", "b", "c"]).dictionary_encode(),
    "string view": pa.array(["a", "b", "c"], pa.string_view()),
    "large string": pa.array(["a", "b", "c"], pa.large_string()),
    "timestamp": pa.array([DAY, DAY + dt.timedelta(1), DAY + dt.timedelta(2)], pa.timestamp("us", "UTC")),
    "nanoseconds": pa.array([1, 2, 3], pa.timestamp("ns")),
    "date": pa.array([DAY.date(), dt.date(2024, 1, 2), dt.date(2024, 1, 3)]),
    "time": pa.array([dt.time(1), dt.time(2), dt.time(3)]),
    "decimal": pa.array([Decimal("0.25"), Decimal("0.50"), Decimal("0.75")]),
    "boolean": pa.array([False, True]),
    "binary": pa.array([b"\xff", b"\0", b""]),
    "float": pa.array([0.5, 1.5, -2.0]),
    "unsigned": pa.array([1, 2, 2**63], pa.uint64()),
}
NO_KEYS = {
    "list": pa.array([[1], [2], [3]]),
    "struct": pa.array([{"a": 1}, {"a": 2}, {"a": 3}]),
    "duration": pa.array([dt.timedelta(1), dt.timedelta(2), dt.timedelta(3)]),
    "null": pa.array([1, 2, None]),
    "NaN": pa.array([1.0, 2.0, float("nan")]),
}


def with_keys(policy, keys, column):
    """A policy with other keys, made in memory: its ranking has one context, or contexts of one action each."""
    ids = range(len(keys))
    names = {"page": [0] * len(keys), "ad": [0] * len(keys)}
    names[column] = keys
    ranks = pa.array([1 + i if column == "ad" else 1 for i in ids], pa.int32())
    ranking = pa.table({**names, "rank": ranks, "score": [0.5 - i / 10 for i in ids]})
    actions = keys if column == "ad" else pa.array([0])
    places = np.arange(len(actions))
    return replace(
        policy,
        columns=replace(policy.columns, context=("page",)),
        ranked=RankingInMemory(ranking),
        actions=actions,
        action_rows=policy.action_rows.take(places),
        factors=policy.factors[places],
    )


@pytest.mark.parametrize("column", ["page", "ad"])
@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_every_type_are_loaded_as_they_were(policy, tmp_path, kind, column):
    made = with_keys(policy, KEYS[kind], column)
    loaded = ws.load_policy(made.save(tmp_path / "policy"))
    assert loaded.ranking.to_pylist() == made.ranking.to_pylist()
    assert loaded.action_keys == made.action_keys


@pytest.mark.parametrize("column", ["page", "ad"])
@pytest.mark.parametrize("kind", NO_KEYS)
def test_what_cannot_be_a_key_is_refused_on_saving(policy, tmp_path, kind, column):
    with pytest.raises(ws.UsageError, match=r"The policy cannot be saved.*(decisions|action)"):
        with_keys(policy, NO_KEYS[kind], column).save(tmp_path / "policy")
    assert not (tmp_path / "policy").exists()


def too_large(policy):
    weights = policy.model.weights.copy()
    weights[3] = 2e9
    return replace(policy, model=replace(policy.model, weights=weights))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (too_large, r"weights\.npy: values must lie between -1e\+09 and 1e\+09"),
        (lambda p: replace(p, model=replace(p.model, training_loss=float("inf"))), "learning diverged"),
        (lambda p: replace(p, factors=p.factors * 1e13), r"factors\.npy: values must lie between"),
        (lambda p: replace(p, factors=p.factors * 0), r"factors\.npy: values must be above 0"),
        (lambda p: replace(p, factors=p.factors[1:]), r"factors\.npy: has the length 2, and actions is 3"),
        (lambda p: replace(p, lowest=1.5), r"policy\.json: lowest must be"),
        (lambda p: replace(p, lowest=float("nan")), r"policy\.json: lowest must be"),
        (lambda p: replace(p, report={"cells": -1}), r"policy\.json: report\.cells must be"),
        (lambda p: replace(p, report={"mood": "good"}), r"policy\.json: report\.mood is not known"),
        (
            lambda p: replace(p, ranked=RankingInMemory(RANKINGS["a score is 2"][0](p.ranking))),
            r"decisions\.parquet: score must be",
        ),
    ],
)
def test_what_could_not_be_loaded_is_refused_on_saving(policy, tmp_path, change, expected):
    with pytest.raises(ws.UsageError, match=expected):
        change(policy).save(tmp_path / "policy")
    assert not (tmp_path / "policy").exists()


@pytest.mark.parametrize("report", [{}, {"events": 600}, {"sources": {"contexts": "pages.parquet"}}])
def test_a_policy_may_know_only_some_of_its_report(policy, tmp_path, report):
    loaded = ws.load_policy(replace(policy, report=report).save(tmp_path / "policy"))
    assert loaded.report == report
    assert loaded.choose({"topics": ["red"], "counts": [1.0], "size": 0.5, "new": True})[0] in (0, 1, 2)


def test_decisions_of_a_regressor_are_saved_and_evaluated_but_choose_nothing_new(tmp_path):
    from sklearn.linear_model import Ridge

    train, test = ws.read_events(small_log(), **NAMES).split(fraction=0.5)
    pages = pa.table({"page": [*range(5)] * 2, "half": [0] * 5 + [1] * 5, "size": np.linspace(-1, 3, 10)})
    policy = ws.fit(train, contexts=pages, model=Ridge(), fit_tau=0.3, weight_bits=10)
    folder = policy.save(tmp_path / "policy")
    loaded = ws.load_policy(folder)
    assert sorted(about(folder)["files"]) == ["action_keys.npy", "decisions.parquet", "policy.json"]
    for one in (policy, loaded):
        with pytest.raises(ws.UsageError, match="nothing can be chosen for contexts outside its ranking"):
            one.choose({"size": 1.0})
        chosen = one.choose_table(pages).select(["page", "half", "ad"])
        assert chosen.sort_by([("page", "ascending"), ("half", "ascending")]).equals(one.decisions)
        worst = one.ranking.filter(pc.equal(one.ranking["rank"], 3))
        few = worst.filter(pc.is_in(worst["ad"], pa.array([0])))
        assert one.choose_table(few.select(["page", "half"]), pa.table({"ad": [0]})).equals(few.drop_columns(["rank"]))
        unknown = pa.table({"page": [0, 7], "half": [0, 0]})
        for contexts in (unknown, pages.select(["size"])):
            with pytest.raises(ws.UsageError, match="nothing can be chosen for contexts outside its ranking"):
                one.choose_table(contexts)
        with pytest.raises(ws.UsageError, match=r"outside its ranking, or without one of the actions: 1 context\."):
            one.choose_table(unknown)
    values = [ws.evaluate({"p": one}, test, train=train, tau=0.05)["p"].value for one in (policy, loaded, folder)]
    assert values[1:] == pytest.approx([values[0]] * 2, rel=1e-12)


@pytest.mark.parametrize("change", ["replaced", "removed"])
def test_a_policy_that_is_replaced_while_it_is_in_use_is_an_error(folder, saved, change):
    policy = ws.load_policy(folder)
    events = ws.read_events(small_log(), **NAMES)
    assert ws.evaluate({"p": policy}, events, tau=0.05)["p"].events == 600
    (folder / "decisions.parquet").unlink()
    if change == "replaced":
        copied(saved, folder.with_name("other"))
        (folder.with_name("other") / "decisions.parquet").rename(folder / "decisions.parquet")
    with pytest.raises(ws.SavedFileError, match="was replaced or removed while it was in use"):
        ws.evaluate({"p": policy}, events, tau=0.05)


def test_a_policy_that_is_replaced_while_it_is_valued_is_an_error(folder, saved):
    """The ranking is read by queries of their own, so that what was read may be of two policies."""
    policy = ws.load_policy(folder)

    def replace_it(step, *_):
        if step == "valuing uniform":
            copied(saved, folder.with_name("other"))
            (folder.with_name("other") / "decisions.parquet").replace(folder / "decisions.parquet")

    events = ws.read_events(small_log(), **NAMES)
    with pytest.raises(ws.SavedFileError, match="was replaced"):
        ws.evaluate({"uniform": "uniform", "p": policy}, events, tau=0.05, on_progress=replace_it)
