"""Choices that know their probability: the draws match it, and the log that follows is explicit."""

import json
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chisquare

import warmstart as ws
from warmstart.cli import main
from warmstart.policy.drawing import drawn_rows
from warmstart.scoring import epsilon_greedy

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "log-propensities.md"
ACTIONS = ["a", "b", "c", "d"]
KINDS = ["news", "sport", "garden"]
FALSE_ALARM = 1e-3
RNG = np.random.default_rng


def truth(page, action):
    """What an action earns on a page: each kind of page has its own best action."""
    return 0.2 + 0.4 * (KINDS.index(page) == ACTIONS.index(action)) + 0.1 * (action == "d")


@pytest.fixture(scope="module")
def policy():
    rng = RNG(0)
    pages = rng.choice(KINDS, 6_000)
    shown = rng.choice(ACTIONS, 6_000)
    rewards = [float(rng.random() < truth(*pair)) for pair in zip(pages, shown, strict=True)]
    log = pa.table({"page": list(pages), "ad": list(shown), "click": rewards})
    events = ws.read_events(log, context="page", action="ad", reward="click")
    features = pa.table({"page": KINDS, "words": [[kind] for kind in KINDS]})
    return ws.fit(events, contexts=features, weight_bits=12)


def contexts(rng, n):
    pages = [str(page) for page in rng.choice(KINDS, n)]
    return pa.table({"page": pages, "words": [[page] for page in pages]})


def test_plain_choose_is_as_it_was(policy):
    best, scores = policy.choose({"words": ["sport"]})
    assert best == "b"
    assert len(scores) == len(ACTIONS)
    assert policy.choose_table(contexts(RNG(0), 5)).column_names == ["page", "ad", "score"]


@pytest.mark.parametrize("candidates", [None, ["d", "a", "b"], ["a", "b", "a", "a"]])
def test_one_at_a_time_the_draws_match_their_probabilities(policy, candidates):
    rng, explore, draws = RNG(1), 0.3, 4_000
    found = [policy.choose({"words": ["sport"]}, candidates, explore=explore, rng=rng) for _ in range(draws)]
    stated = {choice.action: choice.probability for choice in found}
    assert stated.keys() == set(candidates or ACTIONS)
    k = len(stated)
    assert stated["b"] == pytest.approx(1 - explore + explore / k)
    assert sum(stated.values()) == pytest.approx(1)
    counts = Counter(choice.action for choice in found)
    assert chisquare([counts[a] for a in stated], [draws * p for p in stated.values()]).pvalue > FALSE_ALARM


def test_in_tables_the_draws_match_their_probabilities_and_are_independent(policy):
    explore, n = 0.4, 20_000
    given = contexts(RNG(2), n)
    best = policy.choose_table(given)["ad"].to_pylist()
    found = policy.choose_table(given, explore=explore, rng=RNG(3))
    assert found.column_names == ["page", "ad", "probability", "score"]
    is_best = np.array(found["ad"].to_pylist()) == np.array(best)
    expected = np.where(is_best, 1 - explore + explore / 4, explore / 4)
    assert found["probability"].to_numpy() == pytest.approx(expected)
    for kind in KINDS:
        rows = [i for i, page in enumerate(given["page"].to_pylist()) if page == kind]
        counts = Counter(found["ad"][i].as_py() for i in rows)
        stated = {found["ad"][i].as_py(): found["probability"][i].as_py() for i in rows}
        assert chisquare([counts[a] for a in stated], [len(rows) * p for p in stated.values()]).pvalue > FALSE_ALARM
    # Whether a row is explored says nothing of the next one.
    pairs = Counter(zip(is_best[:-1:2], is_best[1::2], strict=True))
    p, q = 1 - explore + explore / 4, explore * 3 / 4
    expected = [n / 2 * one * other for one in (p, q) for other in (p, q)]
    seen = [pairs[one, other] for one in (True, False) for other in (True, False)]
    assert chisquare(seen, expected).pvalue > FALSE_ALARM


def test_a_seed_repeats_and_scores_are_those_of_what_was_drawn(policy):
    given = contexts(RNG(4), 300)
    one, again, other = (policy.choose_table(given, explore=0.5, rng=RNG(seed)) for seed in (5, 5, 6))
    assert one.equals(again)
    assert not one.equals(other)
    for row, context in list(zip(one.to_pylist(), given.to_pylist(), strict=True))[:50]:
        _, scores = policy.choose(context, [row["ad"]])
        assert row["score"] == pytest.approx(scores[0], rel=1e-4)


def test_an_action_named_twice_is_one_candidate(policy):
    given = contexts(RNG(7), 8_000)
    found = policy.choose_table(given, pa.table({"ad": ["a", "b", "a", "a"]}), explore=1.0, rng=RNG(8))
    assert set(found["probability"].to_pylist()) == {0.5}
    counts = Counter(found["ad"].to_pylist())
    assert chisquare([counts["a"], counts["b"]]).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("explore", "stated"), [(0.0, {1.0}), (1.0, {0.25})])
def test_the_ends_are_greedy_and_uniform(policy, explore, stated):
    found = policy.choose_table(contexts(RNG(9), 200), explore=explore, rng=RNG(0))
    assert set(found["probability"].to_pylist()) == stated


def test_a_log_of_such_choices_is_explicit(policy):
    """A policy that was hardly ever followed is valued within its interval, with the logged probabilities."""
    rng, n = RNG(10), 40_000
    given = contexts(rng, n)
    shown = policy.choose_table(given, explore=0.2, rng=rng)
    rewards = [float(rng.random() < truth(row["page"], row["ad"])) for row in shown.to_pylist()]
    log = shown.append_column("click", pa.array(rewards))
    events = ws.read_events(log, context="page", action="ad", reward="click", propensity="probability")
    other = pa.table({"page": KINDS, "ad": ["c", "a", "d"]})
    found = ws.evaluate({"other": other, "d": "constant:d"}, events, tau=0.01)
    assert found.to_dict()["propensities"]["name"] == "logged"
    pages = given["page"].to_pylist()
    decided = dict(zip(KINDS, ["c", "a", "d"], strict=True))
    for name, value in (
        ("other", np.mean([truth(page, decided[page]) for page in pages])),
        ("d", np.mean([truth(page, "d") for page in pages])),
    ):
        assert found[name].lower <= value <= found[name].upper
        assert found[name].upper - found[name].lower < 0.08
    # With 1 in place of the probabilities the interval would miss by far.
    assert (
        np.mean([r for r, row in zip(rewards, shown.to_pylist(), strict=True) if row["ad"] == "d"])
        * np.mean([a == "d" for a in shown["ad"].to_pylist()])
        < found["d"].lower
    )


def test_what_cannot_be_drawn_is_refused(policy):
    given = contexts(RNG(0), 3)
    for explore in (-0.1, 1.1, float("nan")):
        with pytest.raises(ws.UsageError, match="share to explore"):
            policy.choose_table(given, explore=explore, rng=RNG(0))
    for rng in (None, 7):
        with pytest.raises(ws.UsageError, match="generator"):
            policy.choose({"words": ["news"]}, explore=0.1, rng=rng)
    with pytest.raises(ws.UsageError, match="no action to choose among"):
        policy.choose({"words": ["news"]}, [], explore=0.1, rng=RNG(0))
    with pytest.raises(ws.UsageError, match="None of the actions given"):
        policy.choose_table(given, pa.table({"ad": pa.array([], pa.string())}), explore=0.1, rng=RNG(0))
    assert policy.choose_table(given.slice(0, 0), explore=0.1, rng=RNG(0)).num_rows == 0
    with pytest.raises(ws.UsageError, match="without a name"):
        drawn_rows(pa.array(["a", None]), np.zeros(3, dtype=np.int64), 0.1, RNG(0))


def test_the_recipe_draws_with_the_probability_it_logs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe = re.search(r"^```python\n(.*?)^```$", GUIDE.read_text(), flags=re.DOTALL | re.MULTILINE)[1]
    functions = recipe.split("\n\nrng = ", 1)[0]
    assert len([line for line in functions.splitlines() if line.strip()]) <= 30
    names = {}
    exec(recipe, names)
    events = [json.loads(line) for line in Path("shown.jsonl").read_text().splitlines()]
    stated = {event["action"]: event["probability"] for event in events}
    assert stated == pytest.approx({"a": 0.9 + 0.1 / 3, "b": 0.1 / 3, "c": 0.1 / 3})
    counts = Counter(event["action"] for event in events)
    assert chisquare([counts[a] for a in stated], [len(events) * p for p in stated.values()]).pvalue > FALSE_ALARM


def test_the_command_draws_with_a_seed(policy, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ws.save_policy(policy, tmp_path / "policy")
    pq.write_table(contexts(RNG(11), 50), tmp_path / "new.parquet")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["warmstart", "choose", "policy", "--contexts", "new.parquet", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        shown = capsys.readouterr()
        return left.value.code, shown.out and json.loads(shown.out), shown.err

    _, one, said = run("--explore", "0.5", "--json", "--seed", "3")
    assert run("--explore", "0.5", "--json", "--seed", "3")[1] == one
    assert (one["seed"], one["explore"], said) == (3, 0.5, "")
    assert set(one["decisions"][0]) == {"page", "ad", "probability", "score"}
    _, fresh, said = run("--explore", "0.5", "--json")
    assert fresh["decisions"] != one["decisions"]
    assert f"--seed {fresh['seed']}" in said
    assert run("--seed", "3")[0] == 2
    assert run("--explore", "2")[0] == 2


def test_every_row_is_drawn_on_its_own():
    drawn, _ = epsilon_greedy(np.zeros(1_000, dtype=np.int64), 10, 1.0, RNG(0))
    assert len(set(drawn.tolist())) == 10
