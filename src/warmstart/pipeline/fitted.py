"""The steps of ``fit`` that one machine and a cluster share, and the policy that comes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from warmstart.core import ACTION, EmptyWindowError, Progress, text_array, to_arrow
from warmstart.engine import Engine, describe
from warmstart.events import Events
from warmstart.features import Features, KeyEncoder, read_features
from warmstart.policy import FittedPolicy, RankingStore
from warmstart.reward import (
    DistributedRewards,
    Division,
    Examples,
    FitSettings,
    Halves,
    LearnedRewards,
    Learner,
    Trial,
    try_out,
    with_rewards,
)
from warmstart.scoring import FeatureSettings

# The fit's tau is chosen on this share of the training window, its last events.
HELD_OUT = 0.2
ChosenTau = tuple[float, dict[str, float]]
# A log without times is divided at random, and one of so few cells in each of the parts in turn.
PARTS, FEW_CELLS = 5, 20_000


@dataclass(frozen=True, eq=False)
class Fit:
    """A training window, settings, ``tables`` of contexts and of actions, and a progress callback.

    A reward that should be small is turned around in its range, so that the best action has the largest.
    """

    events: Events
    settings: FitSettings
    tables: tuple[Any, Any]
    report: Progress

    @property
    def minimized(self) -> bool:
        """Tell whether the reward should be small."""
        return self.events.log.outcomes[0].minimize

    @property
    def context_options(self) -> dict[str, Any]:
        """Return how the table of contexts is read: its key columns, from the fixed names to the user's, and so on."""
        columns = dict(zip(self.events.columns.context_keys, self.events.columns.context, strict=True))
        return {"columns": columns, "what": "the table of contexts", **self.settings.context_options}

    def read_action_features(self, engine: Engine, actions: KeyEncoder) -> Features:
        """Read the features of the log's actions.

        Without a table of actions, but with one of contexts, a few actions are features of their own (one-hot).
        """
        self.report("reading features of actions")
        name, (contexts, table) = self.events.columns.action, self.tables
        options = self.settings.action_options
        if table is None and contexts is not None and len(actions) <= (1 << self.settings.bits[1]) // 2:
            # A list of one word each: as text, "a b" would be the same as "b a", and 1 as -1.
            words = text_array([str(key) for key in actions.values.to_pylist()])
            itself = pa.ListArray.from_arrays(to_arrow(np.arange(len(words) + 1, dtype=np.int32)), words)
            table = pa.table({name: actions.values, f"{name} itself": itself})
        return read_features(engine, table, {ACTION: name}, actions, what="the table of actions", **options)

    @property
    def tries_out(self) -> bool:
        """Tell whether models are tried on held-out events; the paper's own learner has nothing to choose by that."""
        return self.settings.learn_from == "cells" and not self.settings.cross_only

    @property
    def first_tau(self) -> float:
        """Return the fit's tau that models are tried with."""
        return 1.0 if self.settings.fit_tau == "auto" else float(self.settings.fit_tau)

    def divided(self, windows: Sequence[Examples], sample: Callable[[Examples], Examples]) -> list[Division]:
        """Return cells to learn from and later ones to judge by, of two windows; of one, events divided at random.

        ``sample``: takes some cells to learn from, if there are many.
        """
        if len(windows) != 1:
            return [(sample(earlier), later) for earlier, later in pairwise(windows)]
        parts = windows[0].divided(PARTS, self.settings.seed)
        parts = parts if len(windows[0]) <= FEW_CELLS else parts[:1]
        return [(sample(earlier), later) for earlier, later in parts if len(earlier) and len(later)]

    def tried(self, learner: Learner, divisions: Sequence[Division]) -> Trial | None:
        """Return what came of trying a learner on held-out events; None where nothing could be learned."""
        useful = with_rewards(divisions)
        return try_out(learner, useful, self.first_tau) if useful and self.tries_out else None

    def choose_tau(self, learner: Learner, divisions: Sequence[Division], trial: Trial | None) -> ChosenTau:
        """Return the fit's tau and, if it was chosen, the values of those tried.

        Without times there are no later events to choose it by: tau is 1.
        """
        if self.settings.fit_tau != "auto":
            return float(self.settings.fit_tau), {}
        if self.held_out is None:
            return 1.0, {}
        self.report("choosing the fit's tau")
        known: dict[str, Any] = {} if trial is None else {"first": trial.learned, "halves": trial.halves}
        return learner.choose_tau(*divisions[0], self.report, **known)

    @cached_property
    def held_out(self) -> tuple[Events, Events] | None:
        """Return an early and a late part of the window; None without times, or if one of them is empty."""
        if self.events.columns.time is None:
            return None
        try:
            return self.events.split(fraction=1 - HELD_OUT)
        except EmptyWindowError:
            return None

    @property
    def windows(self) -> tuple[Events, ...]:
        """Return the windows whose cells models are tried with: an early and a late one, or the whole."""
        if not self.tries_out and self.settings.fit_tau != "auto":
            return ()
        return self.held_out or (self.events,)

    def policy(
        self,
        ranked: RankingStore,
        learned: LearnedRewards | DistributedRewards,
        actions: KeyEncoder,
        action_features: Features,
        *,
        context_settings: FeatureSettings,
        tau: ChosenTau,
        halves: Halves,
        counts: Mapping[str, Any],
    ) -> FittedPolicy:
        """Return the policy, with a report of what was learned from which window, settings and tables.

        Args:
            ranked: the ranking.
            learned: the reward model behind it.
            actions: the log's.
            action_features: theirs.
            context_settings: how contexts become features.
            tau: the fit's tau, and the values of those tried.
            halves: how far factors of ids are shrunk.
            counts: events, cells and the report of contexts.
        """
        events, settings, model = self.events, self.settings, learned.model
        sources = {"log": events.log.origin, "contexts": self.tables[0], "actions": self.tables[1]}
        return FittedPolicy(
            columns=events.columns,
            window=events.window,
            ranked=ranked,
            model=model,
            context_settings=context_settings,
            action_settings=action_features.settings,
            actions=actions.values,
            action_rows=action_features.rows,
            factors=learned.factors,
            lowest=learned.lowest,
            folds=events.folds,
            device=settings.device,
            report={
                **counts,
                "actions": action_features.report(),
                "learned_from": settings.learn_from,
                "halves": halves._asdict(),
                "fit_tau": tau[0],
                "fit_taus_tried": tau[1],
                "rate": getattr(model, "rate", None),
                "training_loss": getattr(model, "training_loss", None),
                "seed": settings.seed,
                "minimized": self.minimized,
                "sources": {name: None if source is None else describe(source) for name, source in sources.items()},
            },
        )


def check_rewards(reward_sum: float) -> None:
    """Refuse a training window without rewards."""
    if not reward_sum > 0:
        raise EmptyWindowError("No event of the training window has a reward: there is nothing to learn.")


def check_feasible(actions: int) -> None:
    """Refuse an empty ranking."""
    if not actions:
        raise EmptyWindowError("No action is feasible anywhere.", "Ask for fewer events or a lower propensity.")
