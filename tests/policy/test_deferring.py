"""A policy that defers: what it chooses, and what it is worth."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.policy import RankingInMemory

NAMES = {"context": "page", "action": "ad", "reward": "click"}


def drawn(seed=0, events=3_000, **more):
    rng = np.random.default_rng(seed)
    x, a = rng.integers(0, 6, events), rng.choice(3, events, p=[0.6, 0.39, 0.01])
    click = rng.random(events) < 0.1 + 0.1 * (a == 1) * (x < 3)
    table = pa.table(
        {"page": [f"p{i}" for i in x], "ad": a, "click": click, "day": np.arange(events) * 10 // events, **more}
    )
    return table, ws.read_events(table, **NAMES)


def deferring(events, rows):
    """A policy that acts on these pages and defers elsewhere."""
    learned = ws.fit(events, model="cells", fit_tau=1.0)
    table = pa.table({"page": list(rows), "ad": list(rows.values()), "rank": pa.array([1] * len(rows), pa.int32())})
    table = table.append_column("score", [pa.array([0.5] * len(rows), pa.float64())])
    return replace(learned, ranked=RankingInMemory(table), model=None, defers=True)


def test_it_chooses_what_is_ranked_and_nothing_elsewhere():
    _, events = drawn()
    policy = deferring(events, {"p0": 1, "p1": 0})
    assert policy.choose({"page": "p0"})[0] == 1
    assert policy.choose({"page": "p5"})[0] is None
    chosen, scores = policy.choose({"page": "p0"}, [0, 1])
    assert chosen == 1
    assert np.isnan(scores[0])
    assert scores[1] == 0.5
    assert policy.choose({"page": "p0"}, [0, 2])[0] is None
    pages = pa.table({"page": ["p5", "p1", "p0", "p1", "new"]})
    assert policy.choose_table(pages)["ad"].to_pylist() == [None, 0, 1, 0, None]
    assert policy.choose_table(pages, pa.table({"ad": [1]}))["ad"].to_pylist() == [None, None, 1, None, None]
    with pytest.raises(ws.UsageError, match="does not draw"):
        policy.choose_table(pages, explore=0.1, rng=np.random.default_rng(0))
    with pytest.raises(ws.ColumnError, match="page"):
        policy.choose({})


@pytest.mark.parametrize("page", ["x", 1.5, {"a": 1}, b"x", 2**70])
def test_contexts_and_actions_of_another_type_than_the_logs_are_refused_with_what_to_do(page):
    rng = np.random.default_rng(0)
    log = pa.table({"page": rng.integers(0, 2, 99), "ad": rng.integers(0, 2, 99), "click": rng.integers(0, 2, 99)})
    policy = deferring(ws.read_events(log, **NAMES), {0: 1})
    for context, actions in (({"page": page}, None), ({"page": 0}, [page] if page != {"a": 1} else ["x"])):
        with pytest.raises(ws.ColumnError, match="not of the log's types") as refused:
            policy.choose(context, actions)
        assert refused.value.hint == "Give contexts and actions as the log has them."
    if page != 2**70:
        with pytest.raises(ws.ColumnError, match="not of the log's types"):
            policy.choose_table(pa.table({"page": [page]}))
    with pytest.raises(ws.ColumnError, match=r"one value, and is .* pass a table to choose_table"):
        policy.choose({"page": [0, 99]})


def test_it_is_saved_and_loaded_also_where_it_acts_nowhere(tmp_path):
    _, events = drawn()
    for name, rows in (("some", {"p0": 1}), ("none", {})):
        policy = deferring(events, rows)
        policy = policy if rows else replace(policy, ranked=RankingInMemory(ws.fit(events).ranking.slice(0, 0)))
        loaded = ws.load_policy(policy.save(tmp_path / name))
        assert loaded.defers
        assert loaded.choose({"page": "p0"})[0] == rows.get("p0")
        assert ws.evaluate({"it": loaded, "logging": "logging"}, events, tau=0.05)["it"].support.supported == 1


@pytest.mark.parametrize("how", [{}, {"epoch": "day"}, {"unit": "user"}], ids=["plain", "epochs", "units"])
def test_it_is_worth_what_it_chooses_where_it_acts_and_what_logging_earned_elsewhere(how):
    # Logging shows an action with a share of .01, below tau: nothing of it may be clipped where the policy defers.
    rng = np.random.default_rng(1)
    table, _ = drawn(user=rng.integers(0, 1_000, 3_000))
    how = {"epoch": "day", "time": "day"} if "epoch" in how else how
    if "epoch" in how:
        days = pa.array(
            np.datetime64("2026-10-01", "us") + table["day"].to_numpy() * np.timedelta64(86_400_000_000, "us")
        )
        table = table.set_column(table.column_names.index("day"), "day", days)
    events = ws.read_events(table, **NAMES, **({**how, "epoch": "week"} if "epoch" in how else how))
    policy = deferring(events, {"p0": 1, "p1": 1})
    decisions = pa.table({"page": ["p0", "p1"], "ad": [1, 1]})
    found = ws.evaluate(
        {"safe": policy, "logging": "logging", "part": decisions}, events, tau=0.05, trained_until="never"
    )
    safe, part, logging = (found[name] for name in ("safe", "part", "logging"))
    pages, clicks = np.array(table["page"].to_pylist()), table["click"].to_numpy().astype(float)
    elsewhere = clicks[~np.isin(pages, ["p0", "p1"])].sum() / len(pages)
    assert safe.value == pytest.approx(part.value + elsewhere, rel=1e-9)
    assert safe.gain.certified.difference == pytest.approx(part.gain.certified.difference, abs=1e-12)
    assert safe.support.undecided == 0
    assert part.support.undecided > 0.5
    best = {one.estimator: one.value for one in safe.estimates}
    assert best["dr"] - logging.value == pytest.approx(safe.gain.estimated.difference, abs=1e-9)
    assert safe.gain.estimated.difference == pytest.approx(safe.gain.certified.difference, abs=0.01)
    assert "WS114" in {remark.code for remark in found.remarks}
    shown = ws.policy_table({"safe": policy}, events)
    totals = shown.group_by("page").aggregate([("probability", "sum")]) if "epoch" not in shown.column_names else None
    assert totals is None or np.allclose(totals["probability_sum"].to_numpy(), 1)
