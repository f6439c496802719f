"""Learning on a GPU: with the NumPy twin in its place, and on one."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.support import device_twin as twin
from tests.support.device_checks import BITS, on_cpu, problem

import warmstart as ws
from warmstart.reward.on_gpu import learn_on_gpu
from warmstart.reward.product import learn


class Twin:
    """``ProductsOnGpu`` with the twin's arithmetic."""

    def __init__(self, tables, in_flight, rows, width, loss):
        self.tables, self.in_flight, self.rows, self.width, self.loss = tables, in_flight, rows, width, loss

    @classmethod
    def zero(cls, in_flight, weights, width, rows, *, loss):
        tables = {rates: np.zeros(weights * len(rates), np.float32) for rates in in_flight}
        return cls(tables, in_flight, rows, width, loss)

    def train(self, examples, factor=1.0):
        losses = {}
        for rates, weights in self.tables.items():
            scaled = tuple(rate * factor for rate in rates)
            given = (examples, *self.rows, weights, self.width, scaled, self.loss)
            lost = twin.train_stale(*given, self.in_flight[rates])
            losses |= dict(zip(rates, lost.tolist(), strict=True))
        return {rate: lost for rate, lost in losses.items() if rate > 0}

    def only(self, rate):
        rates = next(rates for rates in self.tables if rate in rates)
        alone = self.tables[rates][rates.index(rate) :: len(rates)].copy()
        return Twin({(rate,): alone}, {(rate,): self.in_flight[rates]}, self.rows, self.width, self.loss)

    def weights(self, rate):
        rates = next(rates for rates in self.tables if rate in rates)
        return self.tables[rates][rates.index(rate) :: len(rates)]


def test_what_learns_on_a_gpu_shares_rates_and_passes_out_as_the_cpu_does(monkeypatch):
    monkeypatch.setattr("warmstart.reward.on_gpu.ProductsOnGpu", Twin)
    given, x, a, *_ = problem(5, events=400)
    stream, *rows = on_cpu(given, x, a)
    options = {"bits": BITS, "rates": (0.3, 0.1, 0.05, 0.02, 0.01), "passes": 2, "decay": 0.5}
    found, wanted = learn_on_gpu(stream, *rows, **options), learn(stream, *rows, **options)
    assert (found.rate, found.width, found.loss) == (wanted.rate, wanted.width, wanted.loss)
    assert found.training_loss == pytest.approx(wanted.training_loss, rel=1e-5)
    assert np.abs(found.weights - wanted.weights).max() < 1e-5


@pytest.mark.gpu
def test_what_a_gpu_learns_earns_what_the_cpu_learns_and_the_best_of_all_actions_is_the_same(gpu, tmp_path):
    world = ws.simulate(tmp_path / "month", events=40_000, n_contexts=400, n_actions=120, seed=1)
    events = ws.read_events(world.events_path, context="page", action="ad", reward="click", time="shown_at")
    tables = {"contexts": world.contexts_path, "actions": world.actions_path, "fit_tau": 1.0}
    cpu, cuda = (ws.fit(events, **tables, device=device) for device in ("cpu", "cuda"))
    values = [world.true_value(policy.decisions) for policy in (cpu, cuda)]
    assert values[1] == pytest.approx(values[0], rel=0.01)
    pages = pq.read_table(world.contexts_path)
    assert cuda.device == "cuda"
    assert cuda.choose_table(pages).equals(replace(cuda, device="cpu").choose_table(pages))
