"""Policies as tables, built once for all questions."""

import pytest
from tests.support.logs import decisions, moment, random_log, read

import warmstart as ws


@pytest.fixture(scope="module")
def events(engine):
    return read(random_log(1), engine)


def test_a_policy_table_sums_to_one_in_every_decided_context(events):
    early, late = events.split(at=moment(4))
    for policy, train in (("logging", None), ("uniform", early), ("constant:a1", None)):
        table = ws.policy_table(policy, late, train=train).to_pylist()
        sums = {}
        for row in table:
            sums[row["context"]] = sums.get(row["context"], 0) + row["probability"]
        assert set(sums) == {"x0", "x1", "x2", "x3", "x4", "x5"}
        assert max(sums.values()) == pytest.approx(1)


def test_choices_are_computed_once_for_all_questions_and_are_gone_after_an_error(duckdb, monkeypatch):
    events, kept, left = read(random_log(1), duckdb), [], set(duckdb.backend.list_tables())
    chosen = decisions({(f"x{i}", "a1"): 1.0 for i in range(6)})
    materialise = type(duckdb).materialise

    def counted(engine, expression):
        kept.append("probability" in expression.columns and "fold" not in expression.columns)
        return materialise(engine, expression)

    monkeypatch.setattr(type(duckdb), "materialise", counted)
    ws.evaluate({"mine": chosen}, events, tau=0.1, estimators=["dr"], contributions=3)
    assert sum(kept) == 1
    assert set(duckdb.backend.list_tables()) == left

    class Refuses:
        def fit(self, x, y, sample_weight=None):
            return self

        def predict(self, x):
            raise ArithmeticError("no")

        def get_params(self, deep=True):
            return {}

    with pytest.raises(ws.UsageError, match="Refuses failed: no"):
        ws.evaluate({"mine": chosen}, events, tau=0.1, estimators=["dr"], reward_model=Refuses())
    assert set(duckdb.backend.list_tables()) == left


@pytest.mark.slow_on_spark
def test_a_misspelt_keyword_is_told(events):
    with pytest.raises(ws.UsageError, match="Did you mean 'uniform'"):
        ws.evaluate("unifrom", events, tau=0.1)
    with pytest.raises(ws.UsageError, match="empty"):
        ws.evaluate("", events, tau=0.1)


@pytest.mark.slow_on_spark
def test_policy_table_is_for_one_policy_and_a_known_window(events):
    with pytest.raises(ws.UsageError, match="one policy"):
        ws.policy_table(["uniform", "logging"], events)
    with pytest.raises(ws.UsageError, match="feasible_from"):
        ws.policy_table("uniform", events, feasible_from="nonsense")
