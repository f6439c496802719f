"""The protocol of a policy that is an object: a name, and a table of choices for the contexts it is asked about."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


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
