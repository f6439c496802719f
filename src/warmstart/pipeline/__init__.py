"""The hall: the only room that knows the order of the steps."""

from warmstart.pipeline.audit import audit
from warmstart.pipeline.compare import compare_propensities
from warmstart.pipeline.evaluate import evaluate, policy_table, true_value
from warmstart.pipeline.fit import fit

__all__ = ["audit", "compare_propensities", "evaluate", "fit", "policy_table", "true_value"]
