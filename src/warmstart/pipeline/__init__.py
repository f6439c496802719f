"""The hall: the only room that knows the order of the steps. Names are resolved when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import Door

if TYPE_CHECKING:
    from warmstart.pipeline.audit import audit as audit
    from warmstart.pipeline.audit import recommended_epoch as recommended_epoch
    from warmstart.pipeline.check import check as check
    from warmstart.pipeline.check_settings import EVIDENCE as EVIDENCE
    from warmstart.pipeline.check_settings import KINDS as KINDS
    from warmstart.pipeline.check_settings import CheckSettings as CheckSettings
    from warmstart.pipeline.compare import compare_propensities as compare_propensities
    from warmstart.pipeline.config import CONFIG as CONFIG
    from warmstart.pipeline.config import SECTIONS as SECTIONS
    from warmstart.pipeline.config import Config as Config
    from warmstart.pipeline.config import read_config as read_config
    from warmstart.pipeline.config_schema import config_schema as config_schema
    from warmstart.pipeline.constants import MOST_CONSTANTS as MOST_CONSTANTS
    from warmstart.pipeline.evaluate import evaluate as evaluate
    from warmstart.pipeline.evaluate_settings import AUTO as AUTO
    from warmstart.pipeline.evaluate_settings import ESTIMATORS as ESTIMATORS
    from warmstart.pipeline.evaluate_settings import INTERVALS as INTERVALS
    from warmstart.pipeline.evaluate_settings import NEVER as NEVER
    from warmstart.pipeline.evaluate_settings import PROPENSITIES as PROPENSITIES
    from warmstart.pipeline.evaluate_settings import WINDOWS as WINDOWS
    from warmstart.pipeline.evaluate_settings import EvaluateSettings as EvaluateSettings
    from warmstart.pipeline.fit import fit as fit
    from warmstart.pipeline.init import init as init
    from warmstart.pipeline.monitor import monitor as monitor
    from warmstart.pipeline.plan import plan as plan
    from warmstart.pipeline.policy_tables import policy_table as policy_table
    from warmstart.pipeline.policy_tables import true_value as true_value
    from warmstart.pipeline.progressive import evaluate_progressively as evaluate_progressively
    from warmstart.pipeline.settings import EngineSettings as EngineSettings
    from warmstart.pipeline.settings import LogSettings as LogSettings
    from warmstart.pipeline.settings import WindowSettings as WindowSettings
    from warmstart.pipeline.settings import parse_tau as parse_tau
    from warmstart.pipeline.trained import parse_trained_until as parse_trained_until
    from warmstart.pipeline.windows import evaluation_windows as evaluation_windows
    from warmstart.pipeline.windows import training_window as training_window

_door = Door.to(
    __name__,
    {
        "audit": "audit recommended_epoch",
        "compare": "compare_propensities",
        "check": "check",
        "check_settings": "CheckSettings EVIDENCE KINDS",
        "config": "CONFIG Config SECTIONS read_config",
        "config_schema": "config_schema",
        "constants": "MOST_CONSTANTS",
        "evaluate": "evaluate",
        "evaluate_settings": "AUTO ESTIMATORS EvaluateSettings INTERVALS NEVER PROPENSITIES WINDOWS",
        "policy_tables": "policy_table true_value",
        "fit": "fit",
        "init": "init",
        "monitor": "monitor",
        "plan": "plan",
        "progressive": "evaluate_progressively",
        "settings": "EngineSettings LogSettings WindowSettings parse_tau",
        "trained": "parse_trained_until",
        "windows": "evaluation_windows training_window",
    },
)
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve
_door.over_modules()
