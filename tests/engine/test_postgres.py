"""A log that stays in Postgres: the same answers, sums across the wire and nothing else, no password anywhere."""

import json
import sys
import traceback
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.conftest import need
from tests.support import epoch_worlds, unit_logs
from tests.support.postgres_server import PASSWORD, READER, programs, running_server
from tests.support.unit_logs import unit_log

import warmstart as ws
from warmstart.cli import main
from warmstart.engine import postgres as crossing
from warmstart.events import open_slots, slots

START = datetime(2026, 10, 1, tzinfo=UTC)
PAGES = ["plain", "Plain", "", " ", "a,b", 'quo"te', "new\nline", "re\rturn", r"\N", "NULL", r"\.", "tab\there", "🦆"]
DAYS = 8
# Dots, spaces and letters of both sizes, and a twin that differs in one letter's size only.
TABLE = "Ad.logs.Shown Ads"
COLUMNS = 'page text NOT NULL, "Mobile" boolean, ad varchar(20), "Ad" int, click numeric(4,3), "shown at" timestamptz'
NAMES = {"context": ["page", "Mobile"], "action": "ad", "reward": "click", "time": "shown at"}
OPTIONS = ["--context", "page", "--context", "Mobile", "--action", "ad", "--reward", "click", "--time", "shown at"]
ORDINARY = {"context": "c", "action": "a", "reward": "r"}


def make_rows(events=3_000):
    rng = np.random.default_rng(7)
    rows = []
    for i in range(events):
        x, day = int(rng.integers(len(PAGES))), i * DAYS // events
        a = int(rng.integers(4)) if rng.random() < 0.2 else (x + (day + x) // 3) % 4
        a = 0 if a == 3 and day < 3 else a
        at = START + timedelta(days=day, microseconds=int(rng.integers(86_400_000_000)))
        rows.append((PAGES[x], bool(x % 2), f"ad {a}", a, float(rng.integers(0, 9)) / 8, at))
    return rows


ROWS = make_rows()


@pytest.fixture(scope="session")
def server():
    need("postgres", present=programs() is not None)
    with running_server() as running:
        with running.admin() as admin:
            admin.execute(f"CREATE ROLE {READER} LOGIN PASSWORD '{PASSWORD}'")
            # A role as strict, and with settings as odd, as one may be given.
            for setting in (
                "default_transaction_read_only = on",
                "TimeZone = 'America/New_York'",
                "DateStyle = 'German'",
                "extra_float_digits = 0",
            ):
                admin.execute(f"ALTER ROLE {READER} SET {setting}")
            admin.execute('CREATE SCHEMA "Ad.logs"')
            admin.execute(f'CREATE TABLE "Ad.logs"."Shown Ads" ({COLUMNS})')
            admin.execute('CREATE TABLE "Ad.logs"."shown ads" (nothing int)')
            admin.execute("CREATE TABLE kept_from_you (c text, a int, r int)")
            admin.execute("CREATE EXTENSION pg_stat_statements")
            with admin.cursor().copy('COPY "Ad.logs"."Shown Ads" FROM STDIN') as copy:
                for row in ROWS:
                    copy.write_row(row)
            admin.execute(f'GRANT USAGE ON SCHEMA "Ad.logs" TO {READER}')
            admin.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "Ad.logs" TO {READER}')
        yield running


@pytest.fixture
def url(server, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return server.url()


@pytest.fixture
def there(url):
    return ws.read_events(url, table=TABLE, **NAMES)


@pytest.fixture
def small(server, url):
    """Make a small table, and read it."""

    def read(columns, values, **options):
        with server.admin() as admin:
            admin.execute(f"DROP TABLE IF EXISTS small; CREATE TABLE small ({columns})")
            admin.execute(f"INSERT INTO small VALUES {values}; GRANT SELECT ON small TO {READER}")
        return ws.read_events(url, table="public.small", **(ORDINARY | options))

    return read


def here():
    kinds = [pa.string(), pa.bool_(), pa.string(), pa.int32(), pa.float64(), pa.timestamp("us", "UTC")]
    names = ["page", "Mobile", "ad", "Ad", "click", "shown at"]
    columns = zip(names, zip(*ROWS, strict=True), kinds, strict=True)
    return ws.read_events(pa.table({name: pa.array(values, kind) for name, values, kind in columns}), **NAMES)


def flat(found, path=""):
    """Every number and word of a JSON object under its path; floats to be compared to 1e-9."""
    if isinstance(found, dict | list | tuple):
        items = found.items() if isinstance(found, dict) else enumerate(found)
        return {key: value for name, part in items for key, value in flat(part, f"{path}/{name}").items()}
    return {path: pytest.approx(found, rel=1e-9, abs=1e-9) if isinstance(found, float) else found}


def without_source(found):
    """Leave out what names the log, as the sentence about it does."""
    named = ("/log/source", "/sources/log", "/headline/")
    return {path: value for path, value in flat(found).items() if not path.startswith(named)}


def crossed(server):
    """How many rows each query of the reader has sent, as the server counts them; and forget them."""
    with server.admin() as admin:
        found = admin.execute(
            "SELECT query, rows FROM pg_stat_statements JOIN pg_roles ON userid = pg_roles.oid WHERE rolname = %s",
            [READER],
        ).fetchall()
        admin.execute("SELECT pg_stat_statements_reset()")
    return found


def asked(statements):
    return sorted(rows for query, rows in statements if query.startswith("COPY"))


def run(monkeypatch, capfd, *arguments):
    monkeypatch.setattr(sys, "argv", ["warmstart", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    shown = capfd.readouterr()
    return left.value.code, shown.out, shown.err


def test_an_audit_says_the_same(there):
    found = ws.audit(there)
    assert without_source(found.to_dict()) == without_source(ws.audit(here()).to_dict())
    assert found.to_dict()["log"]["source"].endswith(f"/postgres, table {TABLE}")


def test_of_units_an_audit_says_the_same_and_one_that_is_not_named_is_pointed_out(small):
    rows = unit_log(1, keep=0.5, alike=1.0)
    values = ", ".join(f"('{user}', '{page}', '{ad}', {gain})" for user, page, ad, gain in rows)
    read = partial(small, '"user" text, page text, ad text, gain float8', values, **unit_logs.NAMES)
    found, expected = ws.audit(read(unit="user")), ws.audit(unit_logs.read_units(rows))
    assert without_source(found.to_dict()) == without_source(expected.to_dict())
    assert found.units.stickiness.excess > 0.1
    assert [unit.column for unit in ws.audit(read()).log.possible_units] == ["user"]


def test_of_units_evaluations_say_the_same(small):
    rows = unit_log(1, keep=0.5, alike=1.0)
    values = ", ".join(f"('{user}', '{page}', '{ad}', {gain})" for user, page, ad, gain in rows)
    there = small('"user" text, page text, ad text, gain float8', values, **unit_logs.NAMES, unit="user")
    here = unit_logs.read_units(rows)
    for options in [{"tau": [0.05, 0.3]}, {"tau": 0.1, "per": "unit"}, {"tau": 0.1, "propensities": "back-off"}]:
        far, near = (ws.evaluate("uniform", events, **options).to_dict() for events in (there, here))
        assert without_source(far) == without_source(near), options


@pytest.mark.parametrize(
    "split", [{"fraction": 0.4}, {"at": "2026-10-04T12:00:00.123456Z"}, None, {"folds": 3}], ids=str
)
def test_evaluations_say_the_same(there, split):
    def windows(events):
        pair = (None, events) if split is None else events.split(**split)
        return pair[1] if split and "folds" in split else pair

    policies = ["uniform", "logging", "constant:ad 1"] if split is None else "uniform"
    both = [windows(there), windows(here())]
    assert both[0][1].window == both[1][1].window
    learned = [{"propensities": "back-off", "estimators": ["dr"], "tau": 0.1}, {"live": False}]
    # Weights from all data do not ask how the window was cut.
    more = learned if split is None else [{"propensities": "all"}] if "fraction" in split else []
    for options in [{"tau": [0.05, 0.3]}, *more]:
        far, near = (ws.evaluate(policies, test, train=train, **options).to_dict() for train, test in both)
        assert without_source(far) == without_source(near), options


@pytest.mark.slow
def test_policies_in_python_outcomes_and_segments_say_the_same(small):
    """A function, a dict, a shadow model's column; nulls, guards, a column outside the context."""
    rng = np.random.default_rng(3)
    names = ("c", "a", "r", "cost", "shadow", "country")
    rows = []
    for x, a, s, home in rng.integers(0, [5, 3, 3, 2], (600, 4)).tolist():
        cost = None if rng.random() < 0.1 else round(float(rng.random()), 3)
        rows.append((f"c{x}", f"a{a}", int(rng.random() < 0.3 + 0.1 * a), cost, f"a{s}", ["de", "ch"][home]))
    texts = [["NULL" if value is None else repr(value) for value in row] for row in rows]
    columns = "c text, a text, r int, cost float8, shadow text, country text"
    options = {**ORDINARY, "also": "cost", "minimize": "cost"}
    far = small(columns, ", ".join(f"({', '.join(row)})" for row in texts), **options)
    near = ws.read_events(pd.DataFrame(rows, columns=names), **options)
    policies = {
        "first": lambda contexts: ["a0" if c in ("c0", "c1") else "a1" for c in contexts["c"]],
        "dict": {f"c{x}": f"a{x % 3}" for x in range(5)},
        "shadow": "column:shadow",
    }
    asked = {"tau": 0.1, "guards": ["cost<=+20%", "r>=-0.2"], "by": ["country"]}
    found = [ws.evaluate(policies, events, **asked).to_dict() for events in (far, near)]
    assert without_source(found[0]) == without_source(found[1])


def test_folds_do_not_depend_on_how_a_database_orders_text(server, small):
    """Danish orders aa after z, and numeric collations order 9 before 10."""
    rows = [(f"c{i}", f"a{i % 3}", i % 2) for i in range(300)]
    values = ", ".join(map(str, rows))
    near = pa.table(dict(zip("car", map(list, zip(*rows, strict=True)), strict=True)))
    expected = [len(test) for _, test in ws.read_events(near, **ORDINARY).split(folds=5)]
    with server.admin() as admin:
        admin.execute("CREATE COLLATION IF NOT EXISTS by_number (provider = icu, locale = 'en-u-kn-true')")
    for collation in ("da-x-icu", "by_number"):
        far = small(f'c text COLLATE "{collation}", a text COLLATE "{collation}", r int', values)
        assert [len(test) for _, test in far.split(folds=5)] == expected, collation


def test_a_learned_policy_is_the_same(there, tmp_path):
    far, near = (events.split(fraction=0.6) for events in (there, here()))
    one, other = (ws.fit(train, seed=3) for train, _ in (far, near))
    assert without_source(one.report) == without_source(other.report)
    values = [ws.evaluate(policy, test, train=train).to_dict() for policy, (train, test) in ((one, far), (other, near))]
    assert without_source(values[0]) == without_source(values[1])


def test_events_are_not_learned_from_one_by_one(there):
    with pytest.raises(ws.UsageError, match="Events do not leave the database"):
        ws.fit(there, learn_from="events")


def days_back(rows):
    """How many days before the last event events were."""
    last = max(row[5] for row in rows)
    return {(last - row[5]).days for row in rows}


def test_an_audit_is_handed_cells_by_day_and_by_ten_minutes(server, url):
    crossed(server)
    ws.audit(ws.read_events(url, table=TABLE, **NAMES))
    by_day = {(page, mobile, ad, at.date()) for page, mobile, ad, _, _, at in ROWS}
    by_slot = {(page, mobile, ad, at.timestamp() // 600) for page, mobile, ad, _, _, at in ROWS}
    # The check, whether times are whole days, duplicates, copies in a sample; rewards by day, from the last event back.
    sums = [1, 1, 1, 1, len(days_back(ROWS))]
    assert asked(crossed(server)) == sorted([*sums, len(by_day), len(by_slot)])
    assert len(by_day) < len(ROWS) / 3


def test_of_a_large_log_an_audit_is_handed_slots_of_some_contexts_or_moments(server, url, monkeypatch):
    events = ws.read_events(url, table=TABLE, **NAMES)
    monkeypatch.setattr(slots, "SAMPLED_EVENTS", len(ROWS) // 4)
    for fewest in (0, 10_000):
        monkeypatch.setattr(slots, "SAMPLED_CONTEXTS", fewest)
        crossed(server)
        with open_slots(events) as held:
            counts = [row["n"] for row in held.engine.fetch(held.table)]
        assert asked(crossed(server))[-1] < len(ROWS) / 2
        assert 0 < sum(counts) < len(ROWS) / 2


def test_an_evaluation_is_handed_cells_and_no_events(server, url):
    crossed(server)
    train, test = ws.read_events(url, table=TABLE, **NAMES).split(at="2026-10-04")
    ws.evaluate(["uniform", "logging"], test, train=train, propensities="all")
    cells = {row[:3] for row in ROWS}
    context_days = {(*row[:2], row[5].date()) for row in ROWS if row[5] >= START + timedelta(days=3)}
    late = [row for row in ROWS if row[5] >= START + timedelta(days=3)]
    # The check, the split, the rate of the training window, copies in a sample; rewards by day, from the last one back.
    sums = [1, 1, 1, 1, len(days_back(late))]
    statements = crossed(server)
    assert asked(statements) == sorted([*sums, len(cells), len(context_days)])
    first_words = {query.split()[0] for query, _ in statements}
    assert first_words <= {"COPY", "SELECT", "SET", "BEGIN", "COMMIT"}


def test_the_split_at_a_fraction_is_found_there(server, url):
    events = ws.read_events(url, table=TABLE, **NAMES)
    crossed(server)
    events.split(fraction=0.4)
    assert set(asked(crossed(server))) == {1}


def test_a_window_is_audited_with_the_days_of_the_whole_log(server, url):
    _, late = ws.read_events(url, table=TABLE, **NAMES).split(at="2026-10-04")
    crossed(server)
    found = ws.audit(late).to_dict()
    assert len({row[2] for row in ROWS}) in asked(crossed(server))
    assert without_source(found) == without_source(ws.audit(here().split(at="2026-10-04")[1]).to_dict())


def test_decisions_may_come_from_a_file_or_from_the_same_database(server, url, tmp_path, there):
    import ibis

    choices = pa.table({"page": PAGES, "Mobile": [bool(i % 2) for i in range(len(PAGES))], "ad": ["ad 1"] * len(PAGES)})
    with server.admin() as admin:
        admin.execute('DROP TABLE IF EXISTS choices; CREATE TABLE choices (page text, "Mobile" boolean, ad text)')
        with admin.cursor().copy("COPY choices FROM STDIN") as copy:
            for row in choices.to_pylist():
                copy.write_row(tuple(row.values()))
        admin.execute(f"GRANT SELECT ON choices TO {READER}")
    stored = ibis.connect(url).table("choices")
    found = ws.evaluate({"frame": choices, "there": stored, "constant": "constant:ad 1"}, there, tau=0.1)
    assert found["frame"].value == found["there"].value == pytest.approx(found["constant"].value, abs=1e-12)


def test_two_tables_of_one_database_are_two_windows(server, url, there):
    with server.admin() as admin:
        admin.execute(
            f"DROP TABLE IF EXISTS earlier; CREATE TABLE earlier ({COLUMNS}); GRANT SELECT ON earlier TO {READER}"
        )
        admin.execute("""INSERT INTO earlier SELECT * FROM "Ad.logs"."Shown Ads" WHERE "shown at" < '2026-10-04Z'""")
    earlier = ws.read_events(url, table="earlier", **NAMES)
    _, later = there.split(at="2026-10-04")
    apart = ws.evaluate("uniform", later, train=earlier, tau=0.1)["uniform"]
    train, test = here().split(at="2026-10-04")
    assert apart.value == pytest.approx(
        ws.evaluate("uniform", test, train=train, tau=0.1, estimators=["ips"])["uniform"].value, abs=1e-12
    )
    with pytest.raises(ws.UsageError, match="overlap"):
        ws.evaluate("uniform", later, train=ws.read_events(url, table=TABLE, **NAMES), tau=0.1)
    with pytest.raises(ws.SourceError, match="not in the database"):
        ws.evaluate("uniform", later, train=train, tau=0.1)
    with pytest.raises(ws.SourceError, match="behind a URL"):
        ws.evaluate("uniform", test, train=earlier, tau=0.1)


def test_values_that_databases_have_and_files_have_not(small):
    assert small("c text, a int, r boolean", "('x', 1, true), ('x', 2, false)").window.events == 2
    for worth in ("'NaN'", "'Infinity'", "'-Infinity'", "NULL"):
        for kind in ("float8", "real", "numeric"):
            with pytest.raises(ws.MissingValueError, match="'r' in 1 row"):
                small(f"c text, a int, r {kind}", f"('x', 1, {worth}), ('x', 2, 0.5)")
    with pytest.raises(ws.MissingValueError, match=r"for example c = None, a = 1, r = 1.0\)"):
        small("c text, a int, r float8", "(NULL, 1, 1), ('', 1, 1), ('NULL', 1, 1)")
    left = small("c text, a int, r numeric", "('x', 1, 'NaN'), (NULL, 1, 0.5), ('y', 2, 0.5)", drop_nulls=True)
    assert (len(left), left.dropped) == (1, 2)
    with pytest.raises(ws.ColumnError, match="cannot be a context"):
        small("c point, a int, r int", "('(1,2)', 1, 1)")


@pytest.mark.parametrize(
    ("kind", "written", "microseconds"),
    [
        ("timestamptz", ["'1969-12-31 23:59:59.999999Z'", "'2026-10-01 02:00:00.000001+02'"], [-1, 1790812800000001]),
        (
            "timestamp",
            ["'2026-10-01 00:00:00.5'", "'2026-10-01 23:59:59.999999'"],
            [1790812800500000, 1790899199999999],
        ),
        ("date", ["'1969-12-31'", "'2026-10-01'"], [-86_400_000_000, 1790812800000000]),
        ("bigint", ["1790812800", "1790812801"], [1790812800000000, 1790812801000000]),
        ("bigint", ["1790812800000000999", "1790812801000001000"], [1790812800000000, 1790812801000001]),
        ("text", ["'2026-10-01'", "'2026-10-01 12:00:00.25'"], [1790812800000000, 1790856000250000]),
    ],
)
def test_times_are_exact(small, kind, written, microseconds):
    values = ", ".join(f"('x', 1, 1, {time})" for time in written)
    window = small(f"c text, a int, r int, t {kind}", values, time="t").window
    assert [window.first, window.last] == microseconds


def test_an_infinite_time_is_none(small):
    with pytest.raises(ws.MissingValueError, match="'t' in 1 row"):
        small("c text, a int, r int, t timestamptz", "('x', 1, 1, 'infinity'), ('x', 1, 1, '2026-10-01')", time="t")


def test_keys_come_as_they_are(small):
    kinds = {"uuid": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "bigint": 9007199254740993, "date": START.date()}
    kinds |= {"float8": 0.1 + 0.2, "timestamp": datetime(2026, 10, 1, 12, 0, 0, 123456), "boolean": True, "text": ""}
    for kind, value in kinds.items():
        found = ws.policy_table("logging", small(f"c {kind}, a text, r int", f"('{value}', '\\N', 1)"))
        assert found.to_pylist() == [{"c": value, "a": r"\N", "probability": 1.0}], kind


def test_a_log_that_grows_meanwhile_is_told(server, small):
    events = small("c text, a int, r int", "('x', 1, 1)")
    with server.admin() as admin:
        admin.execute("INSERT INTO small VALUES ('x', 2, 0)")
    with pytest.raises(ws.EngineError, match="had 1 events, and now has 2"):
        ws.evaluate("uniform", events, tau=0.1)


def cut_off(server):
    with server.admin() as admin:
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [READER])


def test_a_lost_connection_is_told(server, there):
    cut_off(server)
    with pytest.raises(ws.EngineError, match="The connection to postgres was lost"):
        ws.audit(there)


def test_a_connection_lost_between_rows_leaves_nothing_behind(server, there, monkeypatch):
    whole = crossing._blocks

    def blocks(lines):
        found = whole(lines)
        yield next(found)
        cut_off(server)
        yield from found

    monkeypatch.setattr(crossing, "_blocks", blocks)
    with pytest.raises(ws.EngineError, match="The connection to postgres was lost"):
        there.engine.collect(ibis_rows(there))
    assert there.engine.local.backend.list_tables() == []


def ibis_rows(events):
    """A result too large for the buffers between here and the server."""
    import ibis

    many = ibis.range(0, 200).unnest().name("i").as_table()
    return events.table.cross_join(many)


def test_rows_come_in_blocks_and_all_of_them(there, monkeypatch):
    monkeypatch.setattr(crossing, "BLOCK", 1_000)
    engine, held = there.engine.collect(there.table)
    assert sorted(row["context_0"] for row in engine.fetch(held)) == sorted(row[0] for row in ROWS)
    held.release()


CLAUSES = {
    "wrong password": (ws.SourceError, "password authentication failed"),
    "no server": (ws.SourceError, "Cannot connect to postgres://127.0.0.1:1/postgres"),
    "no database": (ws.SourceError, 'database "nowhere" does not exist'),
    "no table": (ws.SourceError, "no table 'Ad.logs.SHOWN ADS'"),
    "no column": (ws.ColumnError, "has no column 'pge'. Did you mean 'page'"),
    "no permission": (ws.SourceError, "permission denied for table kept_from_you"),
    "password in front": (ws.UsageError, "The URL has a password in it"),
    "password behind": (ws.UsageError, "The URL has a password in it"),
    "password with a hash": (ws.UsageError, "The URL has a password in it"),
    "password for a port": (ws.UsageError, "port is no number"),
    "no table named": (ws.UsageError, "--table NAME"),
    "Spark": (ws.UsageError, "DuckDB does the rest"),
    "two URLs": (ws.UsageError, "is no file"),
    "another kind": (ws.UsageError, "no database of the kind 'oracular'"),
    "DuckDB": (ws.UsageError, "Name the DuckDB file itself"),
}


@pytest.mark.parametrize("case", CLAUSES)
def test_what_goes_wrong_is_told_without_the_password(server, url, case, monkeypatch, capfd):
    if case == "wrong password":
        monkeypatch.setenv("PGPASSWORD", PASSWORD + "!")
    sources = {
        "no server": "postgres://reader@127.0.0.1:1/postgres",
        "no database": server.url(database="nowhere"),
        "password in front": url.replace("reader@", f"reader:{PASSWORD}@"),
        "password behind": f"{url}?password={PASSWORD}",
        "password with a hash": f"postgres://reader:#{PASSWORD}#@localhost/postgres",
        "password for a port": "postgres://localhost:s3cret-Zug",
        "two URLs": [url, url],
        "another kind": "oracular://reader@localhost/db",
        "DuckDB": "duckdb://log.duckdb",
    }
    tables = {
        "no table": "Ad.logs.SHOWN ADS",
        "no permission": "kept_from_you",
        "no table named": None,
        "two URLs": None,
    }
    source, table = sources.get(case, url), tables.get(case, TABLE)
    names = {"no column": NAMES | {"context": "pge"}, "no permission": ORDINARY}.get(case, NAMES)
    engine = "spark" if case == "Spark" else "duckdb"
    kind, message = CLAUSES[case]
    with pytest.raises(kind) as caught:
        ws.read_events(source, table=table, engine=engine, **names)
    assert message in str(caught.value)
    told = "".join(traceback.format_exception(caught.value))
    assert PASSWORD not in told
    assert "s3cret" not in told
    if case in ("no column", "no permission", "Spark"):
        return
    named = [] if table is None else ["--table", table]
    code, out, err = run(
        monkeypatch, capfd, "audit", *([source] if isinstance(source, str) else source), *named, *OPTIONS
    )
    assert code == (2 if kind is ws.UsageError else 1)
    assert message in err.replace("\n", " ")
    assert "s3cret" not in out + err


def test_commands_keep_the_password_to_themselves(server, url, tmp_path, monkeypatch, capfd):
    log = [url, "--table", TABLE, *OPTIONS]
    shown = []
    for arguments in (
        ["audit", *log, "--json", "--html", tmp_path / "audit.html", "--explore-out", tmp_path / "explore.csv"],
        ["fit", *log, "--train-fraction", "0.6", "--out", tmp_path / "policy"],
        ["evaluate", *log, "--policy", tmp_path / "policy", "--policy", "uniform", "--html", tmp_path / "value.html"],
        ["evaluate", *log, "--policy", "uniform", "--test-fraction", "0.5", "--json", "--memory-limit", "1GB"],
    ):
        code, out, err = run(monkeypatch, capfd, *arguments)
        assert code == 0, err
        shown += [out, err]
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 5
    for secret in (PASSWORD, f"{READER}@"):
        assert not any(secret in text for text in shown)
        assert not any(secret.encode() in content for content in files)
    assert json.loads(shown[0])["log"]["source"].startswith("postgres://127.0.0.1:")


def test_the_password_may_be_in_the_password_file(server, tmp_path, monkeypatch):
    file = tmp_path / "passwords"
    escaped = PASSWORD.replace("\\", "\\\\").replace(":", "\\:")
    file.write_text(f"127.0.0.1:{server.port}:*:{READER}:{escaped}\n")
    file.chmod(0o600)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert len(ws.read_events(server.url(), table=TABLE, **NAMES)) == len(ROWS)


def test_the_role_could_not_write_if_it_would(url, there):
    with pytest.raises(Exception, match="read-only transaction"):
        there.engine.backend.con.execute("CREATE TEMPORARY TABLE t (i int)")


@pytest.mark.parametrize(("epoch", "unit"), [("day", ()), ("version", "user")])
def test_of_epochs_evaluations_say_the_same(small, epoch, unit):
    log = epoch_worlds.draw(epoch_worlds.World(epochs=4, events=80, visits=4, turnover=True), 0)
    rows = log.table.to_pylist()
    values = ", ".join(
        f"({row['context']}, {row['action']}, {row['reward']}, 'u{row['user']}', '{row['time']}Z', '{row['version']}')"
        for row in rows
    )
    columns = 'context int, action int, reward float8, "user" text, "time" timestamptz, version text'
    names = {**epoch_worlds.NAMES, "unit": unit, "epoch": epoch}
    there, local = small(columns, values, **names), ws.read_events(log.table, **names)
    policies = {"p": epoch_worlds.as_table(epoch_worlds.decisions(log.world)), "uniform": "uniform"}
    windows = (events.until(epoch_worlds.day(3)) for events in (there, local))
    options = {"propensities": "counts", "trained_until": "never"}
    far, near = (ws.evaluate(policies, events, **options) for events in windows)
    assert without_source(far.to_dict()) == without_source(near.to_dict())
    assert all(len(one.by_epoch) == 3 for one in far)
    if unit:
        assert len(there.first_epochs()) == len(local.first_epochs())
