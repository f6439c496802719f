"""Late rewards, against a plain join of one event at a time, on both engines, with ties, nulls and duplicates."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st
from tests.support import join_reference as reference
from tests.support.commands import warmstart
from tests.support.examples import in_many, of_any

import warmstart as ws
from warmstart.joining.join import _microseconds

START = datetime(2026, 10, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def table(rows, names):
    """Rows of (user, slot, hour, value): any of the first three may be None."""
    users, slots, hours, values = zip(*rows, strict=True) if rows else ((), (), (), ())
    times = [None if hour is None else START + hour * HOUR for hour in hours]
    return pa.table(
        {
            "user": pa.array(users, pa.string()),
            "slot": pa.array(slots, pa.int32()),
            names[0]: pa.array(times, pa.timestamp("us", "UTC")),
            names[1]: pa.array(values, pa.float64()),
        }
    )


def plain(rows):
    return [(None if None in row[:2] else row[:2], row[2], row[3]) for row in rows]


def compare(impressions, outcomes, path, engine, *, window, until, keep_young, duplicates, repeated):
    asked = {
        "window": None if window is None else window * HOUR,
        "until": None if until is None else START + until * HOUR,
    }
    options = {"keep_young": keep_young, "duplicates": duplicates, "repeated": repeated}

    def ours():
        result = ws.join(
            table(impressions, ("shown_at", "number")),
            table(outcomes, ("clicked_at", "worth")),
            path,
            on=["user", "slot"],
            impression_time="shown_at",
            outcome_time="clicked_at",
            reward="worth",
            drop_nulls=True,
            engine=engine,
            **asked,
            **options,
        )
        rows = pq.read_table(path).to_pylist()
        got = [(r["number"], r["reward"], r["outcome_time"] and (r["outcome_time"] - START) / HOUR) for r in rows]
        return sorted(got, key=str), result

    try:
        written, counts = reference.join(plain(impressions), plain(outcomes), window=window, until=until, **options)
    except reference.RefusedError:
        with pytest.raises(ws.DataError, match="several"):
            ours()
        return "refused"
    if not written:
        with pytest.raises(ws.EmptyWindowError):
            ours()
        return "empty"
    rows, result = ours()
    assert rows == sorted(written, key=str)
    shown, came = result.impressions, result.outcomes
    assert (shown.read, shown.written) == (len(impressions), len(written))
    assert (shown.with_nulls, shown.too_young, shown.rewarded) == (
        counts["impressions with nulls"],
        counts["too young"],
        counts["rewarded"],
    )
    assert came.read == len(outcomes)
    assert (came.with_nulls, came.never_shown, came.before, came.outside_window, came.of_too_young) == tuple(
        counts[name] for name in ("outcomes with nulls", "never shown", "before", "outside", "of too young")
    )
    assert (came.rewarding, came.duplicates) == (counts["rewarded"], counts["duplicates"])
    parts = came.with_nulls + came.never_shown + came.before + came.outside_window + came.of_too_young
    assert came.read == parts + came.rewarding + came.duplicates
    return "joined"


def random_tables(seed, *, ties):
    rng = np.random.default_rng(seed)

    def some(n, hours, users):
        rows = []
        for i in range(n):
            user = None if rng.random() < 0.04 else f"u{rng.integers(users)}"
            slot = None if rng.random() < 0.04 else int(rng.integers(2))
            hour = None if rng.random() < 0.04 else int(rng.integers(hours))
            rows.append((user, slot, hour, float(i)))
        return rows

    shown = some(60, 400 if not ties else 20, 8)
    clicks = [(*row[:3], float(rng.integers(0, 4)) / 4) for row in some(50, 420 if not ties else 24, 9)]
    if not ties:
        seen = {}
        for row in shown:
            seen.setdefault(row[:3], row)
        shown = list(seen.values())
    return shown, clicks


CHOICES = [
    (window, until, keep, duplicates, repeated)
    for window, until, keep in ((None, None, False), (24, None, False), (24, 300, False), (48, 350, True))
    for duplicates, repeated in (
        ("first", "last"),
        ("sum", "last"),
        ("max", "last"),
        ("error", "last"),
        ("sum", "error"),
    )
]


def compare_choice(seed, path, engine, choice, *, ties):
    names = ("window", "until", "keep_young", "duplicates", "repeated")
    return compare(*random_tables(seed, ties=ties), path, engine, **dict(zip(names, choice, strict=True)))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_as_one_event_at_a_time(duckdb, tmp_path, seed):
    came = [
        compare_choice(seed, tmp_path / "log.parquet", duckdb, choice, ties=ties)
        for seed, ties in ((seed, False), (2 + seed, True))
        for choice in CHOICES
    ]
    assert came.count("joined") > 10
    assert came.count("refused") > 10


@pytest.mark.spark
def test_as_one_event_at_a_time_on_spark(spark, tmp_path):
    came = [compare_choice(0, tmp_path / "log.parquet", spark, choice, ties=False) for choice in CHOICES[10:18:7]]
    assert came == ["joined", "joined"]
    assert compare_choice(2, tmp_path / "log.parquet", spark, CHOICES[1], ties=True) == "refused"


ROW = st.tuples(
    st.sampled_from(["u", "v", None]), st.sampled_from([0, 1]), st.none() | st.integers(0, 12), st.just(0.0)
)
CLICK = st.tuples(
    st.sampled_from(["u", "v", "w", None]),
    st.sampled_from([0, 1]),
    st.none() | st.integers(0, 14),
    st.sampled_from([0.25, 1.0]),
)


@of_any(
    shown=st.lists(ROW, min_size=1, max_size=8),
    clicks=st.lists(CLICK, min_size=1, max_size=8),
    window=st.none() | st.integers(1, 6),
    keep=st.booleans(),
    duplicates=st.sampled_from(["first", "sum", "max", "error"]),
)
def test_any_small_tables(duckdb, tmp_path, shown, clicks, window, keep, duplicates):
    shown = [(*row[:3], float(i)) for i, row in enumerate(shown)]
    if all(None in row for row in shown) or all(None in row for row in clicks):
        return
    compare(
        shown,
        clicks,
        tmp_path / "log.parquet",
        duckdb,
        window=window,
        until=None,
        keep_young=keep and window is not None,
        duplicates=duplicates,
        repeated="last",
    )


@pytest.mark.slow
def test_any_small_tables_in_many_examples(duckdb, tmp_path):
    in_many(test_any_small_tables, duckdb=duckdb, tmp_path=tmp_path)


def test_impressions_without_an_outcome_can_be_left_out_and_are_counted(duckdb, tmp_path):
    shown, came = random_tables(0, ties=False)
    tables = table(shown, ("shown_at", "number")), table(came, ("clicked_at", "worth"))
    names = {"impression_time": "shown_at", "outcome_time": "clicked_at", "reward": "worth", "drop_nulls": True}
    names |= {"on": ["user", "slot"], "window": 24 * HOUR, "engine": duckdb}
    every, judged = (tmp_path / f"{name}.parquet" for name in ("every", "judged"))
    ws.join(*tables, every, **names)
    result = ws.join(*tables, judged, **names, without_outcome="leave-out")
    with_outcome = [row for row in pq.read_table(every).to_pylist() if row["outcome_time"] is not None]
    assert sorted(pq.read_table(judged).to_pylist(), key=str) == sorted(with_outcome, key=str)
    sizes = result.impressions
    assert 0 < sizes.written == sizes.rewarded == len(with_outcome)
    assert sizes.read == sizes.with_nulls + sizes.too_young + sizes.without_outcome + sizes.written
    assert any("left out" in note for note in result.notes)
    assert result.to_dict()["without_outcome"] == "leave-out"
    strangers = tables[1].set_column(0, "user", pa.array(["nobody"] * len(came)))
    with pytest.raises(ws.EmptyWindowError, match="no impression has an outcome"):
        ws.join(tables[0], strangers, judged, **names, without_outcome="leave-out")
    with pytest.raises(ws.UsageError, match="leave-out"):
        ws.join(*tables, judged, **names, without_outcome="null")


def shown_and_clicks():
    shown = pa.table({"id": ["a", "b", "c"], "page": ["p", "p", "q"], "ad": [1, 2, 1], "note": [None, "x", None]})
    return shown, pa.table({"click_of": ["b", "b", "z"]})


def test_without_times_an_outcome_is_a_reward_of_1_and_other_columns_stay(tmp_path):
    shown, clicks = shown_and_clicks()
    result = ws.join(shown, clicks, tmp_path / "log.parquet", on={"id": "click_of"})
    log = pq.read_table(tmp_path / "log.parquet").sort_by("id")
    assert log.column_names == ["id", "page", "ad", "note", "reward"]
    assert log["reward"].to_pylist() == [0, 1, 0]
    assert log["note"].to_pylist() == [None, "x", None]
    assert (result.outcomes.duplicates, result.outcomes.never_shown) == (1, 1)
    events = ws.read_events(tmp_path / "log.parquet", context="page", action="ad", reward="reward")
    assert events.window.events == 3
    assert "<table" in result._repr_html_()


def test_the_window_is_half_open_and_so_is_until(tmp_path):
    shown = pa.table({"id": [1, 2, 3], "at": [1_780_000_000, 1_780_000_000, 1_780_000_100]})
    clicks = pa.table({"id": [1, 2], "when": [1_780_000_059, 1_780_000_060]})
    times = {"impression_time": "at", "outcome_time": "when", "window": "1m"}
    result = ws.join(shown, clicks, tmp_path / "log.parquet", on="id", **times)
    # The last outcome is just where the windows of 1 and 2 end, so these are known, and 3 is not.
    assert result.impressions == type(result.impressions)(read=3, with_nulls=0, too_young=1, written=2, rewarded=1)
    assert result.outcomes.outside_window == 1
    result = ws.join(shown, clicks, tmp_path / "log.parquet", on="id", until=1_780_000_160, **times)
    assert result.impressions.written == 3
    result = ws.join(shown, clicks, tmp_path / "log.parquet", on="id", until="2026-06-01", keep_young=True, **times)
    assert pq.read_table(tmp_path / "log.parquet").num_rows == 3
    assert "may still rise" in str(result)


def test_times_may_be_text_dates_or_integers_of_different_units(tmp_path):
    shown = pa.table({"id": [1, 2], "at": ["2026-10-01T00:00:00Z", "2026-10-01T02:00:00+02:00"]})
    clicks = pa.table({"id": [1, 2], "when": [1_790_812_800_000, 1_790_812_799_999]})
    result = ws.join(shown, clicks, tmp_path / "log.parquet", on="id", impression_time="at", outcome_time="when")
    assert (result.impressions.rewarded, result.outcomes.before) == (1, 1)


def test_names_that_differ_in_case_only_are_kept_apart(tmp_path):
    shown = pa.table({"id": [1], "W": [2.0], "w": [3.0], "key_0": ["k"], "time": [5]})
    ws.join(shown, pa.table({"id": [1]}), tmp_path / "log.parquet", on="id")
    row = pq.read_table(tmp_path / "log.parquet").to_pylist()
    assert row == [{"id": 1, "W": 2.0, "w": 3.0, "key_0": "k", "time": 5, "reward": 1.0}]


def test_columns_of_any_type_are_passed_on(tmp_path):
    columns = {
        "id": [b"k".hex()],
        "list": [[1, 2]],
        "struct": [{"a": 1}],
        "bytes": [b"x"],
        "decimal": [Decimal("1.5")],
        "day": [START.date()],
    }
    ws.join(pa.table(columns), pa.table({"id": columns["id"]}), tmp_path / "log.parquet", on="id")
    row = pq.read_table(tmp_path / "log.parquet").to_pylist()
    assert row == [{**{name: values[0] for name, values in columns.items()}, "reward": 1.0}]


def test_two_tables_of_one_database_or_the_same_table_twice(tmp_path):
    table = pa.table({"id": [1, 1, 2], "at": [1_780_000_000, 1_780_000_050, 1_780_000_010], "kind": ["s", "c", "s"]})
    database = ibis.duckdb.connect(tmp_path / "shop.duckdb")
    database.create_table("shown", table)
    database.create_table("came", table)
    timed = {"on": "id", "impression_time": "at", "outcome_time": "at"}
    both, clicks = database.table("shown"), database.table("came").filter(ibis._.kind == "c")
    assert ws.join(both, both, tmp_path / "log.parquet", **timed).impressions.rewarded == 3
    assert ws.join(both, clicks, tmp_path / "log.parquet", **timed).impressions.rewarded == 1
    database.disconnect()
    names = {"impressions_table": "shown", "outcomes_table": "came"}
    file = tmp_path / "shop.duckdb"
    assert ws.join(file, file, tmp_path / "log.parquet", **timed, **names).impressions.rewarded == 3


def test_a_table_is_not_written_over(tmp_path):
    shown, clicks = shown_and_clicks()
    pq.write_table(shown, tmp_path / "shown.parquet")
    with pytest.raises(ws.UsageError, match="is an input"):
        ws.join(tmp_path / "shown.parquet", clicks, str(tmp_path / "shown.parquet"), on={"id": "click_of"})


def test_what_cannot_be_joined_is_refused_and_nothing_is_written(tmp_path):
    shown, clicks = shown_and_clicks()
    out = tmp_path / "log.parquet"
    nulls = pa.table({"id": ["a", None]})
    timed = {"impression_time": "at", "outcome_time": "at"}
    at = pa.table({"id": [1], "at": [START]})
    wrong = [
        (ws.ColumnError, "no column 'idd'", (shown, clicks), {"on": "idd"}),
        (ws.ColumnError, "is string in .* is int64", (shown, pa.table({"id": [1]})), {"on": "id"}),
        (ws.MissingValueError, "'id' in 1 row", (shown, nulls), {"on": "id"}),
        (ws.EmptyWindowError, "no rows", (shown, nulls.slice(0, 0)), {"on": "id"}),
        (ws.DataError, "column 'reward' of its own", (shown.append_column("reward", shown["ad"]), nulls), {"on": "id"}),
        (ws.DataError, "several impressions of one key have", (shown, pa.table({"page": ["p"]})), {"on": "page"}),
        (ws.DataError, "several outcomes", (shown, clicks), {"on": {"id": "click_of"}, "duplicates": "error"}),
        (ws.UsageError, "no outcome is the first", (shown, clicks), {"on": {"id": "click_of"}, "duplicates": "first"}),
        (ws.UsageError, "Duplicates cannot be", (shown, clicks), {"on": {"id": "click_of"}, "duplicates": "mean"}),
        (ws.UsageError, "needs times", (shown, clicks), {"on": {"id": "click_of"}, "window": "7d"}),
        (ws.UsageError, "both times", (shown, clicks), {"on": {"id": "click_of"}, "impression_time": "ad"}),
        (ws.UsageError, "no impression is too young", (at, at), {"on": "id", "until": "2026-10-01", **timed}),
        (ws.UsageError, "as a window", (at, at), {"on": "id", "window": "a week", **timed}),
        (ws.EmptyWindowError, "every impression is too young", (at, at), {"on": "id", "window": "1d", **timed}),
    ]
    for error, message, tables, options in wrong:
        with pytest.raises(error, match=message):
            ws.join(*tables, out, **options)
    with pytest.raises(ws.UsageError, match="does not end so"):
        ws.join(shown, clicks, tmp_path / "log.csv", on={"id": "click_of"})
    assert not list(tmp_path.iterdir())


def test_a_failed_join_leaves_the_earlier_file(tmp_path, duckdb, monkeypatch):
    shown, clicks = shown_and_clicks()
    out = tmp_path / "log.parquet"
    out.write_bytes(b"earlier")

    def broken(self, rows, **_):
        raise ws.EngineError("gone")
        yield

    monkeypatch.setattr(type(duckdb), "stream", broken)
    with pytest.raises(ws.EngineError):
        ws.join(shown, clicks, out, on={"id": "click_of"}, engine=duckdb, force=True)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("log.parquet", b"earlier")]


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("1.5h", 5400), ("30m", 1800), ("2w", 1_209_600)])
def test_windows_are_read(text, seconds):
    assert _microseconds(text, timed=True) == seconds * 1_000_000


@pytest.mark.parametrize("text", ["0d", "7", "7 days", "-1d", "٣d", "1e3d", "99999w"])
def test_what_is_no_window_is_refused(text):
    with pytest.raises(ws.UsageError):
        _microseconds(text, timed=True)


def test_the_command(tmp_path):
    (tmp_path / "shown.csv").write_text("id,page,ad,at\n1,p,a,2026-10-01 10:00:00\n2,p,b,2026-10-01 11:00:00\n")
    (tmp_path / "clicks.csv").write_text("request,when\n1,2026-10-02 09:00:00\n9,2026-10-20 09:00:00\n")
    command = ["join", "shown.csv", "clicks.csv", "--on", "id=request"]
    timed = ["--impression-time", "at", "--outcome-time", "when", "--window", "7d", "--out", "log.parquet"]
    ran = warmstart(*command, *timed, "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    sizes = {"read": 2, "with_nulls": 0, "too_young": 0, "written": 2, "rewarded": 1, "without_outcome": 0}
    assert said["impressions"] == sizes
    assert (said["outcomes"]["never_shown"], said["window_seconds"]) == (1, 604_800)
    ran = warmstart(*command, *timed, cwd=tmp_path)
    assert "of no impression" in ran.stdout
    assert "Next: warmstart audit log.parquet" in ran.stdout
    ran = warmstart(*command, "--out", "absent/log.parquet", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")


def test_delays_say_how_late_the_first_outcomes_came(tmp_path, engine):
    shown = table([("u", slot, 0, 0.0) for slot in range(5)], ("at", "number"))
    came = table(
        [("u", 0, 0, 1.0), ("u", 1, 1, 1.0), ("u", 1, 30, 1.0), ("u", 2, 5, 1.0), ("u", 3, 40, 1.0)], ("at", "w")
    )
    times = {"impression_time": "at", "outcome_time": "at", "engine": engine}
    found = ws.join(shown, came, tmp_path / "log.parquet", on=["user", "slot"], **times)
    told = {one.within_seconds: one.impressions for one in found.delays}
    # To the second an hour after counts as within an hour; a later outcome of the same impression does not count.
    assert told == {60: 1, 600: 0, 3600: 1, 21600: 1, 86400: 0, 259200: 1}
    assert (found.half_within, found.delay_table.rows[2]) == ("1 hour", ("within 1 hour", "1", "50.0%"))
    day = ws.join(shown, came, tmp_path / "day.parquet", on=["user", "slot"], window="1d", keep_young=True, **times)
    assert [one.within_seconds for one in day.delays] == [60, 600, 3600, 21600]
    shown, came = shown.drop_columns(["at"]), came.drop_columns(["at"])
    untimed = ws.join(shown, came, tmp_path / "untimed.parquet", on=["user", "slot"], engine=engine)
    assert (untimed.delays, untimed.delay_table, untimed.half_within) == ((), None, None)
