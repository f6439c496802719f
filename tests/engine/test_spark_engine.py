"""Spark: on a cluster the answers are DuckDB's, also when a worker dies; nothing that grows is collected or kept."""

import gc
import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import ibis
import pyarrow as pa
import pytest
from scripts.spark_cluster import Cluster
from tests.conftest import need
from tests.support.nested import alike

import warmstart as ws

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "shown_at"}
COLUMNS = [word for name, column in NAMES.items() for word in (f"--{name}", column)]
SHELL = "pyspark-shell"
# What it prints tells the other side how far it is, so that it can act in between.
JOB = """
    import sys
    import warmstart as ws

    master, month, out = sys.argv[1:]
    world = ws.AdWorld.open(month)
    log = ws.read_events(
        world.events_path, context="page", action="ad", reward="click", time="shown_at", engine=master
    )
    train, test = log.split(fraction=0.65)
    def show(verb):
        return lambda *inputs: print(f"{verb}:", *inputs, flush=True)

    found = ws.evaluate(["logging", "uniform"], test, train=train, tau=0.05, on_progress=show("evaluate"))
    open(f"{out}/found.json", "w").write(found.to_json())
    tables = {"contexts": world.contexts_path, "actions": world.actions_path}
    policy = ws.fit(train, **tables, fit_tau=0.05, weight_bits=14, on_progress=show("fit"))
    ws.save_policy(policy, f"{out}/policy")
"""


@pytest.fixture(scope="module")
def month(tmp_path_factory):
    numbers = {"events": 40_000, "n_contexts": 1_000, "n_actions": 200, "topics": 20, "vocabulary": 4_000}
    return ws.simulate(tmp_path_factory.mktemp("cluster") / "month", **numbers, seed=2)


@pytest.fixture(scope="module")
def left(month, tmp_path_factory):
    """What a job leaves on a cluster of three workers, of which one dies while it evaluates and one while it learns.

    They are killed, with the executors they have, as soon as the job says that it has come so far.
    """
    need("spark", present=shutil.which("java") is not None)
    out = tmp_path_factory.mktemp("left")
    to_kill = {"evaluate: valuing uniform": 0, "fit: learning": 1}
    with Cluster(workers=3) as cluster:
        command = [sys.executable, "-c", textwrap.dedent(JOB), cluster.master, str(month.folder), str(out)]
        environment = {**cluster.environment, "PYSPARK_SUBMIT_ARGS": f"--conf spark.sql.shuffle.partitions=2 {SHELL}"}
        errors = out / "errors"
        job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors.open("w"), text=True, env=environment)
        for line in job.stdout:
            for step in [step for step in to_kill if line.startswith(step)]:
                cluster.kill_worker(to_kill.pop(step))
        assert job.wait() == 0, errors.read_text()
        job.stdout.close()
    assert not to_kill
    return out


def test_a_worker_that_dies_changes_nothing(left, month):
    train, test = ws.read_events(month.events_path, **NAMES).split(fraction=0.65)
    here = ws.evaluate(["logging", "uniform"], test, train=train, tau=0.05)
    found = json.loads((left / "found.json").read_text())
    assert alike(found, json.loads(here.to_json()))


def test_a_worker_that_dies_does_not_change_what_is_learned(left, month, spark):
    train, _ = ws.read_events(month.events_path, **NAMES, engine=spark).split(fraction=0.65)
    options = {"contexts": month.contexts_path, "actions": month.actions_path, "fit_tau": 0.05, "weight_bits": 14}
    whole = ws.fit(train, **options)
    found = ws.load_policy(left / "policy")
    order = [("page", "ascending"), ("rank", "ascending")]
    assert found.ranking.sort_by(order).drop(["score"]).equals(whole.ranking.drop(["score"]))
    scores = found.ranking.sort_by(order)["score"].to_pylist()
    assert scores == pytest.approx(whole.ranking["score"].to_pylist(), rel=1e-9)
    assert (found.model.weights == whole.model.weights).all()
    train, _ = ws.read_events(month.events_path, **NAMES).split(fraction=0.65)
    assert month.true_value(found.decisions) > 0.98 * month.true_value(ws.fit(train, **options).decisions)


@pytest.mark.slow
def test_a_driver_with_little_memory_collects_nothing_that_grows(month, tmp_path):
    """No result above a fifth of a megabyte may reach the driver: a table of all cells would.

    Nor small tables that Spark itself would send around by way of the driver, up to a size that is its own setting.
    """
    need("spark", present=shutil.which("java") is not None)
    settings = ("driver.maxResultSize=200k", "sql.autoBroadcastJoinThreshold=-1", "sql.shuffle.partitions=2")
    small = " ".join(["--driver-memory 600m", *(f"--conf spark.{setting}" for setting in settings), SHELL])
    environment = {**Cluster().environment, "PYSPARK_SUBMIT_ARGS": small}
    policy = tmp_path / "policy"
    features = ["--contexts", month.contexts_path, "--actions", month.actions_path]
    fit = ["fit", month.events_path, *COLUMNS, *features, "--fit-tau", "1", "--weight-bits", "12", "--out", policy]
    evaluate = ["evaluate", month.events_path, *COLUMNS, "--policy", policy, "--policy", "uniform", "--estimator", "dr"]
    audit = ["audit", month.events_path, *COLUMNS, "--json"]
    for command in ([*fit, "--train-fraction", "0.65"], [*evaluate, "--test-fraction", "0.35"], audit):
        words = [sys.executable, "-m", "warmstart", *map(str, command), "--engine", "spark", "--threads", "2"]
        ran = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
        assert ran.returncode == 0, ran.stderr
    control = f"""
        import warmstart as ws
        from warmstart.events import open_cells
        log = ws.read_events({str(month.events_path)!r}, **{NAMES!r}, engine="spark")
        with open_cells(log) as cells:
            cells.engine.fetch_arrow(cells.table)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(control)], capture_output=True, text=True, env=environment, check=False
    )
    assert "maxResultSize" in ran.stderr


@pytest.mark.slow_on_spark
def test_workers_may_forget_what_they_were_told_with_the_rows_it_was_for(spark, monkeypatch):
    from pyspark.core.broadcast import Broadcast

    forgotten = []
    monkeypatch.setattr(Broadcast, "unpersist", lambda inputs: forgotten.append(inputs.value))
    rows = spark.open_arrow(pa.table({"i": [1, 2, 3]}))
    schema = ibis.schema({"i": "int64"})
    found = spark.map_batches(rows, lambda batch, inputs: batch.slice(0, inputs - 2), schema, inputs=2)
    gc.collect()
    assert not forgotten
    assert spark.fetch(found.agg(rows=found.count()))[0]["rows"] == 0
    del found
    gc.collect()
    assert forgotten == [2]


@pytest.mark.parametrize("setting", [{"threads": 2}, {"memory_limit": "1GB"}])
def test_a_session_that_runs_already_takes_no_settings(spark, setting):
    [name] = setting
    refused = rf"running already, and cannot take {name}=\.\.\. \(--{name.replace('_', '-')}\)"
    with pytest.raises(ws.UsageError, match=refused):
        ws.connect("spark", **setting)
