"""Reading: what is accepted, and what a first user gets wrong."""

import datetime as dt
import math
import re

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tests.support.logs import every_event, random_log, table

import warmstart as ws
from warmstart.events import parse_ranges

NAMES = {"context": "context", "action": "action", "reward": "reward", "time": "time"}


@pytest.fixture
def log():
    return table(random_log(1, events=60))


def value(source, **options):
    names = {**NAMES, **options}
    return ws.evaluate("uniform", ws.read_events(source, **names), tau=0.1, estimators=["ips"])["uniform"].value


def test_every_source_gives_the_same_answer(log, tmp_path, engine):
    pq.write_table(log, tmp_path / "log.parquet")
    pa_csv.write_csv(log, tmp_path / "log.csv")
    for i in range(3):
        pq.write_table(log.slice(20 * i, 20), tmp_path / f"part-{i}.pq")
    expected = every_event(ws.read_events(log, **NAMES))
    assert len(expected) == 60
    sources = {
        "parquet": tmp_path / "log.parquet",
        "csv": str(tmp_path / "log.csv"),
        "glob": str(tmp_path / "part-*.pq"),
        "list": [tmp_path / f"part-{i}.pq" for i in range(3)],
        "pandas": log.to_pandas(),
        "arrow": log,
    }
    for name, source in sources.items():
        assert every_event(ws.read_events(source, **NAMES, engine=engine)) == expected, name
    assert value(sources["csv"], engine=engine) == pytest.approx(value(log), abs=1e-9)


def test_polars_lazy_frames_and_ibis_tables_are_sources_too(log, tmp_path):
    import ibis

    frame = pl.from_arrow(log)
    connection = ibis.duckdb.connect(tmp_path / "log.duckdb")
    connection.create_table("log", log)
    expected = value(log)
    for source in (frame, frame.lazy(), connection.table("log")):
        assert value(source) == pytest.approx(expected, abs=1e-12)
    assert connection.list_tables() == ["log"]


def test_several_context_columns_make_one_context(engine):
    log = pa.table(
        {"page": ["p", "p", "q", "q"], "hour": [1, 2, 1, 2], "ad": ["a", "b", "a", "b"], "click": [1, 0, 1, 1]}
    )
    events = ws.read_events(log, context=["page", "hour"], action="ad", reward="click", engine=engine)
    found = ws.evaluate("constant:a", events, tau=0.1, estimators=["ips"])
    assert found.log.contexts == 4
    assert found["constant:a"].value == pytest.approx(2 / 4)


def test_a_name_with_a_nul_character_is_an_error(log):
    odd = log.rename_columns(["page\0x", *log.column_names[1:]])
    with pytest.raises(ws.ColumnError, match="NUL"):
        ws.read_events(odd, context="page\0x", action="action", reward="reward")


def test_names_that_differ_only_in_case_are_different_columns(tmp_path):
    log = pa.table({"w": ["p", "p"], "W": ["a", "b"], "r_1": [1, 1], "R": [0, 1], "r": [1, 0]})
    pq.write_table(log, tmp_path / "log.parquet")
    for source in (log, tmp_path / "log.parquet"):
        events = ws.read_events(source, context="w", action="W", reward="r")
        assert ws.evaluate("constant:a", events, tau=0.1)["constant:a"].value == pytest.approx(1)
        events = ws.read_events(source, context="w", action="W", reward="R")
        assert ws.evaluate("constant:a", events, tau=0.1)["constant:a"].value == pytest.approx(0)


def test_odd_names_are_just_names(tmp_path):
    names = ["sel ect; drop", 'quo"te', "über 'x'", "time"]
    log = pa.table(dict(zip(names, [["p", "p"], ["a", "b"], [1, 0], [dt.date(2026, 1, 1)] * 2], strict=True)))
    pq.write_table(log, tmp_path / "log.parquet")
    events = ws.read_events(tmp_path / "log.parquet", context=names[0], action=names[1], reward=names[2], time="time")
    assert ws.evaluate("constant:a", events, tau=0.1)["constant:a"].value == pytest.approx(1)


@pytest.mark.parametrize(
    "keys",
    [
        [1, 2],
        [dt.date(2026, 1, 1), dt.date(2026, 1, 2)],
        [True, False],
        [1.5, 2.5],
        pd.Categorical(["a", "b"]),
        pa.array([b"0123456789abcdef", b"0123456789abcdeg"], pa.uuid()) if hasattr(pa, "uuid") else ["a", "b"],
    ],
    ids=["integer", "date", "boolean", "float", "categorical", "uuid"],
)
@pytest.mark.slow_on_spark
def test_keys_of_many_types(keys, engine):
    column = keys if isinstance(keys, pa.Array | list) else pa.array(keys)
    log = pa.table({"x": column, "a": column, "r": [True, False]})
    log = pa.concat_tables([log, log])
    found = ws.evaluate("uniform", ws.read_events(log, context="x", action="a", reward="r", engine=engine), tau=0.5)
    assert found["uniform"].value == pytest.approx(0.5)


@pytest.mark.parametrize("column", ["x", "r", "t"])
def test_a_duration_is_refused_where_it_is_used_and_no_trouble_elsewhere(column, any_engine):
    waits = [dt.timedelta(hours=1), dt.timedelta(days=2)]
    log = pa.table({"x": ["p", "p"], "a": ["a", "b"], "r": [1, 0], "t": [1767225600, 1767398400], "odd `wait`": waits})
    names = {"context": "x", "action": "a", "reward": "r", "time": "t"}
    assert len(ws.read_events(log, **names, engine=any_engine)) == 2
    names = {role: "odd `wait`" if name == column else name for role, name in names.items()}
    with pytest.raises(ws.ColumnError, match=r"'odd `wait`' has type .*interval.*(Use numbers|reward is|time is)"):
        ws.read_events(log, **names, engine=any_engine)


@pytest.mark.parametrize(
    "times",
    [
        [dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 3)],
        [dt.date(2026, 1, 1), dt.date(2026, 1, 3)],
        ["2026-01-01", "2026-01-03T00:00:00"],
        ["2026-01-01T02:00:00+02:00", "2026-01-02 19:00:00-05:00"],
        [1767225600, 1767398400],
        [1767225600_000, 1767398400_000],
        [1767225600_000_000, 1767398400_000_000],
        [1767225600_000_000_000, 1767398400_000_000_000],
        pa.array([1767225600, 1767398400], pa.timestamp("s", "America/New_York")),
        pa.array([1767225600_000_000_000, 1767398400_000_000_000], pa.timestamp("ns")),
    ],
    ids=[
        "datetime",
        "date",
        "text",
        "text with offsets",
        "seconds",
        "milli",
        "micro",
        "nano",
        "zoned",
        "nanosecond timestamp",
    ],
)
@pytest.mark.slow_on_spark
def test_times_of_many_types(times, engine):
    log = pa.table({"x": ["p", "p"], "a": ["a", "b"], "r": [1, 0], "t": times})
    if engine.name == "spark" and log["t"].type == pa.timestamp("ns"):
        pytest.skip("Spark has no nanosecond timestamps")
    events = ws.read_events(log, context="x", action="a", reward="r", time="t", engine=engine)
    assert str(events.window) == "2 events, 2026-01-01 00:00 to 2026-01-03 00:00 UTC"
    early, late = events.split(at="2026-01-02")
    assert (len(early), len(late)) == (1, 1)


def broken(log, column, values):
    return log.set_column(log.column_names.index(column), column, [pa.array(values)])


def test_no_such_column_names_the_nearest(log):
    with pytest.raises(ws.ColumnError, match=r"has no column 'Acton'. Did you mean 'action'"):
        ws.read_events(log, context="context", action="Acton", reward="reward")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("absent.parquet", "There is no file"),
        ("nowhere/absent.parquet", "does not exist either"),
        ("*.parquet", "No file matches"),
        ("notes.txt", "ending"),
        ("garbage.parquet", "Cannot read"),
        (".", "has no Parquet, CSV or JSON files"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, path, message):
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "garbage.parquet").write_text("this is not Parquet")
    if path in ("*.parquet", "."):
        (tmp_path / "garbage.parquet").unlink()
    with pytest.raises(ws.SourceError, match=message):
        ws.read_events(str(tmp_path / path), **NAMES)


def test_a_log_without_rows(log):
    with pytest.raises(ws.EmptyWindowError, match="no rows"):
        ws.read_events(log.slice(0, 0), **NAMES)


@pytest.mark.parametrize("bad", [None, math.nan, math.inf])
@pytest.mark.slow_on_spark
def test_missing_rewards_are_an_error_that_counts_them(log, bad, engine):
    rewards = [bad, bad, *log["reward"].to_pylist()[2:]]
    with pytest.raises(ws.MissingValueError, match=r"'reward' in 2 rows .*for example .*drop_nulls=True"):
        ws.read_events(broken(log, "reward", rewards), **NAMES, engine=engine)


@pytest.mark.parametrize("column", ["context", "action", "time"])
def test_missing_keys_and_times_are_an_error(log, column):
    values = [None, *log[column].to_pylist()[1:]]
    with pytest.raises(ws.MissingValueError, match=f"'{column}' in 1 row "):
        ws.read_events(broken(log, column, values), **NAMES)


def test_drop_nulls_goes_on_and_says_how_many(log):
    rewards = [None, math.nan, *log["reward"].to_pylist()[2:]]
    contexts = [log["context"][0].as_py(), log["context"][1].as_py(), None, *log["context"].to_pylist()[3:]]
    events = ws.read_events(broken(broken(log, "reward", rewards), "context", contexts), **NAMES, drop_nulls=True)
    assert (len(events), events.dropped) == (57, 3)
    found = ws.evaluate("uniform", events, tau=0.1)
    assert found.log.dropped == 3
    assert found["uniform"].value == pytest.approx(value(log.slice(3)))


def test_rewards_outside_the_range_are_an_error_that_shows_one(log):
    rewards = [1.5, *log["reward"].to_pylist()[1:]]
    with pytest.raises(ws.RewardRangeError, match=r"1 value outside \[0, 1\] .*reward = 1.5.*ranges="):
        ws.read_events(broken(log, "reward", rewards), **NAMES)


def test_negative_rewards_are_outside_too(log):
    with pytest.raises(ws.RewardRangeError, match="2 values outside"):
        ws.read_events(broken(log, "reward", [-0.1, -1.0, *log["reward"].to_pylist()[2:]]), **NAMES)


def test_nanoseconds_lose_no_event(engine):
    """Ten events a microsecond and some nanoseconds apart: half is five."""
    times = [1_767_225_600_000_000_999 + 1_000 * i for i in range(10)]
    log = pa.table({"x": ["p"] * 10, "a": ["a"] * 10, "r": [0.0] * 10, "t": times})
    events = ws.read_events(log, context="x", action="a", reward="r", time="t", engine=engine)
    assert [len(part) for part in events.split(fraction=0.5)] == [5, 5]
    assert [len(part) for part in events.split(fraction=0.9)] == [9, 1]
    assert [len(part) for part in events.split(at=times[3])] == [3, 7]


def test_a_csv_file_with_a_header_alone_has_no_rows(tmp_path):
    (tmp_path / "log.csv").write_text("context,action,reward,time\n")
    with pytest.raises(ws.EmptyWindowError, match="no rows"):
        ws.read_events(tmp_path / "log.csv", **NAMES)


def test_memtables_and_arrow_datasets_are_sources(log, tmp_path):
    import ibis
    import pyarrow.dataset as ds

    pq.write_table(log, tmp_path / "log.parquet")
    expected = value(log)
    for source in (ibis.memtable(log), ds.dataset(tmp_path / "log.parquet"), log.to_reader(), log.to_batches()[0]):
        assert value(source) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("source", [[], pd.Series([1]), [3]])
def test_things_that_are_no_tables(source):
    with pytest.raises((ws.UsageError, ws.SourceError)):
        ws.read_events(source, **NAMES)


def test_two_columns_of_one_name_are_an_error(log):
    frame = log.to_pandas()
    frame.columns = ["context", "action", "reward", "reward"]
    with pytest.raises(ws.ColumnError, match="2 columns called 'reward'"):
        ws.read_events(frame, context="context", action="action", reward="reward")


def test_a_zoned_timestamp_can_be_a_context(engine):
    when = pa.array([0, 1], pa.timestamp("us", "Europe/Paris"))
    log = pa.table({"x": when, "a": ["a", "b"], "r": [1.0, 0.0]})
    events = ws.read_events(log, context="x", action="a", reward="r", engine=engine)
    assert ws.policy_table("logging", events).num_rows == 2


def test_frames_are_forgotten_when_no_longer_needed(log):
    import gc

    from warmstart.engine import connect

    engine = connect()
    before = len(engine.backend.list_tables())
    for _ in range(3):
        value(log, engine=engine)
    gc.collect()
    assert len(engine.backend.list_tables()) <= before + 1


def test_a_text_reward_is_an_error(log):
    with pytest.raises(ws.ColumnError, match="has type string"):
        ws.read_events(broken(log, "reward", ["yes"] * log.num_rows), **NAMES)
    with pytest.raises(ws.ColumnError, match="the outcome 'cost' has type string"):
        ws.read_events(log.append_column("cost", log["action"]), **NAMES, also="cost")


def test_unparsable_times_are_an_error(log):
    with pytest.raises(ws.MissingValueError, match=r"'time' is no time in 1 row .*soon"):
        ws.read_events(broken(log, "time", ["soon", *["2026-01-01"] * (log.num_rows - 1)]), **NAMES)


def test_integers_that_are_no_times_are_an_error(log):
    with pytest.raises(ws.ColumnError, match="look like dates written YYYYMMDD"):
        ws.read_events(broken(log, "time", [20261001] * log.num_rows), **NAMES)
    with pytest.raises(ws.ColumnError, match="run from 0 to 9223372036854775807, which are no seconds"):
        ws.read_events(broken(log, "time", [0, 2**63 - 1] * (log.num_rows // 2)), **NAMES)


def test_a_column_given_twice_is_a_wrong_call(log):
    with pytest.raises(ws.UsageError, match="'context' is given 2 times"):
        ws.read_events(log, context=["context", "action"], action="context", reward="reward")


def test_a_list_column_cannot_be_a_context(log):
    with pytest.raises(ws.ColumnError, match="cannot be a context"):
        ws.read_events(broken(log, "context", [[1]] * log.num_rows), **NAMES)


def test_control_characters_in_names_do_not_reach_the_message(log):
    rows = [(x, "\x1b[31mred", 7.0, d) for x, _, _, d in random_log(1, events=3)]
    with pytest.raises(ws.RewardRangeError) as caught:
        ws.read_events(table(rows), **NAMES)
    assert "\x1b" not in str(caught.value)
    assert r"\x1b[31mred" in str(caught.value)


def test_something_that_is_no_source(engine):
    with pytest.raises(ws.UsageError, match="Cannot read a log from 'int'"):
        ws.read_events(7, **NAMES, engine=engine)


class TestUnits:
    LOG = pa.table(
        {
            "page": ["p", "p", "q", "q"],
            "ad": [1, 2, 1, 2],
            "click": [0, 1, 0, 1],
            "user": ["u", "v", "u", None],
            "device": [1, 1, 2, 2],
        }
    )

    def test_a_unit_may_be_several_columns_and_is_shown(self):
        events = ws.read_events(
            self.LOG, context="page", action="ad", reward="click", unit=["user", "device"], drop_nulls=True
        )
        assert events.columns.unit_keys == ("unit_0", "unit_1")
        assert {"unit_0", "unit_1"} <= set(events.table.columns)
        assert "unit=user, device" in repr(events)

    def test_a_null_unit_is_an_error_unless_it_is_dropped_and_counted(self):
        with pytest.raises(ws.MissingValueError, match="'user' in 1 row"):
            ws.read_events(self.LOG, context="page", action="ad", reward="click", unit="user")
        events = ws.read_events(self.LOG, context="page", action="ad", reward="click", unit="user", drop_nulls=True)
        assert (len(events), events.dropped) == (3, 1)

    def test_a_unit_may_be_a_context_but_not_what_was_shown(self):
        names = {"action": "ad", "reward": "click", "drop_nulls": True}
        events = ws.read_events(self.LOG, context=["page", "user"], unit="user", **names)
        assert events.columns.fixed_to_given["context_1"] == events.columns.fixed_to_given["unit_0"] == "user"
        for unit in ("ad", "click", ["device", "device"]):
            with pytest.raises(ws.UsageError, match="is given 2 times"):
                ws.read_events(self.LOG, context="page", unit=unit, **names)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"also": "price"}, "price"),
        ({"also": ["cost", "cost"]}, "'cost' is given 2 times"),
        ({"also": "click"}, "'click' is given 2 times"),
        ({"also": "page"}, "'page' is given 2 times"),
        ({"also": "cost", "minimize": "price"}, "'price' is no outcome"),
        ({"minimize": "cost"}, "'cost' is no outcome"),
        ({"ranges": {"cost": (0, 1)}}, "'cost' is no outcome"),
        ({"also": "cost", "ranges": {"cost": (1, 1)}}, "is not a range"),
        ({"also": "cost", "ranges": {"cost": (1, 0)}}, "is not a range"),
        ({"also": "cost", "ranges": {"cost": (0, float("inf"))}}, "is not a range"),
        ({"also": "cost", "ranges": {"cost": (float("nan"), 1)}}, "is not a range"),
        ({"also": "cost"}, "'cost' has 2 values outside"),
        ({"also": "cost", "ranges": {"cost": (0, 2)}}, "'cost' has 1 value outside"),
        ({"also": "word"}, "type string"),
        ({"also": "nothing"}, "'nothing' is never known"),
    ],
)
def test_outcomes_that_are_none_are_refused(options, words, duckdb):
    log = {"page": ["p", "p", "q"], "ad": [1, 2, 1], "click": [0, 1, 0], "cost": [0.5, 2.0, 3.0], "word": ["a"] * 3}
    log = pa.table({**log, "nothing": pa.array([None] * 3, pa.float64())})
    with pytest.raises(ws.WarmstartError, match=re.escape(words)):
        ws.read_events(log, context="page", action="ad", reward="click", engine=duckdb, **options)


@pytest.mark.slow_on_spark
@pytest.mark.parametrize("name", ["n", "reward", "reward_sum_of_1", "also_0", "context_0", "a b", "x_of_1", "Café=1"])
def test_an_outcome_may_be_called_anything(name, engine):
    log = {"page": ["p", "p", "q", "q"], "ad": ["a", "b", "a", "b"], "click": [0, 1, 0, 1]}
    log = pa.table({**log, name: [0.5, 2.0, None, 4.0], "also_1": [1, 0, 0, 1]})
    options = {"also": [name, "also_1"], "minimize": name, "ranges": {name: (0, 4)}}
    events = ws.read_events(log, context="page", action="ad", reward="click", engine=engine, **options)
    assert [(one.name, one.minimize, one.seen) for one in events.log.outcomes] == [
        ("click", False, (0, 1)),
        (name, True, (0.5, 4)),
        ("also_1", False, (0, 1)),
    ]
    assert events.log.outcomes[1].known == 0.75
    found = ws.evaluate("logging", events, tau=0.1, estimators=[])
    assert found.of_outcome(name)["logging"].value == pytest.approx(6.5 / 3)
    assert found.of_outcome("also_1")["logging"].value == 0.5


def test_odd_values_of_an_outcome_are_unknown(duckdb):
    values = [0.5, float("nan"), float("inf"), None, 1.0]
    log = pa.table({"page": ["p"] * 5, "ad": list("aabbb"), "click": [0, 1, 0, 1, 1], "cost": values})
    events = ws.read_events(log, context="page", action="ad", reward="click", also="cost", engine=duckdb)
    assert events.log.outcomes[1].known == pytest.approx(0.4)
    [one] = ws.evaluate("logging", events, tau=0.1, estimators=[]).others
    assert (one.known, one.value) == (pytest.approx(0.4), pytest.approx(0.75))
    dropped = ws.read_events(
        log, context="page", action="ad", reward="click", also="cost", drop_nulls=True, engine=duckdb
    )
    assert len(dropped) == 5


@pytest.mark.parametrize("text", ["cost", "cost=1", "cost=0:1:2", "=0:1", "cost=a:b", ""])
def test_a_range_is_a_column_and_two_numbers(text):
    with pytest.raises(ws.UsageError):
        parse_ranges([text])


@pytest.mark.parametrize("ends", [(-1e308, 1e308), (0, 2e15), (0, float("inf")), (1, 1), (float("nan"), 1)])
def test_what_is_no_range_of_numbers_is_refused(log, ends):
    with pytest.raises(ws.UsageError, match="is not a range"):
        ws.read_events(log, **NAMES, ranges={"reward": ends})


def test_times_before_our_era_and_far_away_are_shown(tmp_path):
    years = ["-0044-03-15", "0001-01-01", "9999-12-31", "290000-01-01"]
    lines = [f"p{i % 3},a{i % 2},{i % 5 == 0:d},{years[i % 4]} 00:00:00" for i in range(200)]
    (tmp_path / "log.csv").write_text("\n".join(["page,ad,click,at", *lines]))
    names = {"context": "page", "action": "ad", "reward": "click", "time": "at"}
    events = ws.read_events(str(tmp_path / "log.csv"), **names)
    assert "290000-01-01" in str(ws.audit(events))
    train, test = events.split(fraction=0.5)
    result = ws.evaluate("uniform", test, train=train, tau=0.1, estimators=("ips",))
    assert "290000-01-01" in result.to_json()


def test_ranges_are_read_once_each():
    assert parse_ranges(["cost=0:0.02", "a=b=-1:1e3"]) == {"cost": (0.0, 0.02), "a=b": (-1.0, 1000.0)}
    with pytest.raises(ws.UsageError, match="second"):
        parse_ranges(["cost=0:1", "cost=0:2"])


def test_a_range_far_wider_than_the_data_is_known_to_be(duckdb):
    log = pa.table({"page": ["p"] * 3, "ad": list("aab"), "click": [0, 1, 0], "cost": [0.1, 0.2, 0.15]})
    options = {"context": "page", "action": "ad", "reward": "click", "also": "cost", "engine": duckdb}
    assert [one.is_too_wide for one in ws.read_events(log, **options).log.outcomes] == [False, True]
    fitting = ws.read_events(log, ranges={"cost": (0, 0.4)}, **options)
    assert [one.is_too_wide for one in fitting.log.outcomes] == [False, False]
