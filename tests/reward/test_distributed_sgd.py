"""Learning in parts: what is exact on one machine is exact in parts, and weights are averaged as they should be."""

import numpy as np
import pyarrow as pa
import pytest
from tests.support.logs import random_log, table
from tests.support.parted_here import parted_here

import warmstart as ws
import warmstart.reward.distributed_sgd as module
from warmstart.engine.partitioned import PART
from warmstart.features import FeatureRows
from warmstart.reward.distributed_part import LOSS, average_updates

NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts") / "month"
    numbers = {"events": 150_000, "n_contexts": 1_200, "n_actions": 250, "topics": 20, "vocabulary": 4_000}
    return ws.simulate(folder, **numbers, seed=3)


def learned(world, engine, **options):
    train, _ = ws.read_events(world.events_path, **NAMES, engine=engine).split(fraction=0.65)
    return ws.fit(
        train, **{"contexts": world.contexts_path, "actions": world.actions_path, "weight_bits": 18, **options}
    )


@pytest.fixture(scope="module")
def here(world):
    return learned(world, "duckdb")


def test_what_is_learned_in_parts_is_worth_as_much(world, here, monkeypatch):
    monkeypatch.setattr(module, "CELLS_PER_PARTITION", 1_000)
    found = learned(world, parted_here())
    assert found.report["cells"] == here.report["cells"] > 4_000
    assert found.report["fit_taus_tried"] == pytest.approx(here.report["fit_taus_tried"], rel=1e-12)
    assert world.true_value(found.decisions) > 0.98 * world.true_value(here.decisions)
    assert (
        found.ranking.select(["page", "ad"])
        .sort_by([("page", "ascending"), ("ad", "ascending")])
        .equals(here.ranking.select(["page", "ad"]).sort_by([("page", "ascending"), ("ad", "ascending")]))
    )


@pytest.mark.parametrize("cells_per_partition", [100, 10**9])
def test_factors_of_ids_are_those_of_one_machine_in_any_number_of_parts(cells_per_partition, monkeypatch):
    """Without features the model is a constant that one pass over few cells hardly moves: only factors are left."""
    log = table(random_log(5, events=4_000, contexts=60, actions=9))
    options = {"rates": [1e-12], "weight_bits": 8, "fit_tau": 1.0, "min_events": 2}
    monkeypatch.setattr(module, "CELLS_PER_PARTITION", cells_per_partition)
    names = {"context": "context", "action": "action", "reward": "reward"}
    found = ws.fit(ws.read_events(log, **names, engine=parted_here()), **options)
    here = ws.fit(ws.read_events(log, **names), **options)
    assert found.lowest == pytest.approx(here.lowest, rel=1e-12)
    np.testing.assert_allclose(found.factors, here.factors, rtol=1e-9)
    assert found.ranking["score"].to_pylist() == pytest.approx(here.ranking["score"].to_pylist(), rel=1e-6)
    assert found.ranking.drop(["score"]).equals(here.ranking.drop(["score"]))


def test_several_rates_go_on_with_the_best(world):
    found = learned(world, parted_here(), rates=[1e-9, 0.05], fit_tau=1.0)
    assert found.report["rate"] == 0.05
    one = learned(world, parted_here(), rates=[0.05], fit_tau=1.0)
    np.testing.assert_array_equal(found.model.weights, one.model.weights)
    assert found.report["training_loss"] == one.report["training_loss"]


def test_a_weight_is_averaged_over_the_parts_that_moved_it():
    moved = {0: [1.0, 0.0, 2.0], 1: [3.0, 0.0, 0.0], 2: [0.0, 0.0, -4.0]}
    rows = [
        {"rate": 0.1, "block": 7, "part": part, "update": np.array(m, np.float32).tobytes(), "loss": 0.0, "weight": 0.0}
        for part, m in moved.items()
    ]
    rows += [
        {"rate": 0.1, "block": LOSS, "part": part, "update": b"", "loss": 1.0 + part, "weight": 2.0} for part in moved
    ]
    moves = pa.Table.from_pylist(rows).append_column(PART, pa.array([0] * len(rows)))
    found = {row["block"]: row for row in average_updates([moves], None).to_pylist()}
    assert np.frombuffer(found[7]["update"], np.float32).tolist() == [2.0, 0.0, -1.0]
    assert (found[LOSS]["loss"], found[LOSS]["weight"]) == (6.0, 6.0)


def test_parts_depend_on_the_cells_alone():
    assert [module.partition_count(cells) for cells in (1, 200_000, 200_001, 5_100_000)] == [2, 2, 3, 51]


def test_a_saved_policy_is_the_same_whoever_learned_it(world, here, tmp_path):
    found = learned(world, parted_here(), fit_tau=1.0)
    ws.save_policy(found, tmp_path / "policy")
    loaded = ws.load_policy(tmp_path / "policy")
    assert loaded.ranking.sort_by([("page", "ascending"), ("rank", "ascending")]).equals(found.ranking)
    assert loaded.ranking.schema.equals(here.ranking.schema)
    pages = {"words": ["w1", "w2"], "frequencies": [1.0, 2.0]}
    assert loaded.choose(pages)[0] == found.choose(pages)[0]
    test = ws.read_events(world.events_path, **NAMES).split(fraction=0.65)[1]
    one, other = (
        ws.evaluate({"p": policy}, test, tau=0.05, estimators=["ips"])["p"].value for policy in (found, loaded)
    )
    assert one == pytest.approx(other, rel=1e-12)


def test_the_best_of_all_actions_is_chosen_where_the_contexts_are(world, here, tmp_path):
    ws.save_policy(here, tmp_path / "policy")
    tables = []
    for engine in ("duckdb", parted_here()):
        test = ws.read_events(world.events_path, **NAMES, engine=engine).split(fraction=0.65)[1]
        table_ = ws.policy_table(f"naive:{tmp_path / 'policy'}", test, contexts=str(world.contexts_path))
        tables.append(table_.sort_by("page"))
    assert tables[0].equals(tables[1])
    assert len(set(tables[0]["ad"].to_pylist())) > 5


def test_lists_of_features_become_rows_and_missing_ones_are_alone():
    alone = FeatureRows.of(np.zeros(1, int), np.array([9]), np.array([0.3]), 1)
    found = FeatureRows.of_lists(
        pa.chunked_array([pa.array([[1, 2], None, [], [3]], pa.list_(pa.int32()))]),
        pa.chunked_array([pa.array([[0.5, 0.25], None, [], [1.0]], pa.list_(pa.float32()))]),
        alone,
    )
    rows = [
        list(zip(found.buckets[begin:end].tolist(), found.values[begin:end].tolist(), strict=True))
        for begin, end in zip(found.starts, found.starts[1:], strict=False)
    ]
    assert rows == [[(1, 0.5), (2, 0.25)], [(9, pytest.approx(0.3))], [], [(3, 1.0)]]
    np.testing.assert_allclose(found.squares, [0.3125, 0.09, 0, 1], rtol=1e-6)


def test_bad_tables_of_contexts_are_refused_as_on_one_machine(world):
    pages = pa.table({"page": [0, 0, 1], "topic": ["a", "b", "c"]})
    with pytest.raises(ws.DataError, match=r"the table of contexts has two rows for one key; 1 key in all"):
        learned(world, parted_here(), contexts=pages, fit_tau=1.0)
    with pytest.raises(ws.ColumnError, match="has no column 'page'"):
        learned(world, parted_here(), contexts=pages.rename_columns(["p", "t"]), fit_tau=1.0)
    with pytest.raises(ws.DataError, match="have no row in the table of contexts"):
        learned(world, parted_here(), contexts=pages.slice(1), fit_tau=1.0, strict=True)
    found = learned(world, parted_here(), contexts=pages.slice(1), fit_tau=1.0)
    here = learned(world, "duckdb", contexts=pages.slice(1), fit_tau=1.0)
    assert found.report["contexts"]["without_features"] == here.report["contexts"]["without_features"] > 1_000


def test_numbers_that_would_be_rounded_are_no_keys_of_the_log(world):
    pages = pa.table({"page": [0.0, 1.5, 2.5], "topic": ["a", "b", "c"]})
    found = learned(world, parted_here(), contexts=pages, fit_tau=1.0)
    assert found.report["contexts"]["known"] - found.report["contexts"]["without_features"] == 1


def test_tables_of_contexts_may_be_text_files(world, tmp_path):
    path = tmp_path / "pages.csv"
    path.write_text("page,topic\n" + "\n".join(f"{page},t{page % 7}" for page in range(1_200)))
    found, here = (learned(world, engine, contexts=path, fit_tau=1.0) for engine in (parted_here(), "duckdb"))
    assert found.report["contexts"]["columns"] == here.report["contexts"]["columns"] == ["topic"]
    assert found.report["contexts"]["without_features"] == here.report["contexts"]["without_features"] == 0


def test_with_every_bucket_in_use_nobody_claims_to_know_how_many_features_there_are(world):
    found = learned(world, parted_here(), fit_tau=1.0, weight_bits=8)
    assert found.report["contexts"]["features"] is None
    assert "share a bucket" not in found.summary()[1]
    assert "about" in learned(world, parted_here(), fit_tau=1.0).summary()[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"learn_from": "events"}, "One pass over events"), ({"model": "sklearn"}, "A model of your own")],
)
def test_what_one_machine_alone_can_do(world, options, message):
    if "model" in options:
        from sklearn.linear_model import Ridge

        options = {"model": Ridge()}
    with pytest.raises(ws.UsageError, match=message):
        learned(world, parted_here(), **options)


def test_nothing_feasible_and_nothing_to_learn(world):
    with pytest.raises(ws.EmptyWindowError, match="No action is feasible"):
        learned(world, parted_here(), fit_tau=1.0, min_events=10**6)
    log = pa.table({"page": [1, 1, 2], "ad": [1, 2, 1], "click": [0, 0, 0]})
    events = ws.read_events(log, context="page", action="ad", reward="click", engine=parted_here())
    with pytest.raises(ws.EmptyWindowError, match="nothing to learn"):
        ws.fit(events)


def test_some_contexts_are_the_same_of_every_table():
    from warmstart.engine import sample_by_key

    engine = parted_here()
    keys = pa.table({"context_0": list(range(2_000)), "context_1": [f"c{i % 7}" for i in range(2_000)]})
    one = engine.open_arrow(keys)
    other = engine.open_arrow(keys.take(pa.array(range(1_999, -1, -1))))
    chosen = [
        {tuple(row.values()) for row in engine.fetch(sample_by_key(rows, ("context_0", "context_1"), 0.25))}
        for rows in (one, other)
    ]
    assert chosen[0] == chosen[1]
    assert 400 < len(chosen[0]) < 600
