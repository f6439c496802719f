"""From what a user writes to named policies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmstart.core import SourceError, UsageError, quoted
from warmstart.engine import FRAME_LIBRARIES, check_url, has_scheme
from warmstart.policy.protocol import Policy, can_be_asked
from warmstart.scoring import is_saved_policy

if TYPE_CHECKING:
    from warmstart.policy.fitted import FittedPolicy

# Each action of the log as a policy of its own.
CONSTANTS = "constants"
KEYWORDS = ("logging", "uniform", "uniform-all", CONSTANTS)
CONSTANT = "constant:"
CHOOSERS = "Pass a frame with the context columns and the action, a dict, or a function."
NAIVE = "naive:"
COLUMN = "column:"


@dataclass(frozen=True)
class NamedPolicy:
    """A policy before it is built: a keyword, a path, a table of decisions, a column of the log, or Python code."""

    name: str
    source: Any

    @property
    def may_be_live(self) -> bool:
        """Tell whether it can choose anew every day among the actions that are live."""
        return self.keyword in ("uniform", "uniform-all") or self.is_ranking

    @property
    def is_ranking(self) -> bool:
        """Tell whether it is a learned policy, which ranks what was feasible in the contexts of training."""
        fitted, is_naive = learned_policy(self.source)
        return fitted is not None and not is_naive

    @property
    def defers(self) -> bool:
        """Tell whether it is a learned policy that leaves some contexts to logging."""
        return self.is_ranking and bool(self.source.defers)

    @property
    def fitted(self) -> FittedPolicy | None:
        """Return the learned policy behind it, if there is one."""
        return learned_policy(self.source)[0]

    @property
    def is_decisions(self) -> bool:
        """Tell whether its decisions (a table, a file, a column, code) were made by nobody knows whom."""
        return self.keyword is None and self.fitted is None

    @property
    def names_actions(self) -> bool:
        """Tell whether it names actions that the log may never show."""
        return self.is_decisions or (self.keyword or "").startswith(CONSTANT)

    @property
    def column(self) -> str | None:
        """Return the column of the log that holds its choice at each event, if it is one."""
        is_column = isinstance(self.source, str) and self.source.startswith(COLUMN)
        return self.source.removeprefix(COLUMN) if is_column else None

    @property
    def is_asked(self) -> bool:
        """Tell whether it is a policy in Python, which is asked about contexts."""
        return self.fitted is None and not isinstance(self.source, Mapping) and can_be_asked(self.source)

    @property
    def keyword(self) -> str | None:
        """Return the keyword, or None for decisions."""
        is_keyword = isinstance(self.source, str) and (self.source in KEYWORDS or self.source.startswith(CONSTANT))
        return self.source if is_keyword else None


def learned_policy(source: Any) -> tuple[FittedPolicy | None, bool]:
    """Return the learned policy behind a source, if there is one, and whether it ranks all actions (naive).

    Text is none: what learned policies need is not loaded for it.
    """
    if isinstance(source, str | Path):
        return None, False
    from warmstart.policy.fitted import FittedPolicy
    from warmstart.policy.naive import NaivePolicy

    is_naive = isinstance(source, NaivePolicy)
    learned = source.fitted if is_naive else source
    return (learned, is_naive) if isinstance(learned, FittedPolicy) else (None, False)


def parse_policies(policies: Any) -> list[NamedPolicy]:
    """Name every policy: one, a sequence, or a mapping from names.

    >>> [policy.name for policy in parse_policies(["uniform", "mine=decisions.csv"])]
    ['uniform', 'mine']
    """
    if isinstance(policies, Mapping):
        _check_names(policies)
        named = [NamedPolicy(str(name), source) for name, source in policies.items()]
    elif isinstance(policies, Sequence) and not isinstance(policies, str):
        _check_policies(policies)
        named = [_parse(policy, i) for i, policy in enumerate(policies)]
    else:
        named = [_parse(policies, 0)]
    if not named:
        raise UsageError("Name at least one policy.")
    named = [NamedPolicy(p.name, _loaded(p.source)) for p in named]
    for policy in named:
        _check_source(policy)
    for name, times in Counter(policy.name for policy in named).items():
        if times > 1:
            hint = "Name them apart: name=POLICY, or in Python {name: policy}."
            raise UsageError(f"{times} policies are called {quoted(name)}.", hint)
    return named


def _check_names(policies: Mapping[Any, Any]) -> None:
    """Refuse a dict of decisions in the place of a dict of policies."""
    for name, source in policies.items():
        hint = "To pass a dict from contexts to actions as a policy, name it: {'mine': {context: action}}."
        if not isinstance(name, str):
            raise UsageError(f"Policies are named by text, and {quoted(str(name))} is none.", hint)
        if source is None or isinstance(source, bool | int | float) or _is_bare_word(source):
            raise UsageError(f"{quoted(source)} is no policy.", hint)


def _check_policies(policies: Sequence[Any]) -> None:
    """Refuse a list of actions, one for every event, in the place of a list of policies."""
    if len(policies) > 1 and all(map(_is_choice, policies)):
        words = [one for one in policies if isinstance(one, str)]
        if not any("=" in word or get_close_matches(word, KEYWORDS, n=1) for word in words):
            raise _without_contexts("A list of actions", " An action as a policy of its own is 'constant:ACTION'.")


def _without_contexts(what: str, further: str = "") -> UsageError:
    hint = f"{CHOOSERS} One choice per event of the log: make it a column of the log, and pass 'column:NAME'."
    return UsageError(f"{what} does not say which context a choice is for.", hint + further)


def _is_bare_word(source: Any) -> bool:
    """Tell whether a text is neither a keyword nor written like a path."""
    if not isinstance(source, str) or NamedPolicy("", source).keyword or source.startswith((NAIVE, COLUMN)):
        return False
    return not (has_scheme(source) or Path(source).exists() or any(sign in source for sign in "./\\*?["))


def _is_choice(one: Any) -> bool:
    """Tell whether an element of a list is an action, and no path."""
    return one is None or isinstance(one, bool | int | float) or _is_bare_word(one)


def _check_source(policy: NamedPolicy) -> None:
    """Refuse what chooses nothing, and say in which form it would."""
    source, hint = policy.source, CHOOSERS
    library = type(source).__module__.split(".", maxsplit=1)[0]
    is_array = library == "numpy" or (
        library in FRAME_LIBRARIES and not any(hasattr(source, name) for name in ("columns", "schema", "read_all"))
    )
    if isinstance(source, type):
        raise UsageError(
            f"The policy {quoted(policy.name)} is the class {source.__name__}.", "Pass an object of it, fitted."
        )
    is_choices = isinstance(source, list | tuple) and all(map(_is_choice, source))
    if (is_array and not policy.is_asked) or is_choices:
        raise _without_contexts(f"The policy {quoted(policy.name)} is a {type(source).__name__}, which")
    has_table = library not in (*FRAME_LIBRARIES, "ibis", "pyspark") and hasattr(source, "table")
    if isinstance(source, bool | int | float | set | None) or (has_table and not policy.is_asked):
        hint += " An object with table(contexts) also needs a name." if has_table else ""
        raise UsageError(f"The policy {quoted(policy.name)} is {quoted(str(source))}, which chooses nothing.", hint)
    if policy.column == "":
        raise UsageError("The policy 'column:' names no column.", "Write column:NAME.")


def _loaded(source: Any) -> Any:
    """Open a folder that fit wrote; ``naive:FOLDER`` ranks all actions, not only those feasible in the context."""
    is_naive = isinstance(source, str) and source.startswith(NAIVE)
    if not is_naive and not is_saved_policy(source):
        return source
    from warmstart.policy.loading import load_policy
    from warmstart.policy.naive import NaivePolicy

    if not is_naive:
        return load_policy(source)
    folder = source.removeprefix(NAIVE)
    if has_scheme(folder):
        check_url(folder)
    return NaivePolicy(load_policy(folder))


def _parse(policy: Any, position: int) -> NamedPolicy:
    if isinstance(policy, NamedPolicy):
        return policy
    fitted, is_naive = learned_policy(policy)
    if fitted is not None:
        kind = "naive" if is_naive else "fitted"
        return NamedPolicy(kind if position == 0 else f"{kind}_{position}", policy)
    if not isinstance(policy, str | Path):
        return NamedPolicy(_name_of(policy, position), policy)
    text = str(policy)
    if not text:
        raise UsageError("A policy is empty.")
    if NamedPolicy("", text).keyword or text.startswith((NAIVE, COLUMN)):
        return NamedPolicy("naive" if text.startswith(NAIVE) else text, text)
    name, equals, rest = text.partition("=")
    if equals and not Path(text).exists():
        return NamedPolicy(name, rest)
    near = get_close_matches(text, KEYWORDS, n=1)
    if near and not Path(text).exists():
        raise UsageError(f"There is no policy {quoted(text)}.", f"Did you mean {near[0]!r}?")
    if _is_bare_word(text):
        hint = f"For a column of the log write column:{text}, for an action constant:{text}; a file has a suffix."
        raise SourceError(f"There is no file {quoted(text)}, and no such policy.", hint)
    return NamedPolicy(Path(text).stem, text)


def _name_of(policy: Any, position: int) -> str:
    """Return the name of a policy in Python: its own, that of the function or of the model; else its position."""
    if isinstance(policy, Mapping) or not can_be_asked(policy):
        return f"policy_{position}"
    if isinstance(policy, Policy):
        return str(policy.name)
    owner = getattr(policy, "__self__", policy)
    name = getattr(owner, "__name__", type(owner).__name__)
    return f"policy_{position}" if name in ("<lambda>", "partial") else name
