"""A column of choices by a model that sees more than the context: valued without bias, with bounds that hold.

The world: pages, a mood that only the shadow model sees (four times in five), and a logging policy that knows the page
alone. Rewards are .6 where the ad fits page and mood, else .1, so that all expectations are exact. Shares of its
choices per page, as a table of decisions, would value a random mixture: .27 instead of .53.
"""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import warmstart as ws

NAMES = {"context": "page", "action": "ad", "reward": "click"}
PAGES, ADS, SEES = 4, 3, 0.8
SHARES = np.array([0.5, 0.3, 0.2])
FITS, ELSE = 0.6, 0.1
TRUTH = SEES * FITS + (1 - SEES) * (FITS + (ADS - 1) * ELSE) / ADS
MIXTURE = (FITS + (ADS - 1) * ELSE) / ADS


def draw(events, seed):
    """A log, and the expected rewards of every event's choice and of what was shown, given page and choice."""
    rng = np.random.default_rng(seed)
    page, mood = rng.integers(0, PAGES, events), rng.integers(0, ADS, events)
    ad = (page + rng.choice(ADS, events, p=SHARES)) % ADS
    fitting = (page + mood) % ADS
    choice = np.where(rng.random(events) < SEES, fitting, rng.integers(0, ADS, events))
    click = rng.random(events) < np.where(ad == fitting, FITS, ELSE)
    # How likely the chosen ad fits, and any other.
    chosen = SEES + (1 - SEES) / ADS
    fit = np.where(ad == choice, chosen, (1 - chosen) / (ADS - 1))
    text = np.array([f"a{i}" for i in range(ADS)])
    log = pa.table({"page": page, "ad": text[ad], "click": click.astype(float), "shadow": text[choice]})
    return log, ELSE + (FITS - ELSE) * chosen, float(np.mean(ELSE + (FITS - ELSE) * fit))


def mixture(log):
    """The shares of the choices per page, as decisions."""
    pairs = Counter(zip(log["page"].to_pylist(), log["shadow"].to_pylist(), strict=True))
    pages = Counter(log["page"].to_pylist())
    rows = [(page, ad, n / pages[page]) for (page, ad), n in pairs.items()]
    return pa.table(dict(zip(("page", "ad", "probability"), map(list, zip(*rows, strict=True)), strict=True)))


def test_choices_are_valued_and_not_their_mixture():
    """60,000 events: the standard error is below .005, so that .02 is passed by chance less than once in 10,000."""
    log, chosen, _ = draw(60_000, 1)
    assert chosen == pytest.approx(TRUTH)
    events = ws.read_events(log, **NAMES)
    found = ws.evaluate({"shadow": "column:shadow", "mixture": mixture(log)}, events, tau=0.05, trained_until="never")
    assert found["shadow"].value == pytest.approx(TRUTH, abs=0.02)
    assert found["shadow"].best.value == pytest.approx(TRUTH, abs=0.02)
    assert found["shadow"].lower < TRUTH < found["shadow"].upper
    assert found["mixture"].value == pytest.approx(MIXTURE, abs=0.02)
    assert found["mixture"].upper < TRUTH


@pytest.mark.slow
def test_the_mean_over_logs_is_the_truth():
    """Small logs, where shares within (page, choice) rest on few events: no bias beyond three standard errors."""
    values = []
    for seed in range(200):
        log, truth, _ = draw(300, seed)
        events = ws.read_events(log, **NAMES)
        found = ws.evaluate("column:shadow", events, tau=0.01, estimators=["ips"]).policies[0]
        # Cells that were never shown count nothing, by the support that is shown.
        values.append(found.value - truth * (1 - found.support.unsupported))
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(len(values))


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.5])
def test_bounds_of_value_and_gain_miss_at_most_their_share(delta):
    logs, missed = 300, np.zeros(4)
    for seed in range(logs):
        log, truth, logged = draw(800, 1_000 + seed)
        found = ws.evaluate("column:shadow", ws.read_events(log, **NAMES), tau=0.02, delta=delta, estimators=["ips"])
        one = found.policies[0]
        gain = one.gain.certified
        assert one.support.supported == pytest.approx(1)
        ends = (one.lower > truth, one.upper < truth, gain.lower > truth - logged, gain.upper < truth - logged)
        missed += np.array(ends)
    allowed = delta / 2 + 2 * np.sqrt(delta / 2 * (1 - delta / 2) / logs)
    assert (missed / logs <= allowed).all(), missed / logs
