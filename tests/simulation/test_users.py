"""Users of simulated logs: how often they come, and settings that make no sense."""

import numpy as np
import pytest

import warmstart as ws

HEAVY = ws.UserSettings(visits=20, heavy_users=50, heavy_visits=400, heavy_rate=0.5)
EVENTS = 50_010


def test_heavy_users_come_first_and_the_last_user_has_the_rest():
    users = HEAVY.draw(EVENTS, np.random.default_rng(0))
    visits = np.bincount(users)
    assert len(users) == EVENTS
    assert len(visits) == HEAVY.count(EVENTS) == 50 + 1_500 + 1
    assert visits[:50].tolist() == [400] * 50
    assert visits[50:-1].tolist() == [20] * 1_500
    assert visits[-1] == 10


def test_visits_are_spread_over_the_log():
    """A heavy user has 200 +- 50 (5 standard deviations) of 400 visits in either half."""
    users = HEAVY.draw(EVENTS, np.random.default_rng(1))
    early = np.bincount(users[: EVENTS // 2])[:50]
    assert (np.abs(early - 200) < 50).all()


def test_mean_rates_are_those_of_the_log_it_draws():
    users = HEAVY.draw(EVENTS, np.random.default_rng(0))
    assert HEAVY.mean_rate(EVENTS, per="event") == pytest.approx(HEAVY.rates(users).mean())
    assert HEAVY.mean_rate(EVENTS, per="unit") == pytest.approx(HEAVY.rates(np.unique(users)).mean())
    assert HEAVY.mean_rate(EVENTS, per="event") < 0.81 < 0.98 < HEAVY.mean_rate(EVENTS, per="unit")


@pytest.mark.parametrize("frailty", [None, 0.25])
def test_heavy_users_earn_less_at_the_same_cell(frailty):
    """300 k visits with a mean of .3: 5 standard errors are under .02."""
    settings = ws.UserSettings(visits=1, heavy_users=150_000, heavy_visits=1, heavy_rate=0.5, frailty=frailty)
    rng = np.random.default_rng(4)
    users = settings.draw(300_000, rng)
    chances = settings.chances(np.full(300_000, 0.3), users, settings.factors(300_000, rng))
    assert chances[users >= 150_000].mean() == pytest.approx(0.3, abs=0.01)
    assert chances[users < 150_000].mean() == pytest.approx(0.15, abs=0.01)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"visits": 0}, "visits must be a whole number"),
        ({"visits": 1.5}, "visits must be a whole number"),
        ({"heavy_users": -1}, "heavy_users must be"),
        ({"heavy_visits": 0}, "heavy_visits must be"),
        ({"heavy_rate": 1.5}, "heavy_rate must be a number from 0 to 1"),
        ({"frailty": 0.0}, "frailty must be"),
        ({"frailty": float("nan")}, "frailty must be"),
        ({"sticky": "page"}, "sticky must be one of nothing, action, both"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ws.UsageError, match=message):
        ws.UserSettings(**settings)
