"""What a learned policy chooses in contexts that training never saw."""

from datetime import timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.logs import START

import warmstart as ws
from warmstart.policy import NaivePolicy

NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "at"}


def write(folder, *, retired=False):
    """Old pages in the first four days, new ones after: pages about sport like ad s, the others ad n."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(4_000):
        new = i >= 2_000
        page = int(rng.integers(20)) + (20 if new else 0)
        ad = str(rng.choice(["s", "n", "x"]))
        ad = "x" if retired and ad == "n" and i > 3_000 else ad
        fits = ad == ("s" if page % 2 else "n")
        rows.append((f"p{page}", ad, float(rng.random() < (0.7 if fits else 0.1)), START + timedelta(minutes=3 * i)))
    columns = dict(zip(("page", "ad", "click", "at"), map(list, zip(*rows, strict=True)), strict=True))
    pages = [f"p{i}" for i in range(40)]
    topics = [["sport"] if i % 2 else ["news"] for i in range(40)]
    pq.write_table(pa.table({"page": pages, "words": topics}), folder / "pages.parquet")
    return pa.table(columns), folder / "pages.parquet"


@pytest.fixture(scope="module")
def learned(engine, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unseen")
    log, pages = write(folder)
    train, test = ws.read_events(log, **NAMES, engine=engine).split(fraction=0.5)
    return train, test, pages, ws.fit(train, contexts=pages, weight_bits=16)


@pytest.mark.slow_on_spark
def test_without_a_table_of_contexts_the_error_says_what_to_pass(learned):
    train, test, _, policy = learned
    with pytest.raises(
        ws.DecisionError, match=r"'fitted' decides no context.*training never saw.*contexts=.*--contexts"
    ):
        ws.evaluate(policy, test, train=train)


@pytest.mark.slow_on_spark
def test_with_one_it_takes_the_best_known_action_as_choose_does(learned, tmp_path):
    train, test, pages, policy = learned
    ws.save_policy(policy, tmp_path / "policy")
    for one in (policy, tmp_path / "policy"):
        table = ws.policy_table(one, test, train=train, contexts=pages)
        found = dict(zip(table["page"].to_pylist(), table["ad"].to_pylist(), strict=True))
        described = pq.read_table(pages).slice(20)
        chosen = policy.choose_table(described)
        assert found == dict(zip(chosen["page"].to_pylist(), chosen["ad"].to_pylist(), strict=True))
        assert all(ad == ("s" if int(page[1:]) % 2 else "n") for page, ad in found.items())
        value = ws.evaluate({"learned": one, "logging": "logging"}, test, train=train, contexts=pages)["learned"]
        assert value.support.undecided == 0
        assert value.gain.certified.lower > 0.2


@pytest.mark.slow_on_spark
def test_contexts_that_training_saw_keep_their_ranking(learned):
    train, _, pages, policy = learned
    with_table = ws.policy_table(policy, train, contexts=pages).sort_by("page")
    assert with_table.equals(ws.policy_table(policy, train).sort_by("page"))


def test_only_actions_live_on_all_days_are_taken(tmp_path):
    """Ad n retires inside the window, so that news pages take another."""
    log, pages = write(tmp_path, retired=True)
    train, test = ws.read_events(log, **NAMES).split(fraction=0.5)
    policy = ws.fit(train, contexts=pages, weight_bits=16)
    table = ws.policy_table(policy, test, train=train, contexts=pages)
    assert set(table["ad"].to_pylist()) == {"s", "x"} or set(table["ad"].to_pylist()) == {"s"}
    assert set(table["probability"].to_pylist()) == {1.0}
    any_day = ws.policy_table(policy, test, train=train, contexts=pages, live=False)
    assert "n" in any_day["ad"].to_pylist()


def test_with_epochs_the_actions_of_the_first_epoch_are_known(tmp_path):
    log, pages = write(tmp_path)
    train, test = ws.read_events(log, **NAMES, epoch="day").split(fraction=0.5)
    policy = ws.fit(train, contexts=pages, weight_bits=16)
    found = ws.evaluate({"learned": policy}, test, train=train, contexts=pages)["learned"]
    assert found.support.undecided < 0.05
    assert found.best.value > 0.6


def test_a_policy_of_ids_takes_the_action_that_did_best(tmp_path):
    log, pages = write(tmp_path)
    train, test = ws.read_events(log, **NAMES).split(fraction=0.5)
    policy = ws.fit(train, weight_bits=8)
    table = ws.policy_table(policy, test, train=train, contexts=pages)
    assert len(set(table["ad"].to_pylist())) == 1


def test_a_note_says_on_how_much_traffic_a_learned_policy_chooses_nothing_and_what_to_pass(tmp_path):
    log, pages = write(tmp_path)
    events = ws.read_events(log, **NAMES)
    train, test = events.split(at=START + timedelta(minutes=3 * 1_000))
    policy = ws.fit(train, contexts=pages, weight_bits=10)
    found = ws.evaluate(policy, test, train=train)
    share = found.policies[0].support.undecided
    assert share == pytest.approx(2 / 3, abs=0.01)
    [note] = [str(remark) for remark in found.remarks if remark.code == "WS216"]
    assert "'fitted' chooses nothing on 67 % of the traffic" in note
    assert "training never saw" in note
    assert "--contexts FILE" in note
    known = ws.evaluate(policy, test, train=train, contexts=pages)
    assert "WS216" not in {remark.code for remark in known.remarks}
    # What a naive policy leaves out was not rewarded; it is no news to it.
    early = test.until(START + timedelta(minutes=3 * 1_030))
    naive = ws.evaluate({"naive": NaivePolicy(policy, rewarded_only=True)}, early)
    assert naive.policies[0].support.undecided > 0
    assert "WS216" not in {remark.code for remark in naive.remarks}


def test_a_model_of_ones_own_is_not_kept_so_new_contexts_stay_undecided(tmp_path):
    from sklearn.linear_model import Ridge

    log, pages = write(tmp_path)
    train, test = ws.read_events(log, **NAMES).split(fraction=0.5)
    with pytest.raises(ws.DecisionError, match="decides no context"):
        ws.evaluate(ws.fit(train, contexts=pages, model=Ridge(), weight_bits=10), test, train=train, contexts=pages)
