"""A learned policy: its ranking, and the reward model behind it, which can score contexts that the log never had."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from warmstart.core import (
    PROBABILITY,
    Columns,
    UsageError,
    Window,
    __version__,
    no_such_column,
    quoted,
    to_arrow,
    to_numpy,
)
from warmstart.events import Folds
from warmstart.features import FeatureRows, feature_rows
from warmstart.kernels import DeviceName
from warmstart.policy.best_products import best_of_products
from warmstart.policy.deferring import check_one, deferring_choice, deferring_choices
from warmstart.policy.drawing import drawn_rows
from warmstart.policy.frames import Frame, as_given, as_table
from warmstart.policy.ranked_choice import HINT, NOTHING_NEW, choose_from_ranking, ranked_first
from warmstart.policy.ranking_store import RankingStore
from warmstart.results import Learned, plain, read_record
from warmstart.reward import ProductModel
from warmstart.scoring import (
    DRAWS,
    NO_DRAWS,
    Explored,
    FeatureSettings,
    RewardModel,
    SparseRows,
    check_exploration,
    epsilon_greedy,
    expected_rewards,
    rows_of_records,
)

PAIRS_PER_BLOCK = 2_000_000


@dataclass(frozen=True, eq=False)
class FittedPolicy:
    """A policy that ``fit`` learned: it ranks the feasible actions of every context by expected reward.

    ``ranked``: where its ranking is stored. ``factors``: actual over expected rewards of each known action (shrunk);
    ``lowest``: predictions are raised to it before. ``report``: what was learned from what. ``defers``: where nothing
    is ranked logging's choice stands (the action is null). ``loaded``: from a folder that may be somebody else's.
    ``device``: where the best of all actions is chosen; not saved.
    """

    columns: Columns
    window: Window
    ranked: RankingStore
    model: RewardModel | None
    context_settings: FeatureSettings
    action_settings: FeatureSettings
    actions: pa.Array
    action_rows: FeatureRows
    factors: NDArray[np.float64]
    lowest: float
    report: Mapping[str, Any] = field(default_factory=dict)
    folds: Folds | None = None
    defers: bool = False
    loaded: bool = False
    device: DeviceName = "auto"

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
        """Return the best action for a context, which need not be in the log, and the scores of all actions.

        A policy that was learned without features of contexts goes by the ranking where the context has the log's
        columns and was in training.

        With ``explore`` (epsilon-greedy) the action is drawn: with that probability any of the k different actions,
        else the best. Returns the action, its probability (the propensity to log: 1 - explore + explore / k for the
        best, explore / k for another) and all scores.

        Args:
            context: the columns of the context table; without one, those of the log.
            actions: keys of actions that the log had; all of them if None.
            explore: the share of choices that explore.
            rng: a NumPy generator, the same one in every call.
        """
        check_one(context, actions)
        if self.defers:
            self._check_no_draws(explore)
            return deferring_choice(self.ranking, self.columns, context, actions)
        if explore is None:
            return self._best(context, actions)
        rng = check_exploration(explore, rng)
        best, scores = self._best(context, actions)
        distinct = self.action_keys if actions is None else list(dict.fromkeys(actions))
        place = np.array([self._places[best] if actions is None else distinct.index(best)])
        drawn, probability = epsilon_greedy(place, len(distinct), explore, rng)
        return Explored(distinct[drawn[0]], float(probability[0]), scores)

    @staticmethod
    def _check_no_draws(explore: float | None) -> None:
        if explore is not None:
            raise UsageError(DRAWS, NO_DRAWS)

    def _best(self, context: Mapping[str, Any], actions: Sequence[Any] | None) -> tuple[Any, NDArray[np.float64]]:
        self.require_model()
        numbers = self._every if actions is None else self._numbers(actions)
        if not len(numbers):
            raise UsageError("There is no action to choose among.")
        scores = self._scores(np.zeros_like(numbers), self._single_row(context), numbers)
        keys = self.action_keys if actions is None else list(actions)
        if self._goes_by_keys(context):
            first, ranked = deferring_choice(self.ranking, self.columns, context, keys)
            if first is not None:
                return first, np.where(np.isnan(ranked), scores, ranked)
        return keys[int(scores.argmax())], scores

    def _goes_by_keys(self, given: Collection[str]) -> bool:
        """Tell whether contexts are known by their keys alone: training had no features of theirs."""
        return not self.context_settings.kinds and set(self.columns.context) <= set(given)

    def choose_table(
        self,
        contexts: Frame,
        actions: Any = None,
        *,
        explore: float | None = None,
        rng: np.random.Generator | None = None,
    ) -> Frame:
        """Return the best action for every row of a context table: the table's context columns, action and score.

        Args:
            contexts: a pandas, polars or Arrow table, and such a one comes back: the columns of the context table;
                without one, those of the log, as for ``choose``.
            actions: a table of actions to choose among; all known ones, if None. An action that the training window
                never had is scored by its features, if the table has them, and left out if not.
            explore: draws every row on its own, as ``choose`` does; ``probability`` is then the propensity to log.
            rng: a NumPy generator, to explore.

        A policy learned with a model of your own chooses in contexts of its ranking, by their keys, and in no others.
        """
        offered = None if actions is None else as_table(actions)
        return as_given(self._choose_table(as_table(contexts), offered, explore, rng), contexts)

    def _choose_table(
        self, contexts: pa.Table, actions: pa.Table | None, explore: float | None, rng: np.random.Generator | None
    ) -> pa.Table:
        if self.defers:
            self._check_no_draws(explore)
            return deferring_choices(self.ranking, self.columns, contexts, actions)
        if self.model is None and explore is None:
            return choose_from_ranking(self.ranking, self.columns, contexts, actions)
        self.require_model()
        candidates = self._candidates(actions)
        keys = candidates.actions
        if not len(keys):
            raise UsageError("There is no action to choose among.")
        rows = feature_rows(contexts, contexts.num_rows, self.context_settings)
        best, scores = candidates.best_of_all(rows)
        if self._goes_by_keys(contexts.column_names):
            best, scores = ranked_first(self.ranking, self.columns, contexts, keys, (best, scores))
        known = {name: contexts[name] for name in self.columns.context if name in contexts.column_names}
        if explore is None:
            return pa.table({**known, self.columns.action: keys.take(to_arrow(best)), "score": to_arrow(scores)})
        if taken := {PROBABILITY, "score"} & {*known, self.columns.action}:
            raise UsageError(f"A column of the log is called {quoted(min(taken))}, as in the result.", "Rename it.")
        drawn, probability = drawn_rows(keys, best, explore, check_exploration(explore, rng))
        scores = np.where(drawn == best, scores, candidates._scores(np.arange(len(rows)), rows, drawn))
        chosen = {self.columns.action: keys.take(to_arrow(drawn)), PROBABILITY: to_arrow(probability)}
        return pa.table({**known, **chosen, "score": to_arrow(scores)})

    def _scores(self, contexts: NDArray[np.int64], rows: SparseRows, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the expected rewards of pairs: contexts by their row, chosen actions by their number."""
        predicted = self.require_model().predict(contexts, chosen, rows, self.action_rows)
        return expected_rewards(predicted, self.lowest, self.factors[chosen])

    def unfamiliar(self, contexts: Frame, actions: Any = None) -> list[str]:
        """Return remarks on what ``choose_table`` would be asked about and training never had; none if it had all.

        Takes what ``choose_table`` takes. Unknown contexts and actions, values, words and gaps that are new, and
        numbers, times and embeddings far from those of training.
        """
        from warmstart.policy.unfamiliar import unfamiliar

        return unfamiliar(self, as_table(contexts), None if actions is None else as_table(actions))

    def best_of_all(self, contexts: FeatureRows) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the number of the best action for every context, and its score."""
        model = self.require_model()
        if not isinstance(model, ProductModel):
            return self._best_in_blocks(model, contexts)
        return best_of_products(model, contexts, self.action_rows, self.factors, self.lowest, device=self.device)

    def _best_in_blocks(
        self, model: RewardModel, contexts: FeatureRows
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        predict, size = model.for_actions(self.action_rows), len(self.actions)
        best, scores = np.zeros(len(contexts), dtype=np.int64), np.empty(len(contexts))
        step = max(PAIRS_PER_BLOCK // size, 1)
        for begin in range(0, len(contexts), step):
            rows = np.arange(begin, min(begin + step, len(contexts)))
            pairs = np.repeat(rows - begin, size), np.tile(np.arange(size), len(rows))
            predicted = predict(*pairs, contexts.take(rows)).reshape(len(rows), size)
            block = expected_rewards(predicted, self.lowest, self.factors)
            best[rows] = block.argmax(axis=1)
            scores[rows] = block[np.arange(len(rows)), best[rows]]
        return best, scores

    def among(self, actions: pa.Array | pa.ChunkedArray) -> FittedPolicy:
        """Return the policy as if it knew of its actions only those given."""
        import pyarrow.compute as pc

        return self._taken(np.flatnonzero(to_numpy(pc.is_in(self.actions, pc.cast(actions, self.actions.type)))))

    def _taken(self, numbers: NDArray[np.int64]) -> FittedPolicy:
        """Return the policy of some of the known actions, by their numbers."""
        return replace(
            self,
            actions=self.actions.take(to_arrow(numbers)),
            action_rows=self.action_rows.take(numbers),
            factors=self.factors[numbers],
            model=None if self.model is None else self.model.among(numbers),
        )

    @property
    def learned(self) -> Learned:
        """Return what was learned from what, and where it departs from logging, as a result to show and save."""
        about = {"columns": asdict(self.columns), "window": self.window.to_dict(), "warmstart_version": __version__}
        return read_record(Learned, plain({**self.report, **about}), "The policy's report")

    def save(self, folder: str | Path) -> Path:
        """Write the policy into a new folder, which ``load_policy`` reads."""
        from warmstart.policy.storage import save_policy

        return save_policy(self, folder)

    def summary(self) -> list[str]:
        """Return a few lines of text: what was learned from what."""
        return self.learned.notes

    @cached_property
    def action_keys(self) -> list[Any]:
        """Return the actions that the training window had."""
        keys: list[Any] = self.actions.to_pylist()
        return keys

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {key: i for i, key in enumerate(self.action_keys)}

    @cached_property
    def _every(self) -> NDArray[np.int64]:
        return np.arange(len(self.actions))

    def _numbers(self, actions: Sequence[Any]) -> NDArray[np.int64]:
        try:
            return np.array([self._places[action] for action in actions], dtype=np.int64)
        except KeyError as error:
            what = f"The policy does not know the action {quoted(error.args[0])}."
            raise UsageError(what, "Choose among those of the log.") from None

    def _candidates(self, actions: pa.Table | None) -> FittedPolicy:
        """Return the policy of the actions to choose among; the factor of one that was never seen is 1."""
        if actions is None:
            return self
        name, settings = self.columns.action, self.action_settings
        if name not in actions.column_names:
            raise no_such_column(name, actions.column_names, where="the table of actions")
        keys = actions[name].combine_chunks()
        places = np.array([self._places.get(key, -1) for key in keys.to_pylist()], dtype=np.int64)
        described = settings.kinds and set(settings.columns) <= set(actions.column_names)
        if described and self.require_model().scores_new:
            factors = np.where(places >= 0, self.factors[np.maximum(places, 0)], 1.0)
            rows = feature_rows(actions, actions.num_rows, settings)
            return replace(self, actions=keys, action_rows=rows, factors=factors)
        known = places[places >= 0]
        if not len(known):
            raise UsageError(
                "None of the actions given was in the training window.", "Give their features to score new ones."
            )
        return self._taken(known)

    def _single_row(self, context: Mapping[str, Any]) -> SparseRows:
        """Return the features of one context, as ``feature_rows`` does for a table."""
        settings = self.context_settings
        if missing := [name for name in settings.columns if name not in context]:
            raise UsageError(f"The context has no {quoted(missing[0])}.", f"It needs {', '.join(settings.kinds)}.")
        return rows_of_records([context], settings)

    def require_model(self) -> RewardModel:
        """Return the reward model; a policy learned with a scikit-learn regressor keeps none."""
        if self.model is None:
            raise UsageError(f"{NOTHING_NEW}.", HINT)
        return self.model
