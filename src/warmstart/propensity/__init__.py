"""How often the logging policy chose an action in a context, estimated from the log."""

from warmstart.events import counted_propensity
from warmstart.propensity.backoff import best_strength, borrowed_propensity
from warmstart.propensity.logged import LoggedCheck, check_logged
from warmstart.propensity.model import modelled_propensity

__all__ = [
    "LoggedCheck",
    "best_strength",
    "borrowed_propensity",
    "check_logged",
    "counted_propensity",
    "modelled_propensity",
]
