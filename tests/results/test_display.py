"""What all results can do: print, show in a notebook, go to dictionaries, JSON, Arrow and pandas."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.logs import moment, random_log, read

import warmstart as ws
from warmstart import results
from warmstart.results import (
    ComparedSource,
    Decisions,
    Exported,
    Imported,
    Impressions,
    Outcomes,
    PropensityError,
    PropensitySource,
    WeightRatio,
)
from warmstart.results.display import Result, TextTable, fields_of, plain

HOSTILE = "<script>\x1b[31m"


@pytest.fixture(scope="module")
def evaluation():
    early, late = read(random_log(1), "duckdb").split(at=moment(4))
    return ws.evaluate(["logging", "uniform", "constant:a0"], late, train=early, tau=[0.05, 0.1])


@pytest.fixture(scope="module")
def everything(evaluation):
    about = {
        "events": 2,
        "unlabelled": 0,
        "contexts": 1,
        "actions": 2,
        "propensities": 0,
        "equal_actions": 0,
        "costs": {"low": 0.0, "high": 1.0, "rule": HOSTILE},
        "malformed": {"lines": 0, "first": []},
    }
    path = Path(f"{HOSTILE}.parquet")
    return {
        "evaluation": evaluation,
        "selection": ws.select(evaluation),
        "audit": ws.audit(read([(HOSTILE, a, 1.0, 0) for a in "aab"], "duckdb")),
        "comparison": ws.PropensityComparison((ComparedSource(HOSTILE, float("inf"), 0.5),), 7),
        "joined": ws.Joined(path, Impressions(5, 1, 1, 3, 2), Outcomes(4, 0, 1, 0, 0, 1, 2, 0), "first"),
        "exported": Exported(path, "vw-cb", 0.1, "counts", 3, 2, 2, 1),
        "imported": Imported(Path("folder"), about),
        "decisions": Decisions(path, 2, 3),
    }


def test_every_result_shows_the_same_in_a_terminal_and_a_notebook(everything):
    for name, result in everything.items():
        assert str(result) == repr(result), name
        texts = ["\n".join(result.headline), *(t.text() for t in result.tables), "\n".join(result.notes)]
        assert str(result) == "\n\n".join(filter(None, texts))
        assert result._repr_html_().count("<table") == len(result.tables)
        assert result._repr_html_().count("<p>") == len(result.headline) + len(result.notes)
        assert result.tables or result.notes, name


def test_nothing_that_a_result_shows_is_obeyed(everything):
    for name in ("joined", "exported", "decisions"):
        assert "\x1b" not in str(everything[name]), name
    for name, result in everything.items():
        assert "<script>" not in result._repr_html_(), name


def test_columns_that_go_below_have_the_first_one_again():
    """Of a table whose columns are all numbers, too."""
    table = TextTable("Plan", ("share", "events", "at worst"), [("1 %", "20,000", "-1"), ("5 %", "5,000", "-5")])
    below = table.fitted(16).split("\n\n")[1].splitlines()
    assert [line.split() for line in below] == [
        ["share", "at", "worst"],
        ["-----", "--------"],
        ["1", "%", "-1"],
        ["5", "%", "-5"],
    ]


def test_every_result_goes_to_json_with_the_version_of_its_schema(everything):
    for name, result in everything.items():
        found = json.loads(result.to_json())
        assert found == result.to_dict(), name
        assert list(found.items())[:2] == [("schema", 1), ("kind", result.kind())], name


def test_every_result_is_a_flat_table(everything):
    for name, result in everything.items():
        table = result.to_arrow()
        assert table.num_rows > 0, name
        assert not any(pa.types.is_nested(field.type) or pa.types.is_null(field.type) for field in table.schema), name
        assert list(result.to_pandas().columns) == table.column_names
        assert result.to_polars().columns == table.column_names


def test_an_evaluation_has_one_row_per_policy_and_tau(evaluation):
    frame = evaluation.to_pandas()
    assert len(frame) == len(evaluation) == 6
    for row, estimate in zip(frame.to_dict("records"), evaluation, strict=True):
        assert (row["policy"], row["tau"], row["value"]) == (estimate.policy, estimate.tau, estimate.value)
        assert (row["supported"], row["undecided"]) == (estimate.support.supported, estimate.support.undecided)
        certified, estimated = estimate.gain.certified, estimate.gain.estimated
        assert (row["certified_gain_lower"], row["contested"]) == (certified.lower, certified.contested)
        assert estimate.is_logging or row["estimated_gain_difference"] == estimated.difference
        assert (row["certified_lower"], row["certified_upper"]) == (estimate.certified_lower, estimate.certified_upper)
        assert row["best"] == estimate.best.value
        assert row["best_upper"] == estimate.best.upper or estimate.best.upper is None
        assert row["best_estimator"] == estimate.best.estimator == ("ips" if estimate.is_logging else "dr")


def test_columns_without_a_value_keep_their_type(duckdb):
    found = ws.evaluate("uniform", read(random_log(1), duckdb), tau=0.1, interval="bootstrap").to_arrow()
    assert found["certified_lower"].null_count == 1
    assert found.schema.field("certified_lower").type == pa.float64()
    none = ws.select(ws.evaluate("logging", read(random_log(1), duckdb), tau=0.1)).to_arrow()
    assert (none.schema.field("policy").type, none.schema.field("tau").type) == (pa.string(), pa.float64())


def test_an_audit_is_a_row_per_number(everything):
    audit = everything["audit"]
    rows = audit.to_pandas().set_index("name")["value"]
    assert rows["log.events"] == 3
    assert rows["power.tau"] == audit.power.tau
    assert rows["exploration.support.0.uniform"] == audit.exploration.support[0].uniform
    assert not any(name.startswith("explore.rows") for name in rows.index)
    assert "schema" not in rows.index
    assert everything["imported"].to_pandas().set_index("name")["value"]["events"] == 2


def test_the_best_estimate_is_in_the_json(evaluation):
    for row, estimate in zip(evaluation.to_dict()["policies"], evaluation, strict=True):
        assert row["best"] == row["estimates"][0] == fields_of(estimate.best)
        assert set(row["best"]) == {"estimator", "value", "lower", "upper", "on_model"}


def test_numbers_that_are_not_finite_are_null_wherever_they_are():
    broken = ComparedSource("x", float("nan"), float("-inf"))
    more = {"alarms": None, "detail": ""}
    assert plain([{"deep": (broken, float("inf"), 1.5)}]) == [
        {
            "deep": [
                {"name": "x", "log_loss": None, "without": None, "calibration": None, "noise": None} | more,
                None,
                1.5,
            ]
        }
    ]


def test_only_counts_of_the_evaluated_window_are_certified():
    sources = {name: PropensitySource(name, "r") for name in results.SOURCE_NAMES}
    assert set(sources) == {"counts", "train", "all", "back-off", "model", "mixture", "logged"}
    assert [name for name, source in sources.items() if source.certified] == ["counts"]
    assert [name for name, source in sources.items() if not source.notes] == ["counts", "train", "all"]


def test_an_evaluation_says_where_its_weights_come_from(evaluation):
    bent = {"weight_ratio": WeightRatio(1.5, 0.2, 0.6, 0.4), "propensity_error": PropensityError(0.4, 0.3)}
    policies = tuple(e if e.is_logging else replace(e, **bent) for e in evaluation)
    paper = replace(evaluation, policies=policies, propensities=PropensitySource("all", "as asked"))
    assert "Weights (inverse propensities) counted in all data (the paper's choice)." in paper.notes
    assert any("weight ratio" in table.header for table in paper.tables)
    assert "rho" not in str(paper)
    assert paper.to_dict()["propensities"]["name"] == "all"
    assert "Weights (inverse propensities) counted in the evaluated window." in evaluation.notes
    assert "weight ratio" not in str(evaluation)


def test_the_door_opens_to_every_result_and_to_nothing_else():
    for name in results.__all__:
        assert getattr(results, name) is not None
    public = {getattr(ws, name) for name in ws.__all__ if isinstance(getattr(ws, name), type)}
    kinds = {kind for kind in public if issubclass(kind, Result)}
    assert kinds == {cls for cls in Result.__subclasses__() if cls.__module__.startswith("warmstart.results")}
    with pytest.raises(AttributeError, match="nothing_here"):
        results.nothing_here  # noqa: B018
