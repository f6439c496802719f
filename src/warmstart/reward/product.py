"""The paper's regressor: importance-weighted loss, linear in the product of context and action features, by SGD."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart import scoring
from warmstart.core import Progress, check_memory, counted, silent
from warmstart.features import FeatureRows
from warmstart.scoring import LossName, SparseRows

LOSS_CODES = {"squared": 0, "logistic": 1}
PAPER_RATES = (0.2, 0.1, 0.05, 0.02, 0.01)
CHUNK = 50_000
# So many chunks for every racing thread at a time, so that none waits long for another.
PIECES = 4
LESS_MEMORY = "Take fewer weights (weight_bits=, --weight-bits), or free memory."


class ProductModel(scoring.ProductModel):
    """A product that is predicted by compiled loops."""

    @classmethod
    def of(cls, model: scoring.ProductModel) -> ProductModel:
        """Return a model that was loaded, to be predicted by compiled loops."""
        return cls(**vars(model))

    @property
    def loss_code(self) -> int:
        """Return the loss as kernels number it."""
        return LOSS_CODES[self.loss]

    def predict(
        self, contexts: NDArray[Any], actions: NDArray[Any], x: SparseRows, a: SparseRows
    ) -> NDArray[np.float32]:
        """Return f in [0, 1] for pairs of contexts and actions."""
        from warmstart.kernels import predict

        scores = np.empty(len(contexts), dtype=np.float32)
        predict(contexts, actions, x.arrays, a.arrays, self.weights, self.width, scores)
        return self.bounded(scores)


@dataclass(frozen=True, eq=False)
class Stream:
    """Training examples in the order of learning: numbers of contexts and actions, targets, importance weights."""

    contexts: NDArray[np.int64]
    actions: NDArray[np.int64]
    targets: NDArray[np.float32]
    importance: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.targets)


def train_pass(
    stream: Stream,
    order: NDArray[np.int64],
    x: FeatureRows,
    a: FeatureRows,
    weights: NDArray[np.float32],
    *,
    width: int,
    rate: float,
    loss: LossName,
) -> float:
    """Update weights in place with one pass over examples; return the weighted loss of predicting each beforehand.

    Args:
        stream: the examples.
        order: which of them, in which order.
        x: features of contexts.
        a: features of actions.
        weights: the table of weights, ``width`` columns wide.
        width: 2^bits of the action features.
        rate: the learning rate.
        loss: squared or logistic.
    """
    from warmstart.kernels import train

    examples = (stream.contexts, stream.actions, stream.targets, stream.importance)
    features = (x.arrays, x.squares, a.arrays, a.squares)
    return float(train(order, examples, *features, weights, width, rate, LOSS_CODES[loss]))


def learn(
    stream: Stream,
    x: FeatureRows,
    a: FeatureRows,
    *,
    bits: tuple[int, int],
    rates: Sequence[float] = PAPER_RATES,
    loss: LossName = "squared",
    passes: int = 1,
    decay: float = 1.0,
    shuffle_seed: int | None = None,
    threads: int = 1,
    racing: bool = False,
    on_progress: Progress = silent,
) -> ProductModel:
    """Learn with every rate in one pass, and go on with the one of the least progressive loss in that pass.

    Every rate has a table of its own, so that threads share nothing and the result does not depend on them.

    Args:
        stream: the examples.
        x: features of contexts.
        a: features of actions.
        bits: of the numbers of context features and action features.
        rates: learning rates to try.
        loss: squared or logistic.
        passes: passes over the examples.
        decay: every later pass multiplies the rate by it.
        shuffle_seed: shuffles contexts before every pass; None: the order of the examples.
        threads: how many to use.
        racing: threads update the table of a single rate together (Hogwild): quicker, not quite repeatable.
        on_progress: called with the step, the share that is done and the running loss.
    """
    check_memory((4 << sum(bits)) * len(rates), f"The weights of {counted(len(rates), 'learning rate')}", LESS_MEMORY)
    tables = {rate: np.zeros(1 << sum(bits), dtype=np.float32) for rate in rates}
    losses, weight = dict.fromkeys(rates, 0.0), 0.0
    rng = None if shuffle_seed is None else np.random.default_rng(shuffle_seed)

    def train_on(piece: NDArray[Any], table: NDArray[np.float32], rate: float, earlier: Future[float] | None) -> float:
        if earlier is not None:
            earlier.result()
        return train_pass(stream, piece, x, a, table, width=1 << bits[1], rate=rate, loss=loss)

    with _prompt_pool(threads) as pool:
        for number in range(passes):
            order = np.arange(len(stream)) if rng is None else by_shuffled_context(stream.contexts, rng)
            race = racing and len(tables) == 1
            # As many chunks of every rate as there are threads: none idles, however many rates there are.
            together = threads * PIECES if race else max(threads, 1)
            for begin in range(0, len(order), CHUNK * together):
                part = order[begin : begin + CHUNK * together]
                pieces = np.array_split(part, together) if race else np.split(part, range(CHUNK, len(part), CHUNK))
                jobs: dict[float, list[Future[float]]] = {rate: [] for rate in tables}
                for piece in pieces:
                    for rate, table in tables.items():
                        earlier = jobs[rate][-1] if jobs[rate] and not race else None
                        jobs[rate].append(pool.submit(train_on, piece, table, rate * decay**number, earlier))
                results = {rate: [job.result() for job in waiting] for rate, waiting in jobs.items()}
                if number == 0:
                    losses = {rate: sum(added, start=losses[rate]) for rate, added in results.items()}
                    weight = sum((float(stream.importance[piece].sum()) for piece in pieces), start=weight)
                share, least = (number + (begin + len(part)) / len(order)) / passes, min(losses.values())
                on_progress("learning", share, f"loss {least / max(weight, 1e-12):.5f}")
            best = min(tables, key=lambda rate: losses[rate])
            tables = {best: tables[best]}
    (chosen, table), *_ = tables.items()
    return ProductModel(table, 1 << bits[1], loss, chosen, losses[chosen] / max(weight, 1e-12))


@contextmanager
def _prompt_pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Open a pool of threads that drops jobs not yet begun on an error or an interrupt."""
    with ThreadPoolExecutor(max(threads, 1)) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def by_shuffled_context(contexts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random order of contexts with the cells of each together: their rows of weights are then cached."""
    places = rng.permutation(int(contexts.max(initial=0)) + 1)
    return np.argsort(places[contexts], kind="stable")
