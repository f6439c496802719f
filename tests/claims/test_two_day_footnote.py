"""The paper's footnote: ad a1 on day one, a2 on day two. With weights from all data the estimate of a2 doubles and
that of a1 is zero; with weights from the evaluated window a2 is right, and a1 is reported as unsupported.
"""

import pytest
from tests.support.logs import moment, read

import warmstart as ws


@pytest.fixture(scope="module")
def days(engine):
    # Of ten events a day nobody could tell whether a mean weight of 2 is chance.
    rows = [("page", "a1", 1.0, 0)] * 20 + [("page", "a2", float(i < 8), 1) for i in range(20)]
    return read(rows, engine).split(at=moment(1))


@pytest.mark.slow_on_spark
def test_weights_from_all_data_double_what_the_second_day_showed(days):
    day_one, day_two = days
    found = ws.evaluate(["constant:a1", "constant:a2"], day_two, train=day_one, tau=0.01, propensities="all")
    assert found["constant:a1"].weight_ratio.value == 0
    assert found["constant:a2"].weight_ratio.value == pytest.approx(2 * 0.4)
    assert found["constant:a2"].weight_ratio.own_value == pytest.approx(0.4)
    assert found["constant:a2"].weight_ratio.mean == pytest.approx(2)
    assert found["constant:a2"].weight_ratio.above_one == pytest.approx(1)
    assert found["constant:a2"].propensity_error.tight == pytest.approx(1)
    assert (found["constant:a2"].value, found["constant:a2"].withheld) == (None, "WS105")


@pytest.mark.slow_on_spark
def test_weights_from_the_evaluated_window_are_right_and_say_what_they_cannot_tell(days):
    day_one, day_two = days
    found = ws.evaluate(["constant:a1", "constant:a2", "logging"], day_two, train=day_one, tau=0.01)
    assert found["constant:a2"].value == pytest.approx(0.4)
    assert found["logging"].value == pytest.approx(0.4)
    assert found["constant:a1"].support.unsupported == 1
    assert found["constant:a1"].certified_upper == 1
