"""A saved policy inside a service: the same choices as the library's, with NumPy alone."""

import datetime as dt
import json
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from tests.support.saved_policies import NAMES, small_log, small_policy

import warmstart as ws
from warmstart import scoring
from warmstart.reward import MODELS
from warmstart.scoring import BlendModel

PAGES, ADS = 60, 40
WORDS = [f"w{i}" for i in range(30)]
HEAVY = {"duckdb", "ibis", "pandas", "pyarrow", "sklearn", "scipy", "numba", "pyspark", "polars", "rich", "typer"}


def every_kind_of_feature(rng, size, *, gaps):
    """Columns of every kind but lists with weights. Title and mood share words."""
    day, begun = dt.date(2024, 2, 28), dt.datetime(2024, 3, 1, tzinfo=dt.UTC)
    in_berlin = pa.timestamp("us", "Europe/Berlin")
    texts = [" ".join(rng.choice(WORDS, 6)) + rng.choice(["", " ÉTÉ, İ-Σ", " 50% 三"]) for _ in range(size)]
    columns = {
        "title": pa.array(texts),
        "mood": pa.array([WORDS[i] for i in rng.integers(0, 3, size)]),
        "topics": pa.array([list(rng.choice(WORDS, rng.integers(0, 4))) for _ in range(size)]),
        "place": pa.array([f"p{i}" for i in rng.integers(0, 5, size)]).dictionary_encode(),
        "new": pa.array(rng.random(size) < 0.5),
        "size": pa.array(rng.normal(3, 2, size)),
        "price": pa.array([Decimal(int(x)) / 4 for x in rng.integers(1, 90, size)], pa.decimal128(10, 2)),
        "age": pa.array([dt.timedelta(seconds=int(x)) for x in rng.integers(1, 9_000, size)], pa.duration("us")),
        "born": pa.array([day + dt.timedelta(int(x)) for x in rng.integers(0, 400, size)]),
        "seen": pa.array([begun + dt.timedelta(minutes=int(x)) for x in rng.integers(0, 99_999, size)], in_berlin),
        "friends": pa.array([rng.integers(0, 9, rng.integers(0, 4)).tolist() for _ in range(size)]),
        "vector": pa.array(rng.normal(size=(size, 3)).tolist()),
    }
    if gaps:
        for name in ("title", "mood", "topics", "place", "size", "born", "seen", "friends", "vector"):
            values = columns[name].to_pylist()
            columns[name] = pa.array([None if rng.random() < 0.1 else v for v in values], columns[name].type)
    return columns


def fitted(model, words):
    if model == "blend":
        policies = [fitted(kind, words) for kind in ("product", "low-rank", "logistic", "cells")]
        blend = BlendModel(tuple(policy.model for policy in policies), (0.4, 0.3, 0.2, 0.1))
        return replace(policies[0], model=blend)
    rng = np.random.default_rng(3)
    n = 4_000
    log = pa.table(
        {
            "page": rng.integers(0, PAGES, n),
            "ad": pa.array([f"ad {i}" for i in rng.integers(0, ADS, n)]),
            "click": rng.random(n) < 0.3,
            "at": 1_700_000_000 + np.arange(n),
        }
    )
    listed = {
        "topics": pa.array([list(rng.choice(WORDS, rng.integers(0, 6))) for _ in range(PAGES)]),
        "size": pa.array(rng.normal(size=PAGES)),
    }
    listed["often"] = pa.array([rng.integers(1, 5, len(topics)).tolist() for topics in listed["topics"].to_pylist()])
    columns = listed if words else every_kind_of_feature(rng, PAGES, gaps=True)
    ads = pa.table(
        {"ad": [f"ad {i}" for i in range(ADS)], "text": [" ".join(rng.choice(WORDS, 5)) for _ in range(ADS)]}
    )
    events = ws.read_events(log, context="page", action="ad", reward="click", time="at")
    return ws.fit(
        events, contexts=pa.table({"page": range(PAGES), **columns}), actions=ads, model=model, weight_bits=16
    )


def new_contexts(words, size=300):
    rng = np.random.default_rng(4)
    if not words:
        return pa.table(every_kind_of_feature(rng, size, gaps=True))
    topics = [None if i % 50 == 7 else [*rng.choice(WORDS, 3), "unheard"] for i in range(size)]
    often = [None if listed is None else [1, 2, None, 4] for listed in topics]
    return pa.table({"topics": topics, "often": often, "size": rng.normal(size=size)})


# Every kind of model, and every kind of feature with one of them at least.
PARAMS = [("product", True), *((model, model != "low-rank") for model in MODELS if model != "product")]
PARAMS += [("product", False), ("blend", False)]


@pytest.fixture(scope="module", params=PARAMS)
def pair(request, tmp_path_factory):
    """A policy, what scoring loads of it, and contexts."""
    policy = fitted(*request.param)
    folder = policy.save(tmp_path_factory.mktemp("scoring") / "policy")
    return policy, scoring.load(folder), new_contexts(request.param[1])


def agree(policy, table, chosen, library_actions, library_scores):
    """The same scores, and the same actions but where two are equal up to rounding."""
    assert chosen.scores == pytest.approx(library_scores, rel=2e-5)
    for row, (mine, theirs) in enumerate(zip(chosen.actions, library_actions, strict=True)):
        if mine != theirs:
            _, both = policy.choose(table.slice(row, 1).to_pylist()[0], [mine, theirs])
            assert both[0] == pytest.approx(both[1], rel=2e-5)


def test_known_actions_are_chosen_as_the_library_does(pair):
    policy, service, table = pair
    theirs = policy.choose_table(table)
    mine = service.choose(table.to_pylist())
    agree(policy, table, mine, theirs["ad"].to_pylist(), theirs["score"].to_numpy())
    columns = {name: table[name].to_pylist() for name in table.column_names}
    again = service.choose(columns)
    assert again.actions == mine.actions
    assert np.array_equal(again.scores, mine.scores)


def test_candidates_are_chosen_among_as_the_library_does(pair):
    policy, service, table = pair
    rng = np.random.default_rng(5)
    some = [f"ad {i}" for i in rng.choice(ADS, 7, replace=False)]
    theirs = policy.choose_table(table, pa.table({"ad": some}))
    agree(
        policy, table, service.choose(table.to_pylist(), [some] * len(table)), theirs["ad"].to_pylist(), theirs["score"]
    )
    each = [[f"ad {i}" for i in rng.choice(ADS, rng.integers(1, 9), replace=False)] for _ in range(len(table))]
    mine = service.choose(table.to_pylist(), each)
    for row in range(0, len(table), 25):
        best, scores = policy.choose(table.slice(row, 1).to_pylist()[0], each[row])
        assert mine.scores[row] == pytest.approx(scores.max(), rel=2e-5)
        assert mine.actions[row] == best or np.sort(scores)[-2] == pytest.approx(scores.max(), rel=2e-5)


def test_one_context_is_scored_as_many_are(pair):
    _, service, table = pair
    whole = service.choose(table.to_pylist())
    for row in range(0, len(table), 60):
        one = service.choose(table.slice(row, 1).to_pylist())
        assert one.scores[0] == pytest.approx(whole.scores[row], rel=1e-5)


def test_features_of_dicts_are_those_of_tables(pair):
    from warmstart.features import feature_rows

    policy, service, table = pair
    theirs = feature_rows(table, len(table), policy.context_settings)
    mine = scoring.rows_of_records(table.to_pylist(), service.settings)
    assert np.array_equal(mine.starts, theirs.starts)
    for row in range(len(table)):
        at = slice(mine.starts[row], mine.starts[row + 1])
        one, other = (
            sorted(zip(rows.buckets[at].tolist(), rows.values[at].tolist(), strict=True)) for rows in (mine, theirs)
        )
        assert [bucket for bucket, _ in one] == [bucket for bucket, _ in other]
        assert np.allclose([value for _, value in one], [value for _, value in other], rtol=1e-6)


def test_nothing_but_numpy_is_loaded(tmp_path):
    folder = small_policy().save(tmp_path / "policy")
    context = {"topics": ["red"], "counts": [1.0], "size": 0.5, "new": True}
    code = f"""
import json, sys
import warmstart.scoring
policy = warmstart.scoring.load({str(folder)!r})
chosen = policy.choose([{context!r}], [[2, 1]])
assert chosen.actions[0] in (1, 2)
print(json.dumps(sorted(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(json.loads(ran.stdout)) & HEAVY


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    return scoring.load(small_policy().save(tmp_path_factory.mktemp("service") / "policy"))


CONTEXT = {"topics": ["red"], "counts": [1.0], "size": 0.5, "new": True}


def test_what_is_unknown_is_refused_or_left_out(service):
    with pytest.raises(ws.UsageError, match="does not know the action 9"):
        service.choose([CONTEXT], [[9, 1]])
    assert service.choose([CONTEXT], [[9, 1]], unknown="leave-out").actions == [1]
    nothing = service.choose([CONTEXT, CONTEXT, CONTEXT], [[9], [1], []], unknown="leave-out")
    assert nothing.actions == [None, 1, None]
    assert np.isnan(nothing.scores).tolist() == [True, False, True]
    with pytest.raises(ws.UsageError, match="Context 1 has no action"):
        service.choose([CONTEXT, CONTEXT], [[1], []])
    with pytest.raises(ws.UsageError, match="1 contexts and 2 lists"):
        service.choose([CONTEXT], [[1], [2]])
    for listed in (["12"], [3], [[[3]]]):
        with pytest.raises(ws.UsageError, match="actions of context 0 must be a list of actions"):
            service.choose([CONTEXT], listed)
    for actions in ("1", 5):
        with pytest.raises(ws.UsageError, match="must be a list of lists"):
            service.choose([CONTEXT], actions)
    assert service.choose([]).actions == []


@pytest.mark.parametrize("contexts", [{"size": 0.5}, {"size": "ab"}, 5, None, "ab", [5], [None], ["ab"], [[0.5]]])
def test_what_are_no_contexts_is_refused_with_what_to_pass(service, contexts):
    with pytest.raises(ws.UsageError, match=r"must be a list of .* Pass \[\{'page': 3\}\] for one context"):
        service.choose(contexts)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"topics": "red"}, "'topics' must be lists"),
        ({"topics": [1]}, "words of 'topics' must be text"),
        ({"topics": 3}, "'topics' must be lists"),
        ({"counts": [1.0, 2.0]}, "Every word of 'topics' must have a weight"),
        ({"size": "3"}, "'size' of context 0 must be a number"),
        ({"size": 10**400}, "'size' has a number that is too large"),
        ({"size": ...}, "Context 0 has no 'size'"),
    ],
)
def test_a_context_that_is_none_is_refused_by_name(service, change, expected):
    context = {name: value for name, value in {**CONTEXT, **change}.items() if value is not ...}
    with pytest.raises(ws.ColumnError, match=expected):
        service.choose([context])


def test_exploring_draws_what_the_library_draws(pair):
    policy, service, table = pair
    theirs = policy.choose_table(table, explore=0.4, rng=np.random.default_rng(8))
    mine = service.choose(table.to_pylist(), explore=0.4, rng=np.random.default_rng(8))
    agree(policy, table, mine, theirs["ad"].to_pylist(), theirs["score"].to_numpy())
    assert mine.probabilities == pytest.approx(theirs["probability"].to_numpy())
    each = [["ad 1", "ad 2", "ad 1"], ["ad 3"]] * (len(table) // 2)
    few = service.choose(table.to_pylist(), each, explore=1.0, rng=np.random.default_rng(8))
    assert set(few.actions[1::2]) == {"ad 3"}
    assert set(few.probabilities) == {0.5, 1.0}


def test_a_policy_with_a_model_of_your_own_is_refused(tmp_path):
    from sklearn.linear_model import Ridge

    policy = ws.fit(ws.read_events(small_log(), **NAMES), model=Ridge(), weight_bits=10)
    with pytest.raises(ws.UsageError, match="decisions only"):
        scoring.load(policy.save(tmp_path / "policy"))
    with pytest.raises(ws.SourceError, match="no saved policy"):
        scoring.load(tmp_path)
