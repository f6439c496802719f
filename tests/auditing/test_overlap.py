"""Where contexts do not repeat: audit and evaluate judge overlap by the same propensities, and say the same."""

import numpy as np
import pyarrow as pa
import pytest
from tests.support.unrepeated import FIXED, RANDOMISED, read_unrepeated, unrepeated_log

import warmstart as ws


def remark_of(found):
    return next(remark for remark in found.remarks if remark.code == "WS104")


@pytest.fixture(scope="module", params=["model", "logged"])
def randomised(request):
    log, p = unrepeated_log(RANDOMISED, events=3000)
    events = read_unrepeated(log, propensity="p" if request.param == "logged" else None)
    return request.param, events, p, ws.audit(events)


def test_of_a_randomised_logger_audit_says_what_evaluate_can_use(randomised):
    source, events, p, audit = randomised
    found = ws.evaluate("uniform-all", events, tau=[0.05, 0.1])
    assert found.propensities.name == source
    for estimate in found:
        at = next(at for at in audit.exploration.support if at.tau == estimate.tau)
        assert at.uniform == pytest.approx(estimate.support.supported, abs=1e-9)
        assert at.uniform == pytest.approx((p >= at.tau).mean(), abs=0.04)
    assert audit.exploration.overlap.remark == remark_of(found)
    assert audit.verdict[0].startswith("Other policies can be estimated, on 9")
    assert "Nothing is certified" in audit.verdict[0]
    assert ("a model cannot express" in audit.verdict[0]) == (source == "model")
    assert "Next to nothing" not in str(audit)
    assert "single action" not in audit.verdict[1]


@pytest.mark.parametrize("rate", [0.5, 0.98])
def test_tau_errors_and_the_width_of_an_interval_are_those_of_evaluate(rate):
    rng = np.random.default_rng(0)
    shown, rewards = rng.integers(0, 2, 2000), (rng.random(2000) < rate).astype(float)
    log = pa.table({"x": rng.random(2000), "a": [f"a{i}" for i in shown], "r": rewards})
    same_as_evaluate(ws.read_events(log, context="x", action="a", reward="r"))


def test_units_widen_it_by_as_much_and_ranges_scale_it():
    """Ten events a unit, days on which actions come and go, contexts that come twice, rewards from -5 to 5."""
    log, _ = unrepeated_log(RANDOMISED, events=2000)
    x = np.arange(2000) - (np.arange(2000) % 25 == 1)
    unit, late = np.arange(2000) // 10, np.arange(2000) >= 1001
    shown = np.random.default_rng(2).integers(0, 3, 2000) + late
    rewards = 10.0 * (np.random.default_rng(3).random(200) < 0.5)[unit] - 5
    times = 1_790_000_000 // 86_400 * 86_400 + 86_400 * late + np.arange(2000) % 80_000
    columns = {"x": x, "y": x / 7, "a": [f"a{i}" for i in shown], "r": rewards, "p": np.full(2000, 1 / 3)}
    log = pa.table({**columns, "u": unit, "t": times, "i": np.arange(2000)})
    names = {"propensity": "p", "time": "t", "ranges": {"r": (-5, 5)}}
    by_event, by_unit = (same_as_evaluate(read_unrepeated(log, **names, **more)) for more in ({}, {"unit": "u"}))
    assert by_unit > 2 * by_event


def same_as_evaluate(events):
    audit, estimate = ws.audit(events), ws.evaluate("uniform-all", events, estimators=["ips"])["uniform-all"]
    assert audit.exploration.overlap is not None
    assert audit.power.tau == estimate.tau
    [ips] = estimate.estimates
    assert audit.power.sampling == pytest.approx(ips.upper - ips.lower, abs=1e-9)
    at = next(at for at in audit.exploration.support if at.tau == estimate.tau)
    assert at.uniform == pytest.approx(estimate.support.supported, abs=1e-9)
    errors = {point.tau: point.error**2 for point in estimate.tau_choice.curve}
    for at in audit.exploration.support:
        assert at.error == pytest.approx(errors[at.tau], abs=1e-12)
    return audit.power.sampling


def test_choice_and_effective_actions_are_those_of_the_true_propensities(randomised):
    _, _, p, audit = randomised
    overlap = audit.exploration.overlap
    assert overlap.choice == pytest.approx((p.max(axis=1) <= 0.95).mean(), abs=0.02)
    entropy = -(p * np.log(p)).sum(axis=1).mean()
    assert overlap.effective_actions == pytest.approx(np.exp(entropy), rel=0.02)
    assert audit.power.contested == overlap.choice
    assert audit.power.smallest_gain is None


@pytest.mark.parametrize("actions", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_of_a_fixed_rule_both_say_that_there_is_no_overlap(actions):
    log, _ = unrepeated_log(FIXED, actions=actions)
    events = read_unrepeated(log)
    audit, found = ws.audit(events), ws.evaluate(["uniform-all", "constant:a0"], events, estimators=["ips"])
    assert audit.verdict[0].startswith("No overlap")
    assert remark_of(found).text == audit.verdict[0]
    assert remark_of(found).level == "warning"
    assert audit.verdict[2].startswith("Begin by exploring")


def test_a_logger_that_is_random_on_part_of_the_traffic_has_that_share_of_choice():
    """Logged propensities: 1 on 70 % of the events, a quarter each on the others."""
    log, _ = unrepeated_log(RANDOMISED, events=4000)
    some = np.arange(4000) % 10 < 3
    shown = np.where(some, np.random.default_rng(1).integers(0, 4, 4000), 0)
    for name, values in {"a": [f"a{i}" for i in shown], "p": np.where(some, 0.25, 1.0)}.items():
        log = log.set_column(log.column_names.index(name), name, [values])
    overlap = ws.audit(read_unrepeated(log, propensity="p")).exploration.overlap
    assert overlap.choice == pytest.approx(0.3, abs=1e-9)
    assert overlap.effective_actions == pytest.approx(4**0.3)
    assert not overlap.is_none


def test_live_actions_are_those_of_the_day(duckdb):
    """a0 and a1 on the first day, a2 and a3 on the second: half of the actions are live on each."""
    log, _ = unrepeated_log(RANDOMISED, events=2000)
    late = np.arange(2000) >= 1000
    shown = np.random.default_rng(2).integers(0, 2, 2000) + 2 * late
    log = log.set_column(2, "a", [[f"a{i}" for i in shown]]).set_column(5, "p", [np.full(2000, 0.5)])
    seconds = 1_790_000_000 // 86_400 * 86_400 + 86_400 * late + np.arange(2000) % 80_000
    events = read_unrepeated(log.append_column("t", pa.array(seconds)), duckdb, propensity="p", time="t")
    audit, found = ws.audit(events), ws.evaluate("uniform-all", events, tau=0.1)["uniform-all"]
    at = next(at for at in audit.exploration.support if at.tau == 0.1)
    assert at.uniform == pytest.approx(1, abs=1e-9)
    assert found.support.supported == pytest.approx(1, abs=1e-9)
    assert audit.exploration.live


def test_the_page_and_the_json_of_such_an_audit_hold_together(randomised, tmp_path):
    *_, audit = randomised
    ws.save_report(audit, tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text()
    assert "uniform-all is supported" in page
    assert audit.to_dict()["exploration"]["overlap"]["choice"] == audit.exploration.overlap.choice


def test_few_events_are_counted_by_both():
    log, _ = unrepeated_log(RANDOMISED, events=400)
    events = read_unrepeated(log)
    assert ws.audit(events).exploration.overlap is None
    assert ws.evaluate("constant:a0", events, tau=0.1).propensities.name == "counts"
    assert ws.audit(events).verdict[0].startswith("Next to nothing")


def test_a_rare_slip_of_a_rule_is_no_choice():
    """Logged propensities of .96, and of .04 where the other action slipped in: the likeliest leaves less than .05."""
    log, _ = unrepeated_log(RANDOMISED, events=1000, actions=2)
    slips = np.arange(1000) % 25 == 0
    log = log.set_column(2, "a", [np.where(slips, "a1", "a0")]).set_column(5, "p", [np.where(slips, 0.04, 0.96)])
    overlap = ws.audit(read_unrepeated(log, propensity="p")).exploration.overlap
    assert overlap.choice == pytest.approx(0, abs=1e-9)
    assert overlap.is_none
