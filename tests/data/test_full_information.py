"""Full-information sets behind a deterministic logger that changes by block: the value of a policy is known exactly.

satimage (UCI, 6,435 events) in 20 blocks and scikit-learn's digits (1,797) in 8; in every block another weak classifier
shows what it takes for the class.
"""

import importlib

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import warmstart as ws
from benchmarks import uci
from warmstart.estimators import check_weights
from warmstart.estimators.rows import open_weighted_rows
from warmstart.events import open_cells, open_strata
from warmstart.pipeline.sources import with_propensities
from warmstart.policy import build_policy, parse_policies
from warmstart.results import Alarms

pytestmark = pytest.mark.slow


class FullInformation:
    """A log of a set in blocks, and a policy whose value is its accuracy."""

    def __init__(self, x, y, blocks, seed, monkeypatch):
        monkeypatch.setattr(uci, "BLOCKS", blocks)
        self.monkeypatch = monkeypatch
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(x))
        x, y = x[order], y[order]
        self.columns = uci.columns(x)
        shown = uci.hidden_log(x, y, rng)
        chosen = LogisticRegression(max_iter=300).fit(x[::2], y[::2]).predict(x)
        self.truth = float((chosen == y).mean())
        size = len(x)
        more = {"a": shown, "r": (shown == y).astype(float), "i": np.arange(size)}
        self.log = pa.table({**self.columns, **more, "block": np.arange(size) * blocks // size})
        self.policy = {"h": uci.distinct({**self.columns, "a": chosen})}

    def read(self, **options):
        names = {"context": [*self.columns], "action": "a", "reward": "r", "event_id": "i"}
        return ws.read_events(self.log, **names, **options)

    def bias(self, source, **options):
        """The bias of estimates, as if no alarm withheld any."""
        with self.monkeypatch.context() as quiet:
            quiet.setattr(importlib.import_module("warmstart.pipeline.valuing"), "check_weights", no_alarm)
            found = self.evaluate(source, **options)
        return {one.estimator: one.value - self.truth for one in found.estimates}

    def evaluate(self, source, **options):
        events = self.read(**options)
        return ws.evaluate(self.policy, events, tau=0.0005, propensities=source, estimators=["ips", "dr"])["h"]

    def alarms(self, source, **options):
        with open_cells(self.read(**options)) as cells, open_strata(cells) as strata:
            weighed, _ = with_propensities(strata, source, "")
            built = build_policy(parse_policies(self.policy)[0], cells, feasible_from="evaluated", live=False)
            with open_weighted_rows(built, cells, strata=weighed) as weighted:
                return check_weights(weighted)


def no_alarm(_):
    return Alarms(1.0, 0.0)


def digits():
    x, y = load_digits(return_X_y=True)
    spread = x.std(axis=0)
    return (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1), y


def test_the_mixture_is_nearly_unbiased_where_one_model_is_not(data, monkeypatch):
    """satimage in 20 blocks, two draws: |bias| of ips at most .03 each; one model is off by more than .05 in all."""
    biases = []
    for seed in range(2):
        world = FullInformation(*uci.read("satimage"), 20, seed, monkeypatch)
        mixture, model = world.bias("mixture", epoch="block"), world.bias("model")
        biases.append((mixture["ips"], model["ips"]))
        assert abs(mixture["ips"]) <= 0.03
        assert abs(mixture["dr"]) <= 0.02
        assert model["ips"] > 0.05
        assert not world.alarms("mixture", epoch="block").rings
        assert world.alarms("model").code == "WS105"
    assert abs(np.mean(biases, axis=0)[0]) < 0.02


def test_the_alarm_rings_on_digits(monkeypatch):
    """225 events a block of 64 pixels: weights of one model are far too heavy, the mixture's less so, and both ring."""
    excess = []
    for seed in (0, 1):
        world = FullInformation(*digits(), 8, seed, monkeypatch)
        model, mixture = world.alarms("model"), world.alarms("mixture", epoch="block")
        assert model.code == "WS105"
        for withheld in (world.evaluate("model"), world.evaluate("mixture", epoch="block")):
            assert (withheld.withheld, withheld.value) == ("WS105", None)
            assert [one.estimator for one in withheld.estimates] == ["dr"]
        excess.append((mixture.mean_weight - 1, model.mean_weight - 1))
        assert 0 < excess[-1][0] < excess[-1][1]
    of_mixture, of_model = np.mean(excess, axis=0)
    assert of_mixture < 0.6 * of_model
