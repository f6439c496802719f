"""The text of a settings file, with its reasons as comments."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from warmstart.core import SETTINGS_MARK, printable
from warmstart.pipeline.config import VERSION
from warmstart.results import ProposedRole

BARE = re.compile(r"^[A-Za-z0-9_-]+$")
UNIFORM = 'uniform = "uniform"       # at random among what is shown in the context'
CONSTANTS = 'constants = "constants"   # each action, always: is one of them better than what was shown?'
REST = """
# [windows]
# test_fraction = 0.35    # learn from the first 65 %, evaluate on the rest

[evaluate]
# guards = ["cost<=+2%"]  # limits on other outcomes, named with also = [...]

[policies]
{policies}
# new = "decisions.csv"   # context columns, action[, probability]: see the guide of evaluate
# learned = "policy"      # the folder that `warmstart fit --out policy` wrote

[check]
# verdict = "better"      # conditions of `warmstart check`, which exits with 3 where one is not met
# evidence = "certified"
"""


def toml_text(
    settings: Mapping[str, Any],
    roles: Sequence[ProposedRole],
    spare: Sequence[str],
    *,
    constants: bool,
    nulls: Sequence[str] = (),
) -> str:
    """Return the text of a settings file, marked so that it is known to be as it was written.

    Args:
        settings: What stands under ``[log]``.
        roles: The reasons.
        spare: Columns that look like further outcomes.
        constants: Whether there are so few actions that each is a policy of its own.
        nulls: Columns that are not in the context because they have nulls.
    """
    reasons = {one.role: one for one in roles}
    lines = [f"version = {VERSION}", "", "[log]"]
    for name, value in settings.items():
        role = reasons.get(name)
        if role is not None:
            lines += _comments(role)
        lines.append(f"{name} = {toml_value(value)}")
    lines += [line for one in roles if not one.columns for line in _comments(one)]
    if nulls:
        named = ", ".join(map(printable, nulls))
        lines.append(f"# Not in the context, for their nulls: {named}. If what chose the action looked at them, values")
        lines.append("# and certified bounds are wrong without them (WS101): fill their nulls, and add them.")
    if spare:
        lines += ["# Perhaps further outcomes; state what values are possible: ranges = {NAME = [LOW, HIGH]}"]
        lines.append(f"# also = {toml_value(list(spare))}")
    return marked("\n".join(lines) + "\n" + REST.replace("{policies}", CONSTANTS if constants else UNIFORM))


def marked(text: str) -> str:
    """Return a text that begins with a line that says who wrote it, and by its hash that nobody changed it since."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"{SETTINGS_MARK.decode()}{digest}\n{text}"


def _comments(role: ProposedRole) -> list[str]:
    also = f" Or: {', '.join(map(printable, role.alternatives[:6]))}." if role.alternatives else ""
    sure = "" if role.sure else " Please check."
    return [f"# {role.role}: {printable(role.reason)}.{also}{sure}"]


def toml_value(value: Any) -> str:
    r"""Write a value as TOML.

    >>> toml_value(["a\"b", "\x7f"]), toml_value({"cost in $": (0, 0.5)}), toml_value(True)
    ('["a\\"b", "\\u007f"]', '{"cost in $" = [0, 0.5]}', 'true')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        parts = (f"{_key(name)} = {toml_value(part)}" for name, part in value.items())
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def _key(name: str) -> str:
    return name if BARE.match(name) else toml_value(name)
