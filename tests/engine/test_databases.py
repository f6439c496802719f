"""URLs of databases, as far as no server is needed."""

from urllib.parse import quote

import ibis
import numpy as np
import pyarrow as pa
import pytest
from tests.support import outcome_logs
from tests.support.logs import random_log, table

import warmstart as ws
from warmstart.engine.databases import without_credentials
from warmstart.engine.sources import describe

NAMES = {"context": "context", "action": "action", "reward": "reward", "time": "time"}


@pytest.fixture
def stored(tmp_path):
    file = tmp_path / "my logs.db"
    ibis.sqlite.connect(file).create_table("Log", table(random_log(3)))
    return f"sqlite://{file}"


def test_sqlite_by_its_url(stored):
    far = ws.read_events(stored, table="Log", **NAMES)
    near = ws.read_events(table(random_log(3)), **NAMES)
    assert (far.engine.name, far.engine.remote, near.engine.remote) == ("sqlite", True, False)
    values = [ws.evaluate("uniform", events, tau=0.1)["uniform"] for events in (far, near)]
    assert values[0].value == pytest.approx(values[1].value, abs=1e-12)
    assert values[0].lower == pytest.approx(values[1].lower, abs=1e-9)
    assert ws.audit(far).to_dict()["log"]["source"] == f"{stored}, table Log"


class Learned:
    """What has predict, and predict_proba with classes_, as scikit-learn's classifiers have them."""

    classes_ = ("a0", "a1", "a2")

    def predict(self, contexts):
        return ["a0" if page == "p0" else "a1" for page in contexts["page"]]

    def predict_proba(self, contexts):
        return np.array([[0.2, 0.5, 0.3]] * len(contexts))


@pytest.mark.parametrize("kind", ["sqlite", "a DuckDB file"])
def test_policies_in_python_columns_outcomes_and_segments_say_the_same(kind, tmp_path):
    log = pa.table(outcome_logs.columns()).drop_columns(["at"])
    choices = [None if i % 10 == 0 else f"a{i % 3}" for i in range(len(log))]
    log = log.append_column("shadow", pa.array(choices))
    file = tmp_path / "log.db"
    connection = ibis.sqlite.connect(file) if kind == "sqlite" else ibis.duckdb.connect(file)
    connection.create_table("Log", log)
    connection.disconnect()
    ranges = {"cost": outcome_logs.RANGES["cost"]}
    options = {**outcome_logs.NAMES, "reward": "click", "also": "cost", "minimize": "cost", "ranges": ranges}
    far = ws.read_events(f"sqlite://{file}" if kind == "sqlite" else file, table="Log", **options)
    near = ws.read_events(log.to_pandas(), **options)
    policies = {
        "function": lambda contexts: ["a1" if page == "p1" else "a0" for page in contexts["page"]],
        "predict": Learned(),
        "proba": Learned().predict_proba,
        "dict": {(f"p{i}", country): "a1" for i in range(4) for country in ("at", "be", "ch")},
        "shadow": "column:shadow",
    }
    asked = {"tau": 0.1, "guards": ["cost<=+20%", "click>=-0.2"], "by": "country", "trained_until": "never"}
    found = [ws.evaluate(policies, events, **asked) for events in (far, near)]
    for name in ("policies", "others", "segments"):
        for one, other in zip(*(getattr(some, name) for some in found), strict=True):
            outcome_logs.same(one, other)
    assert found[0]["shadow"].support.undecided == pytest.approx(0.1)


def test_a_url_that_leads_nowhere_makes_no_file(tmp_path):
    with pytest.raises(ws.SourceError, match="There is no file"):
        ws.read_events(f"sqlite://{tmp_path}/log.db", table="log", **NAMES)
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_is_not_there(stored):
    with pytest.raises(ws.SourceError, match=r"no table 'Other'.*SCHEMA\.NAME"):
        ws.read_events(stored, table="Other", **NAMES)


@pytest.mark.parametrize(
    ("kind", "extra"),
    [("postgres", r"warmstart\[postgres\]"), ("postgresql", r"warmstart\[postgres\]"), ("mysql", r"\[mysql\]")],
)
def test_a_driver_that_is_not_here_is_named(monkeypatch, kind, extra):
    def connect(_):
        raise ImportError("no such module")

    monkeypatch.setattr(ibis, "connect", connect)
    with pytest.raises(ws.UsageError, match=f"pip install '.*{extra}'"):
        ws.read_events(f"{kind}://reader@localhost/db", table="log", **NAMES)


@pytest.mark.parametrize("password", ["easy", "a:b", "a@b", "a/b", "a#b", "a?b", "a b", "[", quote("@:/", safe="")])
def test_a_password_in_a_url_is_refused_and_not_repeated(password):
    encoded = f"postgres://{quote(f'me:{password}', safe='')}@localhost/db"
    plain = (f"postgres://me:{password}@localhost/db", f"postgres://localhost/db?user=me&password={password}")
    for url in (*plain, encoded):
        with pytest.raises(ws.UsageError, match="The URL has a password in it") as caught:
            ws.read_events(url, table="log", **NAMES)
        assert url not in str(caught.value)
        with pytest.raises(ws.UsageError, match="The URL has a password in it") as caught:
            ws.read_events([url, "log.parquet"], table="log", **NAMES)
        assert url not in str(caught.value)
        # Nor where a file belongs.
        log = ws.read_events(pa.table({"context": ["x"], "action": ["a"], "reward": [1]}), **NAMES | {"time": None})
        for policy in (url, f"naive:{url}"):
            with pytest.raises(ws.UsageError, match="The URL has a password in it"):
                ws.evaluate({"file": policy}, log, tau=0.1)


def test_what_is_shown_of_a_url():
    assert (
        without_credentials("postgresql://me@db.example:5433/shop?sslmode=require") == "postgres://db.example:5433/shop"
    )
    assert without_credentials("postgres://[::1]/shop") == "postgres://[::1]/shop"


def test_what_is_shown_of_a_storage():
    assert describe("s3a://KEY:secret@bucket/log") == "s3a://bucket/log"
    assert describe("abfss://logs@account.example/2026") == "abfss://logs@account.example/2026"
    with pytest.raises(ws.UsageError, match="The URL has a password in it"):
        ws.read_events("s3a://KEY:secret@bucket/log", **NAMES)


def test_events_do_not_leave_a_database(stored, tmp_path):
    far = ws.read_events(stored, table="Log", **NAMES)
    with pytest.raises(ws.UsageError, match="Events do not leave the database"):
        ws.export(far, tmp_path / "log.vw", to="vw-cb", tau=0.1)
    with pytest.raises(ws.UsageError, match="Events do not leave the database"):
        ws.to_obp(far, tau=0.1)
    with pytest.raises(ws.UsageError, match="Events do not leave the database"):
        ws.fit(far, learn_from="events")
    assert not (tmp_path / "log.vw").exists()
