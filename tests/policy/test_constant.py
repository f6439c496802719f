"""One action always."""

import pytest
from tests.support.logs import random_log, read

import warmstart as ws


@pytest.fixture(scope="module")
def events(engine):
    return read(random_log(1), engine)


@pytest.mark.slow_on_spark
def test_an_action_that_never_occurs_is_no_constant(events):
    with pytest.raises(ws.DecisionError, match="'a77' never occurs in 'action'"):
        ws.evaluate("constant:a77", events, tau=0.1)
