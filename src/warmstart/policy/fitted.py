"""A policy that was learned: its ranking, and the model behind it, which can score what the log never had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from warmstart.core.arrays import to_arrow
from warmstart.core.errors import UsageError, no_such_column
from warmstart.core.names import PROBABILITY, Columns
from warmstart.core.text import quoted
from warmstart.core.window import Window
from warmstart.events import Folds
from warmstart.features import FeatureRows, FeatureSettings, feature_rows
from warmstart.features.hashed import CONSTANT, CONSTANT_VALUE
from warmstart.features.hashing import buckets
from warmstart.policy.epsilon_greedy import Explored, check_explore, check_generator, epsilon_greedy
from warmstart.policy.ranking_store import RankingStore

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from warmstart.reward import ProductModel


THREADS = 2
PIECE = 500


@dataclass(frozen=True, eq=False)
class FittedPolicy:
    """What ``fit`` returns.

    ``ranked``: where its ranking is kept.
    ``factors``: what each known action earned over what its features led one to expect. ``report``: what was learned
    from what, and which settings were chosen.
    """

    columns: Columns
    window: Window
    ranked: RankingStore
    model: ProductModel | None
    context_settings: FeatureSettings
    action_settings: FeatureSettings
    actions: pa.Array
    action_rows: FeatureRows
    factors: NDArray[np.float64]
    lowest: float
    report: Mapping[str, Any] = field(default_factory=dict)
    folds: Folds | None = None

    @property
    def ranking(self) -> pa.Table:
        """Return the log's context columns, its action column, rank (from 1) and score, for every feasible action."""
        return self.ranked.to_arrow()

    @property
    def decisions(self) -> pa.Table:
        """Return the best action of every context: the log's own columns."""
        import pyarrow.compute as pc

        ranking = self.ranking
        first = ranking.filter(pc.equal(ranking["rank"], 1))
        return first.select([*self.columns.context, self.columns.action])

    @overload
    def choose(
        self, context: Mapping[str, Any], actions: Sequence[Any] | None = None
    ) -> tuple[Any, NDArray[np.float64]]: ...

    @overload
    def choose(
        self,
        context: Mapping[str, Any],
        actions: Sequence[Any] | None = None,
        *,
        explore: float,
        rng: np.random.Generator,
    ) -> Explored: ...

    def choose(
        self,
        context: Mapping[str, Any],
        actions: Sequence[Any] | None = None,
        *,
        explore: float | None = None,
        rng: np.random.Generator | None = None,
    ) -> tuple[Any, NDArray[np.float64]] | Explored:
        """Choose among actions for a context that need not be in the log; return the best and all scores.

        ``context`` has the columns of the context table (or none, if there was no table); ``actions`` are keys of
        actions that the log had, all of them if None.

        With ``explore``, draw instead: with that probability any of the k different actions, else the best. Returns the
        action, its probability (1 - explore + explore / k for the best, explore / k for another), which is what to
        log, and all scores. ``rng`` is a NumPy generator that lives from call to call.
        """
        if explore is None:
            return self._best(context, actions)
        explore, rng = check_explore(explore), check_generator(rng)
        best, scores = self._best(context, actions)
        different = self._keys if actions is None else list(dict.fromkeys(actions))
        place = np.array([self._places[best] if actions is None else different.index(best)])
        drawn, probability = epsilon_greedy(place, len(different), explore, rng)
        return Explored(different[drawn[0]], float(probability[0]), scores)

    def _best(self, context: Mapping[str, Any], actions: Sequence[Any] | None) -> tuple[Any, NDArray[np.float64]]:
        model = self.require_model()
        numbers = self._every if actions is None else self._numbers(actions)
        if not len(numbers):
            raise UsageError("There is no action to choose among.")
        found, values = self._single_row(context)
        from warmstart.kernels.product import predict

        starts = np.array([0, len(found)], dtype=np.int64)
        scores = np.empty(len(numbers), dtype=np.float32)
        row = (starts, found, values)
        predict(np.zeros_like(numbers), numbers, *row, *self.action_rows.arrays, model.weights, model.width, scores)
        expected = np.minimum(np.maximum(model.bounded(scores), self.lowest) * self.factors[numbers], 1.0)
        best = int(expected.argmax())
        return (self._keys[numbers[best]] if actions is None else actions[best]), expected

    def choose_table(
        self,
        contexts: pa.Table,
        actions: pa.Table | None = None,
        *,
        explore: float | None = None,
        rng: np.random.Generator | None = None,
    ) -> pa.Table:
        """Choose for every row of a context table, among the actions of a table (all known ones, if None).

        The result has the context columns that are in the table, the action and its score. An action that the training
        window never had is scored by its features, if the table has them, and left out if not.

        With ``explore`` every row is drawn on its own, as ``choose`` does, and ``probability`` is the one to log.
        """
        import pyarrow as pa

        self.require_model()
        keys, some, factors = self._given(actions)
        if not len(keys):
            raise UsageError("There is no action to choose among.")
        rows = feature_rows(contexts, contexts.num_rows, self.context_settings)
        best, scores = self.best_of_all(rows, some, factors)
        known = {name: contexts[name] for name in self.columns.context if name in contexts.column_names}
        if explore is None:
            return pa.table({**known, self.columns.action: keys.take(to_arrow(best)), "score": to_arrow(scores)})
        if taken := {PROBABILITY, "score"} & {*known, self.columns.action}:
            raise UsageError(f"A column of the log is called {quoted(min(taken))}, as in the result.", "Rename it.")
        drawn, probability = self._drawn(keys, best, check_explore(explore), check_generator(rng))
        scores = np.where(drawn == best, scores, self._scores(rows, some, factors, drawn))
        return pa.table(
            {
                **known,
                self.columns.action: keys.take(to_arrow(drawn)),
                PROBABILITY: to_arrow(probability),
                "score": to_arrow(scores),
            }
        )

    @staticmethod
    def _drawn(
        keys: pa.Array, best: NDArray[np.int64], explore: float, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Draw among different actions, wherever a table names one twice; return places of the table."""
        if keys.null_count:
            raise UsageError("The table of actions has an action without a name.", "Remove the row.")
        numbers: dict[Any, int] = {}
        number_of = np.array([numbers.setdefault(key, len(numbers)) for key in keys.to_pylist()], dtype=np.int64)
        first = np.unique(number_of, return_index=True)[1]
        drawn, probability = epsilon_greedy(number_of[best], len(first), explore, rng)
        return np.where(drawn == number_of[best], best, first[drawn]), probability

    def _scores(
        self, contexts: FeatureRows, actions: FeatureRows, factors: NDArray[np.float64], chosen: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return what one action for every context is expected to earn."""
        from warmstart.kernels.product import predict

        model = self.require_model()
        scores = np.empty(len(contexts), dtype=np.float32)
        sides = (*contexts.arrays, *actions.arrays)
        predict(np.arange(len(contexts)), chosen, *sides, model.weights, model.width, scores)
        return np.minimum(np.maximum(model.bounded(scores), self.lowest) * factors[chosen], 1.0)

    def best_of_all(
        self, contexts: FeatureRows, actions: FeatureRows, factors: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the place of the best action for every context, and its score; on both cores."""
        from warmstart.kernels.product import best_of_all

        model = self.require_model()
        sides = (*contexts.arrays, *actions.arrays)
        best, scores = np.zeros(len(contexts), dtype=np.int64), np.empty(len(contexts))

        def choose(some: slice) -> None:
            every = np.arange(some.start, some.stop)
            options = (model.weights, model.width, best[some], scores[some])
            best_of_all(every, *sides, factors, self.lowest, model.kind, *options)

        with ThreadPoolExecutor(THREADS) as pool:
            pieces = [slice(i, min(i + PIECE, len(contexts))) for i in range(0, len(contexts), PIECE)]
            for job in [pool.submit(choose, piece) for piece in pieces]:
                job.result()
        return best, scores

    def summary(self) -> list[str]:
        """Say in a few lines what was learned from what."""
        about = self.report
        lines = [f"Learned from {about['events']:,} events in {about['cells']:,} cells ({about['learned_from']})."]
        for side in ("contexts", "actions"):
            found = about[side]
            columns = ", ".join(map(quoted, found["columns"])) or "no columns"
            line = f"{found['known']:,} {side}; features from {columns}"
            if found["without_features"]:
                line += f"; {found['without_features']:,} without a row, known by their id alone"
            if found["features"]:
                shared = f"{found['sharing_a_bucket']:.0%} share a bucket"
                about_so_many = "about " if found.get("estimated") else ""
                line += f"; {about_so_many}{found['features']:,} features in {found['buckets']:,} buckets ({shared})"
            if found["left_out"]:
                line += f"; left out: {', '.join(map(quoted, found['left_out']))}"
            lines.append(line + ".")
        tried = f", chosen among {', '.join(about['fit_taus_tried'])}" if about["fit_taus_tried"] else ""
        lines.append(f"Fit tau {about['fit_tau']:g}{tried}; learning rate {about['rate']}; seed {about['seed']}.")
        return lines

    @property
    def action_keys(self) -> list[Any]:
        """Return the actions that the training window had."""
        return self._keys

    @cached_property
    def _keys(self) -> list[Any]:
        keys: list[Any] = self.actions.to_pylist()
        return keys

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {key: i for i, key in enumerate(self._keys)}

    @cached_property
    def _every(self) -> NDArray[np.int64]:
        return np.arange(len(self.actions))

    @cached_property
    def _bucket_of(self) -> dict[str, int]:
        return {}

    def _numbers(self, actions: Sequence[Any]) -> NDArray[np.int64]:
        try:
            return np.array([self._places[action] for action in actions], dtype=np.int64)
        except KeyError as error:
            raise UsageError(
                f"The policy does not know the action {quoted(error.args[0])}.", "Choose among those of the log."
            ) from None

    def _given(self, actions: pa.Table | None) -> tuple[Any, FeatureRows, NDArray[np.float64]]:
        """Return the actions to choose among: their keys, features and factors (1 for one that was never seen)."""
        if actions is None:
            return self.actions, self.action_rows, self.factors
        name, settings = self.columns.action, self.action_settings
        if name not in actions.column_names:
            raise no_such_column(name, actions.column_names, where="the table of actions")
        keys = actions[name].combine_chunks()
        places = np.array([self._places.get(key, -1) for key in keys.to_pylist()], dtype=np.int64)
        described = settings.kinds and {*settings.kinds, *settings.weights.values()} <= set(actions.column_names)
        if described:
            factors = np.where(places >= 0, self.factors[np.maximum(places, 0)], 1.0)
            return keys, feature_rows(actions, actions.num_rows, settings), factors
        known = places[places >= 0]
        if not len(known):
            raise UsageError(
                "None of the actions given was in the training window.", "Give their features to score new ones."
            )
        return self.actions.take(to_arrow(known)), self.action_rows.take(known), self.factors[known]

    def _single_row(self, context: Mapping[str, Any]) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        """Do for one row what ``feature_rows`` does for a table; words are quick, the rest takes its overhead."""
        settings = self.context_settings
        if missing := [name for name in (*settings.kinds, *settings.weights.values()) if name not in context]:
            raise UsageError(f"The context has no {quoted(missing[0])}.", f"It needs {', '.join(settings.kinds)}.")
        if any("words" not in kind for kind in settings.kinds.values()):
            return self._slow_row(context)
        words: dict[str, float] = {}
        for name in settings.kinds:
            listed = context[name] or ()
            weights = context[settings.weights[name]] if name in settings.weights else [1.0] * len(listed)
            for word, weight in zip(listed, weights, strict=True):
                words[word] = words.get(word, 0.0) + weight
        length = sum(abs(weight) for weight in words.values()) ** 0.5 or 1.0
        found = [self._bucket(word) for word in words]
        values = [abs(weight) ** 0.5 / length for weight in words.values()]
        if settings.constant:
            found.append(self._bucket(CONSTANT))
            values.append(CONSTANT_VALUE)
        return np.array(found, dtype=np.uint32), np.array(values, dtype=np.float32)

    def _bucket(self, word: str) -> int:
        if word not in self._bucket_of:
            self._bucket_of[word] = int(buckets([word], self.context_settings.bits)[0])
        return self._bucket_of[word]

    def _slow_row(self, context: Mapping[str, Any]) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        import pyarrow as pa

        names = [*self.context_settings.kinds, *self.context_settings.weights.values()]
        rows = feature_rows(pa.Table.from_pylist([{n: context[n] for n in names}]), 1, self.context_settings)
        return rows.buckets, rows.values

    def require_model(self) -> ProductModel:
        """Return the model; a policy learned with a model of the user's own has none to keep."""
        if self.model is None:
            raise UsageError("This policy was learned with a model of your own, which is not kept in it.")
        return self.model
