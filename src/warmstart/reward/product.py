"""The paper's regressor: weighted loss, linear in the product of context and action features, learned in passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from warmstart.core.progress import Progress, silent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmstart.features import FeatureRows

LossName = Literal["squared", "logistic"]
PAPER_RATES = (0.2, 0.1, 0.05, 0.02, 0.01)
CHUNK = 50_000
# So many chunks for every racing thread at a time, so that none waits long for another.
PIECES = 4


@dataclass(frozen=True, eq=False)
class ProductModel:
    """A table of weights, ``width`` columns wide; the learning rate that was chosen and the loss it had."""

    weights: NDArray[np.float32]
    width: int
    loss: LossName
    rate: float
    training_loss: float

    @property
    def kind(self) -> int:
        """Return the loss as kernels number it."""
        return 1 if self.loss == "logistic" else 0

    def predict(
        self, contexts: NDArray[Any], actions: NDArray[Any], x: FeatureRows, a: FeatureRows
    ) -> NDArray[np.float32]:
        """Return f in [0, 1] for pairs of contexts and actions."""
        from warmstart.kernels.product import predict

        scores = np.empty(len(contexts), dtype=np.float32)
        predict(contexts, actions, *x.arrays, *a.arrays, self.weights, self.width, scores)
        return self.bounded(scores)

    def bounded(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Turn products into predictions."""
        if self.loss == "logistic":
            from scipy.special import expit

            predictions: NDArray[np.float32] = expit(scores)
            return predictions
        return np.clip(scores, 0, 1)


@dataclass(frozen=True, eq=False)
class Stream:
    """Examples in the order in which they are learned: contexts, actions, targets, weights."""

    contexts: NDArray[np.int64]
    actions: NDArray[np.int64]
    targets: NDArray[np.float32]
    importance: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.targets)


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
    """Learn with every rate in one reading, and go on with the one whose predictions in the first pass were best.

    Every later pass multiplies the rate by ``decay``. Every rate has a table of its own, so that threads share nothing
    and the result does not depend on them; only ``racing`` threads, which share the table of a single rate, are quicker
    and not quite repeatable.
    """
    from warmstart.kernels.product import LOGISTIC, SQUARED, train

    tables = {rate: np.zeros(1 << sum(bits), dtype=np.float32) for rate in rates}
    losses, weight = dict.fromkeys(rates, 0.0), 0.0
    kind = LOGISTIC if loss == "logistic" else SQUARED
    rng = None if shuffle_seed is None else np.random.default_rng(shuffle_seed)
    rows = (*x.arrays, x.squares, *a.arrays, a.squares)

    def train_on(piece: NDArray[Any], table: NDArray[np.float32], rate: float, earlier: Future[float] | None) -> float:
        if earlier is not None:
            earlier.result()
        examples = (piece, stream.contexts, stream.actions, stream.targets, stream.importance)
        return float(train(*examples, *rows, table, 1 << bits[1], rate, kind))

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
                found = {rate: [job.result() for job in waiting] for rate, waiting in jobs.items()}
                if number == 0:
                    losses = {rate: sum(some, start=losses[rate]) for rate, some in found.items()}
                    weight = sum((float(stream.importance[piece].sum()) for piece in pieces), start=weight)
                share = (number + (begin + len(part)) / len(order)) / passes
                on_progress("learning", share, f"loss {min(losses.values()) / max(weight, 1e-12):.5f}")
            best = min(tables, key=lambda rate: losses[rate])
            tables = {best: tables[best]}
    (chosen, table), *_ = tables.items()
    return ProductModel(table, 1 << bits[1], loss, chosen, losses[chosen] / max(weight, 1e-12))


@contextmanager
def _prompt_pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Open a pool of threads that drops what it has not begun when something goes wrong, or somebody stops it."""
    with ThreadPoolExecutor(max(threads, 1)) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def by_shuffled_context(contexts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Shuffle contexts and keep the cells of each together: their rows of weights are then at hand."""
    places = rng.permutation(int(contexts.max(initial=0)) + 1)
    return np.argsort(places[contexts], kind="stable")
