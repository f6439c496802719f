"""Cut connections and kill workers in the middle of commands: the same answer, or a typed error and nothing left."""

import json
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
from scripts.spark_cluster import Cluster
from tests.attack.workplace import COLUMNS, build
from tests.support.nested import alike
from tests.support.postgres_server import PASSWORD, READER

import warmstart as ws
from warmstart.engine import postgres as crossing

NAMES = {"context": "page", "action": "ad", "reward": "click", "time": "at"}
TABLE = "shown_ads"


def commands(folder):
    """What can be asked of events, by name: each gives something to compare, or writes into a folder."""
    return {
        "audit": lambda events: without_source(ws.audit(events)),
        "evaluate": lambda events: without_source(ws.evaluate("uniform", events, tau=0.05)),
        "back-off": lambda events: without_source(
            ws.evaluate("uniform", events, tau=0.05, propensities="back-off", estimators=["snips"])
        ),
        "fit": lambda events: ws.fit(events, contexts=str(folder / "pages.parquet")).decisions.num_rows,
        "plan": lambda events: without_source(ws.plan("constant:1", events)),
        "policy_table": lambda events: ws.policy_table("uniform", events).num_rows,
    }


def without_source(result):
    """A result as plain numbers, without what names the log."""
    found = json.loads(result.to_json())
    return {key: value for key, value in found.items() if key not in ("log", "sources", "headline", "verdict", "notes")}


@contextmanager
def log_in_postgres(server, log):
    """Put a log into a table of a server; give its address and a function that cuts all connections of the reader."""
    with server.admin() as admin:
        admin.execute(f"DROP TABLE IF EXISTS {TABLE}")
        admin.execute(f"CREATE TABLE {TABLE} (id bigint, page bigint, ad bigint, click int, at timestamptz)")
        with admin.cursor().copy(f"COPY {TABLE} FROM STDIN") as copy:
            for row in log.to_pylist():
                copy.write_row(tuple(row.values()))
        admin.execute(f"GRANT SELECT ON {TABLE} TO {READER}")

    def cut():
        with server.admin() as admin:
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [READER])

    yield f"{server.url()}", cut


def cut_at(url, ask, number, cut, *, inside):
    """Ask with the connection cut at one of its queries, before it or among its rows; return the answer, the error or
    None if there are fewer queries.
    """
    whole, seen = crossing.batches, [0]

    @contextmanager
    def batches(backend, expression):
        seen[0] += 1
        if seen[0] == number and not inside:
            cut()
        with whole(backend, expression) as found:
            if seen[0] == number and inside:
                cut()
            yield found

    crossing.batches = batches
    try:
        events = ws.read_events(url, table=f"public.{TABLE}", **NAMES)
        answer = ask(events)
    except ws.WarmstartError as error:
        answer = error
    finally:
        crossing.batches = whole
    return answer if seen[0] >= number else None


def attack_postgres(server, names=(), most=100):
    """Cut the connection at every query of commands; return by command how often there was an error, and an answer."""
    counts = {}
    with TemporaryDirectory() as place:
        folder = build(Path(place), policy=False)
        asks = commands(folder)
        with log_in_postgres(server, pq.read_table(folder / "log.parquet")) as (url, cut):
            for name in names or asks:
                expected, errors, answers = cut_at(url, asks[name], 0, cut, inside=False), 0, 0
                for inside in (False, True):
                    for number in range(1, most):
                        answer = cut_at(url, asks[name], number, cut, inside=inside)
                        if answer is None:
                            break
                        if isinstance(answer, ws.WarmstartError):
                            assert isinstance(answer, ws.EngineError), (name, number, repr(answer))
                            assert PASSWORD not in str(answer)
                            errors += 1
                        else:
                            assert alike(answer, expected), (name, number)
                            answers += 1
                counts[name] = errors, answers
    return counts


# Commands that a cluster can run; what each prints is compared with what this machine prints. Of a policy, learned in
# parts there, the contexts that it decides are.
ON_A_CLUSTER = {
    "fit": ("fit", "--contexts", "pages.parquet", "--out", "policy"),
    "audit": ("audit", "--json"),
    "evaluate": ("evaluate", "--policy", "uniform", "--tau", "0.05", "--json"),
    "evaluate by model": ("evaluate", "--policy", "uniform", "--tau", "0.05", "--propensities", "model", "--json"),
    "plan": ("plan", "--policy", "constant:1", "--json"),
    "monitor": ("monitor", "--epoch", "day", "--policy", "constant:1", "--json"),
    "compare-propensities": ("compare-propensities", "--json"),
}


def attack_cluster(names=(), shares=(0.5, 0.7, 0.9)):
    """Kill a worker of three after shares of the time that commands take; return by command its exit codes.

    A command that had ended before is tried once more, with a fifth less time, and does not count if it was too fast
    again.
    """
    codes = {}
    with TemporaryDirectory() as place:
        folder = build(Path(place), policy=False)
        for name in names or ON_A_CLUSTER:
            verb, *options = ON_A_CLUSTER[name]
            words = [sys.executable, "-m", "warmstart", verb, "log.parquet", *COLUMNS, *options]
            said = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout
            here = answer_of(said, folder)
            code, said, failed, whole, _ = on_a_cluster([*words, "--engine"], folder)
            assert code == 0, failed
            assert alike(answer_of(said, folder), here), name
            codes[name] = []
            for share in shares:
                for seconds in (share * whole, 0.8 * share * whole):
                    code, said, failed, _, cut = on_a_cluster([*words, "--engine"], folder, seconds)
                    assert "Traceback" not in failed, failed
                    assert code in (0, 1), (code, failed)
                    answer = answer_of(said, folder)
                    assert code or alike(answer, here), (name, share)
                    if cut:
                        codes[name].append(code)
                        break
    return codes


def answer_of(said, folder):
    """What a command printed; or the contexts that the policy it wrote decides, which then goes."""
    written = folder / "policy"
    if not written.exists():
        return json.loads(said) if said.startswith("{") else None
    pages = sorted(ws.load_policy(written).decisions["page"].to_pylist())
    shutil.rmtree(written)
    return pages


def on_a_cluster(words, folder, until=None):
    """Run a command on a cluster of which a worker may die after so many seconds.

    Returns how it ended (exit code, output, errors), how long it took, and whether it still ran when the worker died.
    """
    with Cluster(workers=3) as cluster:
        start = time.monotonic()
        process = subprocess.Popen(
            [*words, cluster.master],
            cwd=folder,
            env=cluster.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        cut = False
        try:
            said, failed = process.communicate(timeout=until or 600)
        except subprocess.TimeoutExpired:
            cluster.kill_worker(0)
            cut = process.poll() is None
            said, failed = process.communicate(timeout=600)
        return process.returncode, said, failed, time.monotonic() - start, cut
