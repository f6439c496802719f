"""fit: what it learns, that it repeats itself, what it refuses, and what it saves."""

import json
import os
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from tests.support.logs import random_log, table

import warmstart as ws
from warmstart import scoring
from warmstart.engine import connect
from warmstart.policy import NaivePolicy

NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}


@pytest.fixture(scope="module")
def month(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit") / "month"
    numbers = {"events": 200_000, "n_contexts": 1_500, "n_actions": 300, "topics": 20, "vocabulary": 4_000}
    world = ws.simulate(folder, **numbers, seed=1)
    train, test = ws.read_events(world.events_path, **NAMES).split(fraction=0.65)
    return world, train, test


@pytest.fixture(scope="module")
def policy(month):
    world, train, _ = month
    return ws.fit(train, contexts=world.contexts_path, actions=world.actions_path, weight_bits=20)


def quality(month, decisions):
    """The true value, on a scale from uniform (0) to the best feasible (1)."""
    world, train, test = month
    feasible = ws.policy_table("uniform", test, train=train, live=False)
    low, high = (world.true_value(t, events=test) for t in (feasible, world.best_policy(feasible)))
    return (world.true_value(decisions, events=test) - low) / (high - low)


def test_the_learned_policy_is_good_and_better_than_either_words_or_ids_alone(month, policy):
    world, train, _ = month
    both = quality(month, policy.decisions)
    words = ws.fit(train, contexts=world.contexts_path, actions=world.actions_path, weight_bits=20, cross_only=True)
    ids = ws.fit(train, weight_bits=8)
    assert both > 0.7
    assert both > quality(month, words.decisions)
    assert both > quality(month, ids.decisions)


def test_greedy_never_leaves_the_feasible_set(month, policy):
    _, train, _ = month
    cells = train.engine.fetch_arrow(train.table.select("context_0", "action").distinct())
    seen = set(zip(cells["context_0"].to_pylist(), cells["action"].to_pylist(), strict=True))
    ranked = list(zip(policy.ranking["page"].to_pylist(), policy.ranking["ad"].to_pylist(), strict=True))
    assert set(ranked) == seen
    assert policy.decisions.num_rows == len({page for page, _ in seen})


def test_ranks_follow_scores_and_ties_go_to_the_action_that_sorts_first(policy):
    rows = policy.ranking.to_pylist()
    for one, other in pairwise(rows):
        if one["page"] == other["page"]:
            assert other["rank"] == one["rank"] + 1
            assert (-one["score"], one["ad"]) < (-other["score"], other["ad"])
        else:
            assert other["rank"] == 1


def test_the_same_seed_learns_the_same(month, policy):
    world, train, _ = month
    options = {"contexts": world.contexts_path, "actions": world.actions_path, "weight_bits": 20}
    assert ws.fit(train, **options).ranking.equals(policy.ranking)
    assert not ws.fit(train, **options, seed=9, fit_tau=1.0).ranking.equals(policy.ranking)


def test_events_in_time_order_are_the_papers_way(month):
    world, train, _ = month
    options = {"contexts": world.contexts_path, "actions": world.actions_path, "weight_bits": 18}
    found = ws.fit(train, **options, learn_from="events", fit_tau=0.05)
    assert found.report["rate"] in (0.2, 0.1, 0.05, 0.02, 0.01)
    assert quality(month, found.decisions) > 0.4


def test_feasible_actions_can_be_asked_to_be_seen_more(month):
    _, train, _ = month
    found = ws.fit(train, fit_tau=1.0, weight_bits=8, min_events=20, min_propensity=0.1)
    cells = train.engine.fetch(train.table.group_by("context_0", "action").agg(n=train.table.count()))
    totals = {}
    for row in cells:
        totals[row["context_0"]] = totals.get(row["context_0"], 0) + row["n"]
    allowed = {
        (row["context_0"], row["action"])
        for row in cells
        if row["n"] >= 20 and row["n"] / totals[row["context_0"]] >= 0.1
    }
    assert set(zip(found.ranking["page"].to_pylist(), found.ranking["ad"].to_pylist(), strict=True)) == allowed


def test_any_regressor_of_scikit_learn_can_take_the_models_place(month, tmp_path):
    from sklearn.linear_model import Ridge

    world, train, _ = month
    found = ws.fit(
        train, contexts=world.contexts_path, actions=world.actions_path, model=Ridge(10.0), fit_tau=0.3, weight_bits=16
    )
    assert quality(month, found.decisions) > 0.3
    with pytest.raises(ws.UsageError, match="model of your own"):
        found.choose({})
    loaded = ws.load_policy(found.save(tmp_path / "policy"))
    assert loaded.model is None
    assert loaded.ranking.equals(found.ranking)
    with pytest.raises(ws.UsageError, match="outside its ranking"):
        loaded.choose({})


@pytest.mark.parametrize("fit_tau", [0.3, "auto"])
def test_a_regressor_is_cloned_and_stays_unfitted(fit_tau):
    from sklearn.ensemble import ExtraTreesRegressor

    rng = np.random.default_rng(0)
    log = {"page": rng.integers(0, 5, 400), "ad": rng.integers(0, 3, 400), "click": rng.random(400) < 0.3}
    events = ws.read_events(
        pa.table({**log, "at": 1_700_000_000 + np.arange(400)}), context="page", action="ad", reward="click", time="at"
    )
    pages = pa.table({"page": np.arange(5), "topic": ["a", "b", "a", "b", "c"]})
    regressor = ExtraTreesRegressor(n_estimators=3)
    before = regressor.get_params()
    first, again = (ws.fit(events, contexts=pages, model=regressor, fit_tau=fit_tau, seed=4) for _ in range(2))
    assert not hasattr(regressor, "estimators_")
    assert regressor.get_params() == before
    assert first.ranking.equals(again.ranking)


def test_a_regressor_without_sample_weights_is_refused(month):
    from sklearn.neighbors import KNeighborsRegressor

    with pytest.raises(ws.UsageError, match=r"KNeighborsRegressor\.fit takes no sample_weight"):
        ws.fit(month[1], model=KNeighborsRegressor(), fit_tau=0.3)


def test_what_a_model_of_the_users_raises_is_an_error_with_a_hint():
    """Dense trees refuse the sparse features of fit; a reward model, or a classifier, may fail for whatever reason."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, Ridge

    class Failing(Ridge):
        def predict(self, X):
            raise ZeroDivisionError

    rng = np.random.default_rng(0)
    log = {"page": rng.random(400), "ad": rng.integers(0, 2, 400), "click": rng.random(400) < 0.3}
    events = ws.read_events(pa.table(log), context="page", action="ad", reward="click")
    pages = pa.table({"page": log["page"], "topic": [f"topic {i}" for i in range(400)]})
    dense = r"HistGradientBoostingRegressor failed: Sparse data .* Pass a model that takes sparse"
    with pytest.raises(ws.UsageError, match=dense) as error:
        ws.fit(events, contexts=pages, model=HistGradientBoostingRegressor(), fit_tau=0.3)
    assert error.value.code == "WS301"
    with pytest.raises(ws.UsageError, match=r"Failing failed: ZeroDivisionError\. It is used"):
        ws.evaluate("constant:0", events, propensities="counts", reward_model=Failing())
    with pytest.raises(ws.UsageError, match=r"LogisticRegression failed: .*C"):
        ws.evaluate("constant:0", events, propensities=LogisticRegression(C=-1))


def test_a_classifier_is_no_reward_model(month):
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    for model in (LogisticRegression(), LinearSVC()):
        with pytest.raises(
            ws.UsageError, match=r"is a classifier, and a reward model predicts mean.* Pass a regressor"
        ):
            ws.fit(month[1], model=model, fit_tau=0.3)


def test_the_fits_tau_is_chosen_on_held_out_events_or_said_to_be_one(month, policy):
    _, train, _ = month
    assert set(policy.report["fit_taus_tried"]) == {"1", "0.3", "0.1", "0.05", "0.01"}
    assert policy.report["fit_tau"] in (1.0, 0.3, 0.1, 0.05, 0.01)
    untimed = ws.read_events(train.log.origin, context="page", action="ad", reward="click")
    found = ws.fit(untimed, weight_bits=8)
    assert (found.report["fit_tau"], found.report["fit_taus_tried"]) == (1.0, {})


def test_text_keys_several_context_columns_and_both_engines(engine):
    log = table(random_log(3, fractional=False))
    log = log.append_column("half", pa.array([i % 2 for i in range(len(log))]))
    names = {"context": ["context", "half"], "action": "action", "reward": "reward", "time": "time"}
    # With a rate of nothing the model stays at nothing, and what ids remember is the same wherever it is computed.
    found, here = (
        ws.fit(ws.read_events(log, **names, engine=one), weight_bits=8, rates=[1e-12]) for one in (engine, "duckdb")
    )
    assert set(found.decisions.column_names) == {"context", "half", "action"}
    assert found.decisions.num_rows == len(log.group_by(["context", "half"]).aggregate([]))
    for name in ("context", "half", "action"):
        assert found.ranking[name].to_pylist() == here.ranking[name].to_pylist()
    assert found.ranking["score"].to_pylist() == pytest.approx(here.ranking["score"].to_pylist(), abs=1e-6)
    # What a session learned stays in it, also for another engine of that session.
    if engine.name == "spark":
        assert found.ranked.opened(connect("spark")) is found.ranked.table


def test_evaluate_takes_what_fit_returned_or_wrote(month, policy, tmp_path):
    _, train, test = month
    folder = ws.save_policy(policy, tmp_path / "policy")
    direct = ws.evaluate({"p": policy}, test, train=train, tau=0.05)["p"]
    saved = ws.evaluate({"p": str(folder)}, test, train=train, tau=0.05)["p"]
    assert saved.value == pytest.approx(direct.value, rel=1e-12)
    assert direct.certified_lower is not None
    assert direct.value > ws.evaluate("uniform", test, train=train, tau=0.05, estimators=["ips"])["uniform"].value


def test_naive_takes_the_best_of_all_actions_and_the_log_hardly_knows_it(month, policy, tmp_path):
    """The paper's Naive: argmax over all actions, most of which were never shown there."""
    world, train, test = month
    folder = ws.save_policy(policy, tmp_path / "policy")
    pages = {"contexts": str(world.contexts_path)}
    chosen = ws.policy_table(f"naive:{folder}", test, train=train, **pages)
    expected = policy.choose_table(pq.read_table(world.contexts_path))
    best = dict(zip(expected["page"].to_pylist(), expected["ad"].to_pylist(), strict=True))
    shown = test.engine.fetch_arrow(test.table.select("context_0").distinct())["context_0"].to_pylist()
    assert set(chosen["page"].to_pylist()) == set(shown)
    assert all(best[row["page"]] == row["ad"] for row in chosen.to_pylist())
    found = ws.evaluate({"naive": f"naive:{folder}", "fitted": policy}, test, train=train, tau=0.05, **pages)
    assert found["naive"].support.unsupported > 0.5
    assert found["naive"].value < 0.5 * found["fitted"].value
    assert found["naive"].certified_lower is not None
    on_own = ws.evaluate(f"naive:{folder}", train, tau=0.05, **pages)
    assert on_own["naive"].certified_lower is None


def test_naive_without_its_table_of_contexts_says_what_is_missing(month, policy):
    _, train, test = month
    lost = replace(policy, report={**policy.report, "sources": {"contexts": "gone/pages.parquet"}})
    with pytest.raises(ws.SourceError, match=r"'gone/pages\.parquet' is not there"):
        ws.evaluate({"naive": NaivePolicy(lost)}, test, train=train, tau=0.05)
    with pytest.raises(ws.SourceError, match="no saved policy"):
        ws.evaluate("naive:nothing", test, train=train, tau=0.05)


def test_a_table_that_a_saved_policy_names_is_not_opened(month, policy, tmp_path):
    """Somebody else may have written the policy: an error would quote the first line of any file."""
    _, train, test = month
    (tmp_path / "secret.csv").write_text("my password,page\n1,2\n")
    os.mkfifo(tmp_path / "pipe")
    for name in ("secret.csv", "pipe"):
        named = replace(policy, report={**policy.report, "sources": {"contexts": str(tmp_path / name)}})
        folder = ws.save_policy(named, tmp_path / f"policy of {name}")
        with pytest.raises(ws.SourceError, match=rf"{name}\) is not opened") as caught:
            ws.evaluate(f"naive:{folder}", test, train=train, tau=0.05)
        assert "--contexts" in caught.value.hint
        assert "password" not in str(caught.value)


def test_a_policy_judged_on_its_own_events_is_certified_for_nothing(month, policy):
    _, train, _ = month
    found = ws.evaluate({"p": policy, "logging": "logging"}, train, tau=0.05)
    assert found["p"].certified_lower is None
    assert found["logging"].certified_lower is not None
    assert "WARNING: 'p' learned from events of the evaluated window" in str(found)


def test_saving_and_loading_gives_the_same_decisions(policy, tmp_path, month):
    world, _, _ = month
    folder = ws.save_policy(policy, tmp_path / "policy")
    loaded = ws.load_policy(folder)
    assert loaded.ranking.equals(policy.ranking)
    assert loaded.window == policy.window
    assert loaded.report["sources"] == {
        "log": str(world.events_path),
        "contexts": str(world.contexts_path),
        "actions": str(world.actions_path),
    }
    pages = pq.read_table(world.contexts_path).slice(0, 20)
    assert loaded.choose_table(pages).equals(policy.choose_table(pages))
    names = pq.read_table(folder / "decisions.parquet").column_names
    assert names == ["page", "ad", "rank", "score"]
    with pytest.raises(ws.UsageError, match="already there"):
        ws.save_policy(policy, folder)


def test_a_folder_that_looks_like_a_partition_is_none(policy, month, tmp_path):
    _, _, test = month
    folder = ws.save_policy(policy, tmp_path / "page=3" / "policy")
    one, other = (ws.evaluate({"p": p}, test, tau=0.05, estimators=["ips"])["p"].value for p in (policy, folder))
    assert one == pytest.approx(other, rel=1e-12)


def test_choosing_one_at_a_time_and_in_tables_agree(policy, month):
    world, _, _ = month
    pages = pq.read_table(world.contexts_path).slice(0, 25)
    table = policy.choose_table(pages)
    for i, row in enumerate(pages.to_pylist()):
        best, scores = policy.choose(row)
        assert best == table["ad"][i].as_py()
        assert scores.max() == pytest.approx(table["score"][i].as_py(), rel=1e-4)
    some = policy.action_keys[5:15]
    best, scores = policy.choose(pages.to_pylist()[0], some)
    assert best in some
    assert len(scores) == 10
    among = policy.choose_table(pages, pa.table({"ad": some}))
    assert among["ad"][0].as_py() == best
    new = pq.read_table(world.actions_path).slice(0, 40)
    renamed = new.set_column(0, "ad", [[f * 1_000 for f in range(1, 41)]])
    assert set(policy.choose_table(pages, renamed)["ad"].to_pylist()) <= set(renamed["ad"].to_pylist())
    with pytest.raises(ws.UsageError, match="None of the actions given"):
        policy.choose_table(pages, renamed.select(["ad"]))
    with pytest.raises(ws.UsageError, match="does not know the action -1"):
        policy.choose(pages.to_pylist()[0], [-1])
    with pytest.raises(ws.UsageError, match="has no 'words'"):
        policy.choose({})


@pytest.mark.parametrize(
    "part", ["weights.npy", "factors.npy", "action_starts.npy", "decisions.parquet", "policy.json"]
)
def test_a_damaged_folder_is_a_typed_error(policy, tmp_path, part):
    folder = ws.save_policy(policy, tmp_path / "policy")
    whole = (folder / part).read_bytes()
    (folder / part).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ws.SourceError):
        ws.load_policy(folder)
    (folder / part).unlink()
    with pytest.raises(ws.SourceError):
        ws.load_policy(folder)


def test_a_pickle_in_the_folder_is_never_run(policy, tmp_path):
    folder = ws.save_policy(policy, tmp_path / "policy")
    flag = tmp_path / "ran"

    class Bad:
        def __reduce__(self):
            return (flag.write_text, ("code ran",))

    np.save(folder / "factors.npy", np.array([Bad()], dtype=object), allow_pickle=True)
    with pytest.raises(ws.SavedFileError, match=r"factors\.npy: has another SHA-256"):
        ws.load_policy(folder)
    assert not flag.exists()


def test_a_later_version_and_parts_that_do_not_fit_are_refused(policy, tmp_path):
    folder = ws.save_policy(policy, tmp_path / "policy")
    about = json.loads((folder / "policy.json").read_text())
    (folder / "policy.json").write_text(json.dumps({**about, "format": 99}))
    with pytest.raises(ws.SourceError, match="later version"):
        ws.load_policy(folder)
    (folder / "policy.json").write_text(json.dumps(about))
    np.save(folder / "weights.npy", np.zeros(8, np.float32))
    with pytest.raises(ws.SourceError, match=r"weights\.npy"):
        ws.load_policy(folder)


def test_a_context_table_that_does_not_match_the_model(policy, month):
    world, _, _ = month
    with pytest.raises(ws.ColumnError, match="no column 'words'"):
        policy.choose_table(pq.read_table(world.contexts_path).select(["page", "text"]))


def test_a_policy_of_other_columns_is_refused(policy):
    log = pa.table({"x": [1, 1], "ad": [1, 2], "click": [0, 1]})
    events = ws.read_events(log, context="x", action="ad", reward="click")
    with pytest.raises(ws.ColumnError, match="was learned from the columns 'page', 'ad'"):
        ws.evaluate({"p": policy}, events, tau=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed must be a whole number"),
        ({"seed": 2**32}, "seed must be a whole number"),
        ({"fit_tau": 0}, "fit_tau must be"),
        ({"fit_tau": "often"}, "fit_tau must be"),
        ({"learn_from": "rows"}, "cannot learn from"),
        ({"loss": "hinge"}, "no loss"),
        ({"weight_bits": 99}, "weight_bits"),
        ({"min_events": 0}, "feasible from 1 event"),
        ({"rates": []}, "rates must be"),
        ({"model": 7}, "must have fit"),
    ],
)
def test_wrong_calls(month, options, message):
    with pytest.raises(ws.UsageError, match=message):
        ws.fit(month[1], **options)


def test_a_log_without_rewards_teaches_nothing():
    log = pa.table({"x": ["p", "p"], "a": ["a", "b"], "r": [0, 0]})
    with pytest.raises(ws.EmptyWindowError, match="nothing to learn"):
        ws.fit(ws.read_events(log, context="x", action="a", reward="r"))


def test_an_interrupted_fit_leaves_nothing(month, tmp_path, monkeypatch):
    import sys

    from warmstart.cli import main
    from warmstart.report import ProgressDisplay

    world, _, _ = month

    def interrupt(self, step, share=None, detail=""):
        if step == "learning":
            raise KeyboardInterrupt

    monkeypatch.setattr(ProgressDisplay, "__call__", interrupt)
    names = ["--context", "page", "--action", "ad", "--reward", "click", "--time", "shown_at"]
    out = tmp_path / "policy"
    monkeypatch.setattr(sys, "argv", ["warmstart", "fit", str(world.events_path), *names, "--out", str(out)])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 130
    assert list(tmp_path.iterdir()) == []


def test_progress_tells_the_step_the_share_and_the_loss(month):
    seen = []
    ws.fit(month[1], weight_bits=8, on_progress=lambda step, share=None, detail="": seen.append((step, share, detail)))
    steps = [step for step, _, _ in seen]
    assert steps[0] == "summing events into cells"
    assert steps[-1] == "learning"
    assert seen[-1][1] == pytest.approx(1.0)
    assert seen[-1][2].startswith("loss 0.")


def test_ranking_of_the_best_is_what_decisions_say(policy):
    first = policy.ranking.filter(pc.equal(policy.ranking["rank"], 1))
    assert policy.decisions.equals(first.select(["page", "ad"]))


def test_actions_without_a_table_have_their_own_weights_of_the_contexts_features():
    """What is best depends on the sign of a number; contexts never repeat, and actions have no table."""
    rng = np.random.default_rng(0)
    x, a = rng.normal(size=1500), rng.integers(0, 2, 1500)
    clicks = (rng.random(1500) < np.where((x > 0) == (a == 1), 0.8, 0.1)).astype(float)
    events = ws.read_events(
        pa.table({"i": range(1500), "a": [f"a{k}" for k in a], "r": clicks}), context="i", action="a", reward="r"
    )
    policy = ws.fit(events, contexts=pa.table({"i": range(1500), "x": x}), weight_bits=12)
    new = rng.normal(size=300)
    chosen = policy.choose_table(pa.table({"x": new}))["a"].to_pylist()
    right = [c == ("a1" if v > 0 else "a0") for c, v in zip(chosen, new, strict=True) if abs(v) > 0.3]
    assert np.mean(right) > 0.9


def test_a_minimized_reward_is_made_small():
    rows = [("p", ad, 10.0 * cost, 0) for ad, cost in [("dear", 1), ("cheap", 0), ("cheap", 0.2)] * 40]
    names = {"context": "context", "action": "action", "reward": "reward", "ranges": {"reward": (0, 10)}}
    for minimize, best in ((), "dear"), ("reward", "cheap"):
        events = ws.read_events(table(rows), minimize=minimize, **names)
        learned = ws.fit(events, weight_bits=8)
        assert ws.policy_table(learned, events)["action"].to_pylist() == [best]
        assert any("makes 'reward' small" in line for line in learned.summary()) == bool(minimize)


@pytest.mark.parametrize("model", ["product", "logistic"])
def test_plain_strings_of_two_columns_are_not_mixed_up(model, tmp_path):
    """The reward depends on the first column alone; rows of (red, blue) and of (blue, red) differ."""
    rng = np.random.default_rng(0)
    size, n = 60, 2_000
    first, second = (rng.choice(["red", "blue"], size) for _ in range(2))
    page, ad = rng.integers(0, size, n), rng.choice(["u", "v"], n)
    clicked = rng.random(n) < np.where((first[page] == "red") == (ad == "u"), 0.8, 0.2)
    csv.write_csv(pa.table({"page": range(size), "first": first, "second": second}), tmp_path / "pages.csv")
    log = pa.table({"page": page, "ad": ad, "click": clicked.astype(float)})
    events = ws.read_events(log, context="page", action="ad", reward="click")
    policy = ws.fit(events, contexts=tmp_path / "pages.csv", model=model, weight_bits=14, fit_tau=1.0)
    asked = pa.table({"first": ["red", "red", "blue", "blue"], "second": ["red", "blue", "red", "blue"]})
    assert policy.choose_table(asked)["ad"].to_pylist() == ["u", "u", "v", "v"]
    served = scoring.load(policy.save(tmp_path / "policy"))
    assert served.choose(asked.to_pylist()).actions == ["u", "u", "v", "v"]


@pytest.mark.parametrize(("cities", "bits"), [(20, 14), (9_000, 15)])
def test_the_table_of_weights_grows_with_the_features_unless_its_size_is_given(cities, bits):
    rng = np.random.default_rng(0)
    pages = pa.table({"page": range(9_000), "city": [f"c{i % cities}" for i in range(9_000)]})
    log = pa.table({"page": np.arange(9_000), "ad": rng.integers(0, 3, 9_000), "click": rng.random(9_000) < 0.3})
    events = ws.read_events(log, context="page", action="ad", reward="click")
    policy = ws.fit(events, contexts=pages, fit_tau=1.0)
    assert policy.learned.contexts["buckets"] == 1 << bits
    assert len(policy.model.weights) == 1 << (bits + 10)
    given = ws.fit(events, contexts=pages, fit_tau=1.0, weight_bits=12)
    assert given.learned.contexts["buckets"] == 1 << 8
    assert ("--weight-bits (weight_bits=) for more buckets" in given.summary()[1]) == (cities > 1 << 8)


def test_actions_without_a_table_are_told_apart_whatever_their_names():
    """Contexts of two kinds; each kind likes one of two actions whose names have the same words."""
    rng = np.random.default_rng(0)
    size, n = 60, 2_000
    kind = np.array(["k", "l"])[np.arange(size) % 2]
    page, ad = rng.integers(0, size, n), rng.choice(["a b", "b a"], n)
    clicked = rng.random(n) < np.where((kind[page] == "k") == (ad == "a b"), 0.7, 0.2)
    log = pa.table({"page": page, "ad": ad, "click": clicked})
    events = ws.read_events(log, context="page", action="ad", reward="click")
    policy = ws.fit(events, contexts=pa.table({"page": range(size), "kind": kind}), fit_tau=1.0, weight_bits=14)
    assert policy.choose_table(pa.table({"kind": ["k", "l"]}))["ad"].to_pylist() == ["a b", "b a"]
    assert policy.learned.actions["features"] == 3
