"""The steps of ``fit`` that one machine and a cluster share, and the policy that comes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from warmstart.core import ACTION, EmptyWindowError, Progress, text_array
from warmstart.engine import Engine, describe
from warmstart.events import Events
from warmstart.features import Features, KeyEncoder, read_features
from warmstart.policy import FittedPolicy, RankingStore
from warmstart.reward import DistributedRewards, FitSettings, LearnedRewards
from warmstart.scoring import FeatureSettings

# The fit's tau is chosen on this share of the training window, its last events.
HELD_OUT = 0.2
ChosenTau = tuple[float, dict[str, float]]


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
        return {"columns": columns, "what": "the table of contexts", **self.settings.feature_options(0)}

    def read_action_features(self, engine: Engine, actions: KeyEncoder) -> Features:
        """Read the features of the log's actions.

        Without a table of actions, but with one of contexts, a few actions are features of their own (one-hot).
        """
        self.report("reading features of actions")
        name, (contexts, table), options = self.events.columns.action, self.tables, self.settings.feature_options(1)
        if table is None and contexts is not None and len(actions) <= (1 << self.settings.bits[1]) // 2:
            itself = text_array([str(key) for key in actions.values.to_pylist()])
            table = pa.table({name: actions.values, f"{name} itself": itself})
        return read_features(engine, table, {ACTION: name}, actions, what="the table of actions", **options)

    def choose_tau(self, choose: Callable[[Events, Events], ChosenTau]) -> ChosenTau:
        """Return the fit's tau and, if it was chosen, the values of those tried.

        ``choose`` does so with an early and a late part of the window. Without times there is none to hold out: tau
        is 1.
        """
        if self.settings.fit_tau != "auto":
            return float(self.settings.fit_tau), {}
        self.report("choosing the fit's tau")
        parts = self.held_out
        return (1.0, {}) if parts is None else choose(*parts)

    @cached_property
    def held_out(self) -> tuple[Events, Events] | None:
        """Return an early and a late part of the window; None without times, or if one of them is empty."""
        if self.events.columns.time is None:
            return None
        try:
            return self.events.split(fraction=1 - HELD_OUT)
        except EmptyWindowError:
            return None

    def policy(
        self,
        ranked: RankingStore,
        learned: LearnedRewards | DistributedRewards,
        actions: KeyEncoder,
        action_features: Features,
        *,
        context_settings: FeatureSettings,
        tau: ChosenTau,
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
            report={
                **counts,
                "actions": action_features.report(),
                "learned_from": settings.learn_from,
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
