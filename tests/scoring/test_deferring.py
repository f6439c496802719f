"""A safe policy inside a service: it chooses what the library chooses, and None where it defers."""

import datetime as dt
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from tests.support.saved_policies import about, sign

import warmstart as ws
from warmstart import scoring
from warmstart.policy import RankingInMemory

NOON = dt.datetime(2026, 10, 1, 12, tzinfo=dt.UTC)
TYPES = {
    "text": pa.array(["a", "Ü, \t", "long " * 9]),
    "numbers": pa.array([-3, 17, 2**40]),
    "floats": pa.array([-0.5, 0.1, 1e300]),
    "small": pa.array([0.1, 0.2, 0.3], pa.float32()),
    "truths": pa.array([True, False, None]),
    "days": pa.array([dt.date(2026, 10, day) for day in (1, 2, 3)]),
    "moments": pa.array([NOON + dt.timedelta(hours=i) for i in range(3)], pa.timestamp("us", "Europe/Berlin")),
    "prices": pa.array([Decimal("1.50"), Decimal("-2.25"), Decimal("3.00")], pa.decimal128(9, 2)),
}


def deferring(contexts, rows, ads=("tea", "spade", "paper")):
    """A policy that ranks ads in some contexts: rows of their number, ad, rank and score."""
    known = contexts.drop_null()
    log = pa.table({"page": known.take([i % len(known) for i in range(60)]), "half": [i % 2 for i in range(60)]})
    log = log.append_column("ad", [[ads[i % 3] for i in range(60)]]).append_column(
        "click", [[i % 5 // 4 for i in range(60)]]
    )
    learned = ws.fit(
        ws.read_events(log, context=["page", "half"], action="ad", reward="click"), model="cells", fit_tau=1
    )
    number, half, ad, rank, score = ([*column] for column in zip(*rows, strict=True)) if rows else ([],) * 5
    ranking = {"page": contexts.take(pa.array(number, pa.int64())), "half": pa.array(half, pa.int64())}
    ranking |= {"ad": pa.array([ads[i] for i in ad], learned.actions.type), "rank": pa.array(rank, pa.int32())}
    ranked = RankingInMemory(pa.table({**ranking, "score": pa.array(score, pa.float64())}))
    return replace(learned, ranked=ranked, model=None, defers=True)


ROWS = [(1, 0, 2, 1, 0.5), (1, 0, 0, 2, 0.25), (0, 1, 1, 1, 0.75)]


@pytest.fixture
def saved(tmp_path):
    return deferring(TYPES["text"], ROWS).save(tmp_path / "policy")


@pytest.mark.parametrize("kind", TYPES)
def test_it_chooses_what_the_library_chooses_and_none_elsewhere(kind, tmp_path):
    contexts = TYPES[kind]
    policy = deferring(contexts, ROWS)
    service = scoring.load(policy.save(tmp_path / "policy"))
    asked = pa.table({"page": contexts.take([0, 0, 1, 1, 2]), "half": [0, 1, 0, 1, 0]})
    theirs, mine = policy.choose_table(asked), service.choose(asked.to_pylist())
    assert service.reads == ["page", "half"]
    assert mine.actions == theirs["ad"].to_pylist() == [None, "spade", "paper", None, None]
    assert np.array_equal(mine.scores, [np.nan, 0.75, 0.5, np.nan, np.nan], equal_nan=True)
    assert mine.probabilities is None
    assert ws.load_policy(tmp_path / "policy").choose_table(asked)["ad"].to_pylist() == mine.actions


def test_of_candidates_it_takes_the_first_of_its_ranking(saved):
    service = scoring.load(saved)
    contexts = {"page": ["Ü, \t", "Ü, \t", "a", "new"], "half": np.array([0, 0, 1, 0])}
    found = service.choose(contexts, [["tea", "paper"], ["spade", "tea"], ["tea"], ["tea"]])
    assert found.actions == ["paper", "tea", None, None]
    assert service.choose(contexts, [["coffee"]] * 4, unknown="leave-out").actions == [None] * 4
    with pytest.raises(ws.UsageError, match="does not know the action 'coffee'"):
        service.choose(contexts, [["coffee"]] * 4)


def test_what_it_cannot_do_is_refused(saved):
    service = scoring.load(saved)
    with pytest.raises(ws.UsageError, match="does not draw"):
        service.choose([{"page": "a", "half": 1}], explore=0.1, rng=np.random.default_rng(0))
    with pytest.raises(ws.ColumnError, match="no 'half'"):
        service.choose([{"page": "a"}])
    for page in (17, ["a"], b"a"):
        with pytest.raises(ws.ColumnError, match="'page' of context 1 has another type than in the log"):
            service.choose([{"page": None, "half": 1}, {"page": page, "half": 1}])


def test_a_time_without_a_zone_is_no_moment_of_the_log(tmp_path):
    service = scoring.load(deferring(TYPES["moments"], ROWS).save(tmp_path / "policy"))
    assert service.choose([{"page": NOON, "half": 1}]).actions == ["spade"]
    with pytest.raises(ws.ColumnError, match="another type"):
        service.choose([{"page": NOON.replace(tzinfo=None), "half": 1}])


def test_a_policy_that_acts_nowhere_defers_everywhere(tmp_path):
    folder = deferring(TYPES["text"], []).save(tmp_path / "policy")
    assert scoring.load(folder).choose([{"page": "a", "half": 0}, {"page": [3], "half": 0}]).actions == [None, None]
    assert ws.load_policy(folder).choose({"page": "a", "half": 0})[0] is None


def test_it_needs_numpy_alone(saved):
    code = f"""
import sys
from warmstart import scoring
assert scoring.load({str(saved)!r}).choose([{{"page": "a", "half": 1}}]).actions == ["spade"]
print(*({{"duckdb", "ibis", "pandas", "pyarrow", "scipy", "numba"}} & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


def rewritten(folder, file, change):
    array = np.load(folder / file)
    np.save(folder / file, change(array))
    return sign(folder)


@pytest.mark.parametrize(
    ("file", "change", "service", "library"),
    [
        ("ranked_actions.npy", lambda a: a[::-1].copy(), None, "must say what decisions.parquet says"),
        ("ranked_scores.npy", lambda a: a / 2, None, "must say what decisions.parquet says"),
        ("ranked_scores.npy", lambda a: a * 2, "between 0 and 1", "between 0 and 1"),
        ("ranked_actions.npy", lambda a: a + 3, "below 3, the actions", "below 3, the actions"),
        ("ranked_starts.npy", lambda a: a[[0, 0, 2]], "every context must have an action", "must have an action"),
        ("ranked_starts.npy", lambda a: a[[0, 2]], "has 2 contexts, and ranked_starts.npy 1", "has 2 contexts"),
        ("context_1_keys.npy", lambda a: 1 - a, None, "must say what decisions.parquet says"),
    ],
)
def test_arrays_that_say_something_else_are_refused(saved, file, change, service, library):
    rewritten(saved, file, change)
    with pytest.raises(ws.SavedFileError, match=library):
        ws.load_policy(saved)
    if service is None:
        assert scoring.load(saved).choose([{"page": "a", "half": 0}]).scores.shape == (1,)
        return
    with pytest.raises(ws.SavedFileError, match=service):
        scoring.load(saved)


def test_contexts_that_are_there_twice_are_refused(tmp_path):
    saved = deferring(TYPES["text"], [(1, 0, 2, 1, 0.5), (1, 1, 1, 1, 0.75)]).save(tmp_path / "policy")
    rewritten(saved, "context_1_keys.npy", lambda a: 0 * a)
    with pytest.raises(ws.SavedFileError, match="context must be unique"):
        scoring.load(saved)


@pytest.mark.parametrize(
    "change",
    [{"context_types": ["string"]}, {"context_types": ["int64", "list"]}, {"defers": False}, {"context_types": None}],
)
def test_types_of_contexts_that_do_not_fit_are_refused(saved, change):
    fields = {name: value for name, value in {**about(saved), **change}.items() if value is not None}
    sign(saved, fields)
    for load in (ws.load_policy, scoring.load):
        with pytest.raises(ws.SavedFileError, match=r"policy\.json"):
            load(saved)
