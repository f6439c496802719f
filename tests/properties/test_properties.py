"""What must hold of any log and any policy: on DuckDB, and of Spark that it gives the same."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples_of, in_many, of_any
from tests.support.logs import decisions, read

import warmstart as ws
from warmstart.events import open_cells

CONTEXTS, ACTIONS = ["p", "q", "r"], ["a", "b", "c"]
event = st.tuples(
    st.sampled_from(CONTEXTS), st.sampled_from(ACTIONS), st.sampled_from([0.0, 0.25, 1.0]), st.integers(0, 5)
)
logs = st.lists(event, min_size=1, max_size=40)
taus = st.sampled_from([0.01, 0.1, 0.3, 0.5, 1.0])


@st.composite
def policies(draw):
    """Probabilities over the actions and one never shown, summing to at most 1; at least one context decided."""
    h = {}
    for x in draw(st.lists(st.sampled_from(CONTEXTS), min_size=1, unique=True)):
        parts = draw(st.lists(st.integers(0, 4), min_size=5, max_size=5).filter(lambda p: sum(p[:4]) > 0))
        for a, part in zip([*ACTIONS, "never"], parts, strict=False):
            if part:
                h[x, a] = part / sum(parts)
    return h


def evaluated(rows, policies, engine, tau, **options):
    """Policies on a log; None where they decide none of its contexts."""
    everywhere = {name: decisions({**h, ("elsewhere", "a"): 1.0}) for name, h in policies.items()}
    options |= {"tau": tau, "estimators": ["ips"], "allow_unknown_actions": True}
    try:
        return ws.evaluate(everywhere, read(rows, engine), **options)
    except ws.DecisionError:
        assert not {x for x, *_ in rows} & {x for h in policies.values() for x, _ in h}
        return None


def estimate(rows, h, engine, tau, **options):
    found = evaluated(rows, {"h": h}, engine, tau, **options)
    return found and found["h"]


@pytest.mark.slow
@pytest.mark.spark
@examples_of(25)
@given(rows=logs, h=policies(), tau=taus, earlier=st.none() | logs)
def test_spark_gives_what_duckdb_gives(spark, duckdb, rows, h, tau, earlier):
    """The cells, and every number of the estimate, with weights from the window or from an earlier one.

    So what holds of the one, below and in the claims of the paper, holds of the other.
    """
    of_spark, of_duckdb = cells(rows, spark), cells(rows, duckdb)
    assert of_spark.keys() == of_duckdb.keys()
    assert all(of_spark[key] == pytest.approx(of_duckdb[key]) for key in of_duckdb)
    one, other = (
        estimate(rows, h, engine, tau, **({} if earlier is None else weights_of(earlier, engine)))
        for engine in (duckdb, spark)
    )
    assert (one is None) == (other is None)
    if one is not None:
        assert numbers(other) == pytest.approx(numbers(one), rel=1e-9, abs=1e-12, nan_ok=True)


def weights_of(earlier, engine):
    train = [(x, a, r, day - 9) for x, a, r, day in earlier]
    return {"train": read(train, engine), "propensities": "train"}


def numbers(found):
    ends = ("lower", "upper", "joint_lower", "joint_upper", "certified_lower", "certified_upper")
    own = [getattr(found, name) for name in ("value", "events", "matched", *ends)]
    certified = found.gain.certified
    gains = [certified.difference, certified.lower, certified.upper]
    return [math.nan if value is None else value for value in (*own, *gains, *vars(found.support).values())]


@of_any(rows=logs, h=policies(), tau=taus)
def test_support_shares_sum_to_one_and_the_interval_contains_the_value(duckdb, rows, h, tau):
    found = estimate(rows, h, duckdb, tau)
    if found is None:
        return
    assert sum(vars(found.support).values()) == pytest.approx(1)
    assert all(0 <= share <= 1 + 1e-12 for share in vars(found.support).values())
    assert 0 <= found.lower <= found.value + 1e-12
    assert found.value <= found.upper + 1e-12
    assert found.joint_lower <= found.lower
    assert found.certified_lower <= found.certified_upper
    assert found.events == len(rows)


@of_any(rows=logs, h=policies(), seed=st.randoms(use_true_random=False))
def test_the_order_of_events_changes_nothing(duckdb, rows, h, seed):
    shuffled = rows.copy()
    seed.shuffle(shuffled)
    one, other = (estimate(r, h, duckdb, 0.2) for r in (rows, shuffled))
    assert (one is None) == (other is None)
    if one is not None:
        assert other.value == pytest.approx(one.value, abs=1e-12)
        assert other.gain.certified.difference == pytest.approx(one.gain.certified.difference, abs=1e-12)


@of_any(rows=logs, h=policies(), pair=st.lists(taus, min_size=2, max_size=2, unique=True).map(sorted))
def test_the_value_falls_as_tau_grows(duckdb, rows, h, pair):
    low, high = pair
    found = evaluated(rows, {"h": h}, duckdb, [low, high])
    if found is not None:
        smaller, larger = found
        assert (smaller.tau, larger.tau) == (low, high)
        assert larger.value <= smaller.value + 1e-12
        assert larger.support.supported <= smaller.support.supported + 1e-12


@of_any(rows=logs, h=policies(), tau=taus)
def test_renaming_actions_changes_nothing(duckdb, rows, h, tau):
    names = {"a": "zz 'quoted'", "b": "a", "c": "", "never": "ever"}
    renamed = estimate(
        [(x, names[a], r, d) for x, a, r, d in rows], {(x, names[a]): p for (x, a), p in h.items()}, duckdb, tau
    )
    found = estimate(rows, h, duckdb, tau)
    assert (renamed is None) == (found is None)
    if found is not None:
        assert renamed.value == pytest.approx(found.value, abs=1e-12)
        assert vars(renamed.support) == pytest.approx(vars(found.support))


@of_any(rows=logs, h=policies(), tau=taus)
def test_the_interval_shrinks_with_more_of_the_same_events(duckdb, rows, h, tau):
    found, longer = estimate(rows, h, duckdb, tau), estimate(rows * 4, h, duckdb, tau)
    if found is not None:
        assert longer.value == pytest.approx(found.value)
        assert longer.lower >= found.lower - 1e-12
        assert longer.upper <= found.upper + 1e-12
        assert longer.support.supported == pytest.approx(found.support.supported)


@of_any(rows=logs, day=st.integers(1, 5))
def test_sums_over_parts_add_up_to_the_whole(duckdb, rows, day):
    parts = [[row for row in rows if row[3] < day], [row for row in rows if row[3] >= day]]
    totals = {}
    for part in filter(None, parts):
        for key, sums in cells(part, duckdb).items():
            totals[key] = tuple(a + b for a, b in zip(totals.get(key, (0, 0, 0)), sums, strict=True))
    whole = cells(rows, duckdb)
    assert totals.keys() == whole.keys()
    assert all(totals[key] == pytest.approx(whole[key]) for key in whole)


def cells(rows, engine):
    with open_cells(read(rows, engine)) as found:
        table = engine.fetch(found.table)
    return {(row["context_0"], row["action"]): (row["n"], row["reward_sum"], row["reward_sq_sum"]) for row in table}


@of_any(rows=logs, h=policies(), extra=st.lists(st.tuples(st.text(max_size=3), st.sampled_from(ACTIONS)), max_size=5))
def test_a_join_never_changes_the_number_of_events(duckdb, rows, h, extra):
    """Decisions for contexts that the window lacks add nothing, and contexts without a decision still count."""
    more = h | {(f"new {x}", a): 0.2 for x, a in extra}
    both = evaluated(rows, {"h": h, "wider": more}, duckdb, 0.2)
    if both is not None:
        found, wider = both["h"], both["wider"]
        assert wider.events == found.events == len(rows)
        assert wider.value == pytest.approx(found.value, abs=1e-12)
        assert vars(wider.support) == pytest.approx(vars(found.support))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, test in list(globals().items()) if hasattr(test, "in_many")])
def test_every_property_in_many_examples(name, duckdb):
    in_many(globals()[name], duckdb=duckdb)
