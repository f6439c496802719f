"""Which column is what, of logs with odd names and types; what is unclear is asked or refused, never guessed."""

import tomllib
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator

import warmstart as ws
from warmstart.pipeline import config_schema

N = 1_200


def shop(**more):
    """A log as somebody else might have it."""
    rng = np.random.default_rng(2)
    start = datetime(2026, 3, 1, tzinfo=UTC)
    return pa.table(
        {
            "Unnamed: 0": np.arange(N),
            "EventTime": [start + timedelta(minutes=11 * i) for i in range(N)],
            "visitorId": [f"u{i}" for i in rng.integers(0, 200, N)],
            "Customer Segment": rng.choice(["A", "B", "C"], N),
            "city": pa.array([None if i % 7 == 0 else "Oslo" for i in range(N)]),
            "creativeName": rng.choice(["red", "blue", "green"], N),
            "did_purchase": rng.integers(0, 2, N).astype(float),
            "dwell_seconds": rng.random(N) * 30,
            "age": rng.integers(18, 80, N),
            **more,
        }
    )


def chosen(proposal):
    return {one.role: list(one.columns) for one in proposal.roles if one.columns}


def test_a_log_with_odd_names_is_understood():
    proposal = ws.init(shop())
    assert chosen(proposal) == {
        "context": ["Customer Segment"],
        "action": ["creativeName"],
        "reward": ["did_purchase"],
        "time": ["EventTime"],
        "unit": ["visitorId"],
    }
    assert (proposal.events, proposal.contexts) == (N, 3)
    assert '# also = ["dwell_seconds"]' in proposal.toml
    assert any("Not in the context" in note and "age" in note for note in proposal.notes)
    assert proposal["context"].alternatives == ("age",)
    assert not proposal["context"].sure


def test_what_is_written_is_a_settings_file_that_evaluates(tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(shop(), tmp_path / "log.parquet")
    path = ws.init(tmp_path / "log.parquet").save(tmp_path / "warmstart.toml")
    assert not list(Draft202012Validator(config_schema()).iter_errors(tomllib.loads(path.read_text())))
    config = ws.read_config(path)
    result = ws.evaluate(config.policies, config.log.open(), tau=0.1)
    assert {one.policy for one in result} == {"constant:red", "constant:blue", "constant:green"}
    assert min(one.support.supported for one in result) == 1.0
    # As it was written it may be written again; edited by hand it is somebody's own.
    ws.init(tmp_path / "log.parquet").save(path)
    path.write_text(path.read_text() + "# mine\n")
    with pytest.raises(ws.UsageError, match="warmstart did not write it"):
        ws.init(tmp_path / "log.parquet").save(path)
    ws.init(tmp_path / "log.parquet").save(path, force=True)


@pytest.mark.parametrize(
    ("columns", "role", "expected"),
    [
        ({"ts": np.arange(N) * 60 + 1_780_000_000, "EventTime": ["x"] * N}, "time", ["ts"]),
        ({"EventTime": np.arange(N) // 100}, "time", ["EventTime"]),
        ({"EventTime": np.arange(N) % 100 / 100}, "time", []),
        ({"day": np.arange(N) // 100, "EventTime": ["x"] * N}, "time", ["day"]),
        ({"EventTime": [f"2026-03-{1 + i // 100:02} 10:00:00+02:00" for i in range(N)]}, "time", ["EventTime"]),
        ({"signup_date": [datetime(2026, 1, 1 + i % 28) for i in range(N)]}, "time", ["EventTime"]),
        ({"did_purchase": [bool(i % 3) for i in range(N)]}, "reward", ["did_purchase"]),
        ({"did_purchase": np.arange(N) % 2, "is_click": np.arange(N) % 2}, "reward", None),
        ({"pscore": [0.25, 0.5] * (N // 2)}, "propensity", ["pscore"]),
        ({"model_version": ["v1", "v2"] * (N // 2)}, "epoch", ["model_version"]),
        ({"request_id": [f"r{i}" for i in range(N)]}, "event_id", ["request_id"]),
        ({"creativeName": np.arange(N) % 4, "banner": ["x", "y"] * (N // 2)}, "action", None),
        ({"visitorId": np.arange(N)}, "unit", []),
        ({"visitorId": np.arange(N), "uid": np.arange(N) % 90}, "unit", ["uid"]),
        ({"Zeit": [f"{1 + i % 28}.03.2026 14:00" for i in range(N)], "EventTime": ["x"] * N}, "time", ["Zeit"]),
    ],
)
def test_candidates_are_taken_if_they_are_clear_and_refused_if_not(columns, role, expected):
    log = shop()
    for name, values in columns.items():
        if name in log.column_names:
            log = log.drop_columns([name])
        log = log.append_column(name, pa.array(values))
    if expected is not None:
        assert list(ws.init(log)[role].columns) == expected
        return
    with pytest.raises(ws.UsageError, match=f"not clear which column is the {role}"):
        ws.init(log)
    assert ws.init(log, accept=True)[role].alternatives
    assert ws.init(log, **{role: next(iter(columns))})[role].columns == (next(iter(columns)),)


def test_a_reward_of_text_is_refused_with_what_to_do():
    log = shop(clicked=["yes", "no"] * (N // 2)).drop_columns(["did_purchase"])
    with pytest.raises(ws.UsageError, match=r"is text .'no', 'yes'., and a reward is a number") as refused:
        ws.init(log)
    assert "log['clicked'].map({'yes': 1, 'no': 0})" in refused.value.hint
    both = log.append_column("is_bought", log["clicked"])
    with pytest.raises(ws.UsageError, match="not clear which column is the reward") as refused:
        ws.init(both)
    assert "'clicked': it says yes or no, as text: make it 1 and 0 first" in refused.value.hint


def test_a_range_is_asked_for_unless_the_reward_is_a_rating():
    log = shop().drop_columns(["did_purchase"])
    rated = log.append_column("rating", pa.array(1 + np.arange(N) % 5))
    assert "ranges = {rating = [1.0, 5.0]}" in ws.init(rated).toml
    earned = log.append_column("reward", pa.array(np.arange(N) * 0.5))
    with pytest.raises(ws.UsageError, match="not within 0 and 1") as refused:
        ws.init(earned)
    assert "--range reward=LOW:HIGH" in refused.value.hint
    assert "ranges = {reward = [0.0, 1000.0]}" in ws.init(earned, ask=lambda *_: "0:1000", context="city").toml


def test_what_is_unclear_is_asked():
    """Of what a log cannot do without, no guess is the answer that Enter gives."""
    asked = []

    def ask(question, choices, default):
        asked.append(question)
        if "unit" in question:
            return "none"
        assert bool(default) != ("action" in question or "reward" in question)
        return default or choices[0]

    log = shop(is_click=np.arange(N) % 2, household_id=[f"h{i % 90}" for i in range(N)])
    proposal = ws.init(log, ask=ask)
    assert len(asked) == 3
    assert proposal["unit"].columns == ()
    assert proposal["reward"].columns == ("is_click",)
    assert proposal["context"].sure
    with pytest.raises(ws.ColumnError, match="has no column 'nothing'"):
        ws.init(log, ask=lambda *_: "nothing")


def finnish(columns):
    """A log whose names init does not know, with some of these columns."""
    rng = np.random.default_rng(3)
    values = {
        "Aikaleima": [f"{1 + i % 28:02}.09.2026 {i % 24:02}:00" for i in range(N)],
        "Kauppa": rng.choice(["Ulm", "Berlin", "Bonn"], N),
        "Tarjous": rng.choice(["Rabatt", "Kein"], N),
        "tilattu": rng.integers(0, 2, N),
        "Summa": rng.random(N).round(2) * 40,
    }
    return pa.table({name: values[name] for name in columns.split()})


def test_the_context_is_asked_last_and_has_no_column_that_was_answered():
    asked = []

    def ask(question, choices, default):
        asked.append((question, default))
        return "Tarjous" if "action" in question else default

    proposal = ws.init(finnish("Aikaleima Kauppa Tarjous tilattu Summa"), reward="tilattu", ask=ask)
    assert [question.split("?")[0].split()[-1] for question, _ in asked] == ["action", "commas)"]
    assert asked[-1][1] == "Kauppa"
    assert chosen(proposal) == {
        "context": ["Kauppa"],
        "action": ["Tarjous"],
        "reward": ["tilattu"],
        "time": ["Aikaleima"],
    }


def test_an_answer_that_cannot_be_is_asked_again_with_why_and_the_others_are_kept():
    answers = iter(["Tarjouss", "tilattu", "Tarjous", "Kauppa,Tarjous", "Kaupa", "Kauppa"])
    asked = []

    def ask(question, choices, default):
        asked.append(question)
        return next(answers)

    proposal = ws.init(finnish("Kauppa Tarjous tilattu Summa"), reward="tilattu", ask=ask)
    assert chosen(proposal) == {"context": ["Kauppa"], "action": ["Tarjous"], "reward": ["tilattu"]}
    assert "Did you mean 'Tarjous'?" in asked[1]
    assert "Column 'tilattu' is given 2 times." in asked[2]
    assert "Column 'Tarjous' is given 2 times." in asked[4]
    assert "Did you mean 'Kauppa'?" in asked[5]


def test_a_range_that_is_none_is_asked_again():
    answers = iter(["100", "5:1", "0:100"])
    earned = shop(reward=np.arange(N) * 0.5).drop_columns(["did_purchase"])
    proposal = ws.init(earned, context="city", ask=lambda *_: next(answers))
    assert "ranges = {reward = [0.0, 100.0]}" in proposal.toml


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({"context": "creativeName", "action": "creativeName"}, "'creativeName' is given 2 times"),
        ({"action": "did_purchase", "reward": "did_purchase"}, "'did_purchase' is given 2 times"),
        ({"context": ["city", "city"]}, "'city' is given 2 times"),
        ({"epoch": "city", "context": "city"}, "'city' is given 2 times"),
        ({"also": "did_purchase", "reward": "did_purchase"}, "'did_purchase' is given 2 times"),
        ({"minimize": "dwell_seconds"}, "'dwell_seconds' is no outcome of the log"),
        ({"ranges": {"did_purchase": (1, 0)}}, "is not a range"),
    ],
)
def test_what_the_reader_would_refuse_is_refused_before_a_file_is_written(given, refused):
    with pytest.raises(ws.UsageError, match=refused):
        ws.init(shop(), **given)
    assert chosen(ws.init(shop(), unit="city", context="city"))["unit"] == ["city"]


def test_common_names_of_other_languages_are_known():
    log = finnish("Aikaleima Kauppa Tarjous tilattu Summa")
    german = log.rename_columns(["Zeitpunkt", "Filiale", "Angebot", "bestellt", "Umsatz"])
    german_names = {"context": ["Filiale"], "action": ["Angebot"], "reward": ["bestellt"], "time": ["Zeitpunkt"]}
    assert chosen(ws.init(german)) == german_names
    french = log.rename_columns(["Horodatage", "Magasin", "Offre", "Achat", "Montant"])
    assert chosen(ws.init(french)) == {
        "context": ["Magasin"],
        "action": ["Offre"],
        "reward": ["Achat"],
        "time": ["Horodatage"],
    }
    who = german.append_column("Kunden Nr", pa.array(np.arange(N) % 300))
    assert chosen(ws.init(who))["unit"] == ["Kunden Nr"]


def test_what_is_said_is_taken_and_checked():
    log = shop(when=np.arange(N) // 60)
    proposal = ws.init(log, context=["city", "age"], time="none", epoch="column:when", unit="none", drop_nulls=True)
    assert (proposal["time"].columns, proposal["unit"].columns) == ((), ())
    assert proposal["context"].columns == ("city", "age")
    assert 'epoch = "column:when"' in proposal.toml
    assert "drop_nulls = true" in proposal.toml
    with pytest.raises(ws.ColumnError, match="Did you mean 'city'"):
        ws.init(log, context="citty")


def test_rows_are_shown_as_they_are_understood_and_escaped():
    log = shop(page=["\x1b[31mred"] * (N // 2) + ["p"] * (N // 2))
    proposal = ws.init(log, context="page")
    assert len(proposal.rows) == 10
    assert proposal.header[:2] == ("time: EventTime", "context: page")
    assert "\x1b" not in str(proposal)
    assert r"\x1b[31mred" in str(proposal)


def test_an_empty_log_is_an_error():
    with pytest.raises(ws.EmptyWindowError, match="has no rows"):
        ws.init(shop().slice(0, 0))


def test_without_a_column_for_a_role_that_is_needed_nothing_is_taken_for_granted():
    numbers = pa.table({"x0": np.arange(N) / 7, "x1": np.arange(N) / 3, "y": np.arange(N) % 2})
    with pytest.raises(ws.UsageError, match="not clear which column is the action"):
        ws.init(numbers, context="x1", accept=True)


@pytest.mark.parametrize(
    ("times", "recipe"),
    [
        ([f"3/{1 + i % 28}/2026 2:00 PM" for i in range(N)], "format='%m/%d/%Y %I:%M %p'),"),
        ([f"3/{1 + i % 12}/2026" for i in range(N)], "'%d/%m/%Y') if days come first, by pandas.to_datetime"),
        ([f"{1 + i % 3:02}.01.25 08:00" for i in range(N)], "(log['EventTime'], format='%d.%m.%y %H:%M'),"),
        ([f"{1 + i % 28:02}-Nov-2024" for i in range(N)], "format='%d-%b-%Y'),"),
        ([f"Nov {1 + i % 28:02}, 2024 12:01 AM" for i in range(N)], "format='%b %d, %Y %I:%M %p'),"),
        ([20241101000100 + i % 28 * 1_000_000 for i in range(N)], "astype(str), format='%Y%m%d%H%M%S'),"),
        (np.arange(N) / 24 + 46_000.5, "(ISO 8601), or as integers"),
    ],
)
def test_times_that_cannot_be_read_are_named_and_are_no_context(times, recipe):
    proposal = ws.init(shop(EventTime=times))
    assert any(recipe in note for note in proposal.notes)
    assert proposal["time"].columns == ()
    assert not proposal["time"].sure
    assert proposal["time"].reason == "'EventTime' looks like a time and cannot be read"
    assert "EventTime" not in proposal["context"].columns + proposal["context"].alternatives
    assert any("'EventTime' looks like a time and cannot be read" in note for note in proposal.notes)
    assert not any("cannot be read" in note for note in ws.init(shop(EventTime=times), time="none").notes)


def test_a_reward_that_is_empty_where_nothing_came_of_it_is_to_be_filled():
    log = shop(did_purchase=[1.0 if i % 5 == 0 else None for i in range(N)])
    notes = ws.init(log, context="Customer Segment", reward="did_purchase").notes
    assert any("fill it with 0 first" in note for note in notes)
    assert not any("There are nulls" in note for note in notes)
    dropped = ws.init(log, context="Customer Segment", reward="did_purchase", drop_nulls=True).notes
    assert any("is the same in every event" in note for note in dropped)


def test_columns_named_as_features_come_before_others_in_the_context():
    few = {f"x{i}": np.arange(N) % 2 for i in range(8)}
    proposal = ws.init(shop(**few, user_feature_0=np.arange(N) // 7 % 4))
    assert proposal["context"].columns[:2] == ("Customer Segment", "user_feature_0")


def test_all_that_is_unclear_is_said_at_once():
    plain = pa.table({"rownames": np.arange(N), "first": ["a", "b"] * (N // 2), "second": ["x", "y", "y"] * (N // 3)})
    with pytest.raises(ws.UsageError, match="not clear which columns are the action and the reward") as refused:
        ws.init(plain.append_column("third", pa.array(np.arange(N) % 7)), context="third")
    assert refused.value.hint.startswith("Say so: --action COLUMN --reward COLUMN. The action may be 'first': ")
    assert "rownames" not in refused.value.hint.split("There are ")[0]


@pytest.mark.parametrize(("actions", "policies"), [(3, {"constants": "constants"}), (13, {"uniform": "uniform"})])
def test_of_few_actions_each_is_a_policy(actions, policies):
    toml = ws.init(shop(creativeName=[f"c{i % actions}" for i in range(N)])).toml
    assert tomllib.loads(toml)["policies"] == policies


def test_numbers_that_hardly_repeat_are_named_and_are_the_context_where_nothing_repeats():
    rng = np.random.default_rng(4)
    features = {f"f{i}": rng.normal(size=N) for i in range(3)}
    notes = ws.init(shop(**features)).notes
    assert any("Not in the context" in note and "f0, f1, f2" in note for note in notes)
    log = {"step": np.arange(N), **features, "arm": np.arange(N) % 4, "reward": np.arange(N) % 2}
    proposal = ws.init(pa.table(log))
    assert proposal["context"].columns == ("f0", "f1", "f2")
    assert not proposal["context"].sure
    assert any("propensities come from a model" in note for note in proposal.notes)
    assert ws.init(pa.table(log), ask=lambda *_: "f1")["context"].columns == ("f1",)
    with pytest.raises(ws.UsageError, match="No column looks like a context") as refused:
        ws.init(pa.table({name: log[name] for name in ("step", "arm", "reward")}))
    assert "log['everyone'] = 1" in refused.value.hint
    with pytest.raises(ws.UsageError, match="No column looks like a context"):
        ws.init(pa.table(log), context="none")


@pytest.mark.parametrize(
    ("values", "said", "hint"),
    [
        (["ja", "nein"], "'ja', 'nein'", "map({'ja': 1, 'nein': 0}), in SQL by CASE \"won\" WHEN 'ja' THEN 1"),
        (["ja", "nein", "NULL"], "'NULL', 'ja', 'nein'", "map({'ja': 1, 'nein': 0})"),
        (["1", "0", "?"], "'0', '1', '\\?'", "pandas.to_numeric(log['won'], errors='coerce')"),
        ([f"plan {i}" for i in range(15)], "'plan 0'", "(log['won'] == 'plan 0').where(log['won'].notna())"),
        (["$0.50", "$1,250.00"], "'\\$0.50'", "str.replace(r'[^0-9.-]', '', regex=True).astype"),
        (["0,50 €", "1.250,00 €"], "'0,50 €'", "str.replace(r'[^0-9,-]', '', regex=True).str.replace(',', '.')"),
        ([datetime(2026, 1, 1), datetime(2026, 1, 2)], "has type timestamp", "name another column"),
    ],
)
def test_a_reward_that_is_no_number_is_refused_though_it_was_named(values, said, hint):
    log = shop(won=(values * N)[:N]).drop_columns(["did_purchase"])
    with pytest.raises(ws.UsageError, match=f"The reward 'won' .*{said}") as refused:
        ws.init(log, reward="won")
    assert hint in refused.value.hint


def test_a_reward_with_words_for_null_needs_no_mending(tmp_path):
    rows = "".join(f"p{i % 3},v{i % 2},{('1', '0', 'NULL')[i % 3]}\n" for i in range(90))
    (tmp_path / "log.csv").write_text(f"page,Var.,did they?\n{rows}")
    proposal = ws.init(tmp_path / "log.csv", action="Var.", reward="did they?", context="page")
    [note] = [note for note in proposal.notes if "There are nulls" in note]
    assert "did they? in 33 % of the events" in note
    assert "an unknown reward is no failure" in note
    assert "fill the columns" not in note


def test_days_that_are_integers_are_times_and_numbers_of_tags_are_not():
    days = shop(Tag=np.arange(N) // 100).drop_columns(["EventTime"])
    assert ws.init(days)["time"].columns == ("Tag",)
    read = ws.init(days.append_column("shown at", pa.array([f"{1 + i % 3}-Nov-2024" for i in range(N)])))
    assert any("so that 'Tag' is taken for the time" in note and "'%d-%b-%Y'" in note for note in read.notes)
    assert ws.init(days.rename_columns({"Tag": "tag_id"}))["time"].columns == ()


def test_records_are_no_columns_and_how_to_flatten_them_is_said():
    nested = pa.table({"shown": [{"ad": "x"}, {"ad": "y"}] * 50, "page": ["p", "q"] * 50, "r": [0, 1] * 50})
    with pytest.raises(ws.UsageError, match="not clear which column is the action") as refused:
        ws.init(nested, context="page")
    assert "Make columns of what is in 'shown'" in refused.value.hint
    with pytest.raises(ws.ColumnError, match=r"'shown' has type struct.*cannot be the action"):
        ws.init(nested, action="shown")


def test_outcomes_of_the_same_kind_as_the_reward_are_no_context():
    kept = pa.table({"version": ["a", "b"] * 50, "retention_1": [True, False] * 50, "retention_7": [False, True] * 50})
    kept = kept.append_column("page", pa.array(["p", "q", "q", "q"] * 25))
    assert ws.init(kept, action="version", reward="retention_7")["context"].columns == ("page",)


def test_a_context_with_nulls_is_left_out_and_named():
    proposal = ws.init(shop(country=[None if i % 4 == 0 else "NO" if i % 3 else "SE" for i in range(N)]))
    assert proposal["context"].columns == ("Customer Segment",)
    assert any("for its nulls too: country in 25 % of the events" in note for note in proposal.notes)
    assert "# Not in the context, for their nulls: country" in proposal.toml
    given = ws.init(shop(country=["SE"] + [None] * (N - 1)), context="country")
    assert any("There are nulls: country" in note for note in given.notes)
