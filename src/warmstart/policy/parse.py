"""From what a user writes to named policies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from warmstart.core import UsageError, quoted
from warmstart.engine import check_url, has_scheme
from warmstart.policy.fitted import FittedPolicy
from warmstart.policy.naive import NaivePolicy
from warmstart.policy.storage import is_saved_policy, load_policy

KEYWORDS = ("logging", "uniform", "uniform-all")
CONSTANT = "constant:"
NAIVE = "naive:"


@dataclass(frozen=True)
class NamedPolicy:
    """A policy before it is built: a keyword, a path, or a table of decisions."""

    name: str
    source: Any

    @property
    def may_be_live(self) -> bool:
        """Tell whether it can choose anew every day among the actions that are live."""
        return self.keyword in ("uniform", "uniform-all") or isinstance(self.source, FittedPolicy)

    @property
    def fitted(self) -> FittedPolicy | None:
        """Return the learned policy behind it, if there is one."""
        source = self.source.fitted if isinstance(self.source, NaivePolicy) else self.source
        return source if isinstance(source, FittedPolicy) else None

    @property
    def is_decisions(self) -> bool:
        """Tell whether it is a table or a file of decisions, made by nobody knows whom."""
        return self.keyword is None and self.fitted is None

    @property
    def names_actions(self) -> bool:
        """Tell whether it names actions that the log may never show."""
        return self.is_decisions or (self.keyword or "").startswith(CONSTANT)

    @property
    def keyword(self) -> str | None:
        """Return the keyword, or None for decisions."""
        is_keyword = isinstance(self.source, str) and (self.source in KEYWORDS or self.source.startswith(CONSTANT))
        return self.source if is_keyword else None


def parse_policies(policies: Any) -> list[NamedPolicy]:
    """Name every policy: one, a sequence, or a mapping from names.

    >>> [policy.name for policy in parse_policies(["uniform", "mine=decisions.csv"])]
    ['uniform', 'mine']
    """
    if isinstance(policies, Mapping):
        named = [NamedPolicy(str(name), source) for name, source in policies.items()]
    elif isinstance(policies, Sequence) and not isinstance(policies, str):
        named = [_parse(policy, i) for i, policy in enumerate(policies)]
    else:
        named = [_parse(policies, 0)]
    if not named:
        raise UsageError("Name at least one policy.")
    named = [NamedPolicy(p.name, _loaded(p.source)) for p in named]
    for name, times in Counter(policy.name for policy in named).items():
        if times > 1:
            raise UsageError(f"{times} policies are called {quoted(name)}.", "Name them apart: name=POLICY.")
    return named


def _loaded(source: Any) -> Any:
    """Open a folder that fit wrote; ``naive:FOLDER`` ranks all actions, not only those feasible in the context."""
    if isinstance(source, str) and source.startswith(NAIVE):
        folder = source.removeprefix(NAIVE)
        if has_scheme(folder):
            check_url(folder)
        return NaivePolicy(load_policy(folder))
    return load_policy(source) if is_saved_policy(source) else source


def _parse(policy: Any, position: int) -> NamedPolicy:
    if isinstance(policy, NamedPolicy):
        return policy
    if isinstance(policy, FittedPolicy | NaivePolicy):
        kind = "fitted" if isinstance(policy, FittedPolicy) else "naive"
        return NamedPolicy(kind if position == 0 else f"{kind}_{position}", policy)
    if not isinstance(policy, str | Path):
        return NamedPolicy(f"policy_{position}", policy)
    text = str(policy)
    if not text:
        raise UsageError("A policy is empty.")
    if NamedPolicy("", text).keyword or text.startswith(NAIVE):
        return NamedPolicy("naive" if text.startswith(NAIVE) else text, text)
    name, equals, rest = text.partition("=")
    if equals and not Path(text).exists():
        return NamedPolicy(name, rest)
    near = get_close_matches(text, KEYWORDS, n=1)
    if near and not Path(text).exists():
        raise UsageError(f"There is no policy {quoted(text)}.", f"Did you mean {near[0]!r}?")
    return NamedPolicy(Path(text).stem, text)
