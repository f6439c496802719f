"""Policies in Python: functions, models, objects with a table, asked about distinct contexts."""

import functools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.support.logs import random_log, table

import warmstart as ws
from warmstart.policy import asked

ACTIONS = ["a0", "a1", "a2"]


def log(rows=400):
    """Two context columns, one of them a number, and what another model would have shown."""
    drawn = table(random_log(3, events=rows))
    rng = np.random.default_rng(3)
    shadow = pa.array([str(choice) for choice in rng.choice(ACTIONS, rows)])
    return drawn.append_column("hour", pa.array(rng.integers(0, 3, rows))).append_column("shadow", shadow)


def read(source, engine="duckdb", **options):
    return ws.read_events(
        source, context=["context", "hour"], action="action", reward="reward", engine=engine, **options
    )


@pytest.fixture(scope="module")
def events(engine):
    return read(log(), engine)


@pytest.fixture(scope="module")
def here():
    """The same log from a pandas frame, in this process: functions get pandas."""
    return read(log().to_pandas())


def evaluate(events, policy, **options):
    options = {"tau": 0.1, "trained_until": "never", **options}
    return ws.evaluate({"mine": policy}, events, **options)["mine"]


def numbers(estimate):
    gain = estimate.gain.certified
    return (
        estimate.value,
        estimate.lower,
        estimate.upper,
        estimate.best.value,
        gain.lower,
        *vars(estimate.support).values(),
    )


def by_hour(contexts):
    """One action per row of a frame of any library."""
    return [ACTIONS[hour] for hour in contexts["hour"].tolist()]


def in_arrow(contexts):
    return pa.array([ACTIONS[hour] for hour in contexts["hour"].to_pylist()])


def spread(contexts):
    """Probabilities by action; never-shown has none at all."""
    first = np.where(np.asarray(contexts["hour"]) == 0, 0.75, 0.25)
    return {"a0": first, "a1": 0.9 - first, "never-shown": np.zeros(len(first))}


class Model:
    """What imitates scikit-learn."""

    classes_ = np.array(ACTIONS)

    def predict(self, contexts):
        return np.array(ACTIONS)[np.asarray(contexts["hour"])]

    def predict_proba(self, contexts):
        return np.eye(3)[np.asarray(contexts["hour"])] * 0.5


class Whole:
    """The protocol, with a table that also has contexts that nobody asked about."""

    name = "whole"

    def table(self, contexts):
        frame = pd.DataFrame({"context": "x0", "hour": [0, 1, 2], "action": ACTIONS, "probability": 0.5})
        return frame if isinstance(contexts, pa.Table | pd.DataFrame) else pl.from_pandas(frame)


@pytest.fixture(scope="module")
def decided_here(here):
    """The numbers of the choices as a table."""
    return numbers(evaluate(here, decisions()))


def decisions(contexts="all"):
    names = [f"x{i}" for i in range(6)] if contexts == "all" else ["x0"]
    rows = [(x, hour, ACTIONS[hour]) for x in names for hour in range(3)]
    return pa.table(dict(zip(("context", "hour", "action"), map(list, zip(*rows, strict=True)), strict=True)))


@pytest.mark.slow_on_spark
def test_a_function_equals_its_decisions_as_a_frame_on_every_engine(events):
    function = in_arrow if events.log.origin.__class__ is pa.Table else by_hour
    assert numbers(evaluate(events, function)) == pytest.approx(numbers(evaluate(events, decisions())), rel=1e-9)


@pytest.mark.spark
@pytest.mark.parametrize(
    "policy",
    [
        in_arrow,
        "column:shadow",
        *(pytest.param(one, marks=pytest.mark.slow) for one in (Model().predict_proba, Whole())),
    ],
)
def test_engines_agree(spark, duckdb, policy):
    here, there = (numbers(evaluate(read(log(), engine), policy)) for engine in (duckdb, spark))
    assert there == pytest.approx(here, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "same",
    [
        Model(),
        Model().predict,
        lambda frame: pd.Series(by_hour(frame)),
        lambda frame: pd.Series(by_hour(frame)).sample(frac=1, random_state=1),
        lambda frame: pd.Series(by_hour(frame), dtype="category"),
        lambda frame: np.array(by_hour(frame), dtype=object).reshape(-1, 1),
        lambda frame: pl.Series(by_hour(frame)),
        lambda frame: iter(by_hour(frame)),
        lambda frame: {"context": frame["context"], "hour": frame["hour"], "action": by_hour(frame)},
        lambda frame: frame.join(pd.get_dummies(pd.Series(by_hour(frame))).astype(float)),
        lambda frame: pd.DataFrame({"action": by_hour(frame)}),
        lambda frame: frame.assign(action=by_hour(frame)).sample(frac=1, random_state=1),
        lambda frame: pd.get_dummies(pd.Series(by_hour(frame))).astype(float),
        functools.partial(lambda names, frame: [names[hour] for hour in frame["hour"]], ACTIONS),
        {(f"x{i}", hour): ACTIONS[hour] for i in range(6) for hour in range(3)},
        {(f"x{i}", hour): {ACTIONS[hour]: 1.0} for i in range(6) for hour in range(3)},
    ],
)
def test_forms_of_the_same_choices_have_the_same_value(here, decided_here, same):
    assert numbers(evaluate(here, same)) == pytest.approx(decided_here, rel=1e-9)


@pytest.mark.parametrize(
    "probabilities", [spread, lambda f: pd.DataFrame(spread(f)), lambda f: pl.DataFrame(spread(f))]
)
def test_probabilities_are_kept_sparsely(here, probabilities):
    chosen = ws.policy_table(probabilities, here).to_pandas()
    assert set(chosen.action) == {"a0", "a1"}
    assert chosen.probability.groupby([chosen.context, chosen.hour]).sum().to_numpy() == pytest.approx(0.9)
    assert evaluate(here, probabilities).support.undecided == pytest.approx(0.1)


def test_classes_name_the_columns_of_an_array(here):
    half = evaluate(here, Model().predict_proba)
    assert half.value == pytest.approx(evaluate(here, Model()).value / 2)
    with pytest.raises(ws.DecisionError, match=r"array of 3 columns, and does not say which actions.*classes_"):
        evaluate(here, lambda frame: np.eye(3)[frame["hour"]])


def test_an_object_with_the_protocol_brings_its_name(here):
    assert isinstance(Whole(), ws.Policy)
    result = ws.evaluate([Whole(), by_hour, Model()], here, tau=0.1)
    assert [one.policy for one in result.policies] == ["whole", "by_hour", "Model"]
    expected = decisions("x0").append_column("probability", pa.array([0.5] * 3))
    assert result["whole"].value == pytest.approx(evaluate(here, expected).value)


@pytest.mark.parametrize(
    ("given", "library"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("arrow", pa.Table)]
)
def test_the_frame_is_of_the_logs_library(given, library):
    source = {"pandas": log().to_pandas(), "polars": pl.from_arrow(log()), "arrow": log()}[given]
    seen = []

    def record(contexts):
        seen.append(contexts)
        return ["a0"] * len(contexts)

    evaluate(read(source), record)
    assert isinstance(seen[0], library)
    names = seen[0].column_names if given == "arrow" else list(seen[0].columns)
    assert names == ["context", "hour"]
    pairs = set(zip(log()["context"].to_pylist(), log()["hour"].to_pylist(), strict=True))
    assert sum(map(len, seen)) == len(pairs)


def test_models_with_predict_get_pandas_where_the_log_is_arrow():
    class Predicts:
        def predict(self, contexts):
            return contexts["hour"].map(dict(enumerate(ACTIONS)))

    assert evaluate(read(log()), Predicts()).matched > 0


def test_contexts_are_asked_about_in_chunks_with_progress(here, monkeypatch):
    monkeypatch.setattr(asked, "CHUNK", 5)
    sizes, steps = [], []

    def record(frame):
        sizes.append(len(frame))
        return by_hour(frame)

    found = evaluate(here, record, on_progress=lambda *step: steps.append(step))
    assert max(sizes) <= 5 < sum(sizes)
    assert numbers(found) == pytest.approx(numbers(evaluate(here, decisions())), rel=1e-9)
    shares = [share for step, share, *_ in (one for one in steps if len(one) > 1) if step == "asking mine"]
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.slow_on_spark
def test_features_of_a_table_of_contexts_come_along(events, tmp_path):
    described = pa.table({"hour": [0, 0, 1], "context": ["x0", "x1", "x0"], "score": [0.5, 2.0, 3.0]})

    def choose(contexts):
        known = contexts["score"].to_pylist()
        return pa.array([None if score is None else "a1" if score > 1 else "a0" for score in known])

    expected = pa.table({"context": ["x0", "x1", "x0"], "hour": [0, 0, 1], "action": ["a0", "a1", "a1"]})
    assert numbers(evaluate(events, choose, contexts=described)) == pytest.approx(numbers(evaluate(events, expected)))
    twice = pa.concat_tables([described, described])
    with pytest.raises(ws.DataError, match="two rows for one key"):
        evaluate(events, choose, contexts=twice)
    with pytest.raises(ws.ColumnError, match="the table of contexts has no column 'hour'"):
        evaluate(events, choose, contexts=described.drop_columns(["hour"]))


def test_nulls_are_undecided_and_gains_count_them_as_logging(here):
    half = evaluate(here, lambda frame: ["a0" if hour == 0 else None for hour in frame["hour"]])
    frame = decisions().filter(pa.compute.equal(decisions()["hour"], 0))
    assert numbers(half) == pytest.approx(numbers(evaluate(here, frame)))
    assert half.support.undecided > 0.5
    with pytest.raises(ws.DecisionError, match=r"'mine' decides no context.*All its choices are null"):
        evaluate(here, lambda frame: [None] * len(frame))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda _: ["a0"], r"was asked about 18 contexts and answered with 1 row\. Return one row"),
        (lambda frame: ["a0"] * 3 * len(frame), "answered with 54 rows.*'column:NAME'"),
        (lambda _: "a0", "no list, array or Series"),
        (lambda _: None, "no list, array or Series"),
        (lambda frame: [["a0"]] * len(frame), "rows of type list"),
        (lambda frame: frame["hour"], "actions of type int64, and those of the log are string"),
        (lambda frame: ["a0", 1, *frame["hour"][2:]], "holds no actions"),
        (
            lambda frame: ["ao"] * len(frame),
            r"chooses 1 action that the log never shows.*'ao'.*as in the log, which shows 'a0', 'a1'",
        ),
        (lambda frame: ["never_shown"] * len(frame), "the log never shows.*'never_shown'"),
        (lambda frame: pd.DataFrame({"a0": -0.5, "a1": 0.5}, index=frame.index), "probability of -0.5.*context = 'x0'"),
        (lambda frame: pd.DataFrame({"a0": np.nan}, index=frame.index), "a probability of nan"),
        (lambda frame: pd.DataFrame({"a0": 0.7, "a1": 0.7}, index=frame.index), r"sum to 1\.4 \(for context = 'x0', h"),
        (lambda frame: pd.DataFrame({"choice": by_hour(frame)}), "'choice', a column that holds no prob.*is 'action'"),
        (lambda frame: frame.set_index("hour")["context"], "another index"),
        (lambda frame: frame.assign(action="a0", probability=1.5), r"probability of 1\.5"),
    ],
)
def test_an_answer_that_is_none_is_refused(here, answer, message):
    with pytest.raises(ws.DecisionError, match=message) as raised:
        evaluate(here, answer)
    assert "'mine'" in str(raised.value)


def test_unknown_actions_may_be_allowed(here):
    found = evaluate(here, lambda frame: ["new"] * len(frame), allow_unknown_actions=True)
    assert found.support.unsupported == 1


def fails_late(contexts):
    values = contexts["hour"].to_pylist() if isinstance(contexts, pa.Table) else list(contexts["hour"])
    if 2 in values:
        raise ValueError("no such hour")
    return pa.array(["a0"] * len(values))


def test_an_exception_names_the_policy_and_the_first_contexts(events):
    with pytest.raises(
        ws.DecisionError, match=r"'mine' raised ValueError: no such hour \(for context = .*hour = 2"
    ) as e:
        evaluate(events, fails_late)
    # All of the chunk's first few, and no other.
    assert 2 <= str(e.value).count("hour = 2") <= 3
    assert str(e.value).count("hour = 2") == str(e.value).count("context = ")
    # From a worker of Spark the cause comes home in words.
    assert "no such hour" in str(e.value.__cause__)
    assert "ValueError" in repr(e.value.__cause__)
    assert "'context', 'hour'" in e.value.hint


class OddError(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


@pytest.mark.spark
def test_an_exception_of_a_worker_is_told_in_words(spark):
    def fails(contexts):
        raise OddError("some", "text")

    with pytest.raises(ws.DecisionError, match="raised OddError: some text") as raised:
        evaluate(read(log(), spark), fails)
    assert "OddError" in str(raised.value.__cause__)


def test_a_class_or_an_array_is_no_policy(here):
    with pytest.raises(ws.UsageError, match="is the class Model"):
        evaluate(here, Model)
    for nothing in (None, 3, {"a0"}):
        with pytest.raises(ws.UsageError, match="chooses nothing"):
            ws.evaluate(nothing, here)

    class Nameless:
        def table(self, contexts):
            return contexts

    with pytest.raises(ws.UsageError, match="also needs a name"):
        ws.evaluate(Nameless(), here)
    for array in (np.array(["a0"]), pd.Series(["a0"]), pl.Series(["a0"]), ["a0"]):
        with pytest.raises(ws.UsageError, match=r"does not say which context.*column:NAME"):
            evaluate(here, array)
    with pytest.raises(ws.UsageError, match=r"A list of actions does not say which context.*column:NAME"):
        ws.evaluate(["a0"] * 3, here)
    with pytest.raises(ws.WarmstartError, match="Did you mean 'uniform'"):
        ws.evaluate(["unifrom", "logging"], here)


def test_a_frame_is_a_frame_whatever_its_columns_are_called(here):
    odd = decisions().to_pandas().assign(name="x", table=1, predict=2, predict_proba=3)
    assert numbers(evaluate(here, odd)) == pytest.approx(numbers(evaluate(here, decisions())))


def test_a_scikit_learn_pipeline_is_a_policy(here):
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    frame = log().to_pandas()
    encode = make_column_transformer((OneHotEncoder(), ["context", "hour"]))
    model = make_pipeline(encode, DecisionTreeClassifier(max_depth=3, random_state=0))
    model.fit(frame[["context", "hour"]], frame["action"])
    contexts = frame[["context", "hour"]].drop_duplicates()
    chosen = contexts.assign(action=model.predict(contexts))
    assert numbers(evaluate(here, model)) == pytest.approx(numbers(evaluate(here, chosen)))
    spread = evaluate(here, model.predict_proba)
    assert spread.support.undecided == pytest.approx(0, abs=1e-9)
