"""How often the logging policy chose an action in a context, estimated from the log."""

from warmstart.propensity.counts import counted_propensity

__all__ = ["counted_propensity"]
