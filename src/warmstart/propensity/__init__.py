"""Propensities: how often the logging (behaviour) policy chose an action in a context, estimated from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import Door

if TYPE_CHECKING:
    from warmstart.propensity.backoff import *  # noqa: F403
    from warmstart.propensity.classifier import *  # noqa: F403
    from warmstart.propensity.compare import *  # noqa: F403
    from warmstart.propensity.divisions import *  # noqa: F403
    from warmstart.propensity.logged import *  # noqa: F403
    from warmstart.propensity.model import *  # noqa: F403
    from warmstart.propensity.quality import *  # noqa: F403

_door = Door.to(
    __name__,
    {
        "backoff": "best_strengths borrowed_propensity",
        "classifier": "PropensityModel learn_propensity",
        "compare": "CountedRows",
        "divisions": "Epoching",
        "logged": "LoggedCheck check_logged",
        "model": "learn_epochs mixture_propensity modelled_propensity with_own_epoch with_predictions",
        "quality": "calibration log_loss shown_propensity",
    },
)
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve
