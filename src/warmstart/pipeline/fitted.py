"""The steps of ``fit`` that one machine and a cluster share, and the policy that comes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warmstart.core import ACTION, EmptyWindowError, Progress, text_array
from warmstart.engine import Engine, describe
from warmstart.events import Events
from warmstart.features import Features, FeatureSettings, KeyEncoder, read_features
from warmstart.policy import FittedPolicy, RankingStore
from warmstart.reward import FitSettings, ProductModel

# The fit's tau is chosen on this share of the training window, its last events.
HELD_OUT = 0.2
ChosenTau = tuple[float, dict[str, float]]


@dataclass(frozen=True, eq=False)
class FitResult:
    """A ranking, the reward model behind it, and the numbers to report."""

    ranked: RankingStore
    model: ProductModel | None
    context_settings: FeatureSettings
    context_report: Mapping[str, Any]
    actions: KeyEncoder
    action_features: Features
    factors: NDArray[np.float64]
    lowest: float
    tau: ChosenTau
    events: int
    cells: int

    def policy(self, events: Events, settings: FitSettings, tables: tuple[Any, Any]) -> FittedPolicy:
        """Return the policy, with a report of what was learned from which window, settings and tables."""
        sources = (("log", events.log.origin), ("contexts", tables[0]), ("actions", tables[1]))
        return FittedPolicy(
            columns=events.columns,
            window=events.window,
            ranked=self.ranked,
            model=self.model,
            context_settings=self.context_settings,
            action_settings=self.action_features.settings,
            actions=self.actions.values,
            action_rows=self.action_features.rows,
            factors=self.factors,
            lowest=self.lowest,
            folds=events.folds,
            report={
                "events": self.events,
                "cells": self.cells,
                "contexts": self.context_report,
                "actions": self.action_features.report(),
                "learned_from": settings.learn_from,
                "fit_tau": self.tau[0],
                "fit_taus_tried": self.tau[1],
                "rate": None if self.model is None else self.model.rate,
                "training_loss": None if self.model is None else self.model.training_loss,
                "seed": settings.seed,
                "sources": {name: None if source is None else describe(source) for name, source in sources},
            },
        )


def choose_fit_tau(
    events: Events, settings: FitSettings, report: Progress, choose: Callable[[tuple[Events, Events]], ChosenTau]
) -> ChosenTau:
    """Return the fit's tau and, if it was chosen, the values of those tried.

    Args:
        events: the training window.
        settings: may set tau.
        report: is called with the step.
        choose: chooses with an early and a late part of the window. Without times there is none to hold out: tau is 1.
    """
    if settings.fit_tau != "auto":
        return float(settings.fit_tau), {}
    report("choosing the fit's tau")
    try:
        windows = None if events.columns.time is None else events.split(fraction=1 - HELD_OUT)
    except EmptyWindowError:
        windows = None
    return (1.0, {}) if windows is None else choose(windows)


def context_columns(events: Events) -> dict[str, str]:
    """Map the fixed names of the context columns to the user's."""
    return {key: events.columns.fixed_to_given[key] for key in events.columns.context_keys}


def read_action_features(
    engine: Engine, events: Events, tables: tuple[Any, Any], actions: KeyEncoder, settings: FitSettings
) -> Features:
    """Read the features of actions.

    Without a table of actions, but with one of contexts, a few actions are features of their own (one-hot).

    Args:
        engine: opens the tables.
        events: the training window.
        tables: of contexts and of actions.
        actions: those of the log.
        settings: how to learn.
    """
    name, table = events.columns.action, tables[1]
    if table is None and tables[0] is not None and len(actions) <= (1 << settings.bits[1]) // 2:
        import pyarrow as pa

        itself = text_array([str(key) for key in actions.values.to_pylist()])
        table = pa.table({name: actions.values, f"{name} itself": itself})
    options = settings.feature_options(1)
    return read_features(engine, table, {ACTION: name}, actions, what="the table of actions", **options)


def check_rewards(reward_sum: float) -> None:
    """Refuse a training window without rewards."""
    if not reward_sum > 0:
        raise EmptyWindowError("No event of the training window has a reward: there is nothing to learn.")


def check_feasible(actions: int) -> None:
    """Refuse an empty ranking."""
    if not actions:
        raise EmptyWindowError("No action is feasible anywhere.", "Ask for fewer events or a lower propensity.")
