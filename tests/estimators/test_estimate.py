"""evaluate against the plain-Python reference, on every engine."""

import numpy as np
import pytest
from tests.support import reference
from tests.support.logs import churning_log, cut, decisions, moment, random_log, read, some_policy

import warmstart as ws
from warmstart.estimators.intervals import METHODS, Coefficients, TermSums, gain_ends, interval

CLOSE = 1e-9


def check(estimate, expected, train=None):
    raw = estimate.value if estimate.weight_ratio is None else estimate.weight_ratio.value
    assert raw == pytest.approx(expected["value"], abs=CLOSE)
    assert estimate.matched == expected["matched"]
    assert estimate.effective_sample_size == pytest.approx(expected["effective_sample_size"], abs=1e-6)
    for name, share in expected["support"].items():
        assert getattr(estimate.support, name) == pytest.approx(share, abs=CLOSE), name
    compared, share = estimate.gain.certified, expected["share"]
    assert compared.share == pytest.approx(expected["share"], abs=CLOSE)
    assert compared.contested == pytest.approx(expected["contested"], abs=CLOSE)
    assert compared.value == pytest.approx(expected["policy"], abs=CLOSE)
    assert compared.logging == pytest.approx(expected["logging"], abs=CLOSE)
    assert compared.difference == pytest.approx(share * expected["difference"], abs=CLOSE)
    assert compared.lower <= compared.difference <= compared.upper
    ends = gain_ends(reference.gain_sums(expected["gains"], expected["traffic"], train), estimate.delta)
    ends = tuple(share * end for end in ends)
    assert (compared.lower, compared.upper) == pytest.approx(ends, abs=1e-2 * (ends[1] - ends[0]) + 1e-6)


@pytest.mark.parametrize(
    "source", ["all", *(pytest.param(one, marks=pytest.mark.slow_on_spark) for one in ("counts", "train"))]
)
def test_every_number_equals_the_reference(engine, source):
    rows = random_log(1)
    train, test = cut(rows, 5)
    h = some_policy(rows)
    taus = [0.02, 0.3]
    events = read(rows, engine)
    early, late = events.split(at=moment(5))
    options = {"propensities": source, "estimators": ["ips"], "allow_unknown_actions": True}
    found = ws.evaluate({"mine": decisions(h)}, late, train=early, tau=taus, **options)
    weights = {"counts": None, "all": rows, "train": train}[source]
    for estimate, tau in zip(found, taus, strict=True):
        expected = reference.evaluate(test, h, tau, weights=weights)
        check(estimate, expected, train=train)
        if weights is None:
            assert estimate.weight_ratio is None
            assert estimate.propensity_error is None
        else:
            own = reference.evaluate(test, h, tau)["value"]
            assert estimate.weight_ratio.own_value == pytest.approx(own, abs=CLOSE)
            assert estimate.weight_ratio.mean == pytest.approx(expected["rho_mean"], abs=CLOSE)
            assert estimate.weight_ratio.above_one == pytest.approx(expected["rho_above_one"], abs=CLOSE)
            assert estimate.propensity_error.tight == pytest.approx(expected["tight"], abs=CLOSE)
            assert estimate.propensity_error.paper == pytest.approx(expected["paper"], abs=CLOSE)


@pytest.mark.parametrize(
    ("feasible_from", "live"),
    [
        ("train", True),
        *(pytest.param("all", live, marks=pytest.mark.slow_on_spark) for live in (True, False)),
        *(pytest.param("evaluated", live, marks=pytest.mark.slow_on_spark) for live in (True, False)),
        pytest.param("train", False, marks=pytest.mark.slow_on_spark),
    ],
)
def test_uniform_equals_the_reference(engine, live, feasible_from):
    rows = churning_log(2)
    train, test = cut(rows, 4)
    early, late = read(rows, engine).split(at=moment(4))
    options = {"feasible_from": feasible_from, "live": live, "estimators": ["ips"]}
    found = ws.evaluate("uniform", late, train=early, tau=0.1, **options)
    feasible = {"train": train, "evaluated": test, "all": rows}[feasible_from]
    h, other = (reference.uniform(feasible, test, rows if days else None) for days in (live, not live))
    assert h != pytest.approx(other)
    check(found["uniform"], reference.evaluate(test, h, 0.1), train=train)


@pytest.mark.slow_on_spark
def test_logging_is_the_plain_mean_reward_whatever_tau_and_weights(engine):
    rows = random_log(3)
    early, late = read(rows, engine).split(at=moment(5))
    test = cut(rows, 5)[1]
    mean = sum(r for _, _, r, _ in test) / len(test)
    for source in ("counts", "all", "train"):
        options = {"tau": [0.05, 0.9], "propensities": source, "estimators": ["ips"]}
        for estimate in ws.evaluate("logging", late, train=early, **options):
            assert estimate.value == pytest.approx(mean, abs=CLOSE)
            assert estimate.support.supported == pytest.approx(1)
            assert estimate.gain.certified.difference == pytest.approx(0, abs=CLOSE)
            assert estimate.effective_sample_size == pytest.approx(len(test))


@pytest.mark.slow_on_spark
def test_the_interval_of_logging_does_not_pay_for_tau(engine):
    loose, tight = ws.evaluate("logging", read(random_log(3), engine), tau=[0.9, 0.001], estimators=["ips"])
    assert (loose.lower, loose.upper) == (tight.lower, tight.upper)


@pytest.mark.slow_on_spark
def test_certified_ends_add_what_the_window_cannot_tell(engine):
    rows = random_log(4)
    h = some_policy(rows)
    options = {"estimators": ["ips"], "allow_unknown_actions": True}
    found = ws.evaluate({"mine": decisions(h)}, read(rows, engine), tau=0.2, **options)["mine"]
    lost = 1 - reference.evaluate(rows, h, 0.2)["kept"]
    assert 0.1 < lost < 0.9
    assert found.certified_lower == found.lower
    assert found.certified_upper == pytest.approx(min(found.upper + lost, 1), abs=CLOSE)


@pytest.mark.slow_on_spark
def test_certified_ends_use_the_windows_own_counts_whatever_the_weights(engine):
    early, late = read(random_log(5), engine).split(at=moment(5))
    options = {"tau": 0.05, "estimators": ["ips"]}
    own = ws.evaluate("uniform", late, train=early, **options)["uniform"]
    other = ws.evaluate("uniform", late, train=early, propensities="all", **options)["uniform"]
    assert other.weight_ratio.value != pytest.approx(own.value)
    assert other.weight_ratio.own_value == pytest.approx(own.value)
    assert other.certified_lower == pytest.approx(own.certified_lower)
    assert other.certified_upper == pytest.approx(own.certified_upper)


@pytest.mark.slow_on_spark
def test_an_approximate_interval_certifies_nothing(engine):
    found = ws.evaluate("uniform", read(random_log(5), engine), tau=0.05, interval="gamma")["uniform"]
    assert found.guarantee == "approximate"
    assert found.certified_lower is None
    assert found.certified_upper is None


@pytest.mark.slow_on_spark
def test_a_context_that_the_weights_window_never_saw_gets_no_propensity(engine):
    rows = [("old", "a", 1.0, 0), ("old", "b", 1.0, 0), ("new", "a", 1.0, 1), ("old", "a", 1.0, 1)]
    early, late = read(rows, engine).split(at=moment(1))
    options = {"propensities": "train", "estimators": ["ips"]}
    found = ws.evaluate("constant:a", late, train=early, tau=0.01, **options)["constant:a"]
    assert found.weight_ratio.value == pytest.approx((0 + 1 / 0.5) / 2)
    assert found.events == 2
    assert found.weight_ratio.above_one == pytest.approx(0.5)
    assert found.propensity_error.tight == pytest.approx(1.0)


@pytest.mark.slow_on_spark
def test_joint_ends_share_delta_among_all_rows_and_logging_is_one(engine):
    events = read(random_log(6), engine)
    policies, options = ["uniform", "constant:a0", "logging"], {"estimators": ["ips"]}
    several = ws.evaluate(policies, events, tau=[0.05, 0.5], delta=0.2, **options)["uniform"]
    alone = ws.evaluate("uniform", events, tau=0.05, delta=0.2 / 5, **options)["uniform"]
    assert several.joint_lower == pytest.approx(alone.lower)
    assert several.joint_upper == pytest.approx(alone.upper)
    assert several.joint_lower < several.lower


@pytest.mark.slow_on_spark
def test_rewards_on_another_scale_come_back_on_it(engine):
    rows = random_log(7)
    wide = [(x, a, 10 + 40 * r, day) for x, a, r, day in rows]
    early, late = read(rows, engine).split(at=moment(4))
    early_wide, late_wide = read(wide, engine, ranges={"reward": (10, 50)}).split(at=moment(4))
    plain, own = (
        ws.evaluate("uniform", late, train=early, tau=0.05, propensities=source)["uniform"]
        for source in ("all", "counts")
    )
    scaled, own_scaled = (
        ws.evaluate("uniform", late_wide, train=early_wide, tau=0.05, propensities=source)["uniform"]
        for source in ("all", "counts")
    )
    for name in ("value", "lower", "upper", "certified_lower", "certified_upper", "joint_lower"):
        assert getattr(own_scaled, name) == pytest.approx(10 + 40 * getattr(own, name)), name
    for name in ("value", "own_value"):
        assert getattr(scaled.weight_ratio, name) == pytest.approx(10 + 40 * getattr(plain.weight_ratio, name)), name
    assert scaled.certified_lower == pytest.approx(10 + 40 * plain.certified_lower)
    assert scaled.gain.certified.logging == pytest.approx(10 + 40 * plain.gain.certified.logging)
    for name in ("difference", "lower", "upper"):
        assert getattr(scaled.gain.certified, name) == pytest.approx(40 * getattr(plain.gain.certified, name)), name
    assert scaled.propensity_error.tight == pytest.approx(40 * plain.propensity_error.tight)
    assert vars(scaled.support) == pytest.approx(vars(plain.support))


@pytest.mark.slow_on_spark
def test_train_may_come_from_another_file(engine):
    rows = random_log(8)
    train, test = cut(rows, 4)
    together = read(rows, engine).split(at=moment(4))
    apart = read(train, "duckdb"), read(test, "duckdb")
    found = [
        ws.evaluate("uniform", t, train=e, tau=0.05, propensities="all").to_dict()["policies"]
        for e, t in (together, apart)
    ]
    for one, other in zip(*found, strict=True):
        assert one["weight_ratio"] == pytest.approx(other["weight_ratio"], abs=CLOSE)
        assert one["support"] == pytest.approx(other["support"], abs=CLOSE)


@pytest.mark.slow_on_spark
def test_without_a_reward_the_gain_may_still_be_anything_near_nothing(engine):
    rows = [(x, a, 0.0, day) for x, a, _, day in random_log(9)]
    found = ws.evaluate("constant:a1", read(rows, engine), tau=0.05, estimators=["ips"])["constant:a1"].gain.certified
    assert found.contested > 0
    assert found.lower < found.difference == 0 < found.upper
    assert found.guarantee == "finite-sample"


@pytest.mark.parametrize("tau", ["0.05", "high", [], [0.1, 0.1], 0, 1.5, None])
@pytest.mark.slow_on_spark
def test_a_wrong_tau_is_a_wrong_call(engine, tau):
    with pytest.raises(ws.UsageError, match="tau"):
        ws.evaluate("uniform", read(random_log(1), engine), tau=tau)


def test_events_must_have_been_read(tmp_path):
    with pytest.raises(ws.UsageError, match="read_events"):
        ws.evaluate("uniform", str(tmp_path), tau=0.1)


@pytest.mark.slow_on_spark
def test_taus_may_be_an_array_and_estimates_are_found_by_tau(engine):
    import numpy as np

    found = ws.evaluate("uniform", read(random_log(1), engine), tau=np.array([0.05, 0.5]))
    assert found["uniform", 0.5].tau == 0.5
    assert found["uniform"].tau == 0.05
    with pytest.raises(KeyError):
        found["uniform", 0.7]


@pytest.mark.slow_on_spark
def test_a_share_of_exactly_tau_is_supported(engine):
    rows = [("p", "a", 1.0, 0), ("p", "a", 0.0, 0), ("p", "b", 0.0, 0), ("p", "b", 0.0, 0)]
    found = ws.evaluate("constant:a", read(rows, engine), tau=0.5)["constant:a"]
    assert (found.support.supported, found.support.clipped) == (1, 0)
    assert found.gain.certified.difference == pytest.approx(0.5 - 0.25)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.slow_on_spark
def test_the_ends_are_those_of_the_windows_own_terms(engine, method):
    """Sums from the engine give the interval that the reference's terms and coefficients give."""
    rows, tau = random_log(10), 0.05
    h = some_policy(rows)
    found = ws.evaluate(
        {"mine": decisions(h)}, read(rows, engine), tau=tau, interval=method, allow_unknown_actions=True
    )["mine"]
    expected = reference.evaluate(rows, h, tau)
    terms, cs = expected["terms"], expected["coefficients"]
    rewards = [t / c if c else 0.0 for t, c in zip(terms, cs, strict=True)]
    sums = TermSums(
        *(len(rows), sum(terms), sum(t * t for t in terms), sum(cs), sum(c * c for c in cs), max(cs)),
        bound=1 / tau,
        coefficients=Coefficients(np.array(cs), np.ones(len(cs)), np.array(rewards)),
    )
    ends = interval(sums, method=method)
    # Bets know coefficients to a hundredth, and are planned with those; the bootstrap draws.
    loss = {"bets": 1e-2, "bootstrap": 2e-2}.get(method, 1e-6)
    assert (found.lower, found.upper) == pytest.approx((ends.lower, ends.upper), rel=loss)
    if found.certified_lower is not None:
        assert found.certified_lower == pytest.approx(found.lower)


@pytest.mark.slow_on_spark
def test_the_certified_upper_end_adds_what_the_windows_own_counts_lose(engine):
    """Training shows a 90 % of the time, the window 30 %: own counts support all of it, so nothing is added."""
    rows = [("p", "a" if i % 10 else "b", 0.0, 0) for i in range(2000)]
    rows += [("p", "a" if i % 10 < 3 else "b", 0.1, 1) for i in range(2000)]
    early, late = read(rows, engine).split(at=moment(1))
    own, other = (
        ws.evaluate("constant:a", late, train=early, tau=0.2, propensities=window)["constant:a"]
        for window in ("counts", "train")
    )
    assert own.certified_upper < 0.2
    assert other.certified_upper == pytest.approx(own.certified_upper)


@pytest.mark.slow_on_spark
def test_equal_shares_count_nothing_too_much(engine):
    rows = [("p", a, 0.5, day) for day in (0, 1) for a in ("a", "b", "b")]
    early, late = read(rows, engine).split(at=moment(1))
    found = ws.evaluate("constant:a", late, train=early, tau=0.1, propensities="train")["constant:a"]
    assert (found.weight_ratio.mean, found.weight_ratio.above_one) == (pytest.approx(1), 0)
