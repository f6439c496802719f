"""The paper's regressor: importance-weighted loss, linear in the product of context and action features, by SGD."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from warmstart import scoring
from warmstart.core import Progress, check_memory, counted, silent
from warmstart.features import FeatureRows
from warmstart.scoring import LossName, SparseRows

LOSS_CODES = {"squared": 0, "logistic": 1}
PAPER_RATES = (0.2, 0.1, 0.05, 0.02, 0.01)
CHUNK = 50_000
# Rates that learn side by side at most: of eight, tables were larger than what large pages of memory were found for.
MOST_TOGETHER = 4
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
    rates: tuple[float, ...],
    loss: LossName,
) -> list[float]:
    """Update weights in place with one pass over examples; return the weighted losses of predicting each beforehand.

    Args:
        stream: the examples.
        order: which of them, in which order.
        x: features of contexts.
        a: features of actions.
        weights: the tables of weights, ``width`` columns wide, those of all rates side by side.
        width: 2^bits of the action features.
        rates: learning rates, each of which learns as it would alone.
        loss: squared or logistic.
    """
    from warmstart.kernels import train

    examples = (stream.contexts, stream.actions, stream.targets, stream.importance)
    features = (x.arrays, x.squares, a.arrays, a.squares)
    losses: list[float] = train(order, examples, *features, weights, width, rates, LOSS_CODES[loss]).tolist()
    return losses


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

    Rates are shared out among threads, and those of a thread learn side by side. Every rate learns as it would alone:
    threads share no weights, and the result does not depend on them.

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
    groups = rate_groups(rates, threads)
    lanes = sum(_lanes(len(group)) for group in groups)
    check_memory((4 << sum(bits)) * lanes, f"The weights of {counted(len(rates), 'learning rate')}", LESS_MEMORY)
    tables = [_Tables.zero(group, bits) for group in groups]
    losses, weight = dict.fromkeys(rates, 0.0), 0.0
    rng = None if shuffle_seed is None else np.random.default_rng(shuffle_seed)

    def train_on(piece: NDArray[Any], group: _Tables, factor: float, earlier: Future[_Losses] | None) -> _Losses:
        if earlier is not None:
            earlier.result()
        return group.train(piece, (stream, x, a), loss, factor)

    with _prompt_pool(threads) as pool:
        for number in range(passes):
            order = np.arange(len(stream)) if rng is None else by_shuffled_context(stream.contexts, rng)
            race = racing and len(losses) == 1
            # As many chunks of every group as there are threads: none idles, however many groups there are.
            together = threads * PIECES if race else max(threads, 1)
            for begin in range(0, len(order), CHUNK * together):
                part = order[begin : begin + CHUNK * together]
                pieces = np.array_split(part, together) if race else np.split(part, range(CHUNK, len(part), CHUNK))
                jobs: list[list[Future[_Losses]]] = [[] for _ in tables]
                for piece in pieces:
                    for group, waiting in zip(tables, jobs, strict=True):
                        earlier = waiting[-1] if waiting and not race else None
                        waiting.append(pool.submit(train_on, piece, group, decay**number, earlier))
                added = [job.result() for waiting in jobs for job in waiting]
                if number == 0:
                    for rate, more in chain.from_iterable(one.items() for one in added):
                        losses[rate] += more
                    weight = sum((float(stream.importance[piece].sum()) for piece in pieces), start=weight)
                share, least = (number + (begin + len(part)) / len(order)) / passes, min(losses.values())
                on_progress("learning", share, f"loss {least / max(weight, 1e-12):.5f}")
            if number == 0:
                best = min(losses, key=lambda rate: losses[rate])
                tables = [group.only(best) for group in tables if best in group.rates]
                losses = {best: losses[best]}
    return ProductModel(tables[0].weights, 1 << bits[1], loss, best, losses[best] / max(weight, 1e-12))


_Losses = dict[float, float]


@dataclass(frozen=True, eq=False)
class _Tables:
    """Tables of weights of learning rates that learn together: a weight's lanes, one a rate, lie side by side."""

    rates: tuple[float, ...]
    weights: NDArray[np.float32]
    width: int

    @classmethod
    def zero(cls, rates: tuple[float, ...], bits: tuple[int, int]) -> Self:
        """Return tables of zeros."""
        rates = with_spare_lanes(rates)
        return cls(rates, np.zeros(len(rates) << sum(bits), dtype=np.float32), 1 << bits[1])

    def train(
        self, order: NDArray[Any], examples: tuple[Stream, FeatureRows, FeatureRows], loss: LossName, factor: float
    ) -> _Losses:
        """Run a pass over examples with each rate times a factor; return the loss of each."""
        stream, x, a = examples
        rates = tuple(rate * factor for rate in self.rates)
        losses = train_pass(stream, order, x, a, self.weights, width=self.width, rates=rates, loss=loss)
        return {rate: one for rate, one in zip(self.rates, losses, strict=True) if rate > 0}

    def only(self, rate: float) -> Self:
        """Return the table of one rate alone."""
        lane, lanes = self.rates.index(rate), len(self.rates)
        return self if lanes == 1 else replace(self, rates=(rate,), weights=self.weights[lane::lanes].copy())


def _lanes(rates: int) -> int:
    """Return how many lanes so many rates take: a power of two."""
    return 1 << (rates - 1).bit_length()


def with_spare_lanes(rates: tuple[float, ...]) -> tuple[float, ...]:
    """Return the rate of every lane: lanes are a power of two, and those that are over have a rate of 0."""
    return (*rates, *[0.0] * (_lanes(len(rates)) - len(rates)))


def rate_groups(rates: Sequence[float], threads: int) -> list[tuple[float, ...]]:
    """Share out learning rates: a group for every thread, if there are so many rates."""
    rates = tuple(dict.fromkeys(rates))
    groups = max(min(threads, len(rates)), -(-len(rates) // MOST_TOGETHER), 1)
    return [tuple(part.tolist()) for part in np.array_split(np.array(rates), groups)]


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
