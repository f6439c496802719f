"""Segments: each is valued as the log of that segment alone would be, at the same tau; bounds share delta."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.support.outcome_logs import columns, kept, read, same

import warmstart as ws
from warmstart import UsageError

JOINT = ("joint_lower", "joint_upper")
ABOUT = ("segment", "share", "tau_choice")
OPTIONS = {"tau": 0.2, "live": False, "estimators": ["ips", "snips"]}
DECISIONS = {(f"p{i}", c): f"a{(i + len(c + 'h' * (c > 'at'))) % 3}" for i in range(4) for c in ("at", "be", "ch")}
CASES = {
    "counts": ({}, {}),
    "units that cross segments": ({"unit": "visitor"}, {}),
}


def by_country(log):
    return {country: kept(log, [one == country for one in log["country"]]) for country in ("at", "be", "ch")}


@pytest.mark.parametrize("case", CASES)
def test_a_segment_is_valued_as_the_log_of_it_alone(case, duckdb):
    reading, settings = CASES[case]
    log = columns()
    policies = ["logging", "constant:a1"]
    found = ws.evaluate(policies, read(log, engine=duckdb, **reading), by="country", **OPTIONS | settings)
    assert [(one.policy, one.segment) for one in found.segments] == [
        (policy, (country,)) for policy in policies for country in ("at", "be", "ch")
    ]
    for country, part in by_country(log).items():
        events = read(part, engine=duckdb, **reading)
        alone = ws.evaluate(policies, events, **OPTIONS | settings)
        # Two looks, three segments; and half for what is told of all traffic.
        joint = ws.evaluate(policies, events, delta=0.05 / (2 * 2 * 3), **OPTIONS | settings | {"estimators": ()})
        own = [one for one in found.segments if one.segment == (country,)]
        for one, other, shared in zip(own, alone, joint, strict=True):
            same(one, other, leave=(*ABOUT, *JOINT, "doubt"))
            assert one.share == pytest.approx(len(part["ad"]) / 600)
            assert (one.joint_lower, one.joint_upper) == pytest.approx((shared.lower, shared.upper), abs=1e-12)
            if one.gain.certified is not None and one.gain.certified.lower is not None:
                gain, reference = one.gain.certified, shared.gain.certified
                ends = reference.lower, reference.upper
                assert (gain.joint_lower, gain.joint_upper) == pytest.approx(ends, abs=1e-12)
                assert one.doubt is None or (one.doubt.lower, one.doubt.upper) == pytest.approx(ends, abs=1e-12)


def test_what_is_told_of_all_traffic_shares_delta_with_segments(duckdb):
    events = read(columns(), engine=duckdb)
    found = ws.evaluate("constant:a1", events, by=["country", "page"], **OPTIONS)
    half = ws.evaluate("constant:a1", events, delta=0.025, **OPTIONS).policies[0]
    [one] = found
    assert (one.joint_lower, one.gain.certified.joint_lower) == pytest.approx(
        (half.lower, half.gain.certified.lower), abs=1e-12
    )
    assert {one.segment for one in found.segments} == {(c, f"p{i}") for c in ("at", "be", "ch") for i in range(4)}
    assert sum(one.share for one in found.segments) == pytest.approx(1)


SHARED_BEFORE = {
    "training": ({"time": "at"}, True),
    "epochs": ({"time": "at", "epoch": "day"}, False),
    "units in epochs": ({"time": "at", "epoch": "day", "unit": "user"}, False),
    "units and training": ({"time": "at", "unit": "user"}, True),
}


@pytest.mark.parametrize(
    "case",
    ["training", "units in epochs", *(pytest.param(c, marks=pytest.mark.slow) for c in list(SHARED_BEFORE)[1::2])],
)
def test_a_segment_gains_what_deciding_there_alone_gains(case, duckdb):
    """What was known before is of all traffic, so that the reference is a policy that says nothing elsewhere."""
    reading, split = SHARED_BEFORE[case]
    events = read(columns(), engine=duckdb, **reading)
    train, events = events.split(fraction=0.4) if split else (None, events)
    tables = {"all": DECISIONS} | {c: {k: a for k, a in DECISIONS.items() if k[1] == c} for c in ("at", "be", "ch")}
    policies = {name: decided(table) for name, table in tables.items()}
    options = OPTIONS | {"estimators": (), "train": train, "trained_until": "never"}
    found = ws.evaluate({"all": policies.pop("all")}, events, by="country", delta=0.06, **options)
    alone = ws.evaluate(policies, events, delta=0.06, **options)
    joint = ws.evaluate(policies, events, delta=0.01, **options)
    for one in found.segments:
        other, shared = (e[one.segment[0]].gain.certified for e in (alone, joint))
        gain = one.gain.certified
        scaled = [one.share * end for end in (gain.difference, gain.lower, gain.upper)]
        assert scaled == pytest.approx([other.difference, other.lower, other.upper], abs=1e-9)
        ends = [one.share * end for end in (gain.joint_lower, gain.joint_upper)]
        # The three policies of the reference are told one by one, each at a sixth of delta.
        assert ends == pytest.approx([shared.lower, shared.upper], abs=1e-9)


def decided(table):
    import pyarrow as pa

    keys = list(table)
    return pa.table({"page": [p for p, _ in keys], "country": [c for _, c in keys], "ad": list(table.values())})


def test_per_unit_segments_have_exact_shares(duckdb):
    log = columns()
    found = ws.evaluate("constant:a1", read(log, unit="visitor", engine=duckdb), per="unit", by="country", **OPTIONS)
    visits = {v: sum(1 for one in log["visitor"] if one == v) for v in set(log["visitor"])}
    for one in found.segments:
        events = zip(log["visitor"], log["country"], strict=True)
        weight = sum(1 / visits[v] for v, c in events if c == one.segment[0])
        assert one.share == pytest.approx(weight / len(visits), abs=1e-12)
    whole = found.policies[0].gain.certified.difference
    assert sum(one.share * one.gain.certified.difference for one in found.segments) == pytest.approx(whole)


@pytest.mark.parametrize(
    ("by", "words"),
    [(["country", "page", "ad"], "at most 2"), (["page", "page"], "twice"), (["land"], "land"), (["click"], "click")],
)
def test_columns_that_tell_no_segments_apart_are_refused(by, words, duckdb):
    with pytest.raises((UsageError, ws.ColumnError), match=words) as refused:
        ws.evaluate("uniform", read(columns(), engine=duckdb), by=by)
    assert refused.value.exit_code in (1, 2)


def test_too_many_segments_are_refused(duckdb):
    log = columns()
    log["page"] = [i % 61 for i in range(600)]
    with pytest.raises(UsageError, match="61 segments"):
        ws.evaluate("logging", read(log, engine=duckdb), by="page")


@pytest.mark.slow_on_spark
@pytest.mark.parametrize("kind", ["number", "day", "truth", "moment"])
def test_segments_of_any_kind_of_key(kind, engine):
    from datetime import UTC, date, datetime

    of = {
        "number": lambda c: {"at": 0.1, "be": -2.5, "ch": 7.0}[c],
        "day": lambda c: date(2026, 1, ord(c[1]) - 90),
        "truth": lambda c: c == "at",
        "moment": lambda c: datetime(2026, 1, ord(c[1]) - 90, 12, tzinfo=UTC),
    }[kind]
    log = columns(events=200)
    log["country"] = [of(c) for c in log["country"]]
    found = ws.evaluate("constant:a1", read(log, engine=engine), by="country", tau=0.2, estimators=[])
    assert len(found.segments) == len(set(log["country"]))
    assert sum(one.events for one in found.segments) == 200
    assert sum(one.share * one.value for one in found.segments) == pytest.approx(found.policies[0].value)


class TestColumnsOutsideTheContext:
    """They join the context of the whole evaluation; what is no keyword goes on choosing by the log's own."""

    DECISIONS = pa.table({"page": [0, 1, 2], "ad": [1, 1, 0]})

    def log(self):
        rng = np.random.default_rng(8)
        page, ad, country = rng.integers(0, 3, 900), rng.integers(0, 2, 900), rng.choice(["de", "fr"], 900)
        click = rng.random(900) < 0.2 + 0.3 * ad * (country == "de")
        return pa.table({"page": page, "country": country, "ad": ad, "click": click})

    def test_it_is_as_if_it_had_been_part_of_the_context(self, duckdb):
        names = {"action": "ad", "reward": "click", "engine": duckdb}
        outside = ws.read_events(self.log(), context="page", **names)
        inside = ws.read_events(self.log(), context=["page", "country"], **names)
        both = self.DECISIONS.to_pandas().merge(pd.DataFrame({"country": ["de", "fr"]}), how="cross")
        options = {"by": "country", "tau": 0.05, "trained_until": "never"}
        joined = ws.evaluate({"d": self.DECISIONS, "u": "uniform"}, outside, **options)
        known = ws.evaluate({"d": both, "u": "uniform"}, inside, **options)
        assert [remark.code for remark in joined.remarks] == ["WS206"]
        assert not known.remarks
        for own, expected in zip((*joined.policies, *joined.segments), (*known.policies, *known.segments), strict=True):
            assert own.segment == expected.segment
            assert own.certified_lower == pytest.approx(expected.certified_lower, abs=1e-9)
            assert own.best.value == pytest.approx(expected.best.value, abs=1e-9)
            assert own.gain.certified.joint_lower == pytest.approx(expected.gain.certified.joint_lower, abs=1e-9)

    def test_functions_get_the_contexts_that_were_named(self, duckdb):
        events = ws.read_events(self.log(), context="page", action="ad", reward="click", engine=duckdb)
        asked = []

        def chooses(contexts):
            asked.append(list(contexts.to_pandas().columns) if hasattr(contexts, "to_pandas") else list(contexts))
            return [1] * len(contexts)

        result = ws.evaluate({"f": chooses, "c": "constant:1"}, events, by="country", tau=0.05)
        assert asked == [["page"]]
        assert result["f"].value == pytest.approx(result["c"].value, abs=1e-9)

    def test_a_column_of_a_table_of_contexts_changes_nothing_else(self, duckdb):
        events = ws.read_events(self.log(), context="page", action="ad", reward="click", engine=duckdb)
        contexts = pa.table({"page": [0, 1], "kind": ["even", "odd"]})
        plain = ws.evaluate("constant:1", events, tau=0.05)["constant:1"]
        result = ws.evaluate("constant:1", events, tau=0.05, by="kind", contexts=contexts)
        assert result["constant:1"].value == pytest.approx(plain.value, abs=1e-9)
        page = self.log()["page"].to_numpy()
        sizes = {one.segment: one.events for one in result.segments}
        assert sizes == {("even",): (page == 0).sum(), ("odd",): (page == 1).sum(), ("(none)",): (page == 2).sum()}

    @pytest.mark.parametrize("column", ["click", "ad"])
    def test_what_is_known_after_acting_is_no_segment(self, duckdb, column):
        events = ws.read_events(self.log(), context="page", action="ad", reward="click", engine=duckdb)
        with pytest.raises(ws.UsageError, match="after acting"):
            ws.evaluate("constant:1", events, by=column)
