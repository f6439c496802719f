"""The protocol of a policy that is an object: a name, and a table of choices for the contexts it is asked about."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from warmstart.engine import FRAME_LIBRARIES


@runtime_checkable
class Policy(Protocol):
    """A policy of your own, as ``evaluate`` takes it: ``name``, and ``table(contexts)``.

    ``contexts`` is a frame of distinct contexts under the log's column names, with features if ``evaluate`` was given a
    table of contexts: pandas, or polars or Arrow if the log was read from such a table. A call gets at most 100,000 of
    them, and must not depend on which others are in it. On Spark the object is sent to the workers.

    >>> class ByHour:
    ...     name = "by hour"
    ...
    ...     def table(self, contexts):
    ...         return contexts[["hour"]].assign(ad=contexts["hour"].lt(12).map({True: "coffee", False: "tea"}))
    >>> isinstance(ByHour(), Policy)
    True
    """

    name: str

    def table(self, contexts: Any) -> Any:
        """Return a frame: the log's context columns, its action column and, unless it is 1, ``probability``.

        A context without rows, and a null action, is undecided. Probabilities of a context sum to at most 1.
        """
        ...


def can_be_asked(source: Any) -> bool:
    """Tell whether a source is a policy in Python: it has ``predict``, ``predict_proba`` or ``table``, or is called."""
    # A frame has its columns as attributes, whatever they are called.
    library = type(source).__module__.split(".", maxsplit=1)[0]
    if isinstance(source, type) or library in (*FRAME_LIBRARIES, "ibis", "pyspark"):
        return False
    return isinstance(source, Policy) or callable(source) or hasattr(source, "predict_proba") or predicts(source)


def predicts(source: Any) -> bool:
    """Tell whether a source is a model with ``predict``."""
    return callable(getattr(source, "predict", None))
